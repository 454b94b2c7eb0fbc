"""The kinds of constraint: for each its check, and what a tool needs to break it.

A new kind is added here, with its check in `tool_constraints` or `schema_constraints`, and in `profiles` with its
parameters and its sentence; a new fact about a client only in `profiles.json`.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from mcproof.checks.clients.schema_constraints import SCHEMA_CHECKS
from mcproof.checks.clients.tool_constraints import SERVER_CHECKS, TOOL_CHECKS
from mcproof.core.catalog.model import (
    LONG_DESCRIPTION,
    LONGEST_NAME,
    NO_DESCRIPTION,
    ODD_HINT,
    ODD_MEMBER,
    ODD_NAME,
    ODD_OUTPUT,
    ODD_ROOT,
    OUTPUT_DIALECT,
    OUTPUT_REFERENCE,
)
from mcproof.core.schema.keywords import BARE_ARRAY, TYPE_LIST, UNDECLARED, UNTYPED

if TYPE_CHECKING:
    from mcproof.checks.clients.schema_constraints import Params

TOOL_KINDS = {**TOOL_CHECKS, **SCHEMA_CHECKS}
"""The check of each constraint on single tools."""
SERVER_KINDS = SERVER_CHECKS

# Most tools break nothing, so each kind names what a tool needs to break it: keywords of its input schema, or marks.
# Without this the constraints take three times as long, see docs/decisions/0043-survey-before-constraints.md.
_NEEDS: dict[str, tuple[str, ...]] = {
    **dict.fromkeys(("description.required", "description.empty"), (NO_DESCRIPTION,)),
    **dict.fromkeys(("tool.null_members", "tool.member_types"), (ODD_MEMBER, ODD_HINT)),
    "param_description.max": ("description",),
    "input.root_type": (ODD_ROOT,),
    "input.dialect": ("$schema",),
    **dict.fromkeys(("input.valid", "input.tuple_items", "input.boolean_schema", "input.required_list"), ()),
    **dict.fromkeys(("input.property_not_object", "input.bool_exclusive"), ()),
    **dict.fromkeys(("input.enum_types", "input.enum_on", "input.enum_empty", "input.enum_shape"), ("enum",)),
    "input.enum_total": ("enum",),
    "input.array_items": (BARE_ARRAY, TYPE_LIST),
    "input.type_union": (TYPE_LIST,),
    "input.items_untyped": (UNTYPED,),
    "input.ref": ("$ref",),
    "input.format": ("format",),
    "input.pattern": ("pattern",),
    "input.required_defined": (UNDECLARED,),
    "input.open_object": ("additionalProperties",),
    **dict.fromkeys(("output.root_type", "output.valid"), (ODD_OUTPUT,)),
    "output.dialect": (OUTPUT_DIALECT,),
    "output.ref": (OUTPUT_REFERENCE,),
}
LONG_NAME = "(long name)"
"""The name is too long for some client once the server's name is put before it."""
LONGEST_PLAIN_NAME = 56
"""The most characters of a tool's and a server's name together that are short enough for every client."""
_LONGEST_PLAIN_DESCRIPTION = 2048
"""The most bytes of a description without the mark of a long one."""


def needs_of(kind: str, params: Params) -> frozenset[str] | None:
    """The marks of which a tool must have one to break a constraint; None if any tool may."""
    needs: Iterable[str] | None = _NEEDS.get(kind)
    if kind in ("input.forbids", "input.root_forbids", "input.union_parent_type", "input.number_max"):
        needs = params["keywords"]
    # Users' profiles may have smaller limits and other patterns than all that ship with mcproof.
    elif kind in ("name.max", "name.regex", "name.forbids") and _takes_plain_names(kind, params):
        needs = [ODD_NAME]
    elif kind == "name.combined" and _room(params) >= LONGEST_PLAIN_NAME:
        needs = [LONG_NAME]
    elif kind == "description.max" and params["max"] >= _LONGEST_PLAIN_DESCRIPTION:
        needs = [LONG_DESCRIPTION]
    elif kind == "input.type_missing" and {"type", "$ref", "anyOf"} <= set(params["instead"]):
        needs = [UNTYPED]
    elif kind == "input.root_requires" and params["keywords"] == ["properties"]:
        needs = [ODD_ROOT]
    return None if needs is None else frozenset(needs)


def _room(params: Params) -> int:
    """How long the names of a server and a tool may be together."""
    return int(params["max"]) - len(params["template"].format(server="", tool=""))


def _takes_plain_names(kind: str, params: Params) -> bool:
    """Whether names without the mark of an odd one break nothing: all patterns shipped with mcproof accept them."""
    if kind == "name.max":
        return bool(params["max"] >= LONGEST_NAME)
    return type(params["pattern"]) is str and (kind == "name.forbids" or "-]" in params["pattern"])

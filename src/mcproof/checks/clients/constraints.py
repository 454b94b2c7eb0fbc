"""The kinds of constraint: for each its check, what a tool needs to break it, its parameters, and its sentence.

A new kind is added here, with its check in `tool_constraints` or `schema_constraints`; a new fact about a client only
in `profiles.json`.
Why sentences are generated: docs/decisions/0042-constraints-are-data.md.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

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
from mcproof.core.named_tuple import NamedTuple
from mcproof.core.schema.keywords import BARE_ARRAY, TYPE_LIST, UNDECLARED, UNTYPED

if TYPE_CHECKING:
    from mcproof.checks.clients.profiles import Constraint
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


_UNITS = {"bytes": "bytes", "utf16": "UTF-16 units"}
_REFERENCE_WORDS = {
    "any": "any `$ref`",
    "unresolvable": "a `$ref` that does not resolve",
    "remote": "a `$ref` to another document",
    "siblings": "keywords beside a `$ref`",
    "not_defs": "a `$ref` outside `$defs` and `definitions`",
    "not_dollar_defs": "a `$ref` outside `$defs`",
    "recursive": "a recursive `$ref`",
}
_PATTERN_WORDS = {
    "unanchored": "patterns without `^` and `$`",
    "lookaround": "look-around in patterns",
    "shorthand": "classes such as `\\d` in patterns",
}


class ParameterType(NamedTuple):
    """What a parameter may be."""

    expected: str
    """In words."""
    kind: str
    """`count`, `flag`, `pattern`, `template`, `word` or `words`."""
    words: tuple[str, ...] = ()
    """The only words that are allowed; empty for any."""


_COUNT = ParameterType("a whole number", "count")
_FLAG = ParameterType("true or false", "flag")
_PATTERN = ParameterType("a regular expression", "pattern")
_WORDS = ParameterType("a list of words", "words")
_TEMPLATE = ParameterType("a text with `{server}` and `{tool}`", "template")
_TYPES = ("array", "boolean", "integer", "null", "number", "object", "string")
_SCHEMA_TYPES = ParameterType("a list of types", "words", _TYPES)
_FORMS = ParameterType("a list of forms of `$ref`", "words", tuple(_REFERENCE_WORDS))
_FAULTS = ParameterType("a list of faults", "words", tuple(_PATTERN_WORDS))
_DIALECT = ParameterType("a dialect", "word", ("2020-12", "draft-07"))
_UNIT = ParameterType("a unit", "word", ("bytes", "utf16"))


def _choice(*words: str) -> ParameterType:
    return ParameterType("a word", "word", words)


Parameters = dict[str, ParameterType]
_PARAMETERS: dict[str, tuple[Parameters, Parameters]] = {
    "name.regex": ({"pattern": _PATTERN}, {"forbid": _PATTERN}),
    "name.forbids": ({"pattern": _PATTERN}, {}),
    "name.combined": ({"template": _TEMPLATE, "max": _COUNT}, {"server_max": _COUNT}),
    **dict.fromkeys(
        ("name.max", "description.max", "param_description.max", "instructions.max"), ({"max": _COUNT}, {"unit": _UNIT})
    ),
    "tool.null_members": ({"members": _WORDS}, {}),
    "annotations.read_only": ({}, {"or_closed": _FLAG}),
    **dict.fromkeys(
        ("input.root_forbids", "input.root_requires", "input.forbids", "input.union_parent_type"),
        ({"keywords": _WORDS}, {}),
    ),
    **dict.fromkeys(("input.valid", "output.valid"), ({"dialect": _DIALECT}, {})),
    **dict.fromkeys(("input.dialect", "output.dialect"), ({"allowed": _WORDS}, {})),
    "input.array_items": ({}, {"unions": _FLAG, "defs": _FLAG}),
    "input.type_union": ({}, {"where": _choice("root_property"), "all_of": _SCHEMA_TYPES}),
    "input.type_missing": ({"instead": _WORDS}, {"branches": _FLAG}),
    **dict.fromkeys(("input.ref", "output.ref"), ({"forbid": _FORMS}, {"siblings_ok": _WORDS, "only_with": _WORDS})),
    "input.enum_on": ({"types": _SCHEMA_TYPES}, {}),
    "input.format": ({"allowed": _WORDS}, {"types": _SCHEMA_TYPES}),
    "input.pattern": ({"forbid": _FAULTS}, {}),
    "input.number_max": ({"keywords": _WORDS, "max": _COUNT}, {}),
    "input.open_object": ({}, {"where": _choice("root")}),
    "input.property_key": ({"pattern": _PATTERN}, {"where": _choice("top")}),
    "input.property_names_together": ({"names": _WORDS}, {}),
    **dict.fromkeys(
        (
            *("tool.bytes", "input.bytes", "input.large_lossy", "input.depth", "input.properties"),
            *("input.string_total", "input.enum_total", "tools.max", "tools.bytes"),
            *("optional_params.max", "union_params.max", "list.pages"),
        ),
        ({"max": _COUNT}, {}),
    ),
}
"""The required and the optional parameters of each kind that has any."""


def parameters_of(kind: str) -> tuple[Parameters, Parameters]:
    """Return the required and the optional parameters of a kind of constraint."""
    return _PARAMETERS.get(kind, ({}, {}))


_SENTENCES = {
    "name.regex": "Tool names must match `{pattern}`{without}.",
    "name.max": "Tool names have at most {max:,} {unit}.",
    "name.forbids": "Tool names must not contain `{pattern}`.",
    "name.combined": "`{template}` has at most {max:,} characters.",
    "description.required": "Every tool needs a description.",
    "description.empty": "A description must not be empty.",
    "description.max": "Descriptions have at most {max:,} {unit}.",
    "tool.bytes": "A tool has at most {max:,} bytes.",
    "tool.null_members": "Members of a tool may be absent but not null.",
    "tool.member_types": "A tool must have a name, and members of the right type: hints are booleans, titles strings.",
    "annotations.read_only": "Only tools marked as reading run without asking.",
    "param_description.max": "Descriptions of parameters have at most {max:,} {unit}.",
    "input.root_type": "The input schema must be `type: object`.",
    "input.root_forbids": "The root of the input schema must not use {keywords}.",
    "input.root_requires": "The root of the input schema must have {keywords}.",
    "input.valid": "The input schema must be valid JSON Schema {dialect}.",
    "input.dialect": "A declared `$schema` must be {allowed}.",
    "input.bytes": "The input schema has at most {max:,} bytes.",
    "input.large_lossy": "An input schema over {max:,} bytes is reduced.",
    "input.depth": "The input schema has at most {max:,} levels.",
    "input.properties": "The input schema has at most {max:,} properties.",
    "input.string_total": "Names and values of the input schema have at most {max:,} characters together.",
    "input.enum_total": "The input schema has at most {max:,} enum values.",
    "input.forbids": "The input schema must not use {keywords}.",
    "input.array_items": "Every array needs `items`.",
    "input.tuple_items": "`items` must not be a list.",
    "input.boolean_schema": "No schema may be `true` or `false`.",
    "input.property_not_object": "`properties` must be an object of objects.",
    "input.type_union": "`type` must not be a list{of}.",
    "input.type_missing": "Every property and every `items` needs one of {instead}.",
    "input.items_untyped": "The items of an array need a type.",
    "input.union_parent_type": "`type` must not be beside {keywords}.",
    "input.ref": "Not accepted: {forms}.",
    "input.enum_types": "Enum values must be strings.",
    "input.enum_on": "An enum must not be on an {types}.",
    "input.enum_empty": "An enum must have values, and no empty one.",
    "input.enum_shape": "An enum must have values, and distinct ones.",
    "input.format": "`format` must be one of {allowed}.",
    "input.pattern": "Not accepted: {faults}.",
    "input.number_max": "{keywords} must be at most {max:,}.",
    "input.required_defined": "`required` must name declared properties.",
    "input.required_list": "`required` must be a list of strings.",
    "input.required_all": "Every property must be required.",
    "input.closed": "Every object needs `additionalProperties: false`.",
    "input.open_object": "`additionalProperties` must be false where it is given.",
    "input.property_key": "Names of parameters must match `{pattern}`.",
    "input.property_names_together": "Parameters must not be called {names} in one tool.",
    "input.bool_exclusive": "`exclusiveMinimum` and `exclusiveMaximum` must be numbers.",
    "output.root_type": "The output schema must be `type: object`.",
    "output.dialect": "A declared `$schema` of the output schema must be {allowed}.",
    "output.ref": "Not accepted in output schemas: {forms}.",
    "output.valid": "The output schema must be valid JSON Schema {dialect}.",
    "name.unique": "Tool names must be unique.",
    "tools.max": "A server has at most {max:,} tools.",
    "tools.bytes": "All tools together have at most {max:,} bytes.",
    "optional_params.max": "All tools together have at most {max:,} optional parameters.",
    "union_params.max": "All tools together have at most {max:,} unions.",
    "instructions.max": "Instructions have at most {max:,} {unit}.",
    "list.pages": "Only the first page of tools is read.",
}
KINDS = tuple(_SENTENCES)


def in_a_sentence(constraint: Constraint) -> str:
    """Return a constraint as a sentence, with the models or builds it applies to."""
    sentence = _SENTENCES[constraint.kind].format(**_words(constraint.params))
    return f"{sentence[:-1]} ({constraint.when})." if constraint.when else sentence


def _words(params: Params) -> dict[str, Any]:
    """The parameters of a constraint as words."""
    return {
        **params,
        "unit": _UNITS.get(params.get("unit", ""), "characters"),
        "without": f" and not contain `{params['forbid']}`" if isinstance(params.get("forbid"), str) else "",
        "of": f" with {_listed(params['all_of'], 'and')}" if "all_of" in params else "",
        "forms": ", ".join(_REFERENCE_WORDS[form] for form in params.get("forbid", ()) if form in _REFERENCE_WORDS),
        "faults": ", ".join(_PATTERN_WORDS[fault] for fault in params.get("forbid", ()) if fault in _PATTERN_WORDS),
        **{key: _listed(params.get(key, ()), "or") for key in ("keywords", "allowed", "instead", "types")},
        "names": _listed(params.get("names", ()), "and"),
    }


def _listed(words: list[str], last: str) -> str:
    """Words as a list, the long ones cut."""
    marked = [f"`{word}`" for word in words]
    if len(marked) > 8:
        return f"{', '.join(marked[:7])} and {len(marked) - 7} more"
    return f" {last} ".join([", ".join(marked[:-1]), marked[-1]] if len(marked) > 1 else marked)

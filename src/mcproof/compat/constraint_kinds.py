"""The vocabulary of constraints: for each kind, the function that checks it and the keywords it depends on."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from mcproof.compat import schema_constraints as schema
from mcproof.compat import surface_constraints as surface
from mcproof.compat import whole_schema_constraints as whole
from mcproof.compat.surface_marks import (
    LARGE,
    LARGE_BYTES,
    LONG_NAME,
)
from mcproof.core.catalog.tool_marks import (
    HYPHENATED,
    LONG_DESCRIPTION,
    NO_DESCRIPTION,
    NO_PARAMETERS,
    NULL,
    ODD_MEMBER,
    ODD_NAME,
    ODD_OUTPUT,
    ODD_ROOT,
    OUTPUT_DIALECT,
    OUTPUT_REFERENCE,
    ROOT_KEYWORDS,
    root_mark,
)
from mcproof.core.schema.keywords import BARE_ARRAY, DEEP, ODD, ODD_ENUM, ODD_KEY, TYPE_LIST, UNDECLARED, UNTYPED
from mcproof.core.schema.tree import DEEP_LEVELS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from mcproof.compat.surface_constraints import Hit
    from mcproof.compat.tool_surface import ServerSurface, ToolSurface

    Params = Mapping[str, Any]
    ToolCheck = Callable[[ToolSurface, Params], Iterator[str]]
    ServerCheck = Callable[[ServerSurface, Params], Iterator[Hit]]


class ToolKind(NamedTuple):
    """A constraint on single tools."""

    check: ToolCheck
    needs: Callable[[Params], frozenset[str] | None] = lambda _: None
    """The keywords and marks of which a tool must have one to break it; None if any tool may.

    It holds for the profiles that ship with mcproof: those of users may refuse what is usual.
    """


def _on(check: ToolCheck, *marks: str) -> ToolKind:
    return ToolKind(check, lambda _: frozenset(marks))


def _on_keywords(check: ToolCheck) -> ToolKind:
    return ToolKind(check, lambda params: frozenset(params["keywords"]))


def _on_size(check: ToolCheck, mark: str, limit: int) -> ToolKind:
    """A constraint with a maximum; the mark shows whether a tool exceeds `limit`."""
    return ToolKind(check, lambda params: frozenset({mark}) if params["max"] >= limit else None)


def _names(params: Params) -> frozenset[str]:
    """The marks of names that a pattern may refuse; most accept hyphens."""
    accepts_hyphens = "-]" in params["pattern"]
    return frozenset({ODD_NAME} if accepts_hyphens else {ODD_NAME, HYPHENATED})


def _at_root(params: Params) -> frozenset[str] | None:
    keywords = params["keywords"]
    return frozenset(map(root_mark, keywords)) if ROOT_KEYWORDS.issuperset(keywords) else None


TOOL_KINDS: dict[str, ToolKind] = {
    "name.regex": ToolKind(surface.name_regex, _names),
    "name.max": _on(surface.name_max, ODD_NAME),
    "name.forbids": _on(surface.name_forbids, ODD_NAME),
    "name.combined": _on(surface.name_combined, LONG_NAME),
    "description.required": _on(surface.description_required, NO_DESCRIPTION),
    "description.empty": _on(surface.description_empty, NO_DESCRIPTION),
    "description.max": _on(surface.description_max, LONG_DESCRIPTION),
    "tool.bytes": ToolKind(surface.tool_bytes),
    "tool.null_members": _on(surface.null_members, NULL),
    "tool.member_types": _on(surface.member_types, ODD_MEMBER),
    "annotations.read_only": ToolKind(surface.read_only),
    "param_description.max": _on(schema.parameter_description, "description"),
    "input.root_type": _on(whole.root_type, ODD_ROOT),
    "input.root_forbids": ToolKind(whole.root_forbids, _at_root),
    "input.root_requires": ToolKind(
        whole.root_requires, lambda params: frozenset({NO_PARAMETERS}) if params["keywords"] == ["properties"] else None
    ),
    "input.valid": _on(whole.valid, ODD),
    "input.dialect": _on(whole.dialect, "$schema"),
    "input.bytes": _on_size(whole.schema_bytes, LARGE, LARGE_BYTES),
    "input.large_lossy": ToolKind(whole.large_lossy),
    "input.depth": _on_size(whole.depth, DEEP, DEEP_LEVELS),
    "input.properties": _on(whole.property_count, "properties"),
    "input.string_total": ToolKind(whole.string_total),
    "input.enum_total": _on(whole.enum_total, "enum"),
    "input.forbids": _on_keywords(schema.forbids),
    "input.array_items": _on(schema.array_items, BARE_ARRAY, TYPE_LIST),
    "input.tuple_items": _on(schema.tuple_items, ODD),
    "input.boolean_schema": _on(schema.boolean_schema, ODD),
    "input.property_not_object": _on(schema.property_not_object, ODD),
    "input.type_union": _on(schema.type_union, TYPE_LIST),
    "input.type_missing": _on(schema.type_missing, UNTYPED),
    "input.items_untyped": _on(schema.items_untyped, UNTYPED, ODD),
    "input.union_parent_type": _on_keywords(schema.union_parent_type),
    "input.ref": _on(whole.references, "$ref"),
    "input.enum_types": _on(schema.enum_types, ODD_ENUM),
    "input.enum_on": _on(schema.enum_on, ODD_ENUM),
    "input.enum_empty": _on(schema.enum_empty, ODD_ENUM),
    "input.enum_shape": _on(schema.enum_shape, ODD_ENUM),
    "input.format": _on(schema.string_format, "format"),
    "input.pattern": _on(schema.pattern, "pattern"),
    "input.number_max": _on_keywords(schema.number_max),
    "input.required_defined": _on(schema.required_defined, UNDECLARED),
    "input.required_list": _on(whole.required_list, ODD),
    "input.required_all": _on(schema.required_all, "properties"),
    "input.closed": ToolKind(schema.closed),
    "input.open_object": _on(schema.open_object, "additionalProperties"),
    "input.property_key": _on(schema.property_key, ODD_KEY),
    "input.property_names_together": _on(schema.property_names_together, "properties"),
    "input.bool_exclusive": _on(schema.bool_exclusive, ODD),
    "output.root_type": _on(whole.output_root_type, ODD_OUTPUT),
    "output.dialect": _on(whole.output_dialect, OUTPUT_DIALECT),
    "output.ref": _on(whole.output_references, OUTPUT_REFERENCE),
    "output.valid": _on(whole.output_valid, ODD_OUTPUT),
}
"""Constraints on single tools. The marks of names and keys only hold for profiles that accept plain ones."""

SERVER_KINDS: dict[str, ServerCheck] = {
    "name.unique": surface.unique_names,
    "tools.max": surface.tool_count,
    "tools.bytes": surface.catalog_bytes,
    "optional_params.max": surface.optional_params,
    "union_params.max": surface.union_params,
    "instructions.max": surface.instructions_max,
    "list.pages": surface.list_pages,
}
"""Constraints that need more than one tool."""

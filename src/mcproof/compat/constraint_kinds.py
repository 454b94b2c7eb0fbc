"""The vocabulary of constraints: for each kind, the function that checks it and the keywords it depends on."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from mcproof.compat import schema_constraints as schema
from mcproof.compat import surface_constraints as surface
from mcproof.compat import whole_schema_constraints as whole
from mcproof.compat.surface_marks import (
    BARE_ARRAY,
    LONG_DESCRIPTION,
    MEMBERS,
    NO_DESCRIPTION,
    ODD,
    ODD_KEY,
    ODD_NAME,
    ODD_ROOT,
    OUTPUT,
    OUTPUT_REFERENCE,
    TYPE_LIST,
    UNDECLARED,
    UNTYPED,
)

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
    marks: frozenset[str] | None = None
    """Keywords and marks without all of which the constraint cannot be broken (see `surface_marks`).

    Empty: the keywords of the constraint's own `keywords` parameter. None: it may be broken by any tool.
    """

    def may_apply(self, marks: frozenset[str], params: Params) -> bool:
        """Whether a tool with these marks can break it."""
        if self.marks is None:
            return True
        return not marks.isdisjoint(self.marks or params["keywords"])


def _on(check: ToolCheck, *marks: str) -> ToolKind:
    return ToolKind(check, frozenset(marks))


def _on_keywords(check: ToolCheck) -> ToolKind:
    return ToolKind(check, frozenset())


TOOL_KINDS: dict[str, ToolKind] = {
    "name.regex": _on(surface.name_regex, ODD_NAME),
    "name.max": _on(surface.name_max, ODD_NAME),
    "name.forbids": _on(surface.name_forbids, ODD_NAME),
    "name.combined": _on(surface.name_combined, ODD_NAME),
    "description.required": _on(surface.description_required, NO_DESCRIPTION),
    "description.empty": _on(surface.description_empty, NO_DESCRIPTION),
    "description.max": _on(surface.description_max, LONG_DESCRIPTION),
    "tool.bytes": ToolKind(surface.tool_bytes),
    "tool.null_members": _on(surface.null_members, MEMBERS),
    "tool.member_types": _on(surface.member_types, MEMBERS),
    "annotations.read_only": ToolKind(surface.read_only),
    "param_description.max": _on(schema.parameter_description, "description"),
    "input.root_type": _on(whole.root_type, ODD_ROOT),
    "input.root_forbids": _on_keywords(whole.root_forbids),
    "input.root_requires": ToolKind(whole.root_requires),
    "input.valid": _on(whole.valid, ODD),
    "input.dialect": _on(whole.dialect, "$schema"),
    "input.bytes": ToolKind(whole.schema_bytes),
    "input.large_lossy": ToolKind(whole.large_lossy),
    "input.depth": ToolKind(whole.depth),
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
    "input.enum_types": _on(schema.enum_types, "enum"),
    "input.enum_on": _on(schema.enum_on, "enum"),
    "input.enum_empty": _on(schema.enum_empty, "enum"),
    "input.enum_shape": _on(schema.enum_shape, "enum"),
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
    "output.root_type": _on(whole.output_root_type, OUTPUT),
    "output.dialect": _on(whole.output_dialect, OUTPUT),
    "output.ref": _on(whole.output_references, OUTPUT_REFERENCE),
    "output.valid": _on(whole.output_valid, OUTPUT),
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

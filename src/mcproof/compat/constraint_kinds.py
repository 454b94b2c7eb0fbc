"""The vocabulary of constraints: for each kind, the function that checks it and the keywords it depends on."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from mcproof.compat import schema_constraints as schema
from mcproof.compat import surface_constraints as surface
from mcproof.compat import whole_schema_constraints as whole

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
    keywords: frozenset[str] | None = None
    """The constraint can only be broken if the input schema uses one of these; None if it depends on more."""

    def may_apply(self, used: frozenset[str], params: Params) -> bool:
        """Whether an input schema with these keywords can break it."""
        needed = self.keywords
        if needed is None:
            return True
        return not used.isdisjoint(needed or params["keywords"])


_OF_PARAMS: frozenset[str] = frozenset()
"""The keywords are those of the constraint's own `keywords` parameter."""


def _on(check: ToolCheck, *keywords: str) -> ToolKind:
    return ToolKind(check, frozenset(keywords))


TOOL_KINDS: dict[str, ToolKind] = {
    "name.regex": ToolKind(surface.name_regex),
    "name.max": ToolKind(surface.name_max),
    "name.forbids": ToolKind(surface.name_forbids),
    "name.combined": ToolKind(surface.name_combined),
    "description.required": ToolKind(surface.description_required),
    "description.empty": ToolKind(surface.description_empty),
    "description.max": ToolKind(surface.description_max),
    "tool.bytes": ToolKind(surface.tool_bytes),
    "tool.null_members": ToolKind(surface.null_members),
    "tool.member_types": ToolKind(surface.member_types),
    "annotations.read_only": ToolKind(surface.read_only),
    "param_description.max": _on(schema.parameter_description, "description"),
    "input.root_type": ToolKind(whole.root_type),
    "input.root_forbids": ToolKind(whole.root_forbids, _OF_PARAMS),
    "input.root_requires": ToolKind(whole.root_requires),
    "input.valid": ToolKind(whole.valid),
    "input.dialect": _on(whole.dialect, "$schema"),
    "input.bytes": ToolKind(whole.schema_bytes),
    "input.large_lossy": ToolKind(whole.large_lossy),
    "input.depth": ToolKind(whole.depth),
    "input.properties": _on(whole.property_count, "properties"),
    "input.string_total": ToolKind(whole.string_total),
    "input.enum_total": _on(whole.enum_total, "enum"),
    "input.forbids": ToolKind(schema.forbids, _OF_PARAMS),
    "input.array_items": _on(schema.array_items, "type"),
    "input.tuple_items": _on(schema.tuple_items, "items"),
    "input.boolean_schema": ToolKind(schema.boolean_schema),
    "input.property_not_object": _on(schema.property_not_object, "properties"),
    "input.type_union": _on(schema.type_union, "type"),
    "input.type_missing": ToolKind(schema.type_missing),
    "input.items_untyped": _on(schema.items_untyped, "items"),
    "input.union_parent_type": ToolKind(schema.union_parent_type, _OF_PARAMS),
    "input.ref": _on(whole.references, "$ref"),
    "input.enum_types": _on(schema.enum_types, "enum"),
    "input.enum_on": _on(schema.enum_on, "enum"),
    "input.enum_empty": _on(schema.enum_empty, "enum"),
    "input.enum_shape": _on(schema.enum_shape, "enum"),
    "input.format": _on(schema.string_format, "format"),
    "input.pattern": _on(schema.pattern, "pattern"),
    "input.number_max": ToolKind(schema.number_max, _OF_PARAMS),
    "input.required_defined": _on(schema.required_defined, "required"),
    "input.required_list": _on(schema.required_list, "required"),
    "input.required_all": _on(schema.required_all, "properties"),
    "input.closed": ToolKind(schema.closed),
    "input.open_object": _on(schema.open_object, "additionalProperties"),
    "input.property_key": _on(schema.property_key, "properties"),
    "input.property_names_together": _on(schema.property_names_together, "properties"),
    "input.bool_exclusive": _on(schema.bool_exclusive, "exclusiveMinimum", "exclusiveMaximum"),
    "output.root_type": ToolKind(whole.output_root_type),
    "output.dialect": ToolKind(whole.output_dialect),
    "output.ref": ToolKind(whole.output_references),
    "output.valid": ToolKind(whole.output_valid),
}

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

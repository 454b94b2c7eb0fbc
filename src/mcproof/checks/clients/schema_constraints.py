"""Constraints on every schema inside an input schema: one function for each kind, over the shared schema tree.

A function takes a tool and the constraint's parameters, and yields the pointer, from the tool, of every place that
breaks the constraint. Only positions that hold a schema are checked: a property named `enum` or `$ref` is data.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from mcproof.checks.clients.surface import matches_whole, optional_names, size_of
from mcproof.checks.scores.tokens import stringify
from mcproof.core.schema.keywords import TYPE_KEYWORDS
from mcproof.core.text.json_positions import escape

if TYPE_CHECKING:
    from mcproof.checks.clients.surface import ToolSurface
    from mcproof.core.schema.tree import SchemaNode

    Params = Mapping[str, Any]

_BRANCHES = frozenset({"anyOf", "oneOf", "allOf", "not", "if", "then", "else"})
"""Keywords whose schemas may require properties that are declared around them."""
_UNIONS = frozenset({"anyOf", "oneOf", "allOf"})
_DEFINITIONS = frozenset({"$defs", "definitions"})
_LOOK_AROUND = ("(?=", "(?!", "(?<=", "(?<!")
_SHORTHAND = re.compile(r"(?<!\\)(?:\\\\)*\\[dDwWsS]")
_MAPS = frozenset({"properties", "patternProperties", "$defs", "definitions", "dependentSchemas"})
_LISTS = frozenset({"anyOf", "oneOf", "allOf", "prefixItems"})
_SINGLES = frozenset({"items", "not", "if", "then", "else", "contains", "propertyNames"})


def forbids(tool: ToolSurface, params: Params) -> Iterator[str]:
    """No schema may use these keywords."""
    for keyword in params["keywords"]:
        for node in tool.using(keyword):
            yield f"{node.pointer}/{keyword}"


def array_items(tool: ToolSurface, params: Params) -> Iterator[str]:
    """An array must have `items`; `prefixItems` does not replace it."""
    unions, definitions = params.get("unions", True), params.get("defs", True)
    for node in tool.using("type"):
        schema = node.schema
        kind = schema["type"]
        is_array = kind == "array" or (unions and isinstance(kind, list) and "array" in kind)
        if not is_array or "items" in schema:
            continue
        if (unions or not _is_under(node, _UNIONS)) and (definitions or not _is_under(node, _DEFINITIONS)):
            yield node.pointer


def tuple_items(tool: ToolSurface, _: Params) -> Iterator[str]:
    """`items` must not be a list."""
    for node in tool.using("items"):
        if isinstance(node.schema["items"], list):
            yield f"{node.pointer}/items"


def boolean_schema(tool: ToolSurface, _: Params) -> Iterator[str]:
    """No schema may be `true` or `false`; those of `additionalProperties` and the like are allowed."""
    for node in tool.nodes:
        schema = node.schema
        if type(schema) is not dict:
            continue  # a property: reported with its parent
        for keyword, value in schema.items():
            if keyword in _MAPS and type(value) is dict:
                for name, subschema in value.items():
                    if type(subschema) is bool:
                        yield f"{node.pointer}/{keyword}/{escape(name)}"
            elif keyword in _SINGLES and type(value) is bool:
                yield f"{node.pointer}/{keyword}"
            elif (keyword in _LISTS or keyword == "items") and type(value) is list:
                for index, subschema in enumerate(value):
                    if type(subschema) is bool:
                        yield f"{node.pointer}/{keyword}/{index}"


def property_not_object(tool: ToolSurface, _: Params) -> Iterator[str]:
    """The root's `properties` must be an object of objects."""
    declared = tool.schema.get("properties", {}) if tool.schema is not None else {}
    if not isinstance(declared, dict):
        yield "/inputSchema/properties"
        return
    for name, subschema in declared.items():
        if not isinstance(subschema, dict):
            yield f"/inputSchema/properties/{escape(name)}"


def type_union(tool: ToolSurface, params: Params) -> Iterator[str]:
    """`type` must not be a list; with `all_of`, not a list that has all of these."""
    only_parameters = params.get("where") == "root_property"
    wanted = params.get("all_of", ())
    for node in tool.using("type"):
        kinds = node.schema["type"]
        if not isinstance(kinds, list) or not all(kind in kinds for kind in wanted):
            continue
        if not only_parameters or _is_parameter(node):
            yield f"{node.pointer}/type"


def type_missing(tool: ToolSurface, params: Params) -> Iterator[str]:
    """Properties and items must have one of these keywords; with `branches`, also the branches of a union."""
    keywords = frozenset(params["instead"])
    positions = ("properties", "items", "prefixItems", *(("anyOf", "oneOf") if params.get("branches") else ()))
    nodes = tool.untyped() if keywords >= TYPE_KEYWORDS else tool.nodes
    for node in nodes:
        if node.step and node.step[0] in positions:
            schema = node.schema
            if type(schema) is not dict or keywords.isdisjoint(schema):
                yield node.pointer


def items_untyped(tool: ToolSurface, _: Params) -> Iterator[str]:
    """The items of an array must have a type."""
    for node in tool.using("items"):
        items = node.schema["items"]
        described = ("type", "$ref", "anyOf", "oneOf", "allOf", "enum", "const")
        if items is True or (isinstance(items, dict) and not any(keyword in items for keyword in described)):
            yield f"{node.pointer}/items"


def union_parent_type(tool: ToolSurface, params: Params) -> Iterator[str]:
    """`type` must not be beside these keywords."""
    for keyword in params["keywords"]:
        for node in tool.using(keyword):
            if "type" in node.schema:
                yield f"{node.pointer}/type"


def enum_types(tool: ToolSurface, _: Params) -> Iterator[str]:
    """Enum values must be strings."""
    for node in _with_enum(tool):
        if not all(isinstance(value, str) for value in node.schema["enum"]):
            yield f"{node.pointer}/enum"


def enum_on(tool: ToolSurface, params: Params) -> Iterator[str]:
    """An enum must not be on a schema of these types."""
    for node in _with_enum(tool):
        if any(kind in params["types"] for kind in _types(node.schema)):
            yield f"{node.pointer}/enum"


def enum_empty(tool: ToolSurface, _: Params) -> Iterator[str]:
    """An enum must have values, and none of them the empty text."""
    for node in _with_enum(tool):
        if not node.schema["enum"] or "" in node.schema["enum"]:
            yield f"{node.pointer}/enum"


def enum_shape(tool: ToolSurface, _: Params) -> Iterator[str]:
    """An enum must have values, all different."""
    for node in _with_enum(tool):
        values = [stringify(value) for value in node.schema["enum"]]  # as text, since `1 == True` in Python
        if not values or len(set(values)) < len(values):
            yield f"{node.pointer}/enum"


def string_format(tool: ToolSurface, params: Params) -> Iterator[str]:
    """A `format` must be one of these; with `types`, only the formats of such schemas count."""
    types = params.get("types")
    for node in tool.using("format"):
        schema = node.schema
        if schema["format"] not in params["allowed"] and (
            types is None or any(kind in types for kind in _types(schema))
        ):
            yield f"{node.pointer}/format"


def pattern(tool: ToolSurface, params: Params) -> Iterator[str]:
    """A `pattern` must not be unanchored, or use look-around or shorthand classes."""
    for node in tool.using("pattern"):
        text = node.schema["pattern"]
        if isinstance(text, str) and any(_PATTERN_FAULTS[fault](text) for fault in params["forbid"]):
            yield f"{node.pointer}/pattern"


_PATTERN_FAULTS = {
    "unanchored": lambda text: not (text.startswith("^") and text.endswith("$")),
    "lookaround": lambda text: any(sign in text for sign in _LOOK_AROUND),
    "shorthand": lambda text: _SHORTHAND.search(text) is not None,
}


def number_max(tool: ToolSurface, params: Params) -> Iterator[str]:
    """The values of these keywords must not exceed a number."""
    for keyword in params["keywords"]:
        for node in tool.using(keyword):
            value = node.schema[keyword]
            if isinstance(value, (int, float)) and not isinstance(value, bool) and value > params["max"]:
                yield f"{node.pointer}/{keyword}"


def required_defined(tool: ToolSurface, _: Params) -> Iterator[str]:
    """`required` must name declared properties; a branch may name those of the schema around it."""
    for node in tool.using("required"):
        required = node.schema["required"]
        if isinstance(required, list) and not _is_under(node, _BRANCHES):
            declared = node.properties
            for index, name in enumerate(required):
                if isinstance(name, str) and name not in declared:
                    yield f"{node.pointer}/required/{index}"


def required_all(tool: ToolSurface, _: Params) -> Iterator[str]:
    """Every declared property must be required."""
    for node, declared in tool.declared():
        if optional_names(node, declared):
            yield node.pointer


def closed(tool: ToolSurface, _: Params) -> Iterator[str]:
    """Every object must have `additionalProperties: false`."""
    for node in tool.nodes:
        schema = node.schema
        is_object = type(schema) is dict and ("object" in _types(schema) or "properties" in schema)
        if is_object and schema.get("additionalProperties") is not False:
            yield node.pointer


def open_object(tool: ToolSurface, params: Params) -> Iterator[str]:
    """`additionalProperties`, where it is given, must be false."""
    for node in tool.using("additionalProperties"):
        if node.schema["additionalProperties"] is not False and (params.get("where") != "root" or node.parent is None):
            yield f"{node.pointer}/additionalProperties"


def property_key(tool: ToolSurface, params: Params) -> Iterator[str]:
    """Names of properties must match a pattern; `where: top` checks those of the root only."""
    pattern = params["pattern"]
    only_root = params.get("where") == "top"
    for node, declared in tool.declared():
        if only_root and node.parent is not None:  # the root comes first
            return
        for name in declared:
            if not matches_whole(pattern, name):
                yield f"{node.pointer}/properties/{escape(name)}"


def property_names_together(tool: ToolSurface, params: Params) -> Iterator[str]:
    """The root must not have parameters of all these names."""
    declared = tool.tool.parameters
    if all(name in declared for name in params["names"]):
        yield "/inputSchema/properties"


def bool_exclusive(tool: ToolSurface, _: Params) -> Iterator[str]:
    """`exclusiveMinimum` and `exclusiveMaximum` must not be booleans."""
    for keyword in ("exclusiveMinimum", "exclusiveMaximum"):
        for node in tool.using(keyword):
            if isinstance(node.schema[keyword], bool):
                yield f"{node.pointer}/{keyword}"


def parameter_description(tool: ToolSurface, params: Params) -> Iterator[str]:
    """Descriptions inside the schema must not be longer than this."""
    for node in tool.using("description"):
        text = node.schema["description"]
        if isinstance(text, str) and size_of(text, params) > params["max"]:
            yield f"{node.pointer}/description"


def _with_enum(tool: ToolSurface) -> list[SchemaNode]:
    return [node for node in tool.using("enum") if isinstance(node.schema["enum"], list)]


def _types(schema: dict[str, Any]) -> list[Any]:
    kind = schema.get("type")
    return kind if isinstance(kind, list) else [kind]


def _is_parameter(node: SchemaNode) -> bool:
    return node.keyword == "properties" and node.parent is not None and node.parent.parent is None


def _is_under(node: SchemaNode, keywords: frozenset[str]) -> bool:
    """Whether a schema, or one around it, is the value of one of these keywords."""
    at: SchemaNode | None = node
    while at is not None:
        if at.keyword in keywords:
            return True
        at = at.parent
    return False

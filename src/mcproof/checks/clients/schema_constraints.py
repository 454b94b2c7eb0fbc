"""Constraints on every schema inside an input schema, over the shared schema tree.

A check takes a tool and the constraint's parameters, and yields the pointer, from the tool, of every place that
breaks the constraint. Only positions that hold a schema are checked: a property named `enum` or `$ref` is data.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from itertools import filterfalse
from typing import Any

from mcproof.checks.clients.profiles import matcher
from mcproof.checks.scores.tokens import bytes_of, length, stringify
from mcproof.core.catalog.model import Catalog, Tool
from mcproof.core.named_tuple import NamedTuple
from mcproof.core.schema.tree import SchemaNode
from mcproof.core.text.json_positions import escape


class ClientView:
    """One tool as client constraints check it."""

    __slots__ = ("fields", "output_schema", "schema", "server_key", "tool", "tree")

    def __init__(self, tool: Tool, server_key: str = "") -> None:
        self.tool = tool
        self.server_key = server_key
        """The name of the server in a client's configuration, which clients put before the tool's name."""
        self.fields = tool.fields
        self.schema = tool.schema
        self.tree = tool.tree
        self.output_schema: Any = tool.fields.get("outputSchema")

    @property
    def nodes(self) -> list[SchemaNode]:
        """The input schema and every schema inside it."""
        return self.tree.nodes if self.tree is not None else []

    def exceeds(self, limit: int) -> bool:
        """Whether the compact JSON of the input schema has more than this many bytes."""
        return self.tree is not None and self.tree.most_bytes > limit and bytes_of(self.schema) > limit

    def using(self, keyword: str) -> list[SchemaNode]:
        """The schemas that use a keyword."""
        return self.tree.by_keyword.get(keyword, []) if self.tree is not None else []

    def declared(self) -> Iterator[tuple[SchemaNode, dict[str, Any]]]:
        """The schemas that declare properties, with those."""
        for node in self.using("properties"):
            declared = node.schema["properties"]
            if isinstance(declared, dict) and declared:
                yield node, declared


Params = Mapping[str, Any]
ToolCheck = Callable[[ClientView, Params], Iterator[str]]
"""A constraint on single tools: yields the pointer, from the tool, of every place that breaks it."""


def optional_names(node: SchemaNode, declared: dict[str, Any]) -> list[str]:
    """The declared properties of a schema that it does not require."""
    required = node.schema.get("required")
    return [name for name in declared if not isinstance(required, list) or name not in required]


class ServerView(NamedTuple):
    """A server as client constraints check it."""

    tools: list[Tool]
    instructions: str
    instructions_at: str
    """The pointer of the instructions from the server; empty if there are none."""
    pages: int | None
    """The number of pages of `tools/list`; None if the catalog is not from a live server."""


def server_view(catalog: Catalog) -> ServerView:
    """Return what clients see of a server as a whole."""
    greetings = ((key, catalog.server.fields.get(key)) for key in ("initialize", "discover"))
    texts = (
        (f"/{key}/instructions", greeting.get("instructions"))
        for key, greeting in greetings
        if isinstance(greeting, dict)
    )
    pointer, instructions = next(((pointer, text) for pointer, text in texts if isinstance(text, str)), ("", ""))
    pages = catalog.connection.tool_pages if catalog.connection is not None else None
    return ServerView(catalog.tools, instructions, pointer, pages)


def size_of(text: str, params: Params) -> int:
    """The length of a text in the unit of a constraint: characters, UTF-8 bytes or UTF-16 units."""
    unit = params.get("unit")
    if unit == "bytes":
        return len(text.encode("utf-8", "surrogatepass"))
    return length(text) if unit == "utf16" else len(text)


_UNIONS = frozenset({"anyOf", "oneOf", "allOf"})
_BRANCHES = _UNIONS | {"not", "if", "then", "else"}
"""Keywords whose schemas may require properties that are declared around them."""
_DEFINITIONS = frozenset({"$defs", "definitions"})
_TYPING = _UNIONS | {"type", "$ref", "enum", "const"}
_LOOK_AROUND = ("(?=", "(?!", "(?<=", "(?<!")
_SHORTHAND = re.compile(r"(?<!\\)(?:\\\\)*\\[dDwWsS]")
_MAPS = _DEFINITIONS | {"properties", "patternProperties", "dependentSchemas"}
_LISTS = _UNIONS | {"prefixItems", "items"}
_SINGLES = frozenset({"items", "not", "if", "then", "else", "contains", "propertyNames"})


def _values(is_refused: Callable[[Any, dict[str, Any], Params], bool], *keywords: str) -> ToolCheck:
    """The check of a constraint on the values of keywords, each judged with the schema that it is in."""

    def check(tool: ClientView, params: Params) -> Iterator[str]:
        for keyword in keywords:
            for node in tool.using(keyword):
                if is_refused(node.schema[keyword], node.schema, params):
                    yield f"{node.pointer}/{keyword}"

    return check


def _enums(is_refused: Callable[[list[Any], dict[str, Any], Params], bool]) -> ToolCheck:
    """The check of a constraint on the values of an enum."""
    return _values(lambda enum, schema, params: isinstance(enum, list) and is_refused(enum, schema, params), "enum")


def _forbids(tool: ClientView, params: Params) -> Iterator[str]:
    for keyword in params["keywords"]:
        for node in tool.using(keyword):
            yield f"{node.pointer}/{keyword}"


def _array_items(tool: ClientView, params: Params) -> Iterator[str]:
    """An array must have `items`; `prefixItems` does not replace it."""
    unions, definitions = params.get("unions", True), params.get("defs", True)
    for node in tool.using("type"):
        kind = node.schema["type"]
        is_array = kind == "array" or (unions and isinstance(kind, list) and "array" in kind)
        if not is_array or "items" in node.schema:
            continue
        if (unions or not _is_under(node, _UNIONS)) and (definitions or not _is_under(node, _DEFINITIONS)):
            yield node.pointer


def _boolean_schema(tool: ClientView, _: Params) -> Iterator[str]:
    """No schema may be `true` or `false`; those of `additionalProperties` and the like are allowed."""
    for node in tool.nodes:
        if type(node.schema) is not dict:
            continue  # a property: reported with its parent
        for keyword, value in node.schema.items():
            if keyword in _MAPS and type(value) is dict:
                for name, subschema in value.items():
                    if type(subschema) is bool:
                        yield f"{node.pointer}/{keyword}/{escape(name)}"
            elif keyword in _SINGLES and type(value) is bool:
                yield f"{node.pointer}/{keyword}"
            elif keyword in _LISTS and type(value) is list:
                for index, subschema in enumerate(value):
                    if type(subschema) is bool:
                        yield f"{node.pointer}/{keyword}/{index}"


def _property_not_object(tool: ClientView, _: Params) -> Iterator[str]:
    """The root's `properties` must be an object of objects."""
    declared = tool.schema.get("properties", {}) if tool.schema is not None else {}
    if not isinstance(declared, dict):
        yield "/inputSchema/properties"
        return
    for name, subschema in declared.items():
        if not isinstance(subschema, dict):
            yield f"/inputSchema/properties/{escape(name)}"


def _type_union(tool: ClientView, params: Params) -> Iterator[str]:
    """`type` must not be a list; with `all_of`, not a list that has all of these."""
    only_parameters = params.get("where") == "root_property"
    for node in tool.using("type"):
        kinds = node.schema["type"]
        if not isinstance(kinds, list) or not all(kind in kinds for kind in params.get("all_of", ())):
            continue
        is_parameter = node.keyword == "properties" and node.parent is not None and node.parent.parent is None
        if is_parameter or not only_parameters:
            yield f"{node.pointer}/type"


def _type_missing(tool: ClientView, params: Params) -> Iterator[str]:
    """Properties and items must have one of these keywords; with `branches`, also the branches of a union."""
    keywords = frozenset(params["instead"])
    positions = ("properties", "items", "prefixItems", *(("anyOf", "oneOf") if params.get("branches") else ()))
    for node in tool.nodes:
        is_at_value = bool(node.step) and node.step[0] in positions
        if is_at_value and (type(node.schema) is not dict or keywords.isdisjoint(node.schema)):
            yield node.pointer


def _union_parent_type(tool: ClientView, params: Params) -> Iterator[str]:
    """`type` must not be beside these keywords."""
    for keyword in params["keywords"]:
        for node in tool.using(keyword):
            if "type" in node.schema:
                yield f"{node.pointer}/type"


def _has_twins(enum: list[Any], *_: Any) -> bool:
    values = [stringify(value) for value in enum]  # as text, since `1 == True` in Python
    return not values or len(set(values)) < len(values)


_PATTERN_FAULTS: dict[str, Callable[[str], bool]] = {
    "unanchored": lambda text: not (text.startswith("^") and text.endswith("$")),
    "lookaround": lambda text: any(sign in text for sign in _LOOK_AROUND),
    "shorthand": lambda text: _SHORTHAND.search(text) is not None,
}


def _number_max(tool: ClientView, params: Params) -> Iterator[str]:
    """The values of these keywords must not exceed a number."""
    for keyword in params["keywords"]:
        for node in tool.using(keyword):
            value = node.schema[keyword]
            if isinstance(value, (int, float)) and not isinstance(value, bool) and value > params["max"]:
                yield f"{node.pointer}/{keyword}"


def _required_defined(tool: ClientView, _: Params) -> Iterator[str]:
    """`required` must name declared properties; a branch may name those of the schema around it."""
    for node in tool.using("required"):
        required = node.schema["required"]
        if isinstance(required, list) and not _is_under(node, _BRANCHES):
            for index, name in enumerate(required):
                if isinstance(name, str) and name not in node.properties:
                    yield f"{node.pointer}/required/{index}"


def _required_all(tool: ClientView, _: Params) -> Iterator[str]:
    """Every declared property must be required."""
    return (node.pointer for node, declared in tool.declared() if optional_names(node, declared))


def _closed(tool: ClientView, _: Params) -> Iterator[str]:
    """Every object must have `additionalProperties: false`."""
    for node in tool.nodes:
        schema = node.schema
        is_object = type(schema) is dict and ("object" in _types(schema) or "properties" in schema)
        if is_object and schema.get("additionalProperties") is not False:
            yield node.pointer


def _open_object(tool: ClientView, params: Params) -> Iterator[str]:
    """`additionalProperties`, where it is given, must be false."""
    for node in tool.using("additionalProperties"):
        if node.schema["additionalProperties"] is not False and (params.get("where") != "root" or node.parent is None):
            yield f"{node.pointer}/additionalProperties"


def _property_key(tool: ClientView, params: Params) -> Iterator[str]:
    """Names of properties must match a pattern; `where: top` checks those of the root only."""
    accepts = matcher(params["pattern"])
    for node in tool.nodes[:1] if params.get("where") == "top" else tool.using("properties"):
        for name in filterfalse(accepts, node.properties):
            yield f"{node.pointer}/properties/{escape(name)}"


def _property_names_together(tool: ClientView, params: Params) -> Iterator[str]:
    """The root must not have parameters of all these names."""
    if all(name in tool.tool.parameters for name in params["names"]):
        yield "/inputSchema/properties"


def _types(schema: dict[str, Any]) -> list[Any]:
    kind = schema.get("type")
    return kind if isinstance(kind, list) else [kind]


def _is_under(node: SchemaNode, keywords: frozenset[str]) -> bool:
    """Whether a schema, or one around it, is the value of one of these keywords."""
    at: SchemaNode | None = node
    while at is not None:
        if at.keyword in keywords:
            return True
        at = at.parent
    return False


SCHEMA_CHECKS: dict[str, ToolCheck] = {
    "param_description.max": _values(
        lambda text, _, params: isinstance(text, str) and size_of(text, params) > params["max"], "description"
    ),
    "input.forbids": _forbids,
    "input.array_items": _array_items,
    "input.tuple_items": _values(lambda items, *_: isinstance(items, list), "items"),
    "input.boolean_schema": _boolean_schema,
    "input.property_not_object": _property_not_object,
    "input.type_union": _type_union,
    "input.type_missing": _type_missing,
    "input.items_untyped": _values(
        lambda items, *_: items is True or (isinstance(items, dict) and _TYPING.isdisjoint(items)), "items"
    ),
    "input.union_parent_type": _union_parent_type,
    "input.enum_types": _enums(lambda enum, *_: not all(isinstance(value, str) for value in enum)),
    "input.enum_on": _enums(lambda _, schema, params: any(kind in params["types"] for kind in _types(schema))),
    "input.enum_empty": _enums(lambda enum, *_: not enum or "" in enum),
    "input.enum_shape": _enums(_has_twins),
    "input.format": _values(
        lambda name, schema, params: (
            name not in params["allowed"]
            and ("types" not in params or any(kind in params["types"] for kind in _types(schema)))
        ),
        "format",
    ),
    "input.pattern": _values(
        lambda text, _, params: (
            isinstance(text, str) and any(_PATTERN_FAULTS[fault](text) for fault in params["forbid"])
        ),
        "pattern",
    ),
    "input.number_max": _number_max,
    "input.required_defined": _required_defined,
    "input.required_all": _required_all,
    "input.closed": _closed,
    "input.open_object": _open_object,
    "input.property_key": _property_key,
    "input.property_names_together": _property_names_together,
    "input.bool_exclusive": _values(lambda bound, *_: isinstance(bound, bool), "exclusiveMinimum", "exclusiveMaximum"),
}
"""The checks, by kind of constraint."""

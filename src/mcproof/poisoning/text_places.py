"""The role of a text in a catalog, derived from its path: a description, an enum value, an unknown key."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from collections.abc import Sequence

    from mcproof.core.catalog.model import Kind

Place = Literal[
    "name",
    "title",
    "description",
    "annotation",
    "_meta",
    "icon",
    "instructions",
    "server info",
    "capability",
    "schema description",
    "parameter name",
    "parameter title",
    "parameter description",
    "enum value",
    "default",
    "example",
    "const",
    "comment",
    "pattern",
    "keyword",
    "argument name",
    "argument title",
    "argument description",
    "uri",
    "resource body",
    "unknown key",
    "unknown value",
]

PROSE: frozenset[Place] = frozenset(
    (
        "description",
        "schema description",
        "parameter description",
        "argument description",
        "instructions",
        "resource body",
    )
)
"""Places where sentences belong."""

_SCHEMAS = ("inputSchema", "outputSchema")
_MAPS = frozenset(
    ("properties", "patternProperties", "$defs", "definitions", "dependentSchemas", "dependencies", "dependentRequired")
)
"""Keywords whose members are named freely."""
_VALUES: dict[str | int, Place] = {
    "enum": "enum value",
    "default": "default",
    "examples": "example",
    "example": "example",
    "const": "const",
}
"""Keywords whose value is data, with everything inside it."""
_TEXTS: dict[str | int, Place] = {
    "description": "parameter description",
    "title": "parameter title",
    "$comment": "comment",
    "pattern": "pattern",
}
_APPLICATORS = frozenset(
    (
        *("items", "prefixItems", "additionalItems", "contains", "allOf", "anyOf", "oneOf", "not"),
        *("if", "then", "else", "additionalProperties", "propertyNames", "unevaluatedItems", "unevaluatedProperties"),
    )
)
_OTHER_KEYWORDS = frozenset(
    (
        *("type", "format", "required", "$schema", "$id", "$ref", "$anchor", "$dynamicRef", "$dynamicAnchor"),
        *("contentEncoding", "contentMediaType", "$vocabulary"),
    )
)
_OF_ITEMS: dict[str | int, Place] = {
    "name": "name",
    "title": "title",
    "description": "description",
    "annotations": "annotation",
    "_meta": "_meta",
    "icons": "icon",
    "uri": "uri",
    "uriTemplate": "uri",
    "mimeType": "keyword",
    "execution": "keyword",
}
_OF_SERVERS: dict[str | int, Place] = {
    "instructions": "instructions",
    "serverInfo": "server info",
    "capabilities": "capability",
    "protocolVersion": "keyword",
    "_meta": "_meta",
}
_OF_ARGUMENTS: dict[str | int, Place] = {
    "name": "argument name",
    "title": "argument title",
    "description": "argument description",
}


def place_of(kind: Kind, tokens: Sequence[str | int], *, is_key: bool) -> Place:
    """The role of the text at a path from an item, or of the last key of that path."""
    first = tokens[0]
    if kind == "server":
        place = _OF_SERVERS.get(tokens[1] if len(tokens) > 1 else "")
    elif kind == "tool" and first in _SCHEMAS:
        return _place_in_schema(tokens[1:], is_key=is_key)
    elif kind == "prompt" and first == "arguments" and len(tokens) == 3:
        place = _OF_ARGUMENTS.get(tokens[2])
    elif tuple(tokens) == ("annotations", "title"):
        place = "title"
    else:
        place = _OF_ITEMS.get(first)
    if place is None:
        return "unknown key" if is_key else "unknown value"
    return place


def _place_in_schema(tokens: Sequence[str | int], *, is_key: bool) -> Place:
    """The role of a text inside a schema, given its path from the root of the schema."""
    depth, at, last = 0, 0, len(tokens) - 1
    while at <= last:
        token = tokens[at]
        if token in _VALUES:
            return _VALUES[token]
        if token in _MAPS and at < last:
            if at + 1 == last:
                return "parameter name" if is_key else "keyword"
            depth, at = depth + 1, at + 2
            continue
        if at == last and not is_key:
            if token == "description" and depth == 0:  # noqa: S105 (a keyword)
                return "schema description"
            if token in _TEXTS:
                return _TEXTS[token]
            return "keyword" if token in _OTHER_KEYWORDS else "unknown value"
        if token in _APPLICATORS or type(token) is int:
            depth, at = depth + (token in _APPLICATORS), at + 1
            continue
        if token in _OTHER_KEYWORDS:
            return "keyword"
        break
    return "unknown key" if is_key else "unknown value"

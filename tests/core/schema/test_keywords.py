"""The marks of a schema: its keywords, and what is unusual."""

from __future__ import annotations

from typing import Any

import pytest

from mcproof.core.schema.keywords import (
    BARE_ARRAY,
    DEEP,
    EXTERNAL,
    ODD,
    ODD_ENUM,
    ODD_KEY,
    TYPE_LIST,
    UNDECLARED,
    UNTYPED,
    plain_look,
)
from mcproof.core.schema.tree import SchemaTree

PLAIN = {
    "type": "object",
    "properties": {
        "a": {"type": "string", "enum": ["x", "y"], "minLength": 1},
        "b": {"anyOf": [{"type": "integer"}, {"type": "null"}], "default": None},
        "c": {"type": "array", "items": {"$ref": "#/$defs/d"}},
        "e": {"type": "object", "propertyNames": {"type": "string"}},
        "f": {"type": "array", "prefixItems": [{"type": "string"}], "items": {"type": "null"}},
    },
    "required": ["a"],
    "$defs": {"d": {"type": "string"}},
}


def of(**property: Any) -> dict[str, Any]:
    return {"type": "object", "properties": {"a": property}}


def nested(levels: int) -> dict[str, Any]:
    return {"type": "object", "properties": {"a": nested(levels - 1)}} if levels else {"type": "string"}


def unusual(schema: dict[str, Any]) -> set[str]:
    return {each for each in SchemaTree(schema).marks if each.startswith("(")}


def test_a_plain_schema_has_only_keywords() -> None:
    keywords = {"type", "properties", "required", "$defs", "enum", "minLength", "anyOf", "default", "items", "$ref"}
    keywords |= {"propertyNames", "prefixItems"}
    assert SchemaTree(PLAIN).marks == keywords
    assert plain_look(PLAIN) == (True, True, False)


@pytest.mark.parametrize(
    ("schema", "marks"),
    [
        (of(type="text"), {ODD}),
        (of(type="string", minLength=-1), {ODD}),
        (of(type="string", maximum="5"), {ODD}),
        (of(anyOf=[]), {ODD}),
        (of(anyOf=[True]), {ODD}),
        ({**of(type="string"), "required": ["a", "a"]}, {ODD}),
        ({**of(type="string"), "required": [{}]}, {ODD}),
        ({**of(type="string"), "$schema": "http://json-schema.org/draft-04/schema#"}, {ODD}),
        ({"type": "object", "not": {"properties": {"a": True}}}, {ODD}),
        ({"type": "object", "properties": {"a": True}}, {ODD, UNTYPED}),
        (of(description="Anything."), {UNTYPED}),
        (of(type=["string", "null"]), {TYPE_LIST}),
        (of(type="array"), {BARE_ARRAY}),
        ({**of(type="string"), "required": ["b"]}, {UNDECLARED}),
        ({"type": "object", "properties": {"a-b": {"type": "string"}}}, {ODD_KEY}),
        ({"type": "object", "properties": {"a" * 65: {"type": "string"}}}, {ODD_KEY}),
        (of(type="string", enum=["x", ""]), {ODD_ENUM}),
        (of(type="integer", enum=["x"]), {ODD_ENUM}),
        (of(type="string", enum=[]), {ODD_ENUM}),
        ({**of(type="string", enum=[]), "$schema": "http://json-schema.org/draft-06/schema#"}, {ODD_ENUM, ODD}),
        (of(type="array", prefixItems=[]), {BARE_ARRAY, ODD}),
        (of(type="array", items={"type": "string"}, contains=True), {ODD}),
        (of(type="object", propertyNames=False), {ODD}),
        ({"properties": {"a": {"$ref": "other.json"}}}, {EXTERNAL}),
        (nested(5), {DEEP}),
    ],
)
def test_what_is_unusual_is_marked(schema: dict[str, Any], marks: set[str]) -> None:
    assert unusual(schema) == marks


def test_a_schema_at_an_unusual_position_adds_its_marks() -> None:
    tree = SchemaTree({**of(**{"$ref": "#/parts/0"}), "parts": [{"type": "array"}]})
    assert BARE_ARRAY not in tree.marks
    assert tree.references.all
    assert BARE_ARRAY in tree.marks

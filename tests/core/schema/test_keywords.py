"""Schemas that every dialect accepts, as far as the types of their values show."""

from __future__ import annotations

from typing import Any

import pytest

from mcproof.core.schema.keywords import BARE_ARRAY, TYPE_LIST, UNDECLARED, UNTYPED, marks_of
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


def test_a_schema_with_usual_values_is_plain() -> None:
    assert marks_of(PLAIN) is not None
    assert SchemaTree(PLAIN).is_plain


@pytest.mark.parametrize(
    ("schema", "is_plain"),
    [
        (of(type="text"), False),
        (of(type=["string", "null"]), True),
        (of(type=["string", "string"]), False),
        (of(type=[]), False),
        (of(type="string", minLength=-1), False),
        (of(type="string", minLength=True), False),
        (of(type="string", maximum="5"), False),
        (of(anyOf=[]), False),
        (of(anyOf=[True]), False),
        ({**of(type="string"), "required": ["b"]}, True),
        ({**of(type="string"), "required": ["a", "a"]}, False),
        ({**of(type="string"), "required": [{}]}, False),
        ({**of(type="string"), "$schema": "http://json-schema.org/draft-04/schema#"}, False),
        ({"type": "object", "not": {"properties": {"a": True}}}, False),
        ({"type": "object", "properties": {"a": True}}, False),
        (of(description="Anything."), True),
        (of(type="string", enum=[]), True),
        ({**of(type="string", enum=[]), "$schema": "http://json-schema.org/draft-06/schema#"}, False),
        (of(type="array", items=[{"type": "string"}]), False),
        (of(type="array", prefixItems=[]), False),
        (of(type="array", items={"type": "string"}, contains=True), False),
        (of(type="object", propertyNames=False), False),
        (of(**{"$ref": "other.json"}), True),
        (of(x_unknown=object()), True),
        ([], False),
    ],
)
def test_any_value_of_another_type_is_left_to_the_validator(schema: Any, is_plain: bool) -> None:
    assert (marks_of(schema) is not None) is is_plain


@pytest.mark.parametrize(
    ("schema", "marks"),
    [
        (of(type="string", minLength=1), {"minLength"}),
        (of(description="Anything."), {"description", UNTYPED}),
        (of(type=["array", "null"]), {TYPE_LIST}),
        (of(type="array"), {BARE_ARRAY}),
        (of(type="array", items={"type": "string"}), {"items"}),
        ({"required": ["a"], **of(type="string")}, {"required"}),
        ({"required": ["b"], **of(type="string")}, {"required", UNDECLARED}),
    ],
)
def test_marks_are_the_keywords_and_what_is_unusual(schema: Any, marks: set[str]) -> None:
    assert set(marks_of(schema) or ()) == marks | {"type", "properties"}


def test_a_schema_at_an_unusual_position_adds_its_keywords() -> None:
    tree = SchemaTree({**of(**{"$ref": "#/parts/0"}), "parts": [{"format": "uri"}]})
    assert "format" not in tree.by_keyword
    assert tree.references.all
    assert [node.path for node in tree.by_keyword["format"]] == ["/parts/0"]

"""Arguments from `key=value` words, typed by a schema."""

from __future__ import annotations

from typing import Any

import pytest

from mcproof.core.errors import UsageError
from mcproof.probing.generation.values import ArgumentParser

STRINGS = {"type": "array", "items": {"type": "string"}}


def _parsed(schema: Any, *texts: str) -> Any:
    root = {"type": "object", "properties": {"x": schema}, "$defs": {"strings": STRINGS}}
    return ArgumentParser(root).parse([("x", text) for text in texts])["x"]


@pytest.mark.parametrize(
    ("schema", "text", "value"),
    [
        ({"type": "string"}, "5", "5"),
        ({"type": "string"}, "true", "true"),
        ({"type": "string"}, '"quoted"', '"quoted"'),
        ({"type": "string"}, "", ""),
        ({"type": "integer"}, "5", 5),
        ({"type": "integer"}, "1.5", 1.5),
        ({"type": "integer"}, "five", "five"),
        ({"type": "number"}, "-1e3", -1000.0),
        ({"type": "number"}, "NaN", "NaN"),
        ({"type": "boolean"}, "true", True),
        ({"type": "object"}, '{"a": 1}', {"a": 1}),
        ({"type": ["string", "null"]}, "null", None),
        ({"type": ["string", "integer"]}, "5", 5),
        ({"anyOf": [{"type": "integer"}, {"type": "null"}]}, "7", 7),
        ({"anyOf": [{"type": "string"}, {"type": "object"}]}, '{"a": 1}', {"a": 1}),
        ({"enum": ["1", "2"]}, "1", "1"),
        ({"enum": [1, 2]}, "1", 1),
        ({"enum": ["a", "b"]}, "5", "5"),
        ({"const": True}, "true", True),
        ({}, "5", 5),
        ({}, "five", "five"),
        (True, "[1]", [1]),
        (STRINGS, "5", ["5"]),
        (STRINGS, '["a", "b"]', ["a", "b"]),
        ({"$ref": "#/$defs/strings"}, "a", ["a"]),
        ({"type": "array", "items": {"type": "integer"}}, "5", [5]),
    ],
)
def test_the_schema_decides_the_type(schema: Any, text: str, value: Any) -> None:
    found = _parsed(schema, text)
    assert (found, type(found)) == (value, type(value))


def test_a_repeated_key_gives_a_list() -> None:
    assert _parsed(STRINGS, "1", "2") == ["1", "2"]
    assert _parsed({"type": "array", "items": {"type": "integer"}}, "1", "2") == [1, 2]
    assert _parsed({"prefixItems": [{"type": "string"}, {"type": "integer"}]}, "1", "2") == ["1", 2]
    with pytest.raises(UsageError, match="`x` is given 2 times, but it is not a list"):
        _parsed({"type": "string"}, "1", "2")


def test_undeclared_arguments_are_json_or_text() -> None:
    assert ArgumentParser({"type": "object"}).parse([("a", "1"), ("b", "x")]) == {"a": 1, "b": "x"}
    assert ArgumentParser({"additionalProperties": {"type": "string"}}).parse([("a", "1")]) == {"a": "1"}
    assert ArgumentParser({"additionalProperties": False}).parse([("a", "1")]) == {"a": 1}


@pytest.mark.parametrize("schema", [None, [], True, {"$ref": "#"}, {"$ref": "https://example.com/x"}, {"type": 5}])
def test_any_schema_is_read(schema: Any) -> None:
    assert ArgumentParser(schema).parse([("a", "x")]) == {"a": "x"}

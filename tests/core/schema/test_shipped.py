"""What in a value breaks a schema that mcproof ships."""

from __future__ import annotations

from importlib.resources import files
from typing import TYPE_CHECKING, Any

import pytest

from mcproof.core.schema.shipped import _BREAKS, ShippedSchema, schema_in

if TYPE_CHECKING:
    from collections.abc import Iterator

SHIPPED = {
    "configuration": str(files("mcproof.runs") / "schemas" / "mcproof-toml.schema.json"),
    "suite": str(files("mcproof.testing.suites") / "suite.schema.json"),
}
WALKED = {
    *("$ref", "anyOf", "const", "type", "properties", "additionalProperties", "propertyNames", "required"),
    *("items", "prefixItems", *_BREAKS),
}
BY_HAND = {"oneOf", "not", "allOf", "if", "then"}
"""What readers check themselves, because they say it better: which members exclude each other."""
ABOUT = {"$schema", "$id", "title", "description", "default", "definitions", "$defs"}


def keywords(schema: Any) -> Iterator[str]:
    """Every keyword of a schema and the schemas in it."""
    if not isinstance(schema, dict):
        return
    yield from schema
    for key in ("properties", "definitions", "$defs"):
        for part in schema.get(key, {}).values():
            yield from keywords(part)
    for key in ("items", "additionalProperties", "propertyNames", "not", "if", "then"):
        yield from keywords(schema.get(key))
    for key in ("anyOf", "oneOf", "allOf", "prefixItems"):
        for part in schema.get(key, ()):
            yield from keywords(part)


@pytest.mark.parametrize("name", SHIPPED)
def test_every_keyword_of_a_shipped_schema_is_known(name: str) -> None:
    assert set(keywords(schema_in(SHIPPED[name]).root)) <= WALKED | BY_HAND | ABOUT


ENTRY = {
    "type": "object",
    "properties": {
        "name": {"type": "string", "minLength": 1, "maxLength": 3},
        "kind": {"enum": ["a", "b"]},
        "limit": {"anyOf": [{"type": "integer", "minimum": 1}, {"type": "string", "pattern": r"^\$x$"}]},
        "words": {"type": "array", "prefixItems": [{"type": "string", "minLength": 1}], "items": {"type": "string"}},
        "more": {"type": "object", "additionalProperties": {"type": ["boolean", "null"]}},
    },
    "required": ["name"],
    "additionalProperties": False,
}


@pytest.mark.parametrize(
    ("entry", "expected"),
    [
        ({"name": "x", "kind": "a", "limit": 1, "words": ["x", ""], "more": {"a": True, "b": None}}, []),
        ({"name": "x", "limit": "$x"}, []),
        ([], [("type", (), ())]),
        ({}, [("required", (), ())]),
        ({"name": " "}, [("minLength", ("name",), ("name",))]),
        ({"name": "long"}, [("maxLength", ("name",), ("name",))]),
        ({"name": True}, [("type", ("name",), ("name",))]),
        ({"name": "x", "nam": 1}, [("additionalProperties", ("nam",), ())]),
        ({"name": "x", "kind": 1}, [("type", ("kind",), ("kind",))]),
        ({"name": "x", "kind": "c"}, [("enum", ("kind",), ("kind",))]),
        ({"name": "x", "limit": True}, [("type", ("limit",), ("limit",))]),
        ({"name": "x", "limit": 0}, [("minimum", ("limit",), ("limit",))]),
        ({"name": "x", "limit": "$x\n"}, [("pattern", ("limit",), ("limit",))]),
        ({"name": "x", "words": [""]}, [("minLength", ("words", 0), ("words", "[]"))]),
        ({"name": "x", "more": {"a": 1}}, [("type", ("more", "a"), ("more", "*"))]),
        (
            {"kind": 1, "more": [], "nam": 1},
            [
                ("additionalProperties", ("nam",), ()),
                ("required", (), ()),
                ("type", ("kind",), ("kind",)),
                ("type", ("more",), ("more",)),
            ],
        ),
    ],
)
def test_each_breach_has_its_keyword_path_and_place(entry: Any, expected: list[Any]) -> None:
    breaches = ShippedSchema(ENTRY).breaches(entry, ENTRY)
    assert [(breach.keyword, breach.path, breach.place) for breach in breaches] == expected


def test_not_a_number_is_outside_every_limit() -> None:
    for limit in ("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"):
        schema = {"type": "number", limit: 0}
        assert [breach.keyword for breach in ShippedSchema(schema).breaches(float("nan"), schema)] == [limit]

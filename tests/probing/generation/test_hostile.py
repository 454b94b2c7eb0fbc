"""Schemas designed to crash or slow down generation."""

from __future__ import annotations

from typing import Any

import pytest

from limits import cpu_limit
from mcproof.probing.generation.cases import Sampler, deterministic_cases
from mcproof.probing.generation.scalars import seeded_random
from mcproof.probing.generation.values import valid_arguments


def _property(schema: Any) -> dict[str, Any]:
    return {"type": "object", "properties": {"x": schema}, "required": ["x"]}


def _deep(levels: int) -> Any:
    schema: Any = {}
    for _ in range(levels):
        schema = _property(schema)
    return schema


def _chain(length: int, link: str) -> Any:
    parts: dict[str, Any] = {f"a{at}": {"$ref": f"#/$defs/a{at + 1}"} for at in range(length)}
    if link == "property":
        parts = {name: _property(part) for name, part in parts.items()}
    return {"$ref": "#/$defs/a0", "$defs": {**parts, f"a{length}": {"type": "object"}}}


def _unique_of_itself() -> Any:
    array = {"type": "array", "uniqueItems": True, "minItems": 3, "items": {"$ref": "#/$defs/u"}}
    return {**_property({"$ref": "#/$defs/u"}), "$defs": {"u": {"anyOf": [{"type": "null"}, array]}}}


HOSTILE: dict[str, Any] = {
    "nothing": None,
    "a list": [],
    "a text": "x",
    "a number": float("nan"),
    "false": False,
    "keys that are numbers": {1: 2},
    "not a number as a bound": _property({"minimum": float("nan")}),
    "not a number as a default": _property({"type": "number", "default": float("nan")}),
    "a lone surrogate": _property({"const": "\ud800"}),
    "a number too long to print": _property({"const": 10**5000}),
    "a bound beyond all fractions": _property({"type": "number", "minimum": 10**400}),
    "10,000 levels": _deep(10_000),
    "50 levels": _deep(50),
    "a chain of references": _chain(3_000, "plain"),
    "a chain of required properties": _chain(500, "property"),
    "circular": {"$ref": "#"},
    "negation of itself": {"not": {"$ref": "#"}},
    "recursive property": _property({"$ref": "#"}),
    "circular allOf": {"allOf": [{"$ref": "#"}, {"anyOf": [{"$ref": "#"}]}]},
    "unique arrays of itself": _unique_of_itself(),
    "a pattern that backtracks": _property({"type": "string", "pattern": "^(a+)+$"}),
    "a pattern with large counts": _property({"type": "string", "pattern": "(a{1000}){1000}"}),
    "very many items": _property({"type": "array", "minItems": 10**9}),
    "very many items inside each other": _property(
        {"type": "array", "minItems": 900, "items": {"type": "array", "minItems": 900, "items": {"minItems": 900}}}
    ),
    "a very long text": _property({"type": "string", "minLength": 10**9}),
    "very many properties": {"type": "object", "minProperties": 10**9},
    "very many values": _property({"enum": list(range(100_000))}),
    "two lists of very many values": _property(
        {"allOf": [{"enum": list(range(100_000))}, {"enum": list(range(100_000, 0, -1))}]}
    ),
    "very many unions": {
        "allOf": [{"anyOf": [{"required": [f"a{at}"]}, {"required": [f"b{at}"]}]} for at in range(900)]
    },
    "contradicting unions": {"allOf": [{"oneOf": [{"type": "string"}, {"type": "null"}] * 20}] * 20},
    "a custom keyword below not": {"not": {"x-values": 5}},
}


@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_schema_neither_crashes_nor_hangs(name: str) -> None:
    schema = HOSTILE[name]
    with cpu_limit():
        made = valid_arguments(schema)
        cases = list(deterministic_cases(schema, structural=True))
        sampler, choose = Sampler(schema), seeded_random(1)
        drawn = [sampler.case(choose) for _ in range(50)]
    assert (made.value is None) == bool(made.problem)
    if made.value is None:
        assert not any(case.is_valid for case in cases)
        assert drawn == [None] * 50
    else:
        assert cases[0].arguments == made.value
        assert any(case is not None for case in drawn)

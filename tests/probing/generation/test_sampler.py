"""Random cases."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from typing import Any

from mcproof.core.schema.validation import Oracle
from mcproof.probing.generation.cases import Sampler
from mcproof.probing.generation.scalars import seeded_random

from .test_cases import SEARCH

UNION = {
    "type": "object",
    "properties": {
        "id": {"type": "string", "format": "uuid"},
        "size": {"type": "number", "minimum": 0, "exclusiveMaximum": 1},
        "either": {"oneOf": [{"type": "integer"}, {"type": "string", "pattern": "^[a-z]{2,5}$"}]},
        "map": {"type": "object", "additionalProperties": {"type": "boolean"}},
        "list": {"type": "array", "items": {"$ref": "#/properties/size"}, "minItems": 1},
    },
    "required": ["id", "either"],
}
PROGRAM = """
import json, sys
from random import Random
from mcproof.probing.generation.cases import deterministic_cases
from mcproof.probing.generation.cases import Sampler
for schema in json.load(sys.stdin):
    print(json.dumps(list(deterministic_cases(schema))))
    sampler, choose = Sampler(schema), Random(11)
    print(json.dumps([sampler.case(choose) for _ in range(300)]))
"""


def drawn(schema: Any, number: int = 600, base: dict[str, Any] | None = None) -> list[Any]:
    sampler, choose = Sampler(schema, base), seeded_random(5)
    return [case for case in (sampler.case(choose) for _ in range(number)) if case is not None]


def test_half_of_the_cases_are_valid_and_all_are_as_valid_as_they_claim() -> None:
    for schema in (SEARCH, UNION):
        oracle = Oracle(schema)
        cases = drawn(schema)
        assert len(cases) > 590
        assert 0.4 < sum(case.is_valid for case in cases) / len(cases) < 0.6
        for case in cases:
            assert oracle.accepts(case.arguments) if case.is_valid else oracle.rejects(case.arguments)
            assert case.is_valid or (case.description and case.keyword)


def test_cases_vary() -> None:
    cases = drawn(SEARCH)
    assert len({json.dumps(case.arguments, sort_keys=True) for case in cases}) > 500
    broken = {case.keyword for case in cases if not case.is_valid}
    assert broken >= {"required", "type", "minimum", "maximum", "minLength", "maxLength", "enum"}
    assert "additionalProperties" in broken
    assert {len(case.arguments) for case in cases if case.is_valid} >= {1, 2, 3, 4}
    assert any(not json.dumps(case.arguments, ensure_ascii=False).isascii() for case in cases)


def test_some_cases_have_two_violations() -> None:
    assert any("; " in case.description for case in drawn(SEARCH))


def test_given_arguments_occur_in_cases() -> None:
    cases = drawn(SEARCH, base={"query": "mine", "limit": 77})
    assert sum(case.arguments.get("limit") == 77 for case in cases if type(case.arguments) is dict) > 50


def test_a_schema_without_a_valid_value_draws_nothing() -> None:
    assert drawn({"required": ["x"], "properties": {"x": False}}) == []
    assert drawn({"type": "no such type"}) == []


def test_recursive_schemas_terminate() -> None:
    tree = {"type": "object", "properties": {"below": {"type": "array", "items": {"$ref": "#"}}, "name": {}}}
    cases = drawn(tree)
    assert len(cases) > 590
    assert max(json.dumps(case.arguments).count("below") for case in cases) > 1


def test_the_same_seed_gives_the_same_bytes_in_every_process() -> None:
    schemas = json.dumps([SEARCH, UNION])
    outputs = {
        subprocess.run(
            [sys.executable, "-c", PROGRAM],
            input=schemas.encode(),
            env={**os.environ, "PYTHONHASHSEED": seed},
            capture_output=True,
            check=True,
            timeout=60,
        ).stdout
        for seed in ("1", "2")
    }
    assert len(outputs) == 1
    assert len(outputs.pop()) > 10_000

"""Properties that hold for every schema."""

from __future__ import annotations

import json
from typing import Any

import jsonschema_rs
from hypothesis import given

from mcproof.probing.generation.cases import Sampler, deterministic_cases
from mcproof.probing.generation.scalars import seeded_random
from mcproof.probing.generation.values import valid_arguments
from properties.schemas import input_schemas as entangled_schemas

from .random_schemas import input_schemas


def fresh(schema: Any, *, formats: bool) -> Any:
    return jsonschema_rs.validator_for(schema, validate_formats=formats, offline=True)


@given(input_schemas() | entangled_schemas())
def test_valid_arguments_pass_a_fresh_validator(schema: Any) -> None:
    made = valid_arguments(schema)
    if made.value is not None:
        assert fresh(schema, formats=True).is_valid(made.value)
    assert made == valid_arguments(json.loads(json.dumps(schema)))


@given(input_schemas())
def test_a_schema_without_valid_arguments_is_not_known_to_be_satisfiable(schema: Any) -> None:
    if valid_arguments(schema).value is None:
        canonical = jsonschema_rs.canonicalize(schema, validate_formats=True, offline=True)
        assert canonical.satisfiability() != jsonschema_rs.canonical.Satisfiability.YES


@given(input_schemas() | entangled_schemas())
def test_every_case_is_as_valid_as_it_claims(schema: Any) -> None:
    strict, lenient = fresh(schema, formats=True), fresh(schema, formats=False)
    sampler, choose = Sampler(schema), seeded_random(3)
    drawn = [case for case in (sampler.case(choose) for _ in range(10)) if case is not None]
    texts = []
    for case in [*deterministic_cases(schema), *drawn]:
        assert strict.is_valid(case.arguments) if case.is_valid else not lenient.is_valid(case.arguments)
        texts.append(json.dumps(case.arguments, sort_keys=True, allow_nan=False))
    deterministic = texts[: len(texts) - len(drawn)]
    assert len(set(deterministic)) == len(deterministic)

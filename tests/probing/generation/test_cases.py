"""Deterministic cases."""

from __future__ import annotations

import json
from typing import Any

import pytest

from mcproof.core.schema.validation import Oracle
from mcproof.probing.generation.cases import MAX_CASES, GeneratedCase, deterministic_cases

SEARCH = {
    "type": "object",
    "properties": {
        "query": {"type": "string", "minLength": 2, "maxLength": 40},
        "limit": {"type": "integer", "minimum": 1, "maximum": 100},
        "order": {"enum": ["up", "down"]},
        "tags": {"type": "array", "items": {"type": "string"}, "minItems": 1, "maxItems": 3, "uniqueItems": True},
        "filter": {
            "type": "object",
            "properties": {"since": {"type": "string", "pattern": r"^\d{4}$"}},
            "required": ["since"],
            "additionalProperties": False,
        },
    },
    "required": ["query"],
    "additionalProperties": False,
}


def cases_of(schema: Any, **options: Any) -> dict[str, GeneratedCase]:
    """The cases by description."""
    return {case.description: case for case in deterministic_cases(schema, **options)}


def cases_for(schema: Any) -> dict[str, GeneratedCase]:
    """The cases for one required property, by description."""
    return cases_of({"type": "object", "properties": {"x": schema}, "required": ["x"]})


def test_the_first_cases_are_the_smallest_arguments_and_all_optional_properties() -> None:
    first, second, *_ = deterministic_cases(SEARCH)
    assert tuple(first)[:5] == ({"query": "aa"}, True, "valid, small", "", "")
    assert second.is_valid
    assert second.description == "valid, with all optional properties"
    assert second.arguments == {"query": "aa", "limit": 1, "order": "up", "tags": ["a"], "filter": {"since": "0000"}}


@pytest.mark.parametrize(
    ("description", "change"),
    [
        ("`query` as long as maxLength 40", {"query": "a" * 40}),
        ("`query` in other scripts", {"query": "Grüße, 世界 🌍"}),
        ("`limit` at its maximum 100", {"limit": 100}),
        ("`limit` at its minimum 1", None),
        ('`order` is `"down"`', {"order": "down"}),
        ("`tags` as long as maxItems 3", {"tags": ["a", "a1", "a2"]}),
        ("with the optional `filter`", {"filter": {"since": "0000"}}),
    ],
)
def test_values_at_a_bound_are_valid(description: str, change: dict[str, Any] | None) -> None:
    cases = cases_of(SEARCH)
    if change is None:  # a duplicate of an earlier case
        assert description not in cases
        return
    assert cases[description].is_valid
    assert cases[description].arguments == {"query": "aa", **change}


@pytest.mark.parametrize(
    ("description", "keyword", "pointer", "change"),
    [
        ("`query` one shorter than minLength 2", "minLength", "/query", {"query": "a"}),
        ("`query` one longer than maxLength 40", "maxLength", "/query", {"query": "a" * 41}),
        ("`query` is null instead of a string", "type", "/query", {"query": None}),
        ("`limit` below its minimum 1", "minimum", "/limit", {"limit": 0}),
        ("`limit` above its maximum 100", "maximum", "/limit", {"limit": 101}),
        ("`limit` is a list instead of an integer", "type", "/limit", {"limit": [["wrong type"]]}),
        ("`limit` is not an integer", "type", "/limit", {"limit": 1.5}),
        ("`order` is not one of the allowed values", "enum", "/order", {"order": "mcproof_none_of_these"}),
        ("`tags` one shorter than minItems 1", "minItems", "/tags", {"tags": []}),
        ("`tags` one longer than maxItems 3", "maxItems", "/tags", {"tags": ["a", "a1", "a2", "a3"]}),
        ("`tags` has a duplicate item", "uniqueItems", "/tags", {"tags": ["a", "a"]}),
        ("`tags[0]` is null instead of a string", "type", "/tags/0", {"tags": [None]}),
        ("without the required `since` in `filter`", "required", "/filter/since", {"filter": {}}),
        ("`filter.since` is null instead of a string", "type", "/filter/since", {"filter": {"since": None}}),
        (
            "an undeclared `mcproof_unexpected`",
            "additionalProperties",
            "/mcproof_unexpected",
            {"mcproof_unexpected": 1},
        ),
        (
            "an undeclared `mcproof_unexpected` in `filter`",
            "additionalProperties",
            "/filter/mcproof_unexpected",
            {"filter": {"since": "0000", "mcproof_unexpected": 1}},
        ),
    ],
)
def test_a_case_violates_one_constraint(description: str, keyword: str, pointer: str, change: dict[str, Any]) -> None:
    case = cases_of(SEARCH)[description]
    assert case[:5] == ({"query": "aa", **change}, False, description, keyword, pointer)


def test_a_required_property_is_omitted() -> None:
    case = cases_of(SEARCH)["without the required `query`"]
    assert tuple(case)[:5] == ({}, False, "without the required `query`", "required", "/query")


@pytest.mark.parametrize(
    ("schema", "description", "value"),
    [
        ({"const": "x"}, "`x` is not one of the allowed values", "mcproof_none_of_these"),
        ({"type": "number", "exclusiveMinimum": 0}, "`x` at its exclusiveMinimum 0", 0),
        ({"type": "integer", "multipleOf": 5}, "`x` is not a multiple of 5", 6),
        ({"type": "array", "contains": {"const": 1}}, "`x` lacks an item that it must contain", []),
        ({"minProperties": 1, "type": "object"}, "`x` empty", None),
        ({"minProperties": 1, "type": "object"}, "fewer properties than minProperties 1 in `x`", {}),
        ({"type": ["string", "null"]}, "`x` is an integer instead of a string or null", 1),
    ],
)
def test_other_keywords_are_violated(schema: Any, description: str, value: Any) -> None:
    cases = cases_for(schema)
    if value is None:
        assert description not in cases
    else:
        assert cases[description].arguments == {"x": value}
        assert not cases[description].is_valid


def test_null_is_valid_if_allowed_and_a_violation_if_not() -> None:
    assert cases_for({"type": ["string", "null"]})["`x` is null"].is_valid
    assert "`x` is null instead of a string or null" not in cases_for({"type": ["string", "null"]})
    assert not cases_for({"type": "string"})["`x` is null instead of a string"].is_valid


def test_every_branch_of_a_union_is_covered() -> None:
    identified = {"type": "object", "properties": {"id": {"type": "integer"}}, "required": ["id"]}
    cases = cases_for({"anyOf": [{"type": "string"}, identified]})
    assert cases["`x` as alternative 2"].arguments == {"x": {"id": 1}}
    assert cases["without the required `id` in `x`"].arguments == {"x": {}}
    assert cases["`x.id` is null instead of an integer"].arguments == {"x": {"id": None}}


def test_an_open_object_has_no_violation_of_additional_properties() -> None:
    assert all(case.keyword != "additionalProperties" for case in cases_for({"type": "object"}).values())


def test_no_case_depends_on_whether_format_is_asserted() -> None:
    schema = {"type": "object", "properties": {"x": {"type": "string", "format": "uuid"}}, "required": ["x"]}
    oracle = Oracle(schema)
    for case in deterministic_cases(schema):
        assert oracle.accepts(case.arguments) if case.is_valid else oracle.rejects(case.arguments)


def test_cases_vary_given_arguments() -> None:
    base = {"query": "real", "limit": 7}
    first, *others = deterministic_cases(SEARCH, base)
    assert tuple(first)[:5] == (base, True, "the given arguments", "", "")
    longer = next(case for case in others if case.description == "`limit` above its maximum 100")
    assert longer.arguments == {"query": "real", "limit": 101}


def test_invalid_given_arguments_are_ignored() -> None:
    assert next(deterministic_cases(SEARCH, {"query": 1})).arguments == {"query": "aa"}


def test_arguments_that_are_not_objects_are_opt_in() -> None:
    assert all(type(case.arguments) is dict for case in deterministic_cases(SEARCH))
    odd = [case.arguments for case in deterministic_cases(SEARCH, structural=True) if type(case.arguments) is not dict]
    assert odd == [[], "mcproof", None]


def test_without_valid_arguments_there_are_only_invalid_cases() -> None:
    schema = {"required": ["x"], "properties": {"x": {"enum": []}}}
    assert [(case.arguments, case.is_valid, case.keyword) for case in deterministic_cases(schema)] == [
        ({}, False, "required"),
        ({"mcproof_unexpected": 1}, False, "required"),
    ]
    assert list(deterministic_cases({"$ref": "https://example.com/"})) == []


def test_cases_are_distinct_and_limited() -> None:
    wide = {"properties": {f"p{number}": {"type": "integer", "minimum": number} for number in range(300)}}
    cases = list(deterministic_cases(wide))
    assert len(cases) == MAX_CASES
    assert len({json.dumps(case.arguments, sort_keys=True) for case in cases}) == MAX_CASES
    assert any(case.keyword == "minimum" for case in cases)


def test_no_case_is_huge() -> None:
    for schema in ({"type": "string", "maxLength": 10**7}, {"type": "array", "items": {}, "maxItems": 10**7}):
        for case in cases_for(schema).values():
            assert len(json.dumps(case.arguments)) < 150_000


@pytest.mark.parametrize(
    "schema",
    [
        {"type": "array", "items": {"type": "integer"}, "maxItems": 2},
        {"type": "array", "maxItems": 2},
        {"type": ["array", "null"], "items": {"type": "integer"}, "maxItems": 2},
    ],
)
def test_an_array_that_may_be_empty_is_made_too_long(schema: Any) -> None:
    case = cases_for(schema)["`x` one longer than maxItems 2"]
    assert (len(case.arguments["x"]), case.keyword, case.is_valid) == (3, "maxItems", False)


@pytest.mark.parametrize("entries", [{"maxItems": 0}, {"items": False, "maxItems": 2}])
def test_an_array_that_must_be_empty_is_empty_in_valid_cases(entries: dict[str, Any]) -> None:
    cases = cases_for({"type": "array", **entries}).values()
    assert {json.dumps(case.arguments) for case in cases if case.is_valid} == {'{"x": []}'}

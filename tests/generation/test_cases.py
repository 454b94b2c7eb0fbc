"""The calls that are made from a schema, in a stable order."""

from __future__ import annotations

import json
from typing import Any

import pytest

from mcproof.generation.cases import MOST_CASES, GeneratedCase, deterministic_cases
from mcproof.generation.oracle import Oracle

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
    """The cases by what was done."""
    return {case.what: case for case in deterministic_cases(schema, **options)}


def cases_for(schema: Any) -> dict[str, GeneratedCase]:
    """The cases for one required property, by what was done."""
    return cases_of({"type": "object", "properties": {"x": schema}, "required": ["x"]})


def test_the_first_case_is_the_small_one_and_then_all_that_is_optional() -> None:
    first, second, *_ = deterministic_cases(SEARCH)
    assert first == ({"query": "aa"}, True, "valid, small", "", "")
    assert second.is_valid
    assert second.what == "valid, with all optional properties"
    assert second.arguments == {"query": "aa", "limit": 1, "order": "up", "tags": ["a"], "filter": {"since": "0000"}}


@pytest.mark.parametrize(
    ("what", "change"),
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
def test_what_is_at_a_bound_is_valid(what: str, change: dict[str, Any] | None) -> None:
    cases = cases_of(SEARCH)
    if change is None:  # the same as a case before it
        assert what not in cases
        return
    assert cases[what].is_valid
    assert cases[what].arguments == {"query": "aa", **change}


@pytest.mark.parametrize(
    ("what", "keyword", "pointer", "change"),
    [
        ("`query` one shorter than minLength 2", "minLength", "/query", {"query": "a"}),
        ("`query` one longer than maxLength 40", "maxLength", "/query", {"query": "a" * 41}),
        ("`query` is null instead of a string", "type", "/query", {"query": None}),
        ("`limit` below its minimum 1", "minimum", "/limit", {"limit": 0}),
        ("`limit` above its maximum 100", "maximum", "/limit", {"limit": 101}),
        ("`limit` is a list instead of an integer", "type", "/limit", {"limit": []}),
        ("`limit` is not a whole number", "type", "/limit", {"limit": 1.5}),
        ("`order` is none of its values", "enum", "/order", {"order": "mcproof_none_of_these"}),
        ("`tags` one shorter than minItems 1", "minItems", "/tags", {"tags": []}),
        ("`tags` one longer than maxItems 3", "maxItems", "/tags", {"tags": ["a", "a1", "a2", "a3"]}),
        ("`tags` has an entry twice", "uniqueItems", "/tags", {"tags": ["a", "a"]}),
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
def test_one_rule_is_broken_at_a_time(what: str, keyword: str, pointer: str, change: dict[str, Any]) -> None:
    case = cases_of(SEARCH)[what]
    assert case == ({"query": "aa", **change}, False, what, keyword, pointer)


def test_a_required_property_is_left_out() -> None:
    case = cases_of(SEARCH)["without the required `query`"]
    assert case == ({}, False, "without the required `query`", "required", "/query")


@pytest.mark.parametrize(
    ("schema", "what", "value"),
    [
        ({"const": "x"}, "`x` is none of its values", "mcproof_none_of_these"),
        ({"type": "number", "exclusiveMinimum": 0}, "`x` at its exclusiveMinimum 0", 0),
        ({"type": "integer", "multipleOf": 5}, "`x` is no multiple of 5", 6),
        ({"type": "array", "contains": {"const": 1}}, "`x` without what it must contain", []),
        ({"minProperties": 1, "type": "object"}, "`x` empty", None),
        ({"minProperties": 1, "type": "object"}, "fewer properties than minProperties 1 in `x`", {}),
        ({"type": ["string", "null"]}, "`x` is an integer instead of a string or null", 1),
    ],
)
def test_other_keywords_are_broken(schema: Any, what: str, value: Any) -> None:
    cases = cases_for(schema)
    if value is None:
        assert what not in cases
    else:
        assert cases[what].arguments == {"x": value}
        assert not cases[what].is_valid


def test_null_is_valid_where_it_is_admitted_and_broken_where_not() -> None:
    assert cases_for({"type": ["string", "null"]})["`x` is null"].is_valid
    assert "`x` is null instead of a string or null" not in cases_for({"type": ["string", "null"]})
    assert not cases_for({"type": "string"})["`x` is null instead of a string"].is_valid


def test_every_branch_of_a_union_has_its_turn() -> None:
    identified = {"type": "object", "properties": {"id": {"type": "integer"}}, "required": ["id"]}
    cases = cases_for({"anyOf": [{"type": "string"}, identified]})
    assert cases["`x` as alternative 2"].arguments == {"x": {"id": 1}}
    assert cases["without the required `id` in `x`"].arguments == {"x": {}}
    assert cases["`x.id` is null instead of an integer"].arguments == {"x": {"id": None}}


def test_an_open_object_may_hold_more() -> None:
    assert all(case.keyword != "additionalProperties" for case in cases_for({"type": "object"}).values())


def test_what_only_its_format_forbids_is_never_there() -> None:
    schema = {"type": "object", "properties": {"x": {"type": "string", "format": "uuid"}}, "required": ["x"]}
    oracle = Oracle(schema)
    for case in deterministic_cases(schema):
        assert oracle.accepts(case.arguments) if case.is_valid else oracle.refuses(case.arguments)


def test_given_arguments_are_what_the_cases_vary() -> None:
    base = {"query": "real", "limit": 7}
    first, *others = deterministic_cases(SEARCH, base)
    assert first == (base, True, "the given arguments", "", "")
    longer = next(case for case in others if case.what == "`limit` above its maximum 100")
    assert longer.arguments == {"query": "real", "limit": 101}


def test_given_arguments_that_are_refused_are_left_aside() -> None:
    assert next(deterministic_cases(SEARCH, {"query": 1})).arguments == {"query": "aa"}


def test_arguments_that_are_no_object_come_only_when_asked_for() -> None:
    assert all(type(case.arguments) is dict for case in deterministic_cases(SEARCH))
    odd = [case.arguments for case in deterministic_cases(SEARCH, structural=True) if type(case.arguments) is not dict]
    assert odd == [[], "mcproof", None]


def test_without_a_valid_value_there_is_only_what_is_refused_anyway() -> None:
    schema = {"required": ["x"], "properties": {"x": {"enum": []}}}
    assert [(case.arguments, case.is_valid, case.keyword) for case in deterministic_cases(schema)] == [
        ({}, False, "required"),
        ({"mcproof_unexpected": 1}, False, "required"),
    ]
    assert list(deterministic_cases({"$ref": "https://example.com/"})) == []


def test_there_are_no_duplicates_and_not_too_many() -> None:
    wide = {"properties": {f"p{number}": {"type": "integer", "minimum": number} for number in range(300)}}
    cases = list(deterministic_cases(wide))
    assert len(cases) == MOST_CASES
    assert len({json.dumps(case.arguments, sort_keys=True) for case in cases}) == MOST_CASES
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
def test_a_list_that_may_be_empty_is_made_too_long_as_well(schema: Any) -> None:
    case = cases_for(schema)["`x` one longer than maxItems 2"]
    assert (len(case.arguments["x"]), case.keyword, case.is_valid) == (3, "maxItems", False)


@pytest.mark.parametrize("entries", [{"maxItems": 0}, {"items": False, "maxItems": 2}])
def test_a_list_that_must_be_empty_stays_so_in_valid_cases(entries: dict[str, Any]) -> None:
    cases = cases_for({"type": "array", **entries}).values()
    assert {json.dumps(case.arguments) for case in cases if case.is_valid} == {'{"x": []}'}

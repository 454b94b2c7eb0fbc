"""A shrunk example breaks only the promise that it is about."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcproof.core.schema.validation import Oracle
from mcproof.probing.fuzz.tool import same_promise
from mcproof.probing.generation.cases import deterministic_cases
from mcproof.probing.generation.smaller import reductions

from .running import small_server, tried

SQRT = {
    "type": "object",
    "properties": {"a": {"type": "number"}},
    "required": ["a"],
    "additionalProperties": False,
}
LEAF = st.sampled_from(
    [
        {"type": "string", "minLength": 2},
        {"type": "integer", "minimum": 1},
        {"type": "boolean"},
        {"enum": ["red", "green"]},
        {"type": "array", "items": {"type": "string"}, "minItems": 1},
        {
            "anyOf": [
                {"type": "integer"},
                {"type": "object", "required": ["x"], "properties": {"x": {"type": "string"}}},
            ]
        },
    ]
)


def closed_objects(leaf: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    return st.dictionaries(st.sampled_from("abcd"), leaf, min_size=1, max_size=4).map(
        lambda properties: {
            "type": "object",
            "properties": properties,
            "required": sorted(properties)[:2],
            "additionalProperties": False,
        }
    )


def smallest(value: Any, may_be_sent: Any) -> Any:
    """What shrinking results in if every call fails."""
    smaller = next(filter(may_be_sent, reductions(value)), None)
    return value if smaller is None else smallest(smaller, may_be_sent)


def test_an_undeclared_argument_does_not_lose_a_required_one() -> None:
    oracle = Oracle(SQRT)
    arguments = {"a": 12.5, "mcproof_unexpected": "mcproof"}
    may_be_sent = same_promise(oracle, arguments, is_valid=False)
    assert smallest(arguments, may_be_sent) == {"a": 0, "mcproof_unexpected": ""}
    assert not may_be_sent({"mcproof_unexpected": 0})
    assert not may_be_sent({"a": 0})


def test_a_required_argument_in_a_branch_of_a_union_is_kept() -> None:
    branch = {"type": "object", "required": ["x", "y"], "properties": {"x": {"type": "integer"}, "y": {}}}
    oracle = Oracle({"type": "object", "properties": {"a": {"anyOf": [branch, {"type": "null"}]}}})
    arguments = {"a": {"x": "ten", "y": 5}}
    assert smallest(arguments, same_promise(oracle, arguments, is_valid=False)) == {"a": {"x": "a", "y": 0}}


def test_a_value_that_no_server_converts_does_not_become_one_that_many_do() -> None:
    arguments = {"a": [["mcproof"]]}
    assert smallest(arguments, same_promise(Oracle(SQRT), arguments, is_valid=False)) == {"a": [[]]}


def test_valid_arguments_stay_valid() -> None:
    arguments = {"a": 12.5}
    assert smallest(arguments, same_promise(Oracle(SQRT), arguments, is_valid=True)) == {"a": 0}


@pytest.mark.slow
@given(closed_objects(LEAF | closed_objects(LEAF)))
def test_every_shrunk_violation_breaks_one_promise(schema: Any) -> None:
    oracle = Oracle(schema)
    for case in list(deterministic_cases(schema))[:60]:
        if not case.is_valid:
            before = oracle.broken_promises(case.arguments)
            after = oracle.broken_promises(
                smallest(case.arguments, same_promise(oracle, case.arguments, is_valid=False))
            )
            assert after
            assert after <= before


@pytest.mark.usefixtures("here", "hurried")
def test_the_example_of_a_finding_has_its_required_arguments() -> None:
    tools = [{"name": "get_sqrt", "description": "Square root.", "inputSchema": SQRT}]
    document = tried("fuzz", "--cases", "30", *small_server(tools))
    [finding] = [each for each in document["findings"] if each["rule"] == "WIR-014"]
    assert finding["evidence"]["sent"] == '{"a": 0, "mcproof_unexpected": 0}'

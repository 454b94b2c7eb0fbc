"""Who says whether a value fits."""

from __future__ import annotations

from typing import Any

import pytest

from mcproof.generation.oracle import Oracle

URI = {"type": "object", "properties": {"x": {"type": "string", "format": "uri", "maxLength": 30}}}


def test_a_format_is_asserted_for_what_is_accepted_and_a_note_for_what_is_refused() -> None:
    oracle = Oracle(URI)
    assert oracle.accepts({"x": "https://example.com"})
    assert not oracle.accepts({"x": "no address"})
    assert not oracle.refuses({"x": "no address"})
    assert oracle.refuses({"x": 1})


def test_a_complaint_names_the_keyword_and_the_place() -> None:
    oracle = Oracle(URI)
    assert oracle.complaint({"x": "https://example.com/" + "a" * 20}) == ("maxLength", "/x")
    assert oracle.complaint({"x": "no address"}) == ("format", "/x")
    assert oracle.complaint({}) is None


def test_the_place_of_a_complaint_is_an_escaped_pointer() -> None:
    oracle = Oracle({"properties": {"a/b~": {"items": {"type": "null"}}}})
    assert oracle.complaint({"a/b~": [None, 1]}) == ("type", "/a~1b~0/1")


@pytest.mark.parametrize(
    ("schema", "problem"),
    [
        (None, "the schema is not an object"),
        ([], "the schema is not an object"),
        (False, "the schema is `false`"),
        ({"$ref": "https://example.com/other.json"}, "it refers to a schema outside of itself"),
        ({"$ref": "#/$defs/missing"}, "it refers to a schema that is not there"),
        ({"$schema": "https://example.com/dialect"}, "its `$schema` names a dialect that is not known"),
    ],
)
def test_what_cannot_be_used_has_a_problem(schema: Any, problem: str) -> None:
    oracle = Oracle(schema)
    assert oracle.problem == problem
    assert not oracle.accepts({})
    assert not oracle.refuses({})
    assert oracle.complaint({}) is None


def test_what_is_no_valid_schema_is_told_in_short() -> None:
    problem = Oracle({"type": "no such type"}).problem
    assert problem is not None
    assert problem.startswith("it is no valid schema: ")
    assert len(problem) < 200


def test_odd_values_never_raise() -> None:
    oracle = Oracle({"type": "object", "properties": {"x": {"type": "string"}}})
    odd_values: list[Any] = [float("nan"), 10**5000, "\ud800", {1: 2}, object(), {"x": {1, 2}}]
    for odd in odd_values:
        assert not oracle.accepts(odd)
        assert oracle.refuses(odd) in (True, False)
        assert oracle.complaint(odd) in (None, ("type", ""))


def test_a_union_of_unions_that_would_unfold_for_ever_is_not_used() -> None:
    parts: dict[str, Any] = {f"a{at}": {"anyOf": [{"$ref": f"#/$defs/a{at + 1}"}] * 2} for at in range(60)}
    oracle = Oracle({"$ref": "#/$defs/a0", "$defs": {**parts, "a60": {"type": "string"}}})
    assert oracle.problem == "the schema combines too many schemas to be judged"

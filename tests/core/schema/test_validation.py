"""The test oracle."""

from __future__ import annotations

from typing import Any

import pytest

from mcproof.core.schema.validation import Oracle

URI = {"type": "object", "properties": {"x": {"type": "string", "format": "uri", "maxLength": 30}}}


def test_format_is_an_assertion_to_accept_and_an_annotation_to_reject() -> None:
    oracle = Oracle(URI)
    assert oracle.accepts({"x": "https://example.com"})
    assert not oracle.accepts({"x": "no address"})
    assert not oracle.rejects({"x": "no address"})
    assert oracle.rejects({"x": 1})


def test_the_first_error_has_a_keyword_and_a_pointer() -> None:
    oracle = Oracle(URI)
    assert oracle.first_error({"x": "https://example.com/" + "a" * 20}) == ("maxLength", "/x")
    assert oracle.first_error({"x": "no address"}) == ("format", "/x")
    assert oracle.first_error({}) is None


def test_the_pointer_of_an_error_is_escaped() -> None:
    oracle = Oracle({"properties": {"a/b~": {"items": {"type": "null"}}}})
    assert oracle.first_error({"a/b~": [None, 1]}) == ("type", "/a~1b~0/1")


@pytest.mark.parametrize(
    ("schema", "problem"),
    [
        (None, "the schema is not an object"),
        ([], "the schema is not an object"),
        (False, "the schema is `false`"),
        ({"$ref": "https://example.com/other.json"}, "it refers to an external schema"),
        ({"$ref": "#/$defs/missing"}, "it refers to a schema that does not exist"),
        ({"$schema": "https://example.com/dialect"}, "its `$schema` names an unknown dialect"),
    ],
)
def test_an_unusable_schema_has_a_problem(schema: Any, problem: str) -> None:
    oracle = Oracle(schema)
    assert oracle.problem == problem
    assert not oracle.accepts({})
    assert not oracle.rejects({})
    assert oracle.first_error({}) is None


def test_the_problem_of_an_invalid_schema_is_short() -> None:
    problem = Oracle({"type": "no such type"}).problem
    assert problem is not None
    assert problem.startswith("it is not a valid schema: ")
    assert len(problem) < 200


def test_unusual_values_never_raise() -> None:
    oracle = Oracle({"type": "object", "properties": {"x": {"type": "string"}}})
    odd_values: list[Any] = [float("nan"), 10**5000, "\ud800", {1: 2}, object(), {"x": {1, 2}}]
    for odd in odd_values:
        assert not oracle.accepts(odd)
        assert oracle.rejects(odd) in (True, False)
        assert oracle.first_error(odd) in (None, ("type", ""))


def test_exponentially_nested_unions_are_not_used() -> None:
    parts: dict[str, Any] = {f"a{at}": {"anyOf": [{"$ref": f"#/$defs/a{at + 1}"}] * 2} for at in range(60)}
    oracle = Oracle({"$ref": "#/$defs/a0", "$defs": {**parts, "a60": {"type": "string"}}})
    assert oracle.problem == "the schema combines too many schemas to be validated"


def test_a_subschema_is_validated_on_its_own() -> None:
    strings = {f"p{number}": {"type": "string", "minLength": number} for number in range(40)}
    oracle = Oracle({"properties": {**strings, "a/b %~": {"type": "null"}, "again": {"$ref": "#/properties/p39"}}})
    for pointer, good, bad in [
        ("/properties/p0", "", 1),
        ("/properties/p33", "x" * 33, "x" * 32),
        ("/properties/a~1b %~0", None, 1),
        ("/properties/again", "x" * 39, "x" * 38),
        ("", {"p1": "x"}, {"p1": ""}),
    ]:
        check = oracle.check_at(pointer)
        assert check is not None
        assert (check(good), check(bad)) == (True, False), pointer


def test_a_subschema_has_the_addresses_and_the_dialect_of_its_schema() -> None:
    other = {"$id": "other.json", "type": "array", "items": {"$ref": "#/definitions/text"}}
    schema = {
        "$schema": "http://json-schema.org/draft-07/schema#",
        "$id": "https://example.com/schemas/root.json",
        "properties": {"x": {"$ref": "other.json", "maxItems": 0}},
        "definitions": {"o": {**other, "definitions": {"text": {"type": "string"}}}, "text": {"type": "null"}},
    }
    check = Oracle(schema).check_at("/properties/x")
    assert check is not None
    assert check(["a"]), "draft 7 ignores what is beside `$ref`"
    assert not check([None])


def test_an_unused_definition_that_is_invalid_does_no_harm() -> None:
    schema = {"properties": {"x": {"type": "string"}}, "$defs": {"unused": {"$ref": "#/$defs/missing"}}}
    check = Oracle(schema).check_at("/properties/x")
    assert check is not None
    assert (check("x"), check(1)) == (True, False)
    assert Oracle(schema).check_at("/$defs/unused") is None

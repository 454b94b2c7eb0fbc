"""Every promise of a schema, and calls that break it."""

from __future__ import annotations

from typing import Any

import pytest

from mcproof.core.schema.validation import Oracle, is_coerced
from mcproof.probing.generation.values import ValueBuilder
from mcproof.probing.generation.violations import UNVISITED, Promise, SchemaPromises, promises_of


def promises(schema: dict[str, Any]) -> SchemaPromises:
    builder = ValueBuilder(schema, Oracle(schema))
    base = builder.arguments().value
    assert base is not None
    return promises_of(builder, base)


def broken(**properties: Any) -> set[tuple[str, str]]:
    """The promises about these properties that a case breaks; what servers convert does not count."""
    found = promises({"type": "object", "properties": properties})
    return {(case.promise.argument, case.promise.keyword) for case in found.cases if not case.is_lenient}


def test_promises_inside_objects_and_lists_are_named_by_their_path() -> None:
    row = {"type": "object", "properties": {"id": {"type": "integer"}}, "required": ["id"]}
    assert broken(rows={"type": "array", "items": row}, labels={"additionalProperties": {"type": "integer"}}) == {
        ("rows", "type"),
        ("rows[]", "type"),
        ("rows[].id", "required"),
        ("rows[].id", "type"),
        ("labels.*", "type"),
    }


@pytest.mark.parametrize(
    ("schema", "keywords"),
    [
        ({"type": "string", "maxLength": 5, "minLength": 2}, {"type", "maxLength", "minLength"}),
        ({"type": "string", "pattern": "^[a-z]+$"}, {"type", "pattern"}),
        ({"type": "string", "format": "date"}, {"type", "format"}),
        ({"type": "string", "format": "int32"}, {"type"}),
        ({"type": "string", "enum": ["a", "b"], "maxLength": 1}, {"type", "enum"}),
        ({"const": True}, {"const"}),
        ({"type": "integer", "minimum": 1, "exclusiveMaximum": 9}, {"type", "minimum", "exclusiveMaximum"}),
        ({"type": "array", "items": {"type": "integer"}, "maxItems": 2, "uniqueItems": True}, None),
        ({"anyOf": [{"type": "string", "maxLength": 5}, {"type": "string"}]}, {"type"}),
        ({}, set()),
    ],
)
def test_each_keyword_is_a_promise_if_a_call_can_break_it(schema: Any, keywords: set[str] | None) -> None:
    found = {keyword for argument, keyword in broken(value=schema) if argument == "value"}
    assert found == ({"type", "maxItems", "uniqueItems"} if keywords is None else keywords)


def test_bounds_are_exceeded_by_one_and_by_much() -> None:
    schema = {"type": "object", "properties": {"text": {"type": "string", "maxLength": 20}, "count": {"maximum": 5}}}
    found = promises(schema)
    lengths = [len(case.arguments["text"]) for case in found.cases if case.promise.keyword == "maxLength"]
    assert lengths == [21, 210]
    assert [case.arguments["count"] for case in found.cases if case.promise.keyword == "maximum"] == [6, 5 + 2**40]


def test_a_bound_that_cannot_be_exceeded_is_listed() -> None:
    schema = {"type": "object", "properties": {"text": {"type": "string", "maxLength": 10**9}}}
    assert promises(schema).unbreakable == [Promise("text", "maxLength")]


def test_more_properties_than_a_page_holds_are_all_tried() -> None:
    names = [f"name{number}" for number in range(200)]
    properties = {name: {"type": "string"} for name in names}
    found = promises({"type": "object", "properties": properties, "required": names})
    tried = {tuple(case.promise) for case in found.cases}
    assert tried == {(name, keyword) for name in names for keyword in ("required", "type")}
    assert not found.unbreakable


def test_a_recursive_schema_repeats_its_promises_once() -> None:
    node = {"type": "object", "properties": {"name": {"type": "string"}, "next": {"$ref": "#/$defs/node"}}}
    schema = {"type": "object", "properties": {"first": {"$ref": "#/$defs/node"}}, "$defs": {"node": node}}
    arguments = {case.promise.argument for case in promises(schema).cases}
    assert arguments == {"first", "first.name", "first.next", "first.next.name"}


def test_promises_far_inside_are_tried() -> None:
    schema: dict[str, Any] = {"type": "integer", "maximum": 5}
    for _ in range(12):
        schema = {"type": "object", "properties": {"inner": schema}, "required": ["inner"]}
    found = promises(schema)
    path = ".".join(["inner"] * 12)
    assert {(path, "maximum"), (path, "required")} <= {tuple(case.promise) for case in found.cases}
    assert not found.unbreakable


def test_every_branch_of_a_union_is_tried() -> None:
    names = [f"p{number}" for number in range(20)]
    branches = [
        {"properties": {"kind": {"const": name}, name: {"type": "integer"}}, "required": ["kind", name]}
        for name in names
    ]
    schema = {"type": "object", "properties": {"shape": {"type": "object", "oneOf": branches}}}
    found = promises(schema)
    assert {f"shape.{name}" for name in names} <= {each.promise.argument for each in found.cases}
    assert not found.unbreakable


def test_every_item_of_a_tuple_is_tried() -> None:
    pair = {"type": "array", "prefixItems": [{"type": "integer"} for _ in range(12)]}
    assert {(f"pair[{number}]", "type") for number in range(12)} <= broken(pair=pair)


def test_a_property_that_requires_another_is_tried_with_it() -> None:
    properties = {"card": {"type": "string"}, "address": {"type": "string", "maxLength": 9}}
    found = promises({"type": "object", "properties": properties, "dependentRequired": {"card": ["address"]}})
    [case] = [each for each in found.cases if each.promise.keyword == "dependentRequired"]
    assert (case.promise.argument, case.arguments.keys()) == ("address", {"card"})
    assert ("card", "type") in {tuple(case.promise) for case in found.cases}


def test_promises_of_values_that_are_not_visited_are_listed() -> None:
    unsuited = {"type": "string", "minLength": 10**8, "pattern": "^a+$"}
    found = promises({"type": "object", "properties": {"text": unsuited, "count": {"type": "integer"}}, "required": []})
    assert {"type", "minLength", "pattern"} == {each.keyword for each in found.unbreakable}
    assert {each.argument for each in found.unbreakable} == {UNVISITED}
    assert {each.promise.argument for each in found.cases} == {"count"}


@pytest.mark.parametrize(
    ("schema", "keyword"),
    [
        ({"maxProperties": 3, "propertyNames": {"pattern": "^[a-z]+$"}}, "maxProperties"),
        ({"maxProperties": 2, "additionalProperties": {"type": "string"}, "minProperties": 1}, "maxProperties"),
    ],
)
def test_an_object_that_is_too_large_breaks_no_other_promise(schema: Any, keyword: str) -> None:
    schema = {"type": "object", "additionalProperties": {"type": "integer"}} | schema
    [case] = [each for each in promises({"properties": {"map": schema}}).cases if each.promise.keyword == keyword]
    without = {name: value for name, value in schema.items() if name != keyword}
    assert Oracle({"properties": {"map": without}}).accepts(case.arguments)


def test_a_duplicate_item_breaks_no_other_promise() -> None:
    pair = {"type": "array", "items": {"type": "integer"}, "minItems": 2, "maxItems": 2, "uniqueItems": True}
    found = promises({"properties": {"pair": pair}, "required": ["pair"]})
    [case] = [each for each in found.cases if each.promise.keyword == "uniqueItems"]
    assert len(case.arguments["pair"]) == 2


@pytest.mark.parametrize(
    ("value", "types", "expected"),
    [
        ("5", ["integer"], True),
        ("mcproof", ["integer"], False),
        (True, ["integer"], True),
        (1, ["boolean"], True),
        (1, ["string"], True),
        (0.5, ["integer"], True),
        (None, ["string"], True),
        ("word", ["array"], True),
        ('{"a": 1}', ["object"], True),
        ("word", ["object"], False),
        (1, ["object"], False),
        (["5"], ["integer"], True),
        ([["wrong type"]], ["string"], False),
        ({"mcproof": "wrong type"}, ["string", "array"], False),
        (True, ["object", "integer"], True),
    ],
)
def test_what_servers_convert(value: Any, types: list[str], expected: bool) -> None:
    assert is_coerced(value, types) is expected


def test_a_value_that_one_branch_of_a_union_converts_is_lenient() -> None:
    union = {"anyOf": [{"type": "object"}, {"type": "integer"}]}
    found = promises({"type": "object", "properties": {"value": union}})
    assert {repr(case.arguments["value"]): case.is_lenient for case in found.cases}["True"]

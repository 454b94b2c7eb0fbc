"""What the responses of a server tell about valid arguments: values that it lists, and what a refusal asks for."""

from __future__ import annotations

import json
from typing import Any

import pytest

from mcproof.core.schema.validation import Oracle
from mcproof.probing.generation.asked import asked_for
from mcproof.probing.generation.known import KnownValues, facts_in
from mcproof.probing.generation.values import ValueBuilder

TEXT, WHOLE = {"type": "string"}, {"type": "integer"}


def changed(properties: dict[str, Any], arguments: dict[str, Any], refusal: str) -> dict[str, Any] | None:
    schema = {"type": "object", "properties": properties}
    oracle = Oracle(schema)
    return asked_for(schema, arguments, refusal, ValueBuilder(schema, oracle).of_property, oracle.accepts)


@pytest.mark.parametrize(
    ("sent", "refusal", "wanted"),
    [
        ({"colour": "a"}, "Unknown colour: a. Available: red, blue", "red"),
        ({"colour": "a", "size": "a"}, "Invalid colour 'a'. Must be one of: red, blue", "red"),
        ({"colour": "a", "size": "a"}, "colour must be one of ['red', 'blue']", "red"),
        ({"colour": "a"}, "Invalid enum value. Expected 'red' | 'blue', received 'a'", "red"),
        ({"colour": "a"}, "Input should be 'red', 'blue' or 'green'", "red"),
        ({"colour": "a"}, "a is not known. Available colours:\n  - red (warm)\n  - blue", "red"),
        ({"colour": "a"}, "Unknown colour a. Did you mean red?", "red"),
        ({"colour": "a"}, "Not a colour, e.g. 'red'", "red"),
        ({"colour": "a"}, "Invalid hex colour: a", "#336699"),
        ({"day": "a"}, "Invalid date: expected format YYYY-MM-DD", "2024-01-01"),
        ({"folder": "."}, "outside allowed directories: /srv not in /tmp/shop, /tmp/store", "/tmp/shop"),  # noqa: S108
        ({"query": "a"}, "The query must be at least 3 characters long", "aaa"),
        ({"document": "a"}, "Expecting value: invalid JSON", "{}"),
    ],
)
def test_a_text_becomes_what_the_refusal_asks_for(sent: dict[str, str], refusal: str, wanted: str) -> None:
    name = next(iter(sent))
    assert changed(dict.fromkeys(sent, TEXT), sent, refusal) == {**sent, name: wanted}


@pytest.mark.parametrize(
    ("refusal", "added"),
    [
        ("missing field `month`", {"month"}),
        ('[{"code": "invalid_type", "received": "undefined", "path": ["month"], "message": "Required"}]', {"month"}),
        ("Either month or week must be provided", {"month"}),
    ],
)
def test_an_argument_that_the_refusal_misses_is_added(refusal: str, added: set[str]) -> None:
    assert set(changed({"month": TEXT, "week": TEXT}, {}, refusal) or {}) == added


@pytest.mark.parametrize(
    ("refusal", "number"), [("must be at least 3", 3), ("must be positive", 1), ("between 5 and 9", 5)]
)
def test_a_number_becomes_one_in_the_range(refusal: str, number: int) -> None:
    assert changed({"count": WHOLE}, {"count": 0}, f"count {refusal}") == {"count": number}


@pytest.mark.parametrize(
    "refusal", ["Internal error", "fetch failed", "Failed to query JSON: TypeError: query is not a function", ""]
)
def test_a_refusal_that_asks_for_nothing_changes_nothing(refusal: str) -> None:
    assert changed({"path": TEXT, "limit": WHOLE}, {"path": "a", "limit": 1}, refusal) is None


def test_what_the_schema_does_not_accept_is_not_taken() -> None:
    assert changed({"colour": {"type": "string", "maxLength": 2}}, {"colour": "a"}, "Available colours: red") is None


def filled(tool: str, properties: dict[str, Any], arguments: dict[str, Any], **returned: Any) -> dict[str, Any]:
    known = KnownValues()
    for name, value in returned.items():
        text = value if isinstance(value, str) else json.dumps(value)
        known.add(facts_in(name, {"content": [{"type": "text", "text": text}]}))
    schema = {"type": "object", "properties": properties}
    return known.fill(tool, schema, arguments, Oracle(schema).accepts)


PROJECTS = {"projects": [{"id": 7, "name": "garden", "owner": {"id": 3}}], "total": 1}


@pytest.mark.parametrize(
    ("tool", "name", "wanted"),
    [
        ("get_project", "project_id", "7"),
        ("get_project", "id", "7"),
        ("get_project", "projectName", "garden"),
        ("find", "project", "7"),
        ("get_owner", "owner_id", "3"),
        ("get_task", "id", "a"),
        ("get_task", "task_id", "a"),
    ],
)
def test_an_id_belongs_to_the_thing_that_it_was_listed_in(tool: str, name: str, wanted: str) -> None:
    assert filled(tool, {name: TEXT}, {name: "a"}, list_projects=PROJECTS) == {name: wanted}


@pytest.mark.parametrize(
    ("returned", "name", "wanted"),
    [
        (["users", "orders"], "table", "users"),
        ({"tables": ["users"]}, "table_name", "users"),
        ("Tables:\n- **Name**: users\n- **Rows**: 3", "table_name", "users"),
        ({"result": {"tables": {"name": "users"}}}, "tableName", "users"),
        ("users, orders", "tableName", "users"),
        ("- users (12 rows)\n- orders (3 rows)", "table", "users"),
        ("1. users\n2. orders", "table", "users"),
    ],
)
def test_values_are_found_in_lists_objects_and_lines(returned: Any, name: str, wanted: str) -> None:
    assert filled("describe", {name: TEXT}, {name: "a"}, list_tables=returned) == {name: wanted}


def test_of_two_lists_the_one_about_the_same_thing_is_taken() -> None:
    lists = {"list_query_fields": "book, books", "list_mutation_fields": "addBook"}
    assert filled("get_mutation_field", {"fieldName": TEXT}, {"fieldName": "a"}, **lists) == {"fieldName": "addBook"}


def test_a_number_stays_one_where_the_schema_asks_for_one() -> None:
    assert filled("get_project", {"project_id": WHOLE}, {"project_id": 1}, list_projects=PROJECTS) == {"project_id": 7}


def test_a_list_gets_one_known_value() -> None:
    ids = {"type": "array", "items": WHOLE}
    assert filled("get", {"project_ids": ids}, {"project_ids": [1]}, list_projects=PROJECTS) == {"project_ids": [7]}


def test_a_stated_value_stays() -> None:
    stated = {"type": "string", "default": "mine"}
    assert filled("get", {"project": stated}, {"project": "mine"}, list_projects=PROJECTS) == {"project": "mine"}


def test_deep_and_large_responses_are_read_in_part() -> None:
    deep: Any = {"id": 1}
    for _ in range(3_000):
        deep = [deep]
    facts = facts_in("list", {"structuredContent": {"deep": deep, "many": [{"id": number} for number in range(9_999)]}})
    assert len(facts) <= 200

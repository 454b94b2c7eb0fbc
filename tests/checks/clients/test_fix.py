"""Fixes for clients: which edits are made, which are not and why, and what they look like in the text."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from mcproof.checks.clients.fix import fix_for_clients
from mcproof.checks.clients.profiles import choose_clients
from mcproof.checks.rule import rules_of
from mcproof.core.text.json_document import splice
from mcproof.targets.snapshots import read_snapshot

from .demanding_client import DEMANDING_ONLY

if TYPE_CHECKING:
    from mcproof.checks.clients.profiles import ClientChoice

RULES = {rule.id for rule in rules_of("compat")}
DRAFT_7 = "http://json-schema.org/draft-07/schema#"


def fix(text: str, choice: ClientChoice = DEMANDING_ONLY) -> tuple[str, list[str]]:
    """The text after its fixes, and the reasons for what is left."""
    catalog = read_snapshot(text.encode(), "catalog.json")
    fixes = fix_for_clients(catalog, choice, {tool.index: RULES for tool in catalog.tools})
    return splice(catalog.document.text, fixes.edits), [each.reason for each in fixes.unfixed]


def fix_schema(schema: Any, choice: ClientChoice = DEMANDING_ONLY) -> tuple[Any, list[str]]:
    """An input schema after its fixes, and the reasons for what is left."""
    tool = {"name": "t", "description": "Does it.", "inputSchema": schema}
    text, reasons = fix(json.dumps([tool]), choice)
    return json.loads(text)[0]["inputSchema"], reasons


def of(properties: dict[str, Any], **members: Any) -> dict[str, Any]:
    return {"type": "object", "properties": properties, **members}


POINT = {"type": "object", "properties": {"x": {"type": "number"}}}


def test_every_reference_to_a_definition_is_replaced_and_the_definition_removed() -> None:
    schema = of({"a": {"$ref": "#/$defs/P"}, "b": {"$ref": "#/$defs/P"}}, **{"$defs": {"P": POINT}})

    assert fix_schema(schema) == (of({"a": POINT, "b": POINT}), [])


def test_definitions_that_refer_to_others_are_replaced_from_the_inside() -> None:
    definitions = {"A": of({"b": {"$ref": "#/definitions/B"}}), "B": of({"c": {"$ref": "#/definitions/C"}}), "C": POINT}
    schema = of({"a": {"$ref": "#/definitions/A"}}, definitions=definitions)

    assert fix_schema(schema) == (of({"a": of({"b": of({"c": POINT})})}), [])


def test_an_annotation_beside_a_reference_takes_precedence() -> None:
    target = {"title": "A point", "description": "Of the definition.", "type": "object"}
    schema = of({"a": {"description": "Own.", "$ref": "#/$defs/P"}}, **{"$defs": {"P": target}})

    fixed, _ = fix_schema(schema)
    assert fixed == of({"a": {"description": "Own.", "title": "A point", "type": "object"}})


def test_a_root_that_is_a_reference_is_replaced() -> None:
    schema = {"$ref": "#/definitions/R", "definitions": {"R": of({"a": {"type": "string"}})}}

    assert fix_schema(schema)[0] == of({"a": {"type": "string"}})


def test_a_definition_at_an_unusual_position_is_written_out_and_stays() -> None:
    parts = {"x-parts": {"P": POINT}}

    assert fix_schema(of({"a": {"$ref": "#/x-parts/P"}}, **parts)) == (of({"a": POINT}, **parts), [])


def test_a_definition_that_is_still_needed_stays() -> None:
    tree = of({"point": {"$ref": "#/$defs/P"}, "left": {"$ref": "#/$defs/T"}})
    schema = of({"t": {"$ref": "#/$defs/T"}}, **{"$defs": {"P": POINT, "T": tree, "Unused": {}}})

    fixed, reasons = fix_schema(schema)
    kept = of({"point": POINT, "left": {"$ref": "#/$defs/T"}})
    assert fixed == of({"t": {"$ref": "#/$defs/T"}}, **{"$defs": {"T": kept, "Unused": {}}})
    assert set(reasons) == {"the `$ref` is recursive"}


@pytest.mark.parametrize(
    ("holder", "definition", "reason"),
    [
        ({"$ref": "#/$defs/P", "maxProperties": 1}, POINT, "`maxProperties` is beside the `$ref`"),
        ({"$ref": "#/$defs/Q"}, POINT, "the `$ref` cannot be resolved"),
        ({"$ref": "other.json#/P"}, POINT, "the `$ref` cannot be resolved"),
        ({"$ref": "#/$defs/P"}, True, "it points at a boolean schema"),
        ({"$ref": "#/$defs/P"}, {"$anchor": "p", **POINT}, "the definition has a name of its own"),
        ({"$ref": "#/$defs/P"}, of({"all": {"$ref": "#"}}), "the `$ref` is recursive"),
    ],
)
def test_a_reference_that_cannot_be_replaced_stays(holder: Any, definition: Any, reason: str) -> None:
    schema = of({"a": holder}, **{"$defs": {"P": definition}})

    fixed, reasons = fix_schema(schema)
    assert fixed == schema
    assert reason in reasons


def test_definitions_that_double_at_each_level_are_not_written_out() -> None:
    definitions: dict[str, Any] = {"D0": {"type": "string", "description": "x" * 50}}
    for level in range(1, 40):
        below = {"$ref": f"#/$defs/D{level - 1}"}
        definitions[f"D{level}"] = of({"a": below, "b": below})
    schema = of({"all": {"$ref": "#/$defs/D39"}}, **{"$defs": definitions})

    fixed, reasons = fix_schema(schema)
    assert len(json.dumps(fixed)) < 250_000
    assert "the schema would become too large" in reasons


@pytest.mark.parametrize(
    "schema",
    [
        of({"a": {"type": "string"}}),
        of({"a": {"$ref": "#/definitions/P", "description": "A point."}}, definitions={"P": POINT}),
        of({"a": {"type": "array", "items": {"type": "string"}, "contains": {"const": "x"}}}),
    ],
)
def test_the_dialect_goes_where_every_keyword_means_the_same(schema: Any) -> None:
    fixed, _ = fix_schema({"$schema": DRAFT_7, **schema})

    assert "$schema" not in fixed


@pytest.mark.parametrize(
    ("dialect", "schema", "reason"),
    [
        (DRAFT_7, of({"a": {"items": [{}]}}), "`items` means something else in 2020-12"),
        (DRAFT_7, of({}, dependencies={"a": ["b"]}), "`dependencies` means something else in 2020-12"),
        (DRAFT_7, of({"a": {"format": "date"}}), "`format` means something else in 2020-12"),
        (DRAFT_7, of({}, unevaluatedProperties=False), "`unevaluatedProperties` means something else in 2020-12"),
        (DRAFT_7, of({"a": {"$ref": "#/x", "type": "string"}}, x=True), "keywords beside `$ref` count in 2020-12"),
        ("http://json-schema.org/draft-06/schema", of({}, **{"if": {}}), "`if` means something else in 2020-12"),
        ("http://json-schema.org/draft-04/schema#", of({}), "its dialect has other rules than 2020-12"),
        ("https://example.com/dialect", of({}), "its dialect has other rules than 2020-12"),
    ],
)
def test_the_dialect_stays_where_a_keyword_means_something_else(dialect: str, schema: Any, reason: str) -> None:
    whole = {"$schema": dialect, **schema}

    fixed, reasons = fix_schema(whole)
    assert fixed["$schema"] == dialect
    assert reason in reasons


def test_null_goes_where_a_property_may_be_absent() -> None:
    schema = of({"a": {"type": ["null", "string"], "enum": ["x", None], "default": None}, "b": {"type": ["integer"]}})

    assert fix_schema(schema) == (of({"a": {"type": "string", "enum": ["x"]}, "b": {"type": "integer"}}), [])


NULLABLE = {"type": ["string", "null"]}


@pytest.mark.parametrize(
    ("schema", "reason"),
    [
        (of({"a": NULLABLE}, required=["a"]), "the property is required and may be null"),
        (of({"a": NULLABLE}, anyOf=[{"required": ["a"]}]), "the property is required and may be null"),
        (of({"a": NULLABLE}, dependentRequired={"b": ["a"]}), "the property is required and may be null"),
        (of({"a": {"type": ["string", "integer", "null"]}}), "it has several types"),
        (of({"a": {"type": "array", "items": NULLABLE}}), "null is a value here, not an absent property"),
        (of({"a": {"not": of({"b": NULLABLE})}}), "a narrower type could accept more here"),
        (of({"a": {"oneOf": [of({"b": NULLABLE}), {"type": "object"}]}}), "a narrower type could accept more here"),
    ],
)
def test_null_stays_where_it_is_a_value(schema: Any, reason: str) -> None:
    assert fix_schema(schema) == (schema, [reason])


def test_a_definition_used_under_not_is_not_narrowed() -> None:
    reached = {"not": {"$dynamicRef": "#d"}}
    schema = of({"a": reached}, **{"$defs": {"D": {"$dynamicAnchor": "d", **of({"b": NULLABLE})}}})

    assert fix_schema(schema) == (schema, ["a narrower type could accept more here"])


def test_a_constant_becomes_an_enum_as_it_is_written() -> None:
    text = '[{"name": "t", "inputSchema": {"type": "object", "properties": {"a": {"const" : 1.50e3, "title": "A"}}}}]'

    assert fix(text)[0] == text.replace('"const" : 1.50e3', '"enum" : [1.50e3]')


def test_a_schema_that_repeats_a_key_stays() -> None:
    text = '[{"name": "t", "inputSchema": {"type": "object", "type": "object"}}]'

    assert fix(text) == (text, ["the schema repeats a key"])


# No client pays for another


def test_an_edit_that_costs_another_client_is_left_out_with_the_reason() -> None:
    schema = of({"a": {"type": "string", "const": "x"}})

    fixed, reasons = fix_schema(schema, choose_clients(["gemini-api"]))
    assert fixed == schema
    assert reasons == ["that would break CMP-032 in Copilot Studio"]


def test_the_other_edits_of_a_tool_are_made_anyway() -> None:
    small = {"type": "string"}
    large = {"type": "object", "description": "x" * 1_500, "properties": {"a": {"type": "string"}}}
    names = [f"p{number}" for number in range(4)]
    properties = {**{name: {"$ref": "#/$defs/L"} for name in names}, "s": {"$ref": "#/$defs/S"}}
    schema = of(properties, **{"$defs": {"L": large, "S": small}})

    fixed, reasons = fix_schema(schema, choose_clients([]))
    assert fixed["properties"]["s"] == small
    assert {"$ref": "#/$defs/L"} in fixed["properties"].values()
    assert {reason.partition(" in ")[0] for reason in reasons} == {"that would break CMP-040"}


def test_only_the_named_clients_are_fixed_for() -> None:
    schema = {"type": "object", "properties": {"a": NULLABLE, "b": {"$ref": "#/$defs/S"}}, "$defs": {"S": POINT}}

    assert fix_schema(schema, choose_clients(["cursor"]))[0] == {
        **schema,
        "properties": {"a": {"type": "string"}, "b": {"$ref": "#/$defs/S"}},
    }


# Text

EXPANDED = """\
[
  {
    "name": "t",
    "inputSchema": {
      "properties": {
        "a": {
          "$ref": "#/$defs/P"
        },
        "b": {"$ref": "#/$defs/P"},
        "c": {
          "description": "A point.",
          "$ref": "#/$defs/P"
        }
      },
      "$defs": {
        "P": {
          "type": "object",
          "properties": {
            "x": {}
          }
        }
      },
      "type": "object"
    }
  }
]
"""
EXPANDED_FIXED = """\
[
  {
    "name": "t",
    "inputSchema": {
      "properties": {
        "a": {
          "type": "object",
          "properties": {
            "x": {}
          }
        },
        "b": {
          "type": "object",
          "properties": {
            "x": {}
          }
        },
        "c": {
          "description": "A point.",
          "type": "object",
          "properties": {
            "x": {}
          }
        }
      },
      "type": "object"
    }
  }
]
"""


@pytest.mark.parametrize("line_end", ["\n", "\r\n"])
@pytest.mark.parametrize("unit", ["  ", "\t"])
def test_a_definition_is_indented_like_its_new_place(line_end: str, unit: str) -> None:
    text, expected = (each.replace("  ", unit).replace("\n", line_end) for each in (EXPANDED, EXPANDED_FIXED))

    assert fix(text)[0] == expected

"""One small valid object for a schema."""

from __future__ import annotations

from typing import Any

import jsonschema_rs
import pytest

from mcproof.probing.generation.values import valid_arguments

DRAFT_07 = "http://json-schema.org/draft-07/schema#"
FORMATS = (
    *("date", "date-time", "time", "duration", "email", "idn-email", "uri", "uri-reference", "iri", "iri-reference"),
    *("uri-template", "uuid", "ipv4", "ipv6", "hostname", "idn-hostname", "regex", "json-pointer"),
    *("relative-json-pointer", "url", "no-such-format"),
)


def value_for(schema: Any) -> Any:
    """The value built for one required property."""
    made = valid_arguments({"type": "object", "properties": {"x": schema}, "required": ["x"]})
    assert made.value is not None, made.problem
    assert made.problem == ""
    return made.value["x"]


@pytest.mark.parametrize(
    ("schema", "value"),
    [
        ({"type": "string"}, "a"),
        ({"type": "string", "minLength": 3}, "aaa"),
        ({"type": "string", "maxLength": 0}, ""),
        ({"type": "string", "pattern": "^[A-Z]{2}$"}, "AA"),
        ({"type": "string", "pattern": r"^\d{4}-\d{2}-\d{2}$"}, "2024-01-01"),
        ({"type": "string", "pattern": "^a*$", "minLength": 4}, "aaaa"),
        ({"type": "integer"}, 1),
        ({"type": "integer", "maximum": 0}, 0),
        ({"type": "integer", "minimum": 5}, 5),
        ({"type": "integer", "exclusiveMinimum": 5}, 6),
        ({"type": "integer", "maximum": -3}, -3),
        ({"type": "integer", "exclusiveMaximum": -3}, -4),
        ({"type": "integer", "minimum": 100, "multipleOf": 7}, 105),
        ({"type": "integer", "minimum": 10**30}, 10**30),
        ({"type": "number", "exclusiveMinimum": 0, "exclusiveMaximum": 1}, 0.5),
        ({"type": "number", "minimum": 0.25, "multipleOf": 0.1}, 0.3),
        ({"type": "number", "minimum": 2.5}, 2.5),
        ({"type": "boolean"}, True),
        ({"type": "null"}, None),
        ({"type": ["null", "integer"]}, 1),
        ({}, "a"),
        (True, "a"),
        ({"minimum": 3}, 3),
        ({"const": [1, {"a": None}]}, [1, {"a": None}]),
        ({"enum": ["b", "a"]}, "b"),
        ({"type": "integer", "enum": ["b", 7]}, 7),
        ({"type": "integer", "default": 17}, 17),
        ({"type": "integer", "default": "wrong"}, 1),
        ({"type": "string", "examples": ["Berlin", "Rome"]}, "Berlin"),
        ({"type": "string", "default": "d", "examples": ["e"], "enum": ["a", "d"]}, "d"),
        ({"type": "array"}, ["a"]),
        ({"type": "array", "minItems": 2, "items": {"type": "integer"}}, [1, 1]),
        ({"type": "array", "minItems": 3, "items": {"type": "integer"}, "uniqueItems": True}, [1, 0, 2]),
        ({"type": "array", "minItems": 2, "items": {"type": "boolean"}, "uniqueItems": True}, [True, False]),
        (
            {"type": "array", "prefixItems": [{"const": 5}, {"type": "boolean"}], "items": False, "minItems": 2},
            [5, True],
        ),
        ({"type": "array", "contains": {"const": 7}}, [7]),
        ({"type": "array", "contains": {"type": "integer"}, "minContains": 2, "items": {"minimum": 4}}, [4, 4]),
        ({"type": "array", "contains": {"const": 1}, "minContains": 0}, ["a"]),
        ({"type": "object"}, {}),
        ({"type": "object", "minProperties": 1}, {"property1": "a"}),
        ({"type": "object", "minProperties": 1, "properties": {"q": {"type": "null"}}}, {"q": None}),
        ({"type": "object", "minProperties": 1, "propertyNames": {"enum": ["only"]}}, {"only": "a"}),
        ({"patternProperties": {"^n$": {"const": 3}}, "additionalProperties": False, "minProperties": 1}, {"n": 3}),
        ({"required": ["u"], "additionalProperties": {"type": "null"}}, {"u": None}),
        ({"required": ["n1"], "patternProperties": {"^n": {"const": 3}}}, {"n1": 3}),
        ({"allOf": [{"minimum": 3}, {"type": "integer"}, {"multipleOf": 5}]}, 5),
        ({"anyOf": [{"type": "integer"}, {"type": "string"}]}, 1),
        ({"anyOf": [False, {"type": "string"}]}, "a"),
        ({"type": "string", "anyOf": [{"type": "integer"}, {"minLength": 2}]}, "aa"),
        ({"oneOf": [{"type": "integer"}, {"type": "number"}]}, 0.5),
        ({"oneOf": [{"required": ["a"]}, {"required": ["b"]}], "type": "object"}, {"a": "a"}),
        ({"not": {"type": "string"}}, 1),
        ({"enum": [1, 2], "not": {"const": 1}}, 2),
        ({"type": "string", "not": {"pattern": "^a"}}, "b"),
        ({"type": "integer", "not": {"maximum": 10}}, 11),
        ({"if": {"type": "string"}, "then": {"minLength": 4}, "type": "string"}, "aaaa"),
        ({"enum": ["k", "l"], "if": {"const": "k"}, "then": False}, "l"),
    ],
)
def test_the_simplest_value_is_built(schema: Any, value: Any) -> None:
    made = value_for(schema)
    assert made == value
    assert type(made) is type(value)


@pytest.mark.parametrize(
    ("schema", "value"),
    [
        ({"description": "IANA name (e.g., 'America/New_York', 'Europe/London')."}, "America/New_York"),
        ({"description": "A day such as `2024-01-31`."}, "2024-01-31"),
        ({"description": 'For example: "AAPL"'}, "AAPL"),
        ({"description": "Like 'rm -rf /'."}, "a"),
        ({"description": "The name 'x' is taken."}, "a"),
        ({"description": "e.g. 'abc'", "pattern": "^[0-9]$"}, "0"),
        ({"description": "e.g. 'abc'", "default": "d"}, "d"),
        ({"description": "e.g. 'abc'", "enum": ["x", "y"]}, "x"),
    ],
)
def test_a_word_quoted_as_an_example_in_the_description_is_used_if_valid(schema: Any, value: Any) -> None:
    whole = {"type": "object", "properties": {"a": {"type": "string", **schema}}, "required": ["a"]}
    assert valid_arguments(whole).value == {"a": value}


def test_only_required_properties_are_present_in_document_order() -> None:
    properties = {"a": {"type": "integer"}, "b": {"type": "string"}, "c": {"type": "boolean"}}
    made = valid_arguments({"type": "object", "properties": properties, "required": ["c", "a"]})
    assert list((made.value or {}).items()) == [("a", 1), ("c", True)]


def test_a_root_without_a_type_means_an_object() -> None:
    assert valid_arguments({"required": ["x"]}).value == {"x": "a"}
    assert valid_arguments({}).value == {}
    assert valid_arguments(True).value == {}


@pytest.mark.parametrize("name", FORMATS)
def test_a_format_is_satisfied(name: str) -> None:
    made = value_for({"type": "string", "format": name})
    assert jsonschema_rs.validator_for({"format": name}, validate_formats=True).is_valid(made)


def test_a_format_is_satisfied_within_lengths() -> None:
    assert len(value_for({"type": "string", "format": "uri", "minLength": 60})) == 60
    assert len(value_for({"type": "string", "format": "email", "minLength": 40})) == 40


def test_references_are_followed() -> None:
    schema = {
        "$id": "https://example.com/root",
        "properties": {
            "pointer": {"$ref": "#/$defs/n"},
            "anchor": {"$ref": "#here"},
            "document": {"$ref": "other#/$defs/q"},
            "property": {"$ref": "#/properties/pointer"},
        },
        "required": ["pointer", "anchor", "document", "property"],
        "$defs": {
            "n": {"const": 5},
            "h": {"$anchor": "here", "type": "boolean"},
            "o": {"$id": "https://example.com/other", "$defs": {"q": {"const": "Q"}}},
        },
    }
    assert valid_arguments(schema).value == {"pointer": 5, "anchor": True, "document": "Q", "property": 5}


def test_recursion_ends_where_possible() -> None:
    node = {
        "type": "object",
        "properties": {"next": {"anyOf": [{"$ref": "#"}, {"type": "null"}]}},
        "required": ["next"],
    }
    assert valid_arguments(node).value == {"next": None}
    tree = {"type": "object", "properties": {"below": {"type": "array", "items": {"$ref": "#"}}}, "required": ["below"]}
    assert valid_arguments(tree).value == {"below": []}


def test_a_schema_that_requires_itself_has_no_value() -> None:
    made = valid_arguments({"type": "object", "properties": {"x": {"$ref": "#"}}, "required": ["x"]})
    assert made == (None, "no value was found for the required `x`")


def test_dependent_properties_are_added() -> None:
    schema = {
        "required": ["a"],
        "dependentRequired": {"a": ["b"]},
        "dependentSchemas": {"b": {"required": ["c"], "properties": {"c": {"const": 7}}}},
    }
    assert valid_arguments(schema).value == {"a": "a", "b": "a", "c": 7}


def test_a_condition_is_satisfied() -> None:
    schema = {
        "properties": {"mode": {"enum": ["file", "text"]}},
        "required": ["mode"],
        "if": {"properties": {"mode": {"const": "file"}}},
        "then": {"required": ["path"]},
        "else": {"required": ["text"]},
    }
    made = valid_arguments(schema).value
    assert made in ({"mode": "file", "path": "a"}, {"mode": "text", "text": "a"})


def test_unevaluated_properties_are_omitted() -> None:
    schema = {"allOf": [{"properties": {"a": {"type": "null"}}}], "unevaluatedProperties": False, "minProperties": 1}
    assert valid_arguments(schema).value == {"a": None}


def test_an_undeclared_property_is_added_if_nothing_else_is_valid() -> None:
    assert valid_arguments({"type": "object", "not": {"enum": [{}]}}).value == {"property1": "a"}


def test_draft_07_ignores_keywords_beside_a_reference() -> None:
    properties = {"x": {"$ref": "#/definitions/i", "type": "string"}}
    schema = {"properties": properties, "required": ["x"], "definitions": {"i": {"type": "integer"}}}
    assert valid_arguments({"$schema": DRAFT_07, **schema}).value == {"x": 1}
    assert valid_arguments(schema).value is None


def test_draft_07_tuples_and_dependencies_are_supported() -> None:
    items = {"type": "array", "items": [{"type": "string"}, {"const": 2}], "additionalItems": False, "minItems": 2}
    schema = {"properties": {"x": items}, "required": ["x"], "dependencies": {"x": ["y"], "y": {"required": ["z"]}}}
    assert valid_arguments({"$schema": DRAFT_07, **schema}).value == {"x": ["a", 2], "y": "a", "z": "a"}


@pytest.mark.parametrize(
    ("schema", "problem"),
    [
        ({"type": "string"}, "the schema does not allow any object"),
        ({"type": "object", "allOf": [{"type": "array"}]}, "the schema does not allow any object"),
        ({"enum": []}, "the schema does not allow any object"),
        ({"required": ["x"], "properties": {"x": {"enum": []}}}, "no value was found for the required `x`"),
        (
            {"required": ["x"], "properties": {"x": {"type": "string", "pattern": "^ab$", "minLength": 9}}},
            "no string was found that matches the pattern `^ab$`",
        ),
        (None, "the schema is not an object"),
    ],
)
def test_a_missing_value_has_a_reason(schema: Any, problem: str) -> None:
    assert valid_arguments(schema) == (None, problem)


def test_the_value_is_a_copy() -> None:
    default = {"list": [1]}
    schema = {"properties": {"x": {"default": default}, "y": {"default": default}}, "required": ["x", "y"]}
    made = valid_arguments(schema).value
    assert made is not None
    made["x"]["list"].append(2)
    assert default == {"list": [1]}
    assert made["y"] == {"list": [1]}


def test_arguments_are_an_object_even_if_the_schema_allows_more() -> None:
    assert valid_arguments({"enum": ["x", 1, {"a": 1}]}).value == {"a": 1}
    assert valid_arguments({"const": "x"}).problem == "no valid object was found"
    assert valid_arguments({"anyOf": [{"const": "x"}, {"required": ["y"]}]}).value == {"y": "a"}


def test_an_object_that_requires_more_of_itself_terminates() -> None:
    node = {"type": "object", "additionalProperties": {"$ref": "#/$defs/n"}, "minProperties": 1}
    made = valid_arguments({"properties": {"x": {"$ref": "#/$defs/n"}}, "$defs": {"n": node}, "required": ["x"]})
    assert made.value is None


@pytest.mark.parametrize(
    ("name", "description", "value"),
    [
        ("zone", "The time zone, e.g. Asia/Shanghai.", "Asia/Shanghai"),
        ("code", "货币代码，例如 USD。", "USD"),
        ("day", "Format: YYYY-MM-DD", "2024-01-01"),
        ("at", "When, as HH:MM", "12:00"),
        ("start_date", "", "2024-01-01"),
        ("timezone", "", "UTC"),
        ("folder_path", "", "."),
        ("query", "such as a city", "a"),
        ("name", "The name of a note, such as a.md.", "a.md"),
        ("name", "e.g. the name of a book", "a"),
        ("date_range", "", "a"),
    ],
)
def test_a_text_is_what_the_description_or_the_name_asks_for(name: str, description: str, value: str) -> None:
    schema = {"properties": {name: {"type": "string", "description": description}}, "required": [name]}
    assert valid_arguments(schema).value == {name: value}


def test_what_a_name_asks_for_must_be_valid() -> None:
    schema = {"properties": {"path": {"type": "string", "pattern": "^a$"}, "date": {"const": "a"}}}
    assert valid_arguments({**schema, "required": ["path", "date"]}).value == {"path": "a", "date": "a"}


def test_a_list_of_objects_stays_empty() -> None:
    rows = {"type": "array", "items": {"type": "object"}}
    assert valid_arguments({"properties": {"rows": rows}, "required": ["rows"]}).value == {"rows": []}

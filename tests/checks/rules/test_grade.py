"""The grade rules at their limits: lengths and blanks as JavaScript counts them, and the readings of each rule."""

from __future__ import annotations

from typing import Any

import pytest

from .helpers import findings_in, findings_on_schema, findings_on_tool, pointers

DESCRIPTION_RULES = (
    "tool-no-description",
    "tool-short-description",
    "tool-long-description",
    "tool-description-is-name",
)
EMOJI = "🌦"
"""One character for people, two code units for JavaScript."""
JAVASCRIPT_BLANKS = "\t\n\v\f\r \u00a0\u1680\u2000\u200a\u2028\u2029\u202f\u205f\u3000\ufeff"
OTHER_BLANKS = "\u0085\u180e\u200b\u200d\u001c\u001f"
"""What looks like a blank, to Python or to people, and is none to JavaScript."""


def rules_on_description(description: Any, name: str = "get_weather") -> list[str]:
    """Which of the description rules fire."""
    tool = {"name": name, "description": description, "inputSchema": {"type": "object", "properties": {}}}
    return [finding.rule.id for finding in findings_on_tool(tool, *DESCRIPTION_RULES)]


# --- lengths and blanks -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("description", "found"),
    [
        ("x", ["tool-short-description"]),
        ("x" * 9, ["tool-short-description"]),
        ("x" * 10, []),
        ("x" * 500, []),
        ("x" * 501, ["tool-long-description"]),
        ("x" * 100_000, ["tool-long-description"]),
    ],
    ids=lambda value: str(len(value)) if isinstance(value, str) else "",
)
def test_under_10_characters_is_short_and_over_500_is_long(description: str, found: list[str]) -> None:
    assert rules_on_description(description) == found


@pytest.mark.parametrize(
    ("description", "found"),
    [
        (EMOJI * 4 + "x", ["tool-short-description"]),
        (EMOJI * 5, []),
        (EMOJI * 250, []),
        (EMOJI * 250 + "x", ["tool-long-description"]),
        ("é" * 9, ["tool-short-description"]),
        ("é" * 10, []),
        ("天" * 500, []),
        ("天" * 501, ["tool-long-description"]),
        ("e\u0301" * 5, []),
    ],
    ids=[
        "9 units",
        "10 units",
        "500 units",
        "501 units",
        "9 é",
        "10 é",
        "500 天",
        "501 天",
        "5 letters with 5 accents",
    ],
)
def test_lengths_are_in_utf_16_code_units(description: str, found: list[str]) -> None:
    assert rules_on_description(description) == found


def test_half_a_surrogate_pair_counts_as_one() -> None:
    assert rules_on_description("\ud83c" * 9) == ["tool-short-description"]
    assert rules_on_description("\ud83c" * 10) == []


@pytest.mark.parametrize("blank", JAVASCRIPT_BLANKS, ids=lambda blank: f"U+{ord(blank):04X}")
def test_what_javascript_trims_does_not_count(blank: str) -> None:
    assert rules_on_description(blank * 20) == ["tool-no-description"]
    assert rules_on_description(f"{blank * 20}{'x' * 9}{blank * 20}") == ["tool-short-description"]
    assert rules_on_description(f"{blank * 20}{'x' * 500}{blank * 20}") == []
    assert rules_on_description(f"{blank}get weather{blank}") == ["tool-description-is-name"]


@pytest.mark.parametrize("character", OTHER_BLANKS, ids=lambda character: f"U+{ord(character):04X}")
def test_what_javascript_does_not_trim_counts(character: str) -> None:
    assert rules_on_description(character) == ["tool-short-description"]
    assert rules_on_description(f"{character}{'x' * 9}") == []
    assert rules_on_description(f"{character}{'x' * 500}") == ["tool-long-description"]


def test_blanks_inside_a_description_count() -> None:
    assert rules_on_description("a" + " " * 8 + "b") == []


def test_the_long_description_is_told_its_length_and_the_aim() -> None:
    tool = {"name": "get_weather", "description": " " + EMOJI * 300}
    [finding] = findings_on_tool(tool, "tool-long-description")
    assert "600 characters" in finding.message
    assert "under 300" in finding.message


# --- descriptions -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("description", [None, "", " ", "\ufeff", False, 0], ids=repr)
def test_an_empty_description_is_missing_and_silences_the_other_description_rules(description: Any) -> None:
    assert rules_on_description(description) == ["tool-no-description"]


def test_an_empty_description_does_not_repeat_an_empty_name() -> None:
    assert rules_on_description("", name="") == ["tool-no-description"]
    assert rules_on_description("  ", name="") == ["tool-no-description"]


@pytest.mark.parametrize(
    ("name", "description"),
    [
        ("get_weather", "get_weather"),
        ("get_weather", "Get Weather"),
        ("get-weather", "GET_WEATHER"),
        ("get_weather", "get-weather"),
        ("get weather", "get_weather"),
        ("_get__weather", "-get--weather"),
        ("größe_messen", "GRÖßE MESSEN"),
    ],
)
def test_a_description_is_the_name_whatever_its_case_and_dashes(name: str, description: str) -> None:
    assert "tool-description-is-name" in rules_on_description(description, name)


@pytest.mark.parametrize(
    "description", ["getweather", "get  weather", "get weather.", "the get weather", "get.weather"]
)
def test_a_description_that_adds_anything_is_not_the_name(description: str) -> None:
    assert "tool-description-is-name" not in rules_on_description(description)


def test_a_short_description_that_is_the_name_is_both() -> None:
    assert rules_on_description("Search", "search") == ["tool-short-description", "tool-description-is-name"]


# --- schemas ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("schema", [None, [], "object", 5, True, False], ids=repr)
def test_a_schema_that_is_no_object_is_no_schema_and_silences_the_schema_rules(schema: Any) -> None:
    tool = {"name": "get_weather", "description": "Current weather of a city.", "inputSchema": schema}
    rules = ("tool-schema-not-object", "tool-no-required", "required-not-in-properties", "tool-empty-schema")
    found = findings_on_tool(tool, "tool-no-schema", "prop-no-type", "prop-no-description", *rules)
    assert [(finding.rule.id, finding.pointer) for finding in found] == [("tool-no-schema", "/inputSchema")]


@pytest.mark.parametrize("kind", [None, "", "Object", "string", ["object"], ["object", "null"], {}, 5], ids=repr)
def test_a_type_other_than_the_string_object_is_told(kind: Any) -> None:
    assert len(findings_on_schema({"type": kind, "properties": {}}, "tool-schema-not-object")) == 1


def test_a_schema_without_a_type_is_not_called_empty_as_well() -> None:
    rules = ("tool-schema-not-object", "tool-empty-schema")
    assert [finding.rule.id for finding in findings_on_schema({}, *rules)] == ["tool-schema-not-object"]
    assert [finding.rule.id for finding in findings_on_schema({"type": "object"}, *rules)] == ["tool-empty-schema"]
    assert findings_on_schema({"type": "object", "properties": {}}, *rules) == []


@pytest.mark.parametrize("required", [None, [], "city", {}, {"city": True}, 1, True], ids=repr)
def test_what_requires_nothing_is_told(required: Any) -> None:
    schema = {"type": "object", "properties": {"city": {"type": "string"}}, "required": required}
    assert pointers(findings_on_schema(schema, "tool-no-required")) == ["/inputSchema"]


@pytest.mark.parametrize("properties", [None, {}, [], ["city"], "city"], ids=repr)
def test_nothing_need_be_required_where_there_is_no_property(properties: Any) -> None:
    assert findings_on_schema({"type": "object", "properties": properties}, "tool-no-required") == []


def test_every_entry_that_is_not_declared_is_told_even_one_that_stands_twice() -> None:
    schema = {"type": "object", "properties": {"a": {}}, "required": ["b", "a", "c", "b"]}
    found = findings_on_schema(schema, "required-not-in-properties")
    assert pointers(found) == [f"/inputSchema/required/{index}" for index in (0, 2, 3)]
    assert [finding.subject for finding in found] == ["parameter:b", "parameter:c", "parameter:b"]


@pytest.mark.parametrize("properties", [None, [], ["city"], "city", True], ids=repr)
def test_a_required_entry_is_missing_only_from_properties_that_are_an_object(properties: Any) -> None:
    schema = {"type": "object", "properties": properties, "required": ["city"]}
    assert findings_on_schema(schema, "required-not-in-properties") == []
    assert findings_on_schema({"type": "object", "required": ["city"]}, "required-not-in-properties") == []


# --- names --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["a", "Z", "get_weather", "get-weather", "getWeather2", "a_", "a-"])
def test_a_usual_name_starts_with_a_letter_and_goes_on_with_letters_digits_and_dashes(name: str) -> None:
    assert findings_on_tool({"name": name}, "tool-name-convention") == []


@pytest.mark.parametrize(
    "name", ["", "1st", "_get", "-get", "a b", "a.b", "a/b", "a:b", "größe", "a\n", " a", "天", "a٣"]
)
def test_any_other_name_is_unusual(name: str) -> None:
    assert pointers(findings_on_tool({"name": name}, "tool-name-convention")) == ["/name"]


# --- parameters ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("keyword", ["type", "enum", "oneOf", "anyOf", "allOf", "$ref"])
def test_each_of_six_keywords_counts_as_a_type(keyword: str) -> None:
    assert findings_on_schema({"properties": {"a": {keyword: ["x"]}}}, "prop-no-type") == []


@pytest.mark.parametrize("keyword", ["const", "format", "properties", "items", "default", "not", "description"])
def test_no_other_keyword_counts_as_a_type(keyword: str) -> None:
    found = findings_on_schema({"properties": {"a": {keyword: ["x"]}}}, "prop-no-type")
    assert pointers(found) == ["/inputSchema/properties/a"]


def test_only_the_properties_of_the_root_are_parameters() -> None:
    loose = {"type": "object", "properties": {"inner": {}}}
    schema = {
        "type": "object",
        "properties": {"outer": {**loose, "description": "An object."}, "list": {"type": "array", "items": loose}},
        "$defs": {"common": loose},
        "anyOf": [loose],
        "patternProperties": {"^x": {}},
    }
    assert pointers(findings_on_schema(schema, "prop-no-type")) == []
    assert pointers(findings_on_schema(schema, "prop-no-description")) == ["/inputSchema/properties/list"]


@pytest.mark.parametrize("blank", ["", " ", "\ufeff", "\u00a0\n", None], ids=repr)
def test_a_parameter_with_a_blank_description_has_none(blank: Any) -> None:
    schema = {"properties": {"a": {"type": "string", "description": blank}}}
    assert pointers(findings_on_schema(schema, "prop-no-description")) == ["/inputSchema/properties/a"]


def test_a_parameter_that_is_null_has_nothing_to_be_judged_by() -> None:
    rules = ("prop-no-type", "prop-no-description", "CAT-007")
    found = findings_on_schema({"properties": {"a": None}}, *rules)
    assert [finding.rule.id for finding in found] == ["CAT-007"]


def test_a_parameter_is_told_by_name_and_its_pointer_is_escaped() -> None:
    found = findings_on_schema({"properties": {"a/b": {}, "c~d": {}}}, "prop-no-type", "prop-no-description")
    assert {finding.subject for finding in found} == {"parameter:a/b", "parameter:c~d"}
    assert {finding.pointer for finding in found} == {
        "/inputSchema/properties/a~1b",
        "/inputSchema/properties/c~0d",
    }


# --- the server ---------------------------------------------------------------------------------------------------

TOOL = {"name": "get_weather", "description": "Current weather of a city."}


@pytest.mark.parametrize("value", [None, "", 0, False], ids=repr)
@pytest.mark.parametrize("key", ["name", "version"])
def test_an_empty_name_or_version_is_none(key: str, value: Any) -> None:
    info = {"name": "weather", "version": "1.4.0", key: value}
    rules = ("server-no-name", "server-no-version")
    old_era = {"initialize": {"serverInfo": info}, "tools": [TOOL]}
    stateless = {"discover": {"_meta": {"io.modelcontextprotocol/serverInfo": info}}, "tools": [TOOL]}
    for document in (old_era, stateless):
        assert [finding.rule.id for finding in findings_in(document, *rules)] == [f"server-no-{key}"]


@pytest.mark.parametrize(
    "document",
    [
        {"initialize": {}, "tools": [TOOL]},
        {"initialize": {"serverInfo": None}, "tools": [TOOL]},
        {"initialize": {"serverInfo": "weather 1.4.0"}, "tools": [TOOL]},
        {"discover": {}, "tools": [TOOL]},
        {"server": {"name": "weather", "version": "1.4.0"}, "tools": [TOOL]},
    ],
    ids=str,
)
def test_an_input_that_could_name_the_server_and_does_not_lacks_both(document: dict[str, Any]) -> None:
    found = findings_in(document, "server-no-name", "server-no-version")
    assert [finding.rule.id for finding in found] == ["server-no-name", "server-no-version"]


@pytest.mark.parametrize(
    "document",
    [[TOOL], {"tools": [TOOL]}, {"jsonrpc": "2.0", "id": 1, "result": {"tools": [TOOL]}}, {"result": [TOOL]}],
    ids=["list", "result", "answer", "answer around a list"],
)
def test_a_bare_list_of_tools_has_no_server_to_name(document: Any) -> None:
    assert findings_in(document, "server-no-name", "server-no-version", "server-empty") == []


@pytest.mark.parametrize("key", ["tools", "resources", "prompts"])
def test_one_entry_of_any_list_makes_a_server_not_empty(key: str) -> None:
    document: dict[str, Any] = {"initialize": {}, "tools": [], "resources": [], "prompts": []}
    assert len(findings_in(document, "server-empty")) == 1
    assert findings_in({**document, key: [{"name": "a"}]}, "server-empty") == []


def test_repeated_tools_are_told_once_with_every_name() -> None:
    tools = [{"name": name} for name in ("a", "b", "a", "c", "b", "a")]
    [finding] = findings_in({"tools": tools}, "server-duplicate-tools")
    assert "`a`, `b`" in finding.message
    assert "`c`" not in finding.message


def test_entries_that_are_no_tools_are_not_judged_as_such() -> None:
    rules = ("tool-no-description", "tool-no-schema", "tool-name-convention", "server-duplicate-tools")
    entries: list[Any] = [None, 5, "get_weather", [], True, None]
    assert findings_in({"tools": entries}, *rules) == []
    found = findings_in({"initialize": {}, "resources": entries, "prompts": entries})
    assert {finding.rule.id for finding in found if finding.item.kind != "server"} == {"CAT-001"}


# --- resources and prompts ----------------------------------------------------------------------------------------


def test_a_bare_resource_lacks_all_three() -> None:
    found = findings_in({"resources": [{"uri": "file:///log"}]})
    assert [finding.rule.id for finding in found if finding.rule.id.startswith("resource-")] == [
        "resource-no-name",
        "resource-no-description",
        "resource-no-mimetype",
    ]


def test_a_template_is_no_resource() -> None:
    found = findings_in({"resourceTemplates": [{"uriTemplate": "file:///{path}", "name": "file"}]})
    assert [finding.rule.id for finding in found if finding.rule.id.startswith("resource-")] == []


def test_the_arguments_of_a_prompt_are_told_one_by_one() -> None:
    arguments = [{"name": "a"}, {"name": "b", "description": "A mail."}, {}, "c", None, {"description": "\ufeff"}]
    prompts = [{"name": "reply", "description": "Draft a reply.", "arguments": arguments}]
    found = findings_in({"prompts": prompts}, "prompt-arg-no-description")
    assert pointers(found) == ["/arguments/0", "/arguments/2", "/arguments/5"]


@pytest.mark.parametrize("arguments", [None, {}, "a", 5, True], ids=repr)
def test_arguments_that_are_no_list_have_no_descriptions_to_miss(arguments: Any) -> None:
    prompts = [{"name": "reply", "description": "Draft a reply.", "arguments": arguments}]
    assert findings_in({"prompts": prompts}, "prompt-arg-no-description") == []


# --- messages -----------------------------------------------------------------------------------------------------

SIGNATURE = {"type": "object", "properties": {"city": {"type": "string"}, "days": {"type": "integer"}}}


def test_a_parameter_that_the_tools_description_explains_only_has_to_move() -> None:
    tool = {"name": "weather", "description": "Weather.\n\nArgs:\n    city: Its name.", "inputSchema": SIGNATURE}
    assert [each.message for each in findings_on_tool(tool, "prop-no-description")] == [
        "parameter `city` has no description; the tool's description explains it: move that to the schema",
        "parameter `days` has no description",
    ]


@pytest.mark.parametrize(
    ("days", "message"),
    [
        ({"type": "integer"}, "has parameters but requires none of them"),
        (
            {"anyOf": [{"type": "integer"}, {"type": "null"}]},
            "has parameters but requires none of them; all have a default or accept null, which may be intended",
        ),
    ],
)
def test_parameters_that_are_all_optional_may_be_intended(days: Any, message: str) -> None:
    schema = {"type": "object", "properties": {"city": {"type": "string", "default": "Oslo"}, "days": days}}
    assert [each.message for each in findings_on_schema(schema, "tool-no-required")] == [message]

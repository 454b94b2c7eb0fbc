"""The strict rules where cases do not reach: every position, long chains, circles, depth, hostile shapes."""

from __future__ import annotations

from typing import Any

import pytest

from limits import assert_linear, cpu_limit
from mcproof.checks.rule import rules_of

from .helpers import catalog_of, findings_in, findings_on_schema, pointers

STRICT = ("SCH-001", "SCH-002", "SCH-003", "SCH-004")
MANY = 5_000
"""Far more than an answer takes, far less than anything that unfolds or goes back and forth."""

LOOSE: dict[str, Any] = {"type": "object", "properties": {"value": {}}}
"""An object that says too little: no required list, open, and with a property that accepts anything."""


def where(schema: Any, rule: str) -> list[str]:
    """Where a rule fires on a schema, from its root."""
    return [pointer.removeprefix("/inputSchema") for pointer in pointers(findings_on_schema(schema, rule))]


# --- positions ----------------------------------------------------------------------------------------------------

DECLARING = [
    ("/properties/a", {"properties": {"a": LOOSE}}),
    ("/patternProperties/^x", {"patternProperties": {"^x": LOOSE}}),
    ("/$defs/a", {"$defs": {"a": LOOSE}}),
    ("/definitions/a", {"definitions": {"a": LOOSE}}),
    ("/anyOf/0", {"anyOf": [LOOSE]}),
    ("/oneOf/0", {"oneOf": [LOOSE]}),
    ("/allOf/0", {"allOf": [LOOSE]}),
    ("/prefixItems/0", {"prefixItems": [LOOSE]}),
    ("/items", {"items": LOOSE}),
    ("/items/1", {"items": [{"type": "string"}, LOOSE]}),
    ("/additionalProperties", {"additionalProperties": LOOSE}),
    ("/properties/a/items/anyOf/0", {"properties": {"a": {"items": {"anyOf": [LOOSE]}}}}),
]
CONDITIONS: list[dict[str, Any]] = [
    {"not": LOOSE},
    {"if": LOOSE},
    {"then": LOOSE},
    {"else": LOOSE},
    {"contains": LOOSE},
    {"propertyNames": LOOSE},
    {"dependentSchemas": {"a": LOOSE}},
    {"not": {"properties": {"a": LOOSE}}},
    {"if": {"anyOf": [LOOSE]}},
    {"then": {"$defs": {"a": LOOSE}}},
    {"else": {"items": LOOSE, "additionalProperties": LOOSE}},
]
DATA: list[dict[str, Any]] = [
    {"enum": [LOOSE]},
    {"const": LOOSE},
    {"default": LOOSE},
    {"examples": [LOOSE]},
    {"x-note": LOOSE},
]


@pytest.mark.parametrize(("pointer", "schema"), DECLARING, ids=[pointer for pointer, _ in DECLARING])
def test_every_declaring_position_is_looked_at(pointer: str, schema: dict[str, Any]) -> None:
    closed = {"type": "array", **schema}  # no object itself, so that only what is inside is found
    if "properties" in schema:
        closed |= {"required": [], "unevaluatedProperties": False}
    assert where(closed, "SCH-001") == [pointer]
    assert where(closed, "SCH-002") == [pointer]
    assert f"{pointer}/properties/value" in where(closed, "SCH-003")


@pytest.mark.parametrize("schema", CONDITIONS + DATA, ids=lambda schema: next(iter(schema)))
def test_conditions_and_data_declare_nothing(schema: dict[str, Any]) -> None:
    closed = {"type": "object", "properties": {}, "additionalProperties": False, **schema}
    assert findings_on_schema(closed, *STRICT) == []


def test_a_definition_is_judged_once_where_it_stands_however_many_refer_to_it() -> None:
    schema = {
        "type": "object",
        "properties": {name: {"$ref": "#/$defs/point"} for name in ("start", "end", "middle")},
        "required": ["start"],
        "additionalProperties": False,
        "$defs": {"point": {"type": "object", "properties": {"x": {"type": "number"}}}},
    }
    assert where(schema, "SCH-001") == ["/$defs/point"]
    assert where(schema, "SCH-002") == ["/$defs/point"]


def test_a_pointer_escapes_the_names_that_it_is_made_of() -> None:
    schema = {"properties": {"a/b": {"type": "object", "properties": {"c~d": {}, "": {}}}}}
    assert where(schema, "SCH-003") == ["/properties/a~1b/properties/c~0d", "/properties/a~1b/properties/"]


def test_the_parameter_at_fault_is_named() -> None:
    [finding] = findings_on_schema(
        {"properties": {"filter": {"properties": {"value": {}}, "type": "object"}}}, "SCH-003"
    )
    assert finding.subject == "parameter:value"


def test_tools_are_judged_one_by_one() -> None:
    loose, strict = {"name": "set", "inputSchema": LOOSE}, {"name": "get", "inputSchema": {"type": "string"}}
    found = findings_in({"tools": [loose, strict, None, 5, loose]}, "SCH-003")
    assert [finding.item.index for finding in found] == [0, 4]


# --- SCH-001 and SCH-002 ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["object", ["object"], ["null", "object"], None])
def test_an_object_is_known_by_its_type_or_by_its_properties(kind: Any) -> None:
    schema = {"properties": {"a": {"type": "integer"}}} | ({"type": kind} if kind else {})
    assert where(schema, "SCH-001") == [""]
    assert where(schema, "SCH-002") == [""]


@pytest.mark.parametrize("kind", ["object", ["object"], ["null", "object"]])
def test_an_object_without_properties_is_open_too(kind: Any) -> None:
    assert where({"type": kind}, "SCH-001") == []
    assert where({"type": kind}, "SCH-002") == [""]


@pytest.mark.parametrize("schema", [{}, {"type": "string"}, {"type": ["string", "null"]}, {"properties": []}])
def test_what_is_no_object_need_not_be_closed(schema: dict[str, Any]) -> None:
    assert findings_on_schema(schema, "SCH-001", "SCH-002") == []


@pytest.mark.parametrize("required", [None, "city", {"city": True}, True, 1])
def test_only_a_list_answers_what_is_required(required: Any) -> None:
    assert where({"properties": {"city": {"type": "string"}}, "required": required}, "SCH-001") == [""]


def test_a_map_has_a_message_of_its_own_and_no_fix() -> None:
    [finding] = findings_on_schema({"type": "object", "additionalProperties": {"type": "string"}}, "SCH-002")
    assert "map" in finding.message
    assert finding.fix is None


def test_a_finding_that_is_not_fixed_says_why() -> None:
    schema = {"type": "object", "properties": {"a": {"type": "integer"}}, "allOf": [{"required": ["a"]}]}
    for rule in ("SCH-001", "SCH-002"):
        [finding] = findings_on_schema(schema, rule)
        assert finding.fix is None
        assert "not auto-fixable" in finding.message
        assert "`allOf`" in finding.message


@pytest.mark.parametrize("value", [None, 0, "", "false", [], 1])
def test_only_the_value_false_closes_an_object(value: Any) -> None:
    assert where({"type": "object", "additionalProperties": value}, "SCH-002") == [""]
    assert where({"type": "object", "unevaluatedProperties": value}, "SCH-002") == [""]


# --- SCH-003 ------------------------------------------------------------------------------------------------------

UNTYPED: dict[str, Any] = {"description": "Anything."}
TYPED: dict[str, Any] = {"type": "integer"}


@pytest.mark.parametrize(
    ("schema", "accepts_anything"),
    [
        (True, True),
        (False, False),
        ({}, True),
        (UNTYPED, True),
        ({"title": "Value", "default": 5, "examples": [5], "format": "uri"}, True),
        ({"properties": {"a": TYPED}, "required": ["a"]}, True),
        ({"not": {"type": "string"}}, True),
        ({"if": TYPED, "then": TYPED, "else": TYPED}, True),
        ({"type": []}, False),
        ({"enum": []}, False),
        ({"const": None}, False),
        ({"anyOf": [TYPED, {"const": 1}]}, False),
        ({"anyOf": [TYPED, True]}, True),
        ({"anyOf": [TYPED, False]}, False),
        ({"anyOf": [UNTYPED, TYPED]}, True),
        ({"oneOf": [TYPED, UNTYPED]}, True),
        ({"oneOf": [TYPED, {"enum": ["a"]}]}, False),
        ({"anyOf": [TYPED, {"anyOf": [TYPED, UNTYPED]}]}, True),
        ({"anyOf": [UNTYPED, TYPED], "oneOf": [TYPED, TYPED]}, False),
        ({"allOf": [UNTYPED, TYPED]}, False),
        ({"allOf": [UNTYPED, True]}, True),
        ({"allOf": [UNTYPED, {"anyOf": [TYPED, TYPED]}]}, False),
        ({"$ref": "#/$defs/typed"}, False),
        ({"$ref": "#/$defs/untyped"}, True),
        ({"$ref": "#/$defs/true"}, True),
        ({"$ref": "#/$defs/false"}, False),
        ({"$ref": "#/$defs/union"}, True),
        ({"$ref": "#/$defs/to_untyped"}, True),
        ({"$ref": "#/$defs/untyped", "type": "string"}, False),
        ({"$ref": "#/$defs/untyped", "allOf": [TYPED]}, False),
        ({"anyOf": [{"$ref": "#/$defs/typed"}, {"$ref": "#/$defs/untyped"}]}, True),
        ({"allOf": [{"$ref": "#/$defs/typed"}, {"$ref": "#/$defs/untyped"}]}, False),
        ({"$ref": "#/$defs/nowhere"}, False),
        ({"$ref": "#nowhere"}, False),
        ({"$ref": "https://example.com/schema.json"}, False),
    ],
    ids=str,
)
def test_a_property_accepts_anything_when_nothing_narrows_it(schema: Any, accepts_anything: bool) -> None:
    definitions = {
        "typed": TYPED,
        "untyped": UNTYPED,
        "true": True,
        "false": False,
        "union": {"anyOf": [TYPED, UNTYPED]},
        "to_untyped": {"$ref": "#/$defs/untyped"},
    }
    found = where({"properties": {"value": schema}, "$defs": definitions}, "SCH-003")
    assert found == (["/properties/value"] if accepts_anything else [])


# --- SCH-004 ------------------------------------------------------------------------------------------------------

TEXT: dict[str, Any] = {"type": "string"}
SHORT_TEXT: dict[str, Any] = {"type": "string", "maxLength": 80}


@pytest.mark.parametrize(
    ("schema", "is_unbounded"),
    [
        (TEXT, True),
        (SHORT_TEXT, False),
        ({"type": "string", "maxItems": 80}, True),
        ({"type": "array"}, True),
        ({"type": "array", "maxItems": 8, "items": TEXT}, False),
        ({"type": "array", "maxLength": 80}, True),
        ({"type": ["string", "null"]}, True),
        ({"type": ["string", "null"], "maxLength": 80}, False),
        ({"type": ["string", "array"], "maxLength": 80}, True),
        ({"type": ["string", "array"], "maxLength": 80, "maxItems": 8}, False),
        ({"type": "string", "enum": ["a"]}, False),
        ({"type": "string", "const": "a"}, False),
        ({"type": "object"}, False),
        ({"type": "string", "format": "date-time", "minLength": 1}, True),
        ({"anyOf": [TEXT, TYPED]}, True),
        ({"anyOf": [SHORT_TEXT, TYPED]}, False),
        ({"anyOf": [SHORT_TEXT, TEXT]}, True),
        ({"oneOf": [{"const": "a"}, TEXT]}, True),
        ({"oneOf": [{"enum": ["a"]}, SHORT_TEXT]}, False),
        ({"anyOf": [TEXT, TYPED], "maxLength": 80}, False),
        ({"anyOf": [TEXT, {"type": "array"}], "maxLength": 80}, True),
        ({"type": "string", "anyOf": [{"maxLength": 80}, {"maxLength": 90}]}, False),
        ({"type": "string", "anyOf": [{"maxLength": 80}, {"format": "uri"}]}, True),
        ({"allOf": [TEXT, {"maxLength": 80}]}, False),
        ({"allOf": [TEXT, {"format": "uri"}]}, True),
        ({"allOf": [TEXT, {"enum": ["a", "b"]}]}, False),
        ({"type": "string", "allOf": [{"$ref": "#/$defs/short"}]}, False),
        ({"$ref": "#/$defs/text"}, True),
        ({"$ref": "#/$defs/short"}, False),
        ({"$ref": "#/$defs/to_text"}, True),
        ({"$ref": "#/$defs/text", "maxLength": 80}, False),
        ({"$ref": "#/$defs/nowhere"}, False),
        ({"$ref": "https://example.com/text.json"}, False),
        ({"$ref": "https://example.com/text.json", "type": "string"}, True),
        ({"anyOf": [{"$ref": "#/$defs/text"}, {"type": "null"}]}, True),
        (UNTYPED, False),
        (True, False),
        ({"anyOf": [TEXT, UNTYPED]}, False),
        ({"minLength": 1}, False),
    ],
    ids=str,
)
def test_a_property_is_unbounded_when_a_string_or_an_array_in_it_is(schema: Any, is_unbounded: bool) -> None:
    definitions = {"text": TEXT, "short": SHORT_TEXT, "to_text": {"$ref": "#/$defs/text"}}
    found = where({"properties": {"value": schema}, "$defs": definitions}, "SCH-004")
    assert found == (["/properties/value"] if is_unbounded else [])


def test_one_finding_tells_of_both_kinds() -> None:
    [finding] = findings_on_schema({"properties": {"value": {"type": ["string", "array"]}}}, "SCH-004")
    assert "`maxLength`" in finding.message
    assert "`maxItems`" in finding.message


# --- circles ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("first", ["a", "b"])
def test_in_a_circle_of_references_the_answer_does_not_depend_on_the_order(first: str) -> None:
    """Each of the two has a branch that leads to what accepts anything."""
    definitions = {
        "a": {"anyOf": [{"$ref": "#/$defs/b"}, UNTYPED]},
        "b": {"anyOf": [{"$ref": "#/$defs/a"}, TYPED]},
    }
    second = "b" if first == "a" else "a"
    properties = {name: {"$ref": f"#/$defs/{name}"} for name in (first, second)}
    found = where({"properties": properties, "$defs": definitions}, "SCH-003")
    assert found == [f"/properties/{first}", f"/properties/{second}"]


@pytest.mark.parametrize("first", ["a", "b"])
def test_a_size_is_found_through_a_circle_whichever_property_comes_first(first: str) -> None:
    """Each of the two has a branch that leads to a string without a limit."""
    definitions = {
        "a": {"anyOf": [{"$ref": "#/$defs/b"}, TEXT]},
        "b": {"anyOf": [{"$ref": "#/$defs/a"}, TYPED]},
    }
    second = "b" if first == "a" else "a"
    properties = {name: {"$ref": f"#/$defs/{name}"} for name in (first, second)}
    found = where({"properties": properties, "$defs": definitions}, "SCH-004")
    assert found == [f"/properties/{first}", f"/properties/{second}"]


def test_a_reference_to_itself_has_an_answer() -> None:
    schema = {"properties": {"a": {"$ref": "#/properties/a"}, "b": {"anyOf": [{"$ref": "#/properties/b"}, TEXT]}}}
    assert where(schema, "SCH-003") == []
    assert where(schema, "SCH-004") == ["/properties/b"]


# --- size and depth -----------------------------------------------------------------------------------------------


def chain(end: dict[str, Any], length: int = MANY) -> dict[str, Any]:
    """One property, and definitions that each refer to the next, up to `end`."""
    definitions = {f"d{number}": {"$ref": f"#/$defs/d{number + 1}"} for number in range(length)}
    return {"properties": {"value": {"$ref": "#/$defs/d0"}}, "$defs": {**definitions, f"d{length}": end}}


def unfolding(end: dict[str, Any], levels: int = 200) -> dict[str, Any]:
    """One property, and definitions that each offer the next one twice: 2 ** levels ways to `end`."""
    definitions: dict[str, Any] = {
        f"d{number}": {"anyOf": [{"$ref": f"#/$defs/d{number + 1}"}, {"$ref": f"#/$defs/d{number + 1}"}]}
        for number in range(levels)
    }
    return {"properties": {"value": {"$ref": "#/$defs/d0"}}, "$defs": {**definitions, f"d{levels}": end}}


@pytest.mark.parametrize("shape", [chain, unfolding])
def test_the_end_of_a_long_way_decides(shape: Any) -> None:
    with cpu_limit():
        assert where(shape(UNTYPED), "SCH-003") == ["/properties/value"]
        assert where(shape(TYPED), "SCH-003") == []
        assert where(shape(TEXT), "SCH-004") == ["/properties/value"]
        assert where(shape(SHORT_TEXT), "SCH-004") == []


def test_a_circle_of_many_definitions_is_answered() -> None:
    def work(length: int) -> list[Any]:
        return findings_on_schema(chain({"$ref": "#/$defs/d0"}, length), "SCH-003", "SCH-004", "CAT-004")

    assert work(MANY) == []
    assert_linear(work)


def test_many_properties_with_one_definition_are_answered() -> None:
    def work(count: int) -> list[Any]:
        properties = {f"p{number}": {"$ref": "#/$defs/text"} for number in range(count)}
        return findings_on_schema({"properties": properties, "$defs": {"text": TEXT}}, *STRICT, "CAT-004")

    assert [finding.rule.id for finding in work(MANY)] == ["SCH-001", "SCH-002"] + ["SCH-004"] * MANY
    assert_linear(work)


def nested(schema: dict[str, Any], levels: int) -> dict[str, Any]:
    """A schema this many levels below the root; an array takes the odd one."""
    objects, arrays = divmod(levels - 1, 2)
    for _ in range(arrays):
        schema = {"type": "array", "items": schema, "maxItems": 1}
    for _ in range(objects):
        schema = {"type": "object", "properties": {"a": schema}}
    return schema


@pytest.mark.parametrize("levels", [1, 2, 3, 498, 499])
def test_above_500_levels_everything_is_looked_at(levels: int) -> None:
    found = findings_on_schema(nested(LOOSE, levels), "SCH-003", "CAT-005")
    assert [finding.rule.id for finding in found] == ["SCH-003"]
    assert found[0].pointer.endswith("/properties/value")


@pytest.mark.parametrize("levels", [500, 501, 502, 503, 900])
def test_around_500_levels_nothing_is_passed_over_in_silence(levels: int) -> None:
    found = findings_on_schema(nested(LOOSE, levels), "SCH-003", "CAT-005")
    assert [finding.rule.id for finding in found] in (["SCH-003"], ["CAT-005"])


def test_far_below_500_levels_strict_says_that_it_stopped() -> None:
    found = findings_on_schema(nested(LOOSE, 900), *STRICT, "CAT-005")
    stopped = [finding for finding in found if finding.rule.id == "CAT-005"]
    assert pointers(stopped) == ["/inputSchema"]
    assert "500 levels" in stopped[0].message


# --- hostile shapes -----------------------------------------------------------------------------------------------

NOT_SCHEMAS: list[Any] = [None, "x", 5, 1.5, [], [[]], [{}], "", 0, False, True, {}]
HOSTILE: list[dict[str, Any]] = [
    *({"properties": value} for value in NOT_SCHEMAS),
    *({"properties": {"a": value}} for value in NOT_SCHEMAS),
    *({"properties": {"a": {"type": value}}} for value in [*NOT_SCHEMAS, ["string", 5, None, {}, []]]),
    *(
        {"type": "object", keyword: value, "properties": {"a": {keyword: value}}}
        for keyword in (
            *("type", "required", "anyOf", "oneOf", "allOf", "items", "prefixItems", "enum", "const", "maxLength"),
            *("$ref", "$dynamicRef", "$id", "$anchor", "$defs", "additionalProperties", "unevaluatedProperties"),
            *("not", "if", "then", "dependentSchemas", "dependencies", "patternProperties", "description", "default"),
        )
        for value in NOT_SCHEMAS
    ),
    *(
        {keyword: value, "properties": {"a": {keyword: value, "$ref": "#"}, "b": {"$ref": "x"}, "c": {"$ref": "#x"}}}
        for keyword in ("$id", "$anchor", "$dynamicAnchor", "$dynamicRef", "$defs", "allOf", "required")
        for value in NOT_SCHEMAS
    ),
    *(
        {"properties": {"a": {"$ref": text}}}
        for text in ("", "#", "##", "#/", "#/properties/a/", "http://[", "%", "~2")
    ),
]


@pytest.mark.parametrize("schema", HOSTILE, ids=str)
def test_no_shape_of_a_schema_makes_a_rule_fail(schema: dict[str, Any]) -> None:
    assert [finding.message for finding in findings_on_schema(schema) if finding.rule.id == "CAT-004"] == []


@pytest.mark.parametrize("value", NOT_SCHEMAS, ids=repr)
def test_no_shape_of_a_catalog_makes_a_rule_fail(value: Any) -> None:
    keys = (
        "name",
        "title",
        "description",
        "inputSchema",
        "outputSchema",
        "annotations",
        "arguments",
        "uri",
        "mimeType",
    )
    entries = [value, *({"name": "a", key: value} for key in keys), {"name": "a", "arguments": [value]}]
    lists: dict[str, Any] = dict.fromkeys(("tools", "resources", "resourceTemplates", "prompts"), entries)
    for about in (
        {"initialize": {"serverInfo": value}},
        {"initialize": value, "server": value},
        {"discover": {"_meta": value}},
        {"server": {}, "resources": value, "prompts": value},
    ):
        found = findings_in({**lists, **about})
        assert [finding.message for finding in found if finding.rule.id == "CAT-004"] == []


@pytest.mark.parametrize("value", [None, "x", 5, [], 1.5], ids=repr)
def test_a_property_that_is_no_schema_is_reported_and_not_guessed_at(value: Any) -> None:
    schema = {"type": "object", "properties": {"a": value, "b": {}}, "required": ["a"], "additionalProperties": False}
    found = findings_on_schema(schema, *STRICT, "CAT-007")
    assert [(finding.rule.id, finding.pointer) for finding in found] == [
        ("CAT-007", "/inputSchema/properties/a"),
        ("SCH-003", "/inputSchema/properties/b"),
    ]


def test_the_strict_rules_need_nothing_but_an_input_schema() -> None:
    tools = [
        {"inputSchema": LOOSE},
        {"name": "a"},
        {"name": "b", "inputSchema": None},
        {"name": "c", "inputSchema": []},
    ]
    catalog = catalog_of({"tools": tools})
    assert len(catalog.tools) == 4
    found = findings_in({"tools": tools}, *(rule.id for rule in rules_of("strict")))
    assert {finding.item.index for finding in found} == {0}


@pytest.mark.parametrize(("days", "is_enough"), [({"type": "integer"}, False), ({"type": ["integer", "null"]}, True)])
def test_an_empty_list_is_suggested_where_every_property_is_optional(days: Any, is_enough: bool) -> None:
    schema = {"type": "object", "properties": {"city": {"type": "string", "default": "Oslo"}, "days": days}}
    [finding] = findings_on_schema(schema, "SCH-001")
    assert finding.message.endswith("so an empty list fits") == is_enough

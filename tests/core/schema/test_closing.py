"""Which objects the fix closes, and which it leaves to the author with a reason."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import jsonschema_rs
import pytest

from mcproof.checks.engine import check
from mcproof.checks.fixes import fix_snapshot
from mcproof.checks.rule import rules_of
from mcproof.targets.snapshots import read_snapshot

if TYPE_CHECKING:
    from mcproof.checks.findings import Finding

NUMBER = {"type": "integer"}


def an_object(*names: str, **keywords: Any) -> dict[str, Any]:
    """An open object with these properties, and whatever else stands beside them."""
    return {"type": "object", "properties": dict.fromkeys(names, NUMBER), **keywords}


def root(properties: dict[str, Any], **keywords: Any) -> dict[str, Any]:
    return {"type": "object", "properties": properties, **keywords}


def findings(schema: Any) -> list[Finding]:
    text = json.dumps([{"name": "t", "inputSchema": schema}])
    return check(read_snapshot(text.encode(), "catalog.json"), rules_of("strict"))


def tightened(schema: Any) -> Any:
    catalog = read_snapshot(json.dumps([{"name": "t", "inputSchema": schema}]).encode(), "catalog.json")
    return json.loads(fix_snapshot(catalog, check(catalog, rules_of("strict"))).text)[0]["inputSchema"]


def closed(schema: Any) -> set[str]:
    """The objects that the fix closes, by their pointers from the schema."""
    fixed = {rule: set[str]() for rule in ("SCH-001", "SCH-002")}
    for finding in findings(schema):
        if finding.fix:
            fixed[finding.rule.id].add(finding.pointer.removeprefix("/inputSchema"))
    assert fixed["SCH-001"] <= fixed["SCH-002"]  # every object of these tests lacks both
    return fixed["SCH-002"]


def reason(schema: Any, pointer: str) -> str:
    """Why the object at a pointer is left open: the same for both findings, and neither has a fix."""
    left = [finding for finding in findings(schema) if finding.pointer == f"/inputSchema{pointer}"]
    assert {finding.rule.id for finding in left} <= {"SCH-001", "SCH-002"}
    assert left
    assert [finding.fix for finding in left] == [None] * len(left)
    marked = {finding.message.partition("(not auto-fixable: ")[2].removesuffix(")") for finding in left}
    assert len(marked) == 1
    assert marked != {""}
    return marked.pop()


def test_objects_that_stand_alone_are_closed_at_every_declaring_position() -> None:
    schema = root(
        {
            "a": an_object("x"),
            "list": {"type": "array", "maxItems": 1, "items": an_object("x"), "prefixItems": [an_object("y")]},
            "map": {"type": "object", "additionalProperties": an_object("x"), "required": []},
            "union": {"anyOf": [an_object("x"), {"type": "null"}]},
        },
        patternProperties={"^z": an_object("x")},
        **{"$defs": {"d": an_object("x")}, "definitions": {"d": an_object("x", allOf=[])}},
    )
    del schema["definitions"]["d"]["allOf"]
    assert closed(schema) == {
        "",
        "/properties/a",
        "/properties/list/items",
        "/properties/list/prefixItems/0",
        "/properties/map/additionalProperties",
        "/properties/union/anyOf/0",
        "/patternProperties/^z",
        "/$defs/d",
        "/definitions/d",
    }


@pytest.mark.parametrize("keyword", ["allOf", "oneOf"])
def test_nothing_is_closed_anywhere_under_a_branch_of_all_of_or_one_of(keyword: str) -> None:
    branch = an_object("x", required=[])
    branch["properties"] = {"deep": {"type": "array", "maxItems": 1, "items": an_object("y")}}
    schema = root({"p": {keyword: [branch, {"type": "null"}]}})
    assert closed(schema) == {""}
    for place in ("", "/properties/deep/items"):
        assert f"inside `{keyword}`" in reason(schema, f"/properties/p/{keyword}/0{place}")


@pytest.mark.parametrize("condition", ["not", "if", "then", "else", "contains", "propertyNames"])
def test_the_target_of_a_reference_from_a_condition_is_left_open(condition: str) -> None:
    schema = root(
        {"p": {"type": "array", "maxItems": 1, condition: {"$ref": "#/$defs/d"}}},
        **{"$defs": {"d": an_object("x"), "free": an_object("x")}},
    )
    assert closed(schema) == {"", "/$defs/free"}
    told = reason(schema, "/$defs/d")
    assert f"inside `{condition}`" in told
    assert "referenced from" in told


def test_what_the_target_of_such_a_reference_holds_and_refers_to_is_left_open_too() -> None:
    first = root({"in": an_object("x"), "on": {"$ref": "#/$defs/second"}})
    schema = root(
        {"p": {"type": "integer", "not": {"properties": {"q": {"$ref": "#/$defs/first"}}}}},
        **{"$defs": {"first": first, "second": an_object("x"), "free": an_object("x")}},
    )
    assert closed(schema) == {"", "/$defs/free"}
    assert "inside `not`" in reason(schema, "/$defs/second")


@pytest.mark.parametrize("keyword", ["dependentSchemas", "dependencies"])
def test_the_target_of_a_reference_from_dependent_schemas_is_left_open(keyword: str) -> None:
    schema = root({"p": {"type": "object", keyword: {"x": {"$ref": "#/$defs/d"}}}}, **{"$defs": {"d": an_object("x")}})
    assert closed(schema) == {""}
    assert f"inside `{keyword}`" in reason(schema, "/$defs/d")


def test_objects_under_a_condition_are_no_findings() -> None:
    schema = root({"p": {"type": "integer", "not": an_object("x")}})
    assert {finding.pointer for finding in findings(schema)} == {"/inputSchema"}


def test_an_object_beside_all_of_is_left_open() -> None:
    schema = an_object("x", allOf=[{"required": ["x"]}])
    assert closed(schema) == set()
    assert "beside `allOf`" in reason(schema, "")


@pytest.mark.parametrize("keyword", ["$ref", "$dynamicRef"])
def test_an_object_beside_a_reference_and_what_it_refers_to_are_left_open(keyword: str) -> None:
    schema = root(
        {"p": an_object("x", **{keyword: "#/$defs/base"})},
        **{"$defs": {"base": an_object("y"), "free": an_object("y")}},
    )
    assert closed(schema) == {"", "/$defs/free"}
    assert f"beside `{keyword}`" in reason(schema, "/properties/p")
    assert reason(schema, "/$defs/base")


def test_the_target_of_a_reference_that_stands_alone_is_closed() -> None:
    schema = root({"p": {"$ref": "#/$defs/d"}, "q": {"$ref": "#/$defs/d"}}, **{"$defs": {"d": an_object("x")}})
    assert closed(schema) == {"", "/$defs/d"}


def test_the_target_of_a_reference_beside_a_description_only_is_closed() -> None:
    schema = root(
        {"p": {"$ref": "#/$defs/d", "description": "A pair.", "default": {}}}, **{"$defs": {"d": an_object("x")}}
    )
    assert closed(schema) == {"", "/$defs/d"}


def test_a_chain_of_references_from_an_object_with_properties_is_left_open_to_its_end() -> None:
    schema = root(
        {"p": an_object("x", **{"$ref": "#/$defs/one"})},
        **{"$defs": {"one": {"$ref": "#/$defs/two"}, "two": {"anyOf": [an_object("y"), {"$ref": "#/$defs/three"}]}}},
    )
    schema["$defs"]["three"] = an_object("z")
    assert closed(schema) == {""}
    assert reason(schema, "/$defs/two/anyOf/0")
    assert reason(schema, "/$defs/three")


@pytest.mark.parametrize("keyword", ["anyOf", "oneOf"])
def test_an_object_beside_a_union_whose_branches_declare_properties_is_left_open_with_them(keyword: str) -> None:
    schema = an_object("x", **{keyword: [an_object("y"), {"required": ["x"]}]})
    assert closed(schema) == set()
    assert f"beside `{keyword}`" in reason(schema, "")
    assert reason(schema, f"/{keyword}/0")


@pytest.mark.parametrize("keyword", ["anyOf", "oneOf"])
def test_an_object_beside_a_union_whose_branches_refer_to_something_is_left_open(keyword: str) -> None:
    schema = root({"p": an_object("x", **{keyword: [{"$ref": "#/$defs/d"}]})}, **{"$defs": {"d": an_object("y")}})
    assert closed(schema) == {""}
    assert f"beside `{keyword}`" in reason(schema, "/properties/p")
    assert reason(schema, "/$defs/d")


@pytest.mark.parametrize("keyword", ["anyOf", "oneOf"])
def test_an_object_beside_a_union_whose_branches_declare_nothing_is_closed(keyword: str) -> None:
    assert closed(an_object("x", "y", **{keyword: [{"minProperties": 1}, {"type": "object"}]})) >= {""}


def test_the_branches_of_any_of_are_closed_where_the_object_declares_no_properties() -> None:
    schema = root({"p": {"type": "object", "anyOf": [an_object("x"), an_object("y"), {"$ref": "#/$defs/d"}]}})
    schema["$defs"] = {"d": an_object("z")}
    assert closed(schema) == {"", "/properties/p/anyOf/0", "/properties/p/anyOf/1", "/$defs/d"}
    assert "beside `anyOf`" in reason(schema, "/properties/p")


def test_the_branches_of_any_of_are_left_open_where_the_object_has_patterns() -> None:
    schema = {"type": "object", "patternProperties": {"^x": NUMBER}, "anyOf": [an_object("y")]}
    assert closed(schema) == set()
    assert reason(schema, "/anyOf/0")


def test_the_branches_of_any_of_are_left_open_beside_another_source_of_properties() -> None:
    for keyword, beside in (("oneOf", [an_object("y")]), ("allOf", [an_object("y")]), ("$ref", "#/$defs/d")):
        schema = root({"p": {"anyOf": [an_object("x")], keyword: beside}}, **{"$defs": {"d": an_object("y")}})
        assert closed(schema) == ({""} if keyword == "$ref" else {"", "/$defs/d"})
        assert reason(schema, "/properties/p/anyOf/0")


@pytest.mark.parametrize(
    ("keyword", "value"),
    [
        ("then", an_object("y")),
        ("else", an_object("y")),
        ("then", {"allOf": [{"anyOf": [an_object("y")]}]}),
        ("then", {"$ref": "#/$defs/d"}),
        ("dependentSchemas", {"x": an_object("y")}),
        ("dependencies", {"x": an_object("y")}),
    ],
)
def test_an_object_beside_a_conditional_schema_with_properties_is_left_open(keyword: str, value: Any) -> None:
    schema = root(
        {"p": an_object("x", **{keyword: value, "if": {"required": ["x"]}})}, **{"$defs": {"d": an_object("y")}}
    )
    assert "/properties/p" not in closed(schema)
    assert f"beside `{keyword}`" in reason(schema, "/properties/p")


@pytest.mark.parametrize(
    "beside",
    [
        {"if": {"required": ["x"]}, "then": {"required": ["y"]}, "else": {"minProperties": 1}},
        {"if": {"properties": {"x": {"const": 1}}}, "then": {"required": ["y"]}},
        {"dependentSchemas": {"x": {"required": ["y"]}}},
        {"dependentRequired": {"x": ["y"]}},
        {"not": {"required": ["z"]}},
    ],
)
def test_an_object_beside_conditions_without_properties_is_closed(beside: dict[str, Any]) -> None:
    assert closed(an_object("x", "y", **beside)) == {""}


def test_a_recursive_object_is_closed() -> None:
    schema = root({"children": {"type": "array", "maxItems": 9, "items": {"$ref": "#"}}})
    assert closed(schema) == {""}


def test_a_target_is_left_open_when_one_of_several_references_stands_in_such_a_place() -> None:
    schema = root(
        {"free": {"$ref": "#/$defs/d"}, "bound": {"allOf": [{"$ref": "#/$defs/d"}]}},
        **{"$defs": {"d": an_object("x")}},
    )
    assert closed(schema) == {""}
    assert "inside `allOf`" in reason(schema, "/$defs/d")


def test_a_typed_map_stays_a_finding_without_a_fix_and_is_told_apart() -> None:
    schema = {"type": "object", "additionalProperties": NUMBER}
    (finding,) = findings(schema)
    assert finding.rule.id == "SCH-002"
    assert finding.fix is None
    assert "map" in finding.message
    assert "not auto-fixable" not in finding.message


@pytest.mark.parametrize("switch", [True, {}])
@pytest.mark.parametrize(
    "reference",
    [
        "#/properties/a%20b/additionalProperties",
        "#/properties/a b/additionalProperties",
        "https://example.com/s#/properties/a%20b/additionalProperties",
    ],
)
def test_a_switch_that_a_reference_points_at_is_left_alone(reference: str, switch: Any) -> None:
    schema = root(
        {"a b": {"type": "object", "additionalProperties": switch}, "c": {"$ref": reference}},
        **{"$id": "https://example.com/s"},
    )
    assert closed(schema) == {""}
    assert reason(schema, "/properties/a b")


NESTED = an_object("x"), an_object("y")
LOSING: dict[str, tuple[Any, Any]] = {
    "a property that `allOf` declares as well": (
        root({"s": NESTED[0]}, allOf=[{"properties": {"s": NESTED[1]}}]),
        {"s": {"x": 1, "y": 1}},
    ),
    "a property that a `$ref` beside declares as well": (
        root({"p": root({"s": NESTED[0]}, **{"$ref": "#/$defs/d"})}, **{"$defs": {"d": root({"s": NESTED[1]})}}),
        {"p": {"s": {"x": 1, "y": 1}}},
    ),
    "entries that `allOf` describes as well": (
        root({"l": {"items": NESTED[0], "allOf": [{"items": NESTED[1]}]}}),
        {"l": [{"x": 1, "y": 1}]},
    ),
    "a property that a pattern describes as well": (
        root({"s": NESTED[0]}, patternProperties={"^s": NESTED[1]}),
        {"s": {"x": 1, "y": 1}},
    ),
    "two references on one value": (
        root({"p": {"$ref": "#/$defs/d", "$dynamicRef": "#/$defs/e"}}, **{"$defs": {"d": NESTED[0], "e": NESTED[1]}}),
        {"p": {"x": 1, "y": 1}},
    ),
}


@pytest.mark.parametrize(("schema", "instance"), LOSING.values(), ids=LOSING)
def test_a_value_with_every_declared_property_is_accepted_as_before_with(schema: Any, instance: Any) -> None:
    assert jsonschema_rs.Draft202012Validator(schema).is_valid(instance)
    assert jsonschema_rs.Draft202012Validator(tightened(schema)).is_valid(instance)


LOOSENING: dict[str, tuple[Any, Any]] = {
    "a percent-encoded reference to a switch under `not`": (
        root(
            {
                "a b": {"type": "object", "additionalProperties": {}},
                "c": {"not": {"$ref": "#/properties/a%20b/additionalProperties"}},
            }
        ),
        {"a b": {}, "c": 1},
    ),
    "a place that is reached by itself first and inside another later": (
        {
            "$defs": {"d": an_object("k")},
            "properties": {"p": {"$ref": "#/x/properties/y"}, "q": {"not": {"$ref": "#/x"}}},
            "x": {"required": ["y"], "properties": {"y": {"$ref": "#/$defs/d"}}},
        },
        {"p": {"k": 1}, "q": {"y": {}}},
    ),
    "properties that are used as a schema": (
        root({"not": an_object("k"), "q": {"$ref": "#/properties"}}),
        {"not": {"k": 1}, "q": {}},
    ),
    "a dynamic reference that leads further out than it reads": (
        root(
            {"p": {"$ref": "inner"}},
            **{
                "$id": "https://example.com/outer",
                "$dynamicAnchor": "n",
                "$defs": {"i": {"$id": "inner", "$dynamicAnchor": "n", "not": {"$dynamicRef": "#n"}}},
            },
        ),
        {"p": {"z": 1}},
    ),
}


@pytest.mark.parametrize(("schema", "instance"), LOOSENING.values(), ids=LOOSENING)
def test_nothing_is_accepted_that_was_not_before_with(schema: Any, instance: Any) -> None:
    assert not jsonschema_rs.validator_for(schema).is_valid(instance)
    assert not jsonschema_rs.validator_for(tightened(schema)).is_valid(instance)


def test_a_property_that_leads_back_to_its_own_object_is_not_made_required() -> None:
    schema = root(
        {"value": NUMBER, "next": {"$ref": "#"}, "other": {"$ref": "#/$defs/o"}}, **{"$defs": {"o": an_object("x")}}
    )
    assert tightened(schema)["required"] == ["value", "other"]


def test_two_objects_that_refer_to_each_other_are_not_made_to_require_each_other() -> None:
    definitions = {"a": root({"b": {"$ref": "#/$defs/b"}, "x": NUMBER}), "b": root({"a": {"$ref": "#/$defs/a"}})}
    schema = root({"start": {"$ref": "#/$defs/a"}}, **{"$defs": definitions})
    fixed = tightened(schema)
    assert fixed["required"] == ["start"]
    assert [fixed["$defs"][name]["required"] for name in "ab"] == [["x"], []]


@pytest.mark.parametrize(
    ("pattern", "is_closed"), [("^x-", True), ("^s", False), ("^(a+)+$", False), ("^x|s", False), ("^x?s", False)]
)
def test_a_pattern_is_read_and_never_run(pattern: str, is_closed: bool) -> None:
    schema = root({"s" + "a" * 40 + "!": an_object("k")}, patternProperties={pattern: an_object("k")})
    assert any(path.startswith("/properties") for path in closed(schema)) == is_closed


def test_a_map_that_is_written_with_unevaluated_properties_stays_one() -> None:
    schema = {"type": "object", "unevaluatedProperties": NUMBER}
    assert tightened(schema) == schema


@pytest.mark.parametrize(
    "dialect", ["https://json-schema.org/draft/2019-09/schema", "http://json-schema.org/draft-04/schema#"]
)
def test_a_schema_of_a_dialect_with_other_references_is_left_alone(dialect: str) -> None:
    schema = root({"a": NUMBER}, **{"$schema": dialect})
    assert tightened(schema) == schema
    assert "dialect" in reason(schema, "")


@pytest.mark.parametrize(
    "dialect", ["https://json-schema.org/draft/2020-12/schema", "http://json-schema.org/draft-07/schema#"]
)
def test_a_schema_of_a_known_dialect_is_closed(dialect: str) -> None:
    assert closed(root({"a": NUMBER}, **{"$schema": dialect})) == {""}

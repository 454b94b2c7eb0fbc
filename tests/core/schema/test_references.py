"""Where references lead: addresses, anchors, unusual places, circles, and what only looks like one."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from mcproof.core.schema.tree import SchemaTree

if TYPE_CHECKING:
    from mcproof.core.schema.references import Reference

BASE = "https://example.com/schemas/root.json"
TEXT = {"type": "string"}


def all_references(schema: dict[str, Any]) -> list[Reference]:
    return SchemaTree(schema).references.all


def the_reference(schema: dict[str, Any]) -> Reference:
    (reference,) = all_references(schema)
    return reference


def on_cycles(schema: dict[str, Any]) -> list[tuple[str, str]]:
    """Who holds a reference that lies on a cycle, and what it says."""
    return [(each.holder.path, each.text) for each in SchemaTree(schema).references.on_cycles()]


@pytest.mark.parametrize(
    ("reference", "key"),
    [
        ("#/$defs/a", "a"),
        ("#/%24defs/a", "a"),
        ("#/$defs/a~1b", "a/b"),
        ("#/$defs/a~0b", "a~b"),
        ("#/$defs/a%20b", "a b"),
        ("#/$defs/a b", "a b"),
        ("#/$defs/a%25b", "a%b"),
        ("#/$defs/a%7E1b", "a/b"),
        ("#/$defs/%C3%A9", "é"),
        ("#/$defs/", ""),
        ("#named", "anchored"),
        ("#moved", "dynamic"),
        ("#old", "draft 7"),
    ],
)
def test_a_local_reference_leads_to_its_target_however_it_is_spelt(reference: str, key: str) -> None:
    keys = ("a", "a/b", "a~b", "a b", "a%b", "é", "")
    definitions: dict[str, Any] = {each: {"title": each} for each in keys}
    definitions["anchored"] = {"$anchor": "named"}
    definitions["dynamic"] = {"$dynamicAnchor": "moved"}
    definitions["draft 7"] = {"$id": "#old"}
    found = the_reference({"$defs": definitions, "properties": {"p": {"$ref": reference}}})
    assert found.is_local
    assert found.target is definitions[key]


@pytest.mark.parametrize(
    "reference",
    [
        "#/$defs/b",
        "#/$defs/a/title/x",
        "#/$defs/list/1",
        "#/$defs/list/00",
        "#/$defs/list/-",
        "#nothing",
        "#/",
        "#$defs/a",
    ],
)
def test_a_local_reference_to_nothing_is_local_and_unresolved(reference: str) -> None:
    schema = {"$defs": {"a": {"title": "A"}, "list": [TEXT]}, "properties": {"p": {"$ref": reference}}}
    found = the_reference(schema)
    assert found.is_local
    assert not found.is_resolved


@pytest.mark.parametrize("reference", ["other.json", "https://example.com/other", "other.json#/$defs/a", "a", ""])
def test_a_reference_that_names_no_part_of_the_document_leads_out(reference: str) -> None:
    found = the_reference({"$defs": {"a": TEXT}, "properties": {"p": {"$ref": reference}}})
    assert not found.is_local
    assert not found.is_resolved


@pytest.mark.parametrize(
    "reference",
    [
        f"{BASE}#/$defs/a",
        "root.json#/$defs/a",
        "/schemas/root.json#/$defs/a",
        "../schemas/root.json#/$defs/a",
        "#/$defs/a",
        f"{BASE}#named",
    ],
)
def test_a_reference_is_relative_to_the_id_of_the_document(reference: str) -> None:
    target = {"type": "string", "$anchor": "named"}
    found = the_reference({"$id": BASE, "$defs": {"a": target}, "properties": {"p": {"$ref": reference}}})
    assert found.is_local
    assert found.target is target


@pytest.mark.parametrize(
    "reference", ["item.json", "https://example.com/schemas/item.json", "item.json#", "item.json#top"]
)
def test_a_schema_with_an_id_of_its_own_is_found_by_its_address(reference: str) -> None:
    item = {"$id": "item.json", "$anchor": "top", "type": "string"}
    found = the_reference({"$id": BASE, "$defs": {"a": item}, "properties": {"p": {"$ref": reference}}})
    assert found.is_local
    assert found.target is item


def test_a_pointer_inside_a_schema_with_an_id_starts_at_that_schema() -> None:
    inner = {"$id": "inner.json", "$defs": {"a": TEXT}, "properties": {"p": {"$ref": "#/$defs/a"}}}
    found = the_reference({"$id": BASE, "$defs": {"a": {"type": "integer"}, "inner": inner}})
    assert found.target is TEXT


def test_an_anchor_belongs_to_the_document_it_stands_in() -> None:
    own, foreign = {"$anchor": "same", "title": "own"}, {"$anchor": "same", "title": "foreign"}
    inner = {"$id": "inner.json", "$defs": {"a": own}, "properties": {"p": {"$ref": "#same"}}}
    schema = {"$id": BASE, "$defs": {"first": foreign, "inner": inner}, "properties": {"q": {"$ref": "#same"}}}
    assert {each.holder.path: each.target["title"] for each in all_references(schema)} == {
        "/properties/q": "foreign",
        "/$defs/inner/properties/p": "own",
    }


def test_ids_are_joined_from_the_outside_in() -> None:
    target = {"$id": "c.json", "type": "string"}
    schema = {
        "$id": "https://example.com/a/",
        "$defs": {"folder": {"$id": "b/", "$defs": {"t": target}}},
        "properties": {"p": {"$ref": "b/c.json"}, "q": {"$ref": "https://example.com/a/b/c.json"}},
    }
    assert [each.target for each in all_references(schema)] == [target, target]


def test_a_dynamic_reference_leads_to_its_anchor() -> None:
    schema = {"$dynamicAnchor": "node", "properties": {"child": {"$dynamicRef": "#node"}}}
    assert the_reference(schema).target is schema
    assert on_cycles(schema) == [("/properties/child", "#node")]


def test_a_schema_can_hold_both_kinds_of_reference() -> None:
    schema = {"$defs": {"a": TEXT, "b": {"$anchor": "b"}}, "items": {"$ref": "#/$defs/a", "$dynamicRef": "#b"}}
    assert [each.text for each in all_references(schema)] == ["#/$defs/a", "#b"]


def test_a_target_in_an_unusual_place_is_a_schema_with_references_of_its_own() -> None:
    component = {"properties": {"p": {"$ref": "#/components/schemas/y"}}}
    schema = {
        "properties": {"p": {"$ref": "#/components/schemas/x"}},
        "components": {"schemas": {"x": component, "y": {"items": {"$ref": "#/nowhere"}}}},
    }
    assert [(each.holder.path, each.text, each.is_resolved) for each in all_references(schema)] == [
        ("/properties/p", "#/components/schemas/x", True),
        ("/components/schemas/x/properties/p", "#/components/schemas/y", True),
        ("/components/schemas/y/items", "#/nowhere", False),
    ]


def test_the_path_of_a_target_in_an_unusual_place_is_its_pointer_however_the_reference_is_spelt() -> None:
    schema = {
        "properties": {"p": {"$ref": "#/components/a%20b"}},
        "components": {"a b": {"items": {"$ref": "#/nowhere"}}},
    }
    assert [each.holder.path for each in all_references(schema)] == ["/properties/p", "/components/a b/items"]


def test_what_nobody_refers_to_in_an_unusual_place_is_data() -> None:
    assert all_references({"components": {"x": {"$ref": "#/nowhere"}}}) == []


def test_a_place_that_is_reached_alone_and_inside_another_has_its_references_once() -> None:
    schema = {
        "properties": {"p": {"$ref": "#/x/items"}, "q": {"$ref": "#/x"}},
        "x": {"items": {"$ref": "#/nowhere"}},
    }
    assert sorted(each.text for each in all_references(schema)) == ["#/nowhere", "#/x", "#/x/items"]


@pytest.mark.parametrize("target", [True, False])
def test_a_reference_may_lead_to_true_or_false(target: bool) -> None:
    schema = {"$defs": {"a": target}, "properties": {"p": {"$ref": "#/$defs/a"}}}
    assert the_reference(schema).is_resolved
    assert on_cycles(schema) == []


@pytest.mark.parametrize(
    "schema",
    [
        {"properties": {"$ref": {"type": "string"}}},
        {"properties": {"$ref": {"$comment": "#/nowhere"}, "$dynamicRef": {"type": "string"}}},
        {"patternProperties": {"$ref": {"type": "string"}}},
        {"$defs": {"$ref": {"type": "string"}}},
        {"enum": [{"$ref": "#/nowhere"}]},
        {"const": {"$ref": "#/nowhere"}},
        {"default": {"properties": {"a": {"$ref": "#/nowhere"}}}},
        {"examples": [{"$ref": "#/nowhere"}]},
        {"items": {"$ref": 7}},
        {"items": {"$ref": None, "$dynamicRef": ["#"]}},
    ],
)
def test_what_only_looks_like_a_reference_is_data(schema: dict[str, Any]) -> None:
    assert all_references(schema) == []


def test_a_property_named_ref_may_hold_a_reference() -> None:
    schema = {"$defs": {"a": TEXT}, "properties": {"$ref": {"$ref": "#/$defs/a"}}}
    assert the_reference(schema).holder.path == "/properties/$ref"


@pytest.mark.parametrize(
    "holder",
    [
        "not",
        "if",
        "then",
        "else",
        "contains",
        "propertyNames",
        "items",
        "additionalProperties",
        "additionalItems",
        "unevaluatedItems",
        "unevaluatedProperties",
        "contentSchema",
    ],
)
def test_references_are_found_under_every_keyword_that_holds_a_schema(holder: str) -> None:
    assert the_reference({holder: {"$ref": "#"}}).holder.path == f"/{holder}"


@pytest.mark.parametrize("holder", ["allOf", "anyOf", "oneOf", "prefixItems", "items"])
def test_references_are_found_under_every_keyword_that_holds_a_list_of_schemas(holder: str) -> None:
    assert the_reference({holder: [True, {"$ref": "#"}]}).holder.path == f"/{holder}/1"


@pytest.mark.parametrize(
    "holder", ["properties", "patternProperties", "$defs", "definitions", "dependentSchemas", "dependencies"]
)
def test_references_are_found_under_every_keyword_that_holds_named_schemas(holder: str) -> None:
    assert the_reference({holder: {"a/b": {"$ref": "#"}}}).holder.path == f"/{holder}/a~1b"


def test_a_reference_to_what_contains_it_is_a_cycle() -> None:
    schema = {"properties": {"a": {"items": {"$ref": "#/properties/a"}}, "b": {"$ref": "#/properties/a"}}}
    assert on_cycles(schema) == [("/properties/a/items", "#/properties/a")]


def test_a_cycle_through_several_definitions_is_found_at_each_reference_on_it() -> None:
    schema = {
        "properties": {"start": {"$ref": "#/$defs/a"}},
        "$defs": {
            "a": {"properties": {"b": {"$ref": "#/$defs/b"}, "leaf": {"$ref": "#/$defs/leaf"}}},
            "b": {"items": {"$ref": "#/$defs/c/properties/deep"}},
            "c": {"properties": {"deep": {"anyOf": [{"$ref": "#/$defs/a"}]}}},
            "leaf": TEXT,
        },
    }
    assert sorted(on_cycles(schema)) == [
        ("/$defs/a/properties/b", "#/$defs/b"),
        ("/$defs/b/items", "#/$defs/c/properties/deep"),
        ("/$defs/c/properties/deep/anyOf/0", "#/$defs/a"),
    ]


def test_a_reference_to_itself_is_a_cycle() -> None:
    assert on_cycles({"properties": {"p": {"$ref": "#/properties/p"}}}) == [("/properties/p", "#/properties/p")]


def test_a_cycle_through_an_unusual_place_is_found() -> None:
    schema = {"properties": {"p": {"$ref": "#/x"}}, "x": {"items": {"$ref": "#/x"}}}
    assert on_cycles(schema) == [("/x/items", "#/x")]


def test_a_reference_to_a_sibling_is_no_cycle() -> None:
    schema = {"$defs": {"a": TEXT}, "properties": {"p": {"$ref": "#/$defs/a"}, "q": {"$ref": "#/properties/p"}}}
    assert on_cycles(schema) == []


@pytest.mark.slow
def test_a_long_chain_of_references_and_a_long_cycle_end_in_time() -> None:
    length = 50_000
    chain: dict[str, Any] = {str(at): {"$ref": f"#/$defs/{at + 1}"} for at in range(length)}
    assert on_cycles({"$defs": {**chain, str(length): TEXT}}) == []
    assert len(on_cycles({"$defs": {**chain, str(length): {"items": {"$ref": "#/$defs/0"}}}})) == length + 1

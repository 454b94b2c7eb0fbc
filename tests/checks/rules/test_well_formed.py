"""Whether a schema is well formed: size, depth and references, up to what only a hostile server sends."""

from __future__ import annotations

import json
from collections import Counter
from typing import TYPE_CHECKING, Any

import pytest

from limits import assert_linear
from mcproof.checks.rule import find_rule
from mcproof.checks.rulebook import cases_of

from .helpers import findings_in, findings_on_schema, findings_on_tool, pointers

if TYPE_CHECKING:
    from collections.abc import Callable

RULE = "tool_input_schemas_well_formed"
MANY = 5_000
"""Far more than an answer takes, far less than anything that goes back and forth."""

Hit = tuple[str, str]


def hits(schema: Any) -> list[Hit]:
    """What is wrong with a schema: the kind and the path of each hit."""
    found = findings_on_schema(schema, RULE, "CAT-004")
    assert [finding.rule.id for finding in found] in ([], [RULE])
    return [(hit["kind"], hit["path"]) for finding in found for hit in (finding.evidence or {})["hits"]]


# --- what a finding says ------------------------------------------------------------------------------------------


def test_the_evidence_names_tool_kind_path_and_detail() -> None:
    schema = {"type": "object", "properties": {"owner": {"$ref": "#/$defs/user"}}}
    [finding] = findings_on_tool({"name": "create_ticket", "inputSchema": schema}, RULE)
    assert finding.evidence is not None
    [hit] = finding.evidence["hits"]
    assert list(hit) == ["toolName", "kind", "path", "detail"]
    assert hit["toolName"] == "create_ticket"
    assert hit["kind"] == "ref_unresolvable"
    assert hit["path"] == "/properties/owner"
    assert "#/$defs/user" in hit["detail"]
    assert finding.message == hit["detail"]


def test_a_tool_has_one_finding_with_all_its_hits() -> None:
    properties = {"a": {"$ref": "#/none"}, "b": {"$ref": "https://example.com"}, "c": {"$ref": "#"}}
    tools = [{"name": name, "inputSchema": {"properties": properties}} for name in ("first", "second")]
    found = findings_in({"tools": [tools[0], {"name": "fine", "inputSchema": {"type": "object"}}, tools[1]]}, RULE)
    assert [finding.item.name for finding in found] == ["first", "second"]
    for finding in found:
        kinds = [hit["kind"] for hit in (finding.evidence or {})["hits"]]
        assert sorted(kinds) == ["ref_cycle", "ref_non_local", "ref_unresolvable"]
        assert "(and 2 more)" in finding.message


def test_the_root_is_called_root_in_the_path_and_the_schema_in_the_pointer() -> None:
    [finding] = findings_on_schema({"$ref": "#/none"}, RULE)
    assert finding.pointer == "/inputSchema"
    assert finding.evidence is not None
    assert finding.evidence["hits"][0]["path"] == "(root)"


def test_a_tool_without_a_name_is_told_by_its_place() -> None:
    [finding] = findings_in({"tools": [{"inputSchema": {}}, {"inputSchema": {"$ref": "#/none"}}]}, RULE)
    assert finding.evidence is not None
    assert finding.evidence["hits"][0]["toolName"] == "tools[1]"


def test_the_cases_show_all_kinds_but_the_one_that_fills_pages() -> None:
    shown = [hits(case.subject["inputSchema"]) for case in cases_of(find_rule(RULE)).bad]
    kinds = {kind for found in shown for kind, _ in found}
    assert kinds == {"ref_non_local", "ref_unresolvable", "ref_cycle", "too_deep"}


# --- oversized ----------------------------------------------------------------------------------------------------


def schema_of_bytes(size: int, filler: str = "x") -> dict[str, Any]:
    """A schema whose compact JSON has exactly this many bytes."""
    empty = len('{"type":"object","description":""}')
    width = len(filler.encode())
    assert (size - empty) % width == 0
    return {"type": "object", "description": filler * ((size - empty) // width)}


@pytest.mark.parametrize("filler", ["x", "é", "🌦"])
def test_over_65536_bytes_is_oversized(filler: str) -> None:
    step = len(filler.encode())
    largest = 65_536 - (65_536 - 34) % step
    assert hits(schema_of_bytes(largest, filler)) == []
    assert hits(schema_of_bytes(largest + step, filler)) == [("oversized", "(root)")]


def test_one_byte_decides() -> None:
    assert hits(schema_of_bytes(65_536)) == []
    assert hits(schema_of_bytes(65_537)) == [("oversized", "(root)")]


def test_characters_that_json_escapes_count_as_they_are_written() -> None:
    size = len('{"enum":[""]}')
    assert hits({"enum": ['"' * ((65_536 - size) // 2)]}) == []
    assert hits({"enum": ['"' * ((65_536 - size) // 2 + 1)]}) == [("oversized", "(root)")]
    assert hits({"enum": ["\x01" * ((65_536 - size) // 6)]}) == []
    assert hits({"enum": ["\x01" * ((65_536 - size) // 6 + 1)]}) == [("oversized", "(root)")]


@pytest.mark.parametrize("value", [False, None, 5, -1, [], {}, "", 1.5, 123456789012])
def test_a_list_of_small_values_is_measured_to_the_byte(value: Any) -> None:
    each = len(json.dumps(value)) + 1
    fitting = (65_536 - len('{"enum":[]}') + 1) // each
    assert hits({"enum": [value] * fitting}) == []
    assert hits({"enum": [value] * (fitting + 1)}) == [("oversized", "(root)")]


def test_blanks_of_the_file_do_not_count() -> None:
    document = {"tools": [{"name": "a", "inputSchema": {"enum": [[]] * 10_000}}]}
    text = json.dumps(document, indent=8)
    assert len(text) > 65_536
    assert findings_in(json.loads(text), RULE) == []


def test_only_the_input_schema_is_measured() -> None:
    tool = {"name": "a", "description": "x" * 100_000, "inputSchema": {}, "outputSchema": schema_of_bytes(100_000)}
    assert findings_on_tool(tool, RULE) == []


# --- too deep -----------------------------------------------------------------------------------------------------


def lists(levels: int) -> Any:
    value: list[Any] = []
    for _ in range(levels - 1):
        value = [value]
    return value


def objects(levels: int) -> Any:
    value: dict[str, Any] = {}
    for _ in range(levels - 1):
        value = {"a": value}
    return value


def schemas(levels: int) -> Any:
    """Schemas inside `items`, each of which is one level."""
    value: dict[str, Any] = {}
    for _ in range(levels - 1):
        value = {"items": value}
    return value


@pytest.mark.parametrize(
    "holder",
    [
        lambda inner: {"enum": inner(31)},
        lambda inner: {"const": inner(31)},
        lambda inner: {"default": inner(31)},
        lambda inner: {"examples": [inner(30)]},
        lambda inner: {"x-note": inner(31)},
        lambda inner: {"required": inner(31)},
        lambda inner: {"properties": {"a": {"default": inner(29)}}},
        lambda inner: {"properties": {"a": inner(30)}},
        lambda inner: {"properties": inner(31)},
        lambda inner: {"not": inner(31)},
        lambda inner: {"anyOf": [inner(30)]},
        lambda inner: {"$defs": {"a": inner(30)}},
        lambda inner: {"not": {"properties": {"a": inner(29)}}},
        lambda inner: {"dependencies": {"a": inner(30)}},
        lambda inner: {"type": inner(31)},
        lambda inner: {"$ref": inner(31)},
        lambda inner: {"items": inner(31)},
    ],
    ids=[
        *("enum", "const", "default", "examples", "unknown keyword", "required", "default of a property", "property"),
        *("properties", "not", "anyOf", "$defs", "property in a condition", "dependencies", "type", "$ref", "items"),
    ],
)
@pytest.mark.parametrize("inner", [lists, objects, schemas])
def test_33_levels_are_too_deep_wherever_they_nest(holder: Any, inner: Any) -> None:
    assert hits(holder(inner)) == []
    assert hits(holder(lambda levels: inner(levels + 1))) == [("too_deep", "(root)")]


@pytest.mark.parametrize("value", [None, 5, "x", True])
def test_values_that_hold_nothing_add_no_level(value: Any) -> None:
    schema = schemas(32)
    at = schema
    while "items" in at:
        at = at["items"]
    at["default"] = value
    assert hits(schema) == []


def test_an_empty_object_or_list_is_a_level() -> None:
    schema = schemas(32)
    at = schema
    while "items" in at:
        at = at["items"]
    at["default"] = {}
    assert hits(schema) == [("too_deep", "(root)")]


def test_a_large_and_deep_schema_has_both_hits() -> None:
    schema = {**schema_of_bytes(70_000), "default": lists(40)}
    assert hits(schema) == [("oversized", "(root)"), ("too_deep", "(root)")]


def test_whatever_the_parser_reads_is_deep_enough_to_be_told_and_no_deeper() -> None:
    for shape in (lists, objects, schemas):
        text = json.dumps({"default": shape(900)})
        assert hits(json.loads(text)) == [("too_deep", "(root)")]


# --- references: which are there ----------------------------------------------------------------------------------


@pytest.mark.parametrize("keyword", ["enum", "const", "default", "examples", "x-note"])
def test_references_in_data_are_data(keyword: str) -> None:
    data = [{"$ref": "#/none"}, {"$dynamicRef": "https://example.com"}, {"properties": {"a": {"$ref": "#"}}}]
    assert hits({"type": "object", keyword: data, "properties": {"a": {keyword: data}}}) == []
    assert hits({keyword: data[0]}) == []


@pytest.mark.parametrize("keyword", ["properties", "patternProperties", "$defs", "definitions", "dependentSchemas"])
def test_a_schema_may_be_called_like_the_keyword(keyword: str) -> None:
    assert hits({keyword: {"$ref": {"type": "string"}, "$dynamicRef": {"type": "string"}, "$id": {}}}) == []
    assert hits({keyword: {"$ref": {"$ref": "#/none"}}}) == [("ref_unresolvable", f"/{keyword}/$ref")]


@pytest.mark.parametrize(
    ("path", "schema"),
    [
        ("/properties/a", {"properties": {"a": {"$ref": "#/none"}}}),
        ("/patternProperties/^x", {"patternProperties": {"^x": {"$ref": "#/none"}}}),
        ("/$defs/a", {"$defs": {"a": {"$ref": "#/none"}}}),
        ("/definitions/a", {"definitions": {"a": {"$ref": "#/none"}}}),
        ("/dependentSchemas/a", {"dependentSchemas": {"a": {"$ref": "#/none"}}}),
        ("/dependencies/a", {"dependencies": {"a": {"$ref": "#/none"}, "b": ["c"]}}),
        ("/anyOf/1", {"anyOf": [{}, {"$ref": "#/none"}]}),
        ("/oneOf/0", {"oneOf": [{"$ref": "#/none"}]}),
        ("/allOf/0", {"allOf": [{"$ref": "#/none"}]}),
        ("/prefixItems/0", {"prefixItems": [{"$ref": "#/none"}]}),
        ("/items", {"items": {"$ref": "#/none"}}),
        ("/items/0", {"items": [{"$ref": "#/none"}]}),
        ("/additionalProperties", {"additionalProperties": {"$ref": "#/none"}}),
        ("/unevaluatedProperties", {"unevaluatedProperties": {"$ref": "#/none"}}),
        ("/unevaluatedItems", {"unevaluatedItems": {"$ref": "#/none"}}),
        ("/additionalItems", {"additionalItems": {"$ref": "#/none"}}),
        ("/contentSchema", {"contentSchema": {"$ref": "#/none"}}),
        ("/not", {"not": {"$ref": "#/none"}}),
        ("/if", {"if": {"$ref": "#/none"}}),
        ("/then", {"then": {"$ref": "#/none"}}),
        ("/else", {"else": {"$ref": "#/none"}}),
        ("/contains", {"contains": {"$ref": "#/none"}}),
        ("/propertyNames", {"propertyNames": {"$ref": "#/none"}}),
        ("/properties/a~1b/items", {"properties": {"a/b": {"items": {"$ref": "#/none"}}}}),
        ("(root)", {"$dynamicRef": "#none"}),
    ],
)
def test_a_reference_is_seen_wherever_a_schema_stands(path: str, schema: dict[str, Any]) -> None:
    assert hits(schema) == [("ref_unresolvable", path)]


@pytest.mark.parametrize("value", [None, 5, [], {}, True])
def test_what_is_no_text_is_no_reference(value: Any) -> None:
    assert hits({"properties": {"a": {"$ref": value, "$dynamicRef": value}}}) == []


# --- references: where they lead ----------------------------------------------------------------------------------

DOCUMENT: dict[str, Any] = {
    "$defs": {
        "a": {"type": "string"},
        "b/c": {"type": "string"},
        "d~e": {"type": "string"},
        "f g": {"type": "string"},
        "%": {"type": "string"},
        "ä": {"type": "string"},
        "": {"type": "string"},
        "list": {"anyOf": [{"type": "string"}, True]},
        "anchored": {"$anchor": "here", "type": "string"},
        "dynamic": {"$dynamicAnchor": "there", "type": "string"},
        "old": {"$id": "#old", "type": "string"},
        "named": {"$id": "https://example.com/named.json", "$defs": {"inner": {"$anchor": "in", "type": "string"}}},
        "urn": {"$id": "urn:example:thing", "type": "string"},
    },
    "elsewhere": {"x": {"type": "string"}},
}


@pytest.mark.parametrize(
    "reference",
    [
        "#/$defs/a",
        "#/%24defs/a",
        "#/$defs/b~1c",
        "#/$defs/d~0e",
        "#/$defs/f%20g",
        "#/$defs/%25",
        "#/$defs/ä",
        "#/$defs/%C3%A4",
        "#/$defs/",
        "#/$defs/list/anyOf/0",
        "#/$defs/list/anyOf/1",
        "#/elsewhere/x",
        "#here",
        "#there",
        "#old",
        "https://example.com/named.json",
        "https://example.com/named.json#",
        "https://example.com/named.json#/$defs/inner",
        "https://example.com/named.json#in",
        "urn:example:thing",
    ],
)
def test_a_reference_that_leads_somewhere_in_the_document_is_fine(reference: str) -> None:
    assert hits({**DOCUMENT, "properties": {"a": {"$ref": reference}}}) == []


@pytest.mark.parametrize(
    "reference",
    [
        "#/$defs/A",
        "#/$defs/b/c",
        "#/$defs/list/anyOf/2",
        "#/$defs/list/anyOf/00",
        "#/$defs/list/anyOf/-",
        "#/$defs/list/anyOf/x",
        "#/$defs/a/type/0",
        "#/$defs/a/",
        "#$defs/a",
        "#nowhere",
        "#in",
        "https://example.com/named.json#/$defs/outer",
        "https://example.com/named.json#here",
    ],
)
def test_a_local_reference_that_leads_nowhere_is_unresolvable(reference: str) -> None:
    assert hits({**DOCUMENT, "properties": {"a": {"$ref": reference}}}) == [("ref_unresolvable", "/properties/a")]


@pytest.mark.parametrize(
    "reference",
    [
        "https://example.com/other.json",
        "other.json",
        "other.json#/$defs/a",
        "/$defs/a",
        "$defs/a",
        "urn:example:other",
        "http://[",
        "file:///etc/passwd",
        "a",
    ],
)
def test_a_reference_to_anything_that_is_not_in_the_document_is_not_local(reference: str) -> None:
    assert hits({**DOCUMENT, "properties": {"a": {"$ref": reference}}}) == [("ref_non_local", "/properties/a")]


def test_a_name_is_read_relative_to_the_schema_around_it() -> None:
    schema = {
        "$id": "https://example.com/tools/search.json",
        "properties": {"a": {"$ref": "types/text.json"}, "b": {"$ref": "/tools/types/text.json"}},
        "$defs": {
            "text": {"$id": "types/text.json", "properties": {"c": {"$ref": "list.json"}, "d": {"$ref": "text.json"}}},
            "list": {"$id": "types/list.json", "type": "array"},
        },
    }
    assert hits(schema) == [("ref_cycle", "/$defs/text/properties/d")]


def test_a_local_pointer_starts_at_the_schema_that_has_a_name() -> None:
    named = {"$id": "https://example.com/named.json", "$defs": {"x": {}}, "properties": {"a": {"$ref": "#/$defs/x"}}}
    assert hits({"$defs": {"named": named}}) == []
    assert hits({"$defs": {"named": {**named, "$defs": {}}, "x": {}}}) == [
        ("ref_unresolvable", "/$defs/named/properties/a")
    ]


def test_a_reference_below_a_target_in_an_unusual_place_is_seen() -> None:
    schema = {
        "properties": {"a": {"$ref": "#/library/x"}},
        "library": {"x": {"items": {"$ref": "#/none"}}, "y": {"$ref": "?"}},
    }
    assert hits(schema) == [("ref_unresolvable", "/library/x/items")]


def test_the_path_of_a_target_in_an_unusual_place_is_a_pointer_and_not_a_fragment() -> None:
    schema = {"properties": {"a": {"$ref": "#/library/a%20b"}}, "library": {"a b": {"$ref": "#/none"}}}
    assert hits(schema) == [("ref_unresolvable", "/library/a b")]


# --- references: circles ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("schema", "paths"),
    [
        ({"$ref": "#"}, ["(root)"]),
        ({"properties": {"a": {"$ref": "#"}}}, ["/properties/a"]),
        ({"properties": {"a": {"$ref": "#/properties/a"}}}, ["/properties/a"]),
        ({"not": {"$ref": "#"}}, ["/not"]),
        ({"$defs": {"a": {"$anchor": "a", "items": {"$ref": "#a"}}}}, ["/$defs/a/items"]),
        ({"$dynamicAnchor": "a", "items": {"$dynamicRef": "#a"}}, ["/items"]),
        ({"$id": "https://example.com/a", "items": {"$ref": "https://example.com/a"}}, ["/items"]),
        ({"$defs": {"a": {"$ref": "#/$defs/b"}, "b": {"$ref": "#/$defs/a"}}}, ["/$defs/a", "/$defs/b"]),
    ],
    ids=str,
)
def test_a_reference_that_comes_back_to_itself_is_a_circle(schema: dict[str, Any], paths: list[str]) -> None:
    assert hits(schema) == [("ref_cycle", path) for path in paths]


def test_a_reference_into_a_circle_is_not_on_it() -> None:
    schema = {"properties": {"a": {"$ref": "#/$defs/b"}}, "$defs": {"b": {"items": {"$ref": "#/$defs/b"}}}}
    assert hits(schema) == [("ref_cycle", "/$defs/b/items")]


def test_a_reference_out_of_a_circle_is_not_on_it() -> None:
    schema = {"$defs": {"a": {"items": {"$ref": "#/$defs/a"}, "not": {"$ref": "#/$defs/b"}}, "b": {"type": "string"}}}
    assert hits(schema) == [("ref_cycle", "/$defs/a/items")]


def test_a_diamond_is_no_circle() -> None:
    schema = {
        "properties": {"a": {"$ref": "#/$defs/left"}, "b": {"$ref": "#/$defs/right"}},
        "$defs": {
            "left": {"items": {"$ref": "#/$defs/end"}},
            "right": {"items": {"$ref": "#/$defs/end"}, "not": {"$ref": "#/$defs/left"}},
            "end": {"type": "string"},
        },
    }
    assert hits(schema) == []


def test_a_circle_through_containment_is_one() -> None:
    schema = {"properties": {"a": {"properties": {"b": {"items": {"$ref": "#/properties/a"}}}}}}
    assert hits(schema) == [("ref_cycle", "/properties/a/properties/b/items")]


def test_each_text_is_told_once_at_its_first_holder() -> None:
    node = {"properties": {name: {"$ref": "#/$defs/node"} for name in ("left", "right", "parent")}}
    assert hits({"$defs": {"node": node}}) == [("ref_cycle", "/$defs/node/properties/left")]


def test_two_texts_for_one_target_are_two() -> None:
    node = {"$anchor": "node", "anyOf": [{"$ref": "#node"}, {"$ref": "#/$defs/node"}, {"$ref": "#node"}]}
    assert hits({"$defs": {"node": node}}) == [
        ("ref_cycle", "/$defs/node/anyOf/0"),
        ("ref_cycle", "/$defs/node/anyOf/1"),
    ]


def test_the_first_holder_is_the_first_in_the_document_and_not_the_first_on_the_way() -> None:
    schema = {
        "properties": {"a": {"$ref": "#/$defs/b"}, "c": {"$ref": "#/$defs/x"}},
        "$defs": {
            "b": {"properties": {"x": {"$ref": "#/$defs/x"}, "up": {"$ref": "#"}}},
            "x": {"properties": {"up": {"$ref": "#"}}},
        },
    }
    assert hits(schema) == [
        ("ref_cycle", "/properties/a"),
        ("ref_cycle", "/properties/c"),
        ("ref_cycle", "/$defs/b/properties/up"),
    ]


def test_a_circle_in_an_unusual_place_is_one_whichever_part_is_met_first() -> None:
    library = {"properties": {"y": {"$ref": "#/library"}}}
    for reference in ("#/library", "#/library/properties/y"):
        schema = {"properties": {"a": {"$ref": reference}}, "library": library}
        assert hits(schema) == [("ref_cycle", "/library/properties/y")]


def test_a_reference_in_data_closes_no_circle() -> None:
    assert hits({"$defs": {"a": {"default": {"$ref": "#/$defs/a"}}}, "properties": {"b": {"$ref": "#/$defs/a"}}}) == []


# --- thousands of references ---------------------------------------------------------------------------------------


def kinds_and_counts(schema_of: Callable[[int], dict[str, Any]]) -> dict[str, int]:
    """Count the problems of a schema with MANY references; the work grows no faster than the schema."""
    assert_linear(lambda count: hits(schema_of(count)))
    return dict(Counter(kind for kind, _ in hits(schema_of(MANY))))


def chained(place: str, count: int, end: dict[str, Any]) -> dict[str, Any]:
    chain = {f"d{number}": {"$ref": f"#/{place}/d{number + 1}"} for number in range(count)}
    return {"properties": {"a": {"$ref": f"#/{place}/d0"}}, place: {**chain, f"d{count}": end}}


def referring(count: int, text: str, **others: Any) -> dict[str, Any]:
    """A schema with this many properties that are references; `{}` in the text is the number of the property."""
    return {"properties": {f"p{number}": {"$ref": text.format(number)} for number in range(count)}, **others}


@pytest.mark.parametrize("place", ["$defs", "library"])
def test_a_long_chain_is_only_large(place: str) -> None:
    assert kinds_and_counts(lambda count: chained(place, count, {"type": "string"})) == {"oversized": 1}


@pytest.mark.parametrize("place", ["$defs", "library"])
def test_a_long_chain_that_closes_is_told_text_by_text(place: str) -> None:
    counts = kinds_and_counts(lambda count: chained(place, count, {"$ref": f"#/{place}/d0"}))
    assert counts == {"oversized": 1, "ref_cycle": MANY + 1}


def test_many_references_to_one_definition_are_fine() -> None:
    counts = kinds_and_counts(lambda count: referring(count, "#/$defs/text", **{"$defs": {"text": {}}}))
    assert counts == {"oversized": 1}


def test_many_references_to_the_root_are_one_circle() -> None:
    assert kinds_and_counts(lambda count: referring(count, "#")) == {"oversized": 1, "ref_cycle": 1}


@pytest.mark.parametrize(
    ("text", "kind"),
    [("#/$defs/{}", "ref_unresolvable"), ("#a{}", "ref_unresolvable"), ("{}.json", "ref_non_local")],
)
def test_many_references_that_lead_nowhere_are_told_one_by_one(text: str, kind: str) -> None:
    counts = kinds_and_counts(lambda count: referring(count, text, **{"$id": "https://example.com/"}))
    assert counts == {"oversized": 1, kind: MANY}


def test_many_references_by_name_are_resolved() -> None:
    def schema_of(count: int) -> dict[str, Any]:
        definitions = {f"d{number}": {"$id": f"{number}.json"} for number in range(count)}
        return referring(count, "{}.json", **{"$defs": definitions})

    assert kinds_and_counts(schema_of) == {"oversized": 1}


def test_many_references_far_down_are_answered() -> None:
    def schema_of(count: int) -> dict[str, Any]:
        schema: dict[str, Any] = {"anyOf": [{"$ref": "#/$defs/text"} for _ in range(count)]}
        for _ in range(200):
            schema = {"properties": {"a": schema}}
        return {**schema, "$defs": {"text": {"type": "string"}}}

    assert kinds_and_counts(schema_of) == {"oversized": 1, "too_deep": 1}


def test_a_property_called_root_is_told_by_its_own_path() -> None:
    schema = {"properties": {"(root)": {"$ref": "#/nope"}}}
    assert pointers(findings_on_schema(schema, RULE)) == ["/inputSchema/properties/(root)"]


def test_the_keyword_of_the_reference_is_named() -> None:
    (finding,) = findings_on_schema({"properties": {"a": {"$dynamicRef": "#nope"}}}, RULE)
    assert "`$dynamicRef`" in finding.message

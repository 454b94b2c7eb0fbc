"""The marks of a tool never rule out a constraint or a rule that it breaks."""

from __future__ import annotations

import json
from typing import Any
from unittest import mock

import jsonschema_rs
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcproof.checks.clients.constraints import TOOL_KINDS, needs_of
from mcproof.checks.clients.hits import ClientChecks
from mcproof.checks.clients.profiles import ClientChoice, known_profiles
from mcproof.checks.clients.schema_constraints import ClientView
from mcproof.checks.engine import check
from mcproof.checks.rule import rules_of
from mcproof.checks.subjects import Observed
from mcproof.core.catalog.model import Tool
from mcproof.core.protocol import REVISIONS
from mcproof.targets.snapshots import read_snapshot

BY_MARKS = ClientChecks(ClientChoice(known_profiles()).all_active())

JUNK = st.sampled_from(
    [None, True, False, 0, -1, 2.5, 5000, "", "x", "object", [], ["a"], ["a", "a"], [1], {}, {"a": 1}]
)
TYPES = st.sampled_from(
    ["string", "integer", "number", "boolean", "object", "array", "null", "any", ["string", "null"]]
)
NAMES = st.sampled_from(["a", "b_c", "d-e", "f.g", "$h", "title", "type", "é", "x" * 70, ""])
KEYWORDS = st.sampled_from(
    [
        *("type", "description", "format", "pattern", "minimum", "exclusiveMinimum", "maxLength", "minItems", "enum"),
        *("const", "default", "examples", "required", "additionalProperties", "$ref", "$schema", "$id", "title", "if"),
        *("uniqueItems", "nullable", "prefixItems", "patternProperties", "propertyNames", "multipleOf", "not"),
        *("items", "properties", "anyOf", "oneOf", "allOf", "$defs", "definitions", "x-extra"),
    ]
)
REFERENCES = st.sampled_from(["#/$defs/a", "#/definitions/a", "#", "#/nothing", "https://example.com/x.json"])


LEFT_OUT = 5000
"""Stands for a member that is left out."""


def schemas(depth: int = 2) -> st.SearchStrategy[Any]:
    """Objects with keywords, most values of the right type."""
    leaf = st.one_of(JUNK, st.fixed_dictionaries({"type": TYPES}))
    if depth == 0:
        return leaf
    inner = st.deferred(lambda: schemas(depth - 1))
    values: dict[str, st.SearchStrategy[Any]] = {
        "type": TYPES,
        "description": st.sampled_from(["", "A text.", "x" * 1100]),
        "format": st.sampled_from(["date-time", "uri", "phone"]),
        "pattern": st.sampled_from(["^a$", "a", r"^\d+$", "(?=a)"]),
        "enum": st.lists(st.sampled_from(["a", "b", "", 1, None]), max_size=3),
        "required": st.lists(NAMES, max_size=2),
        "$ref": REFERENCES,
        "$schema": st.sampled_from(
            ["http://json-schema.org/draft-07/schema#", "https://json-schema.org/draft/2020-12/schema"]
        ),
        "properties": st.dictionaries(NAMES, inner, max_size=2),
        "$defs": st.dictionaries(NAMES, inner, max_size=1),
        "items": inner,
        "anyOf": st.lists(inner, max_size=2),
        "allOf": st.lists(inner, max_size=1),
        "additionalProperties": st.one_of(st.booleans(), inner),
    }
    entries = KEYWORDS.flatmap(
        lambda key: st.tuples(st.just(key), st.one_of(values.get(key, inner), values.get(key, inner), JUNK))
    )
    return st.lists(entries, max_size=4).map(dict)


HINTS = st.dictionaries(
    st.sampled_from(["readOnlyHint", "destructiveHint", "title", "other"]),
    st.sampled_from([True, True, None, "A", "B"]),
)
MEMBERS: dict[str, st.SearchStrategy[Any]] = {
    "outputSchema": st.one_of(
        schemas(1), schemas(1).map(lambda schema: {"type": "object", "properties": {"a": schema}})
    ),
    "title": st.sampled_from(["A", " "]),
    "annotations": HINTS,
    "icons": st.lists(st.fixed_dictionaries({"src": st.sampled_from(["https://example.com/a.png", "file:///a", 1])})),
    "execution": st.sampled_from([{"taskSupport": "forbidden"}, {"taskSupport": "required"}, {"taskSupport": "x"}]),
    "_meta": st.dictionaries(st.sampled_from(["a", "mcp/a", "a.mcp/b", "-", "a/b/c"]), JUNK),
    "extra": JUNK,
}


@st.composite
def tools(draw: st.DrawFn) -> dict[str, Any]:
    schema = draw(schemas())
    if isinstance(schema, dict) and draw(st.booleans()):
        schema = {"type": "object", "properties": {}, **schema}
    members: dict[str, Any] = {"name": draw(st.sampled_from(["find", "find-it", "a.b", "__x", "1st", "x" * 80, "é"]))}
    members["description"] = draw(st.sampled_from(["Find it.", "", " ", "x" * 3000]))
    members["inputSchema"] = schema
    for key in draw(st.sets(st.sampled_from([*MEMBERS, "name", "inputSchema"]), max_size=2)):
        members[key] = draw(st.one_of(MEMBERS.get(key, JUNK), JUNK))
    return {key: value for key, value in members.items() if value is not LEFT_OUT}


def tool_of(raw: dict[str, Any]) -> Tool:
    (tool,) = read_snapshot(json.dumps([raw]).encode(), "tools.json").tools
    return tool


@given(tools(), st.sampled_from(["", "srv", "a-long-server-name-of-forty-characters-xx"]))
def test_marks_rule_out_no_constraint_that_is_broken(raw: dict[str, Any], key: str) -> None:
    tool = tool_of(raw)
    chosen = {(*hit.active.key, hit.pointer) for hit in BY_MARKS.on_tool(tool, key)}
    view = ClientView(tool, key)
    assert chosen == {
        (profile.id, constraint.id, pointer)
        for profile in known_profiles().values()
        for constraint in profile.constraints
        if constraint.kind in TOOL_KINDS
        for pointer in TOOL_KINDS[constraint.kind](view, constraint.params)
    }


@given(tools(), st.sampled_from(sorted(REVISIONS)))
def test_marks_rule_out_no_demand_of_the_specification_that_is_broken(raw: dict[str, Any], revision: str) -> None:
    catalog = read_snapshot(json.dumps([raw]).encode(), "tools.json")

    def found() -> set[tuple[str, str, str]]:
        findings = check(catalog, rules_of("spec"), observed=Observed(revision=revision))
        return {(finding.rule.id, finding.pointer, finding.message) for finding in findings}

    chosen = found()
    with mock.patch.object(Tool, "marks", None):
        assert chosen == found()


USUAL = {"type": "string", "description": "A text."}
ODD_SCHEMAS: list[Any] = [
    {"type": "array"},
    {"type": ["array", "string"]},
    {"description": "Anything."},
    {"type": "object", "properties": {"a": USUAL}, "required": ["b"]},
    {"type": "object", "properties": {"a b": USUAL}},
    {"type": "array", "items": {"description": "Anything."}},
    {"type": "string", "enum": [""]},
    {"enum": [1, 1]},
    {"type": "string", "pattern": "^(?=a)", "format": "phone", "minLength": 5000},
    {"type": "string", "x-mcp-header": ""},
    {"type": "string", "x-mcp-header": "Api-Key"},
    {"anyOf": [USUAL, {"type": "null"}], "type": "string"},
    {"$ref": "#/nothing"},
    {"$ref": "https://example.com/x.json"},
    {"type": "array", "items": USUAL, "enum": [["a"]]},
    {"type": "string", "enum": [str(number) for number in range(1_001)]},
    {"type": "object", "additionalProperties": True},
    {"type": "string", "description": "x" * 1_025},
    {"type": "text"},
    {"type": "number", "exclusiveMinimum": True},
    {"type": "array", "items": [USUAL]},
    {"type": "array", "items": True},
    {"type": "object", "required": None},
    True,
    None,
]
ODD_ROOTS: list[dict[str, Any]] = [
    {"$schema": "http://json-schema.org/draft-07/schema#"},
    {"$schema": "https://json-schema.org/draft/2020-12/schema"},
    {"oneOf": [{"required": ["a"]}]},
    {"required": None},
    {"properties": []},
    {"properties": {"a": True}},
]
EXECUTIONS: list[Any] = [None, {"taskSupport": "required"}, {"taskSupport": "x"}, []]
ICONS: list[Any] = [[{"src": "file:///a"}], [{}], {}, None]
METAS: list[Any] = [{"a/b/c": 1}, {"a.mcp/b": 1}, {"_fastmcp": {}}, None]
ODD_MEMBERS: list[dict[str, Any]] = [
    {},
    *({"inputSchema": {"type": "object", "properties": {"a": schema}}} for schema in ODD_SCHEMAS),
    *({"outputSchema": {"type": "object", "properties": {"a": schema}}} for schema in ODD_SCHEMAS),
    *({"inputSchema": schema} for schema in ({"type": "object"}, {"properties": {"a": USUAL}}, {"type": "array"}, {})),
    *({"inputSchema": {"type": "object", "properties": {"a": USUAL}, **more}} for more in ODD_ROOTS),
    {"outputSchema": {"type": "array"}},
    {"outputSchema": {"type": "object", "$schema": "http://json-schema.org/draft-07/schema#"}},
    *({"name": name} for name in ("a.b", "-a", "a-", "a__b", "1a", "é", "a" * 65, "a" * 57, "", 1)),
    *({"description": text} for text in ("", " ", "é" * 1_025, "x" * 2_049, None)),
    *({"title": title} for title in ("", " ", None, 1, "Other")),
    *({"annotations": {"title": "A", hint: value}} for hint in ("readOnlyHint", "x") for value in (True, None, "yes")),
    {"annotations": {"readOnlyHint": True, "destructiveHint": True}},
    {"annotations": {"title": "A"}, "title": "B"},
    {"annotations": []},
    *({"execution": execution} for execution in EXECUTIONS),
    *({"icons": icons} for icons in ICONS),
    *({"_meta": meta} for meta in METAS),
    {"extra": 1},
]
"""Members of a tool, each of which breaks something, beside those that are as usual."""


@pytest.mark.parametrize("members", ODD_MEMBERS)
@pytest.mark.parametrize("revision", sorted(REVISIONS))
def test_what_is_broken_is_found_with_marks_as_without(members: dict[str, Any], revision: str) -> None:
    usual = {"name": "find", "description": "Find it.", "inputSchema": {"type": "object", "properties": {"a": USUAL}}}
    raw = {**usual, **members}

    def found() -> list[Any]:
        catalog = read_snapshot(json.dumps([raw]).encode(), "tools.json")
        hits = BY_MARKS.on_tool(catalog.tools[0], "srv")
        findings = check(catalog, rules_of("spec"), observed=Observed(revision=revision))
        return [
            *((hit.active.key, hit.pointer) for hit in hits),
            *((finding.rule.id, finding.pointer, finding.message) for finding in findings),
        ]

    with_marks = found()
    with mock.patch.object(Tool, "marks", None):
        assert with_marks == found()
        assert with_marks or not members


PLAIN_NAMES = ("a", "Z9", "find_item", "find-item-2", "a_b-C", "a" * 64)


@pytest.mark.parametrize("name", PLAIN_NAMES)
def test_every_shipped_client_that_takes_hyphens_takes_a_plain_name(name: str) -> None:
    kinds = ("name.regex", "name.max", "name.forbids")
    constraints = [c for profile in known_profiles().values() for c in profile.constraints if c.kind in kinds]
    view = ClientView(tool_of({"name": name, "inputSchema": {"type": "object"}}))
    assert constraints
    for constraint in constraints:
        if needs_of(constraint.kind, constraint.params) is not None:
            assert not list(TOOL_KINDS[constraint.kind](view, constraint.params)), constraint.id


@given(schemas(3))
def test_a_plain_schema_is_valid_in_both_dialects(schema: Any) -> None:
    tree = tool_of({"name": "find", "inputSchema": schema}).tree
    if tree is None or not tree.is_plain:
        return
    for dialect in ("http://json-schema.org/draft-07/schema#", "https://json-schema.org/draft/2020-12/schema"):
        assert jsonschema_rs.meta.is_valid({**schema, "$schema": dialect}), dialect

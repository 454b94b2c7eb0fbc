"""The keywords of a schema never rule out a constraint that the tool breaks."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import jsonschema_rs
from hypothesis import given
from hypothesis import strategies as st

from mcproof.checks.clients.constraints import TOOL_KINDS
from mcproof.checks.clients.hits import ClientChecks
from mcproof.checks.clients.profiles import ClientChoice, known_profiles
from mcproof.checks.clients.schema_constraints import ClientView
from mcproof.targets.snapshots import read_snapshot

if TYPE_CHECKING:
    from mcproof.core.catalog.model import Tool

BY_KEYWORD = ClientChecks(ClientChoice(known_profiles()).all_active())

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


@st.composite
def tools(draw: st.DrawFn) -> dict[str, Any]:
    schema = draw(schemas())
    if isinstance(schema, dict) and draw(st.booleans()):
        schema = {"type": "object", "properties": {}, **schema}
    members: dict[str, Any] = {"name": draw(st.sampled_from(["find", "find-it", "a.b", "__x", "1st", "x" * 80, "é"]))}
    members["description"] = draw(st.sampled_from(["Find it.", "", " ", "x" * 3000]))
    members["inputSchema"] = schema
    for key in draw(st.sets(st.sampled_from(["outputSchema", "title", "annotations", "icons"]), max_size=1)):
        members[key] = draw(st.one_of(JUNK, schemas(1)))
    return members


def tool_of(raw: dict[str, Any]) -> Tool:
    (tool,) = read_snapshot(json.dumps([raw]).encode(), "tools.json").tools
    return tool


@given(tools(), st.sampled_from(["", "srv", "a-long-server-name-of-forty-characters-xx"]))
def test_keywords_rule_out_no_constraint_that_is_broken(raw: dict[str, Any], key: str) -> None:
    tool = tool_of(raw)
    chosen = {(*hit.active.key, hit.pointer) for hit in BY_KEYWORD.on_tool(tool, key)}
    view = ClientView(tool, key)
    assert chosen == {
        (profile.id, constraint.id, pointer)
        for profile in known_profiles().values()
        for constraint in profile.constraints
        if constraint.kind in TOOL_KINDS
        for pointer in TOOL_KINDS[constraint.kind](view, constraint.params)
    }


@given(schemas(3))
def test_a_plain_schema_is_valid_in_both_dialects(schema: Any) -> None:
    tree = tool_of({"name": "find", "inputSchema": schema}).tree
    if tree is None or not tree.is_plain:
        return
    for dialect in ("http://json-schema.org/draft-07/schema#", "https://json-schema.org/draft/2020-12/schema"):
        assert jsonschema_rs.meta.is_valid({**schema, "$schema": dialect}), dialect

"""Fixes for clients, on schemas that nobody would write: nothing new is accepted, and no client is worse off."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import jsonschema_rs
import pytest
from hypothesis import assume, event, given, note
from hypothesis import strategies as st

from checks.clients.demanding_client import DEMANDING_ONLY
from mcproof.checks.clients.fix import fix_for_clients
from mcproof.checks.clients.hits import ClientChecks
from mcproof.checks.clients.profiles import RANK, ClientChoice, choose_clients, known_profiles
from mcproof.checks.rule import rules_of
from mcproof.core.text.json_document import splice
from mcproof.targets.snapshots import read_snapshot

from .schemas import Instances, input_schemas
from .test_fix import catalog_text, layouts, seeds

if TYPE_CHECKING:
    from random import Random

RULES = {rule.id for rule in rules_of("compat")}
EVERY_CLIENT = choose_clients(known_profiles())
ALL_CHECKS = ClientChecks(ClientChoice(known_profiles()).all_active())
DIALECTS = ("https://json-schema.org/draft/2020-12/schema", "http://json-schema.org/draft-07/schema#")


def fixed(text: str, choice: ClientChoice = DEMANDING_ONLY) -> str:
    catalog = read_snapshot(text.encode(), "catalog.json")
    rules = {tool.index: RULES for tool in catalog.tools}
    return splice(catalog.document.text, fix_for_clients(catalog, choice, rules).edits)


def fixed_schema(schema: Any) -> Any:
    return json.loads(fixed(catalog_text(schema)))[0]["inputSchema"]


@st.composite
def schemas_with_dialects(draw: st.DrawFn) -> Any:
    """Input schemas, some with a `$schema`."""
    schema = draw(st.one_of(input_schemas(friendly=True), input_schemas()))
    dialect = draw(st.sampled_from((None, *DIALECTS)))
    return schema if dialect is None else {**schema, "$schema": dialect}


@given(schemas_with_dialects(), seeds)
def test_what_the_edited_schema_accepts_the_original_accepted(schema: Any, random: Random) -> None:
    edited = fixed_schema(schema)
    assume(edited != schema)
    try:
        before, after = jsonschema_rs.validator_for(schema), jsonschema_rs.validator_for(edited)
    except ValueError:  # a keyword of 2020-12 that draft-07 does not take
        assume(False)
    likely_before, likely_after = Instances(schema, random), Instances(edited, random)
    for _ in range(40):
        for instance in (likely_before.likely(), likely_after.likely()):
            if after.is_valid(instance):
                event("accepted by the edited schema")
                note(f"schema: {json.dumps(schema)}\nedited: {json.dumps(edited)}\n{json.dumps(instance)}")
                assert before.is_valid(instance)


@given(st.one_of(input_schemas(friendly=True), input_schemas()), st.data())
def test_a_second_run_changes_nothing_in_any_layout(schema: Any, data: st.DataObject) -> None:
    text = data.draw(layouts(schema))
    once = fixed(text)

    assert fixed(once) == once
    assert json.loads(once)[0]["inputSchema"] == fixed_schema(json.loads(text)[0]["inputSchema"])


@pytest.mark.slow
@given(schemas_with_dialects())
def test_no_tool_is_worse_off_in_any_client(schema: Any) -> None:
    text = catalog_text(schema)
    after = fixed(text, EVERY_CLIENT)
    assume(after != text)

    was, now = worst_effects(text), worst_effects(after)
    note(f"before: {text}\nafter: {after}")
    assert {client: effect for client, effect in now.items() if effect < was.get(client, len(RANK))} == {}


def worst_effects(text: str) -> dict[tuple[str, bool], int]:
    """The rank of the worst effect in each client, apart for what counts and for the rest, such as opt-in modes."""
    catalog = read_snapshot(text.encode(), "catalog.json")
    hits = [hit for tool in catalog.tools for hit in ALL_CHECKS.on_tool(tool, "")]
    hits += ALL_CHECKS.on_server(catalog)
    found: dict[tuple[str, bool], int] = {}
    for hit in hits:
        key = (hit.active.profile.id, hit.active.holds)
        found[key] = min(found.get(key, len(RANK)), RANK[hit.active.constraint.effect])
    return found

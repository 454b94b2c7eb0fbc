"""What each tool does in each client, and what to change first."""

from __future__ import annotations

import json
from typing import Any

import pytest

from mcproof.checks.clients.hits import CatalogHits, ClientChecks
from mcproof.checks.clients.profiles import choose_clients
from mcproof.checks.clients.verdicts import (
    _REMEDIES,
    BrokenConstraint,
    ClientOutcome,
    Verdict,
    client_effects,
    improvements,
    judge_clients,
)
from mcproof.checks.rules.compat.table import CLIENT_RULES
from mcproof.targets.snapshots import read_snapshot


def hit(tool: str | None, rule: str, effect: str = "tool_dropped") -> BrokenConstraint:
    return BrokenConstraint(
        constraint=rule.lower(),
        rule=rule,
        effect=effect,
        status="current",
        tool=tool,
        pointer="/x",
        opt_in=False,
        conditional=False,
        counts=True,
    )


def client(
    name: str, *hits: BrokenConstraint, sends_to: tuple[str, ...] = (), kind: str = "client", verdict: Verdict = "works"
) -> ClientOutcome:
    return ClientOutcome(
        client=name,
        name=name.title(),
        kind=kind,
        checked="2026-01-01",
        verdict=verdict,
        hits=list(hits),
        sends_to=sends_to,
    )


def test_a_refused_list_loses_the_neighbours() -> None:
    (effects,) = client_effects([client("a", hit("bad", "CMP-010", "list_rejected"))])
    assert [effects.tool(name) for name in ("bad", "good")] == ["breaks", "lost"]
    assert effects.missing(5) == 5


def test_a_dropped_tool_leaves_its_neighbours() -> None:
    (effects,) = client_effects([client("a", hit("bad", "CMP-030"), hit("long", "CMP-006", "truncated"))])
    assert [effects.tool(name) for name in ("bad", "long", "good")] == ["breaks", "degraded", "works"]
    assert effects.missing(5) == 1


def test_hits_that_do_not_count_have_no_effect() -> None:
    ignored = hit("bad", "CMP-010", "list_rejected")._replace(counts=False)
    note = hit("bad", "CMP-001", "tool_renamed")
    (effects,) = client_effects([client("a", ignored, note)])
    assert effects.verdict == effects.tool("bad") == "works"


def test_one_model_api_behind_a_client_counts_in_full() -> None:
    api = client("api", hit("bad", "CMP-011", "request_rejected"), kind="api")
    effects = {each.outcome.client: each for each in client_effects([client("a", sends_to=("api",)), api])}
    assert effects["a"].verdict == "breaks"
    assert effects["a"].tool("good") == "lost"


def test_what_a_client_mends_never_reaches_the_model_api() -> None:
    api = client("api", hit("bad", "CMP-020", "request_rejected"), kind="api")
    mending = client("a", sends_to=("api",))._replace(repairs=("CMP-020",))
    assert client_effects([mending, api])[0].verdict == "works"


@pytest.mark.parametrize(("schema", "rule"), [({"type": "array"}, "CMP-020"), (None, "CMP-012")])
def test_codex_adds_missing_items_and_properties(schema: Any, rule: str) -> None:
    root = {"type": "object"} if schema is None else {"type": "object", "properties": {"rows": schema}}
    outcomes = judged({"name": "get_rows", "description": "Get rows.", "inputSchema": root})
    assert any(broken.rule == rule for broken in outcomes["openai-api"].hits)
    assert (outcomes["openai-api"].verdict, outcomes["codex-cli"].verdict) == ("breaks", "works")


def test_one_of_several_model_apis_degrades_at_most() -> None:
    api = client("api", hit("bad", "CMP-011", "request_rejected"), kind="api")
    other = client("other", kind="api")
    effects = client_effects([client("a", sends_to=("api", "other")), api, other])[0]
    assert effects.verdict == effects.tool("bad") == "degraded"
    assert effects.tool("good") == "works"


def test_a_limit_of_the_server_is_not_a_tool() -> None:
    (effects,) = client_effects([client("a", hit(None, "CMP-060", "tool_dropped"))])
    assert (effects.server, effects.verdict, effects.missing(90)) == ("breaks", "breaks", 0)


def test_the_change_that_gains_most_clients_is_first() -> None:
    outcomes = [
        client("a", hit("x", "CMP-023")),
        client("b", hit("x", "CMP-030"), hit("y", "CMP-030")),
        client("c", hit("x", "CMP-030")),
    ]
    first, second = improvements(outcomes, 4)
    assert (first.rule, first.tools, first.clients) == ("CMP-030", 2, ("B", "C"))
    assert [(gain.name, gain.tools, gain.before, gain.after) for gain in first.gains] == [
        ("B", 2, "breaks", "works"),
        ("C", 1, "breaks", "works"),
    ]
    assert (second.rule, second.clients) == ("CMP-023", ("A",))


def test_a_step_is_judged_after_those_before_it() -> None:
    """Neither change alone makes the tool usable; together they do."""
    first, second = improvements([client("a", hit("x", "CMP-023"), hit("x", "CMP-030"))], 1)
    assert first.gains == ()
    assert [gain.tools for gain in second.gains] == [1]


def test_tools_behind_a_model_api_are_regained_in_the_client() -> None:
    api = client("api", hit("x", "CMP-011", "request_rejected"), kind="api")
    (step,) = improvements([client("a", sends_to=("api",)), api], 7)
    assert [(gain.client, gain.tools) for gain in step.gains] == [("a", 7), ("api", 7)]


def test_named_clients_limit_the_changes() -> None:
    outcomes = [client("a", hit("x", "CMP-023")), client("b", hit("x", "CMP-030"))]
    assert [each.rule for each in improvements(outcomes, 1, ["b"])] == ["CMP-030"]


def judged(tool: dict[str, Any]) -> dict[str, ClientOutcome]:
    choice = choose_clients([])
    hits = CatalogHits(
        ClientChecks(choice.all_active()), read_snapshot(json.dumps({"tools": [tool]}).encode(), "tools.json")
    )
    return {outcome.client: outcome for outcome in judge_clients(choice, hits.all())}


def test_every_rule_has_a_remedy() -> None:
    assert {rule.id for rule in CLIENT_RULES} == set(_REMEDIES)


@pytest.mark.parametrize(
    ("rule", "hits", "remedy"),
    [
        ("CMP-051", [("x", ""), ("x", "/a"), ("y", "")], "drop `$schema` from 2 output schemas"),
        ("CMP-012", [("x", "")], "add `properties: {}` to 1 input schema"),
        ("CMP-023", [("x", ""), ("x", "/a"), ("y", "")], "give 3 lists of types a single type"),
    ],
)
def test_a_remedy_counts_tools_or_places(rule: str, hits: list[tuple[str, str]], remedy: str) -> None:
    broken = [hit(tool, rule)._replace(pointer=pointer) for tool, pointer in hits]
    (step,) = improvements([client("a", *broken)], 2)
    assert step.remedy == remedy

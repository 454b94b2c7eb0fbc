"""The polish score, by worked examples."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcproof.checks.engine import check
from mcproof.checks.rule import find_rule, rules_of
from mcproof.checks.scores.grade import PENALTIES, WEIGHTS, Polish, polish, score_of
from mcproof.targets.snapshots import read_snapshot

GOOD = {
    "name": "create_ticket",
    "description": "Create a ticket. Use this when the user reports a new bug. Returns the id of the ticket.",
    "inputSchema": {
        "type": "object",
        "properties": {"title": {"type": "string", "description": "A short summary."}},
        "required": ["title"],
    },
}


def polished(*changes: dict[str, Any], rules: tuple[str, ...] = ()) -> Polish:
    """The score of a server of good tools, each changed in one place."""
    tools = [
        {**GOOD, "name": f"close_ticket_{number}", "description": f"{GOOD['description']} ({number})", **change}
        for number, change in enumerate(changes)
    ]
    catalog = read_snapshot(json.dumps({"tools": tools}).encode(), "case.json")
    return polish(catalog, check(catalog, [find_rule(rule) for rule in rules] or rules_of("polish")))


def test_nothing_to_find_is_100() -> None:
    result = polished({})
    assert (result.score, result.deductions, result.penalty) == (100, [], 0)


def test_the_weights_of_the_categories_add_up_to_one() -> None:
    assert sum(WEIGHTS.values()) == pytest.approx(1)
    assert {rule.category for rule in rules_of("polish")} == set(WEIGHTS)
    assert {rule.severity for rule in rules_of("polish")} == set(PENALTIES)


@pytest.mark.parametrize(
    ("severity", "category", "score"),
    [
        ("error", "naming", 88),
        ("error", "schema", 92),
        ("error", "consistency", 94),
        ("error", "security", 98),
        ("warn", "naming", 95),
        ("warn", "schema", 97),
        ("note", "description", 99),
    ],
)
def test_one_finding_on_one_tool_costs_what_is_published(severity: str, category: str, score: int) -> None:
    assert score_of(PENALTIES[severity] * WEIGHTS[category], 1) == score


def test_a_tool_without_a_description_costs_eight() -> None:
    assert polished({"description": ""}).score == 92  # 100 - 8 * 5 * 0.20


def test_four_tools_halve_what_a_finding_costs() -> None:
    assert polished({"description": ""}, {}, {}, {}).score == 96


def test_findings_add_up() -> None:
    result = polished({"name": "search"}, {"description": ""}, {}, {})
    assert [(each.rule.id, each.times) for each in result.deductions] == [("MP001", 1), ("MP010", 1)]
    assert result.penalty == pytest.approx(5 * 0.20 + 2 * 0.30)
    assert result.score == round(100 - 8 * 1.6 / 2)


@pytest.mark.parametrize(("penalty", "score"), [(0.0625, 100), (0.1875, 98), (0.3125, 98), (0.4375, 96)])
def test_a_half_is_rounded_to_the_even_number(penalty: float, score: int) -> None:
    assert (100 - 8 * penalty) % 1 == 0.5
    assert score_of(penalty, 1) == score


def test_it_never_falls_below_zero() -> None:
    assert score_of(1000, 1) == 0


def test_no_tools_do_not_divide_by_zero() -> None:
    assert score_of(1, 0) == 92


def test_a_server_that_offers_nothing_scores_nothing() -> None:
    catalog = read_snapshot(b'{"initialize": {}, "tools": []}', "case.json")
    assert polish(catalog, []).score == 0


def test_other_rulesets_and_severities_of_ones_own_do_not_count() -> None:
    catalog = read_snapshot(json.dumps({"tools": [{**GOOD, "description": ""}]}).encode(), "case.json")
    milder = find_rule("MP001").with_severity("note")
    findings = check(catalog, [find_rule("tool-no-description"), milder])
    assert len(findings) == 2
    assert polish(catalog, findings).score == 92


@given(st.floats(0, 500), st.floats(0, 500), st.integers(0, 1000))
def test_a_larger_penalty_never_scores_higher(one: float, other: float, tools: int) -> None:
    low, high = sorted((one, other))
    assert 0 <= score_of(high, tools) <= score_of(low, tools) <= 100

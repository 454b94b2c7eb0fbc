"""The score, the letter, and what a fix would gain."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcproof.checks.engine import check
from mcproof.checks.rule import choose_rules
from mcproof.checks.scores.grade import Grade, grade, letter_of
from mcproof.targets.snapshots import read_snapshot

if TYPE_CHECKING:
    from mcproof.core.catalog.model import Catalog

GOOD_TOOL = {
    "name": "get_time",
    "description": "The current time in a time zone, as ISO 8601.",
    "inputSchema": {
        "type": "object",
        "properties": {"zone": {"type": "string", "description": "An IANA time zone."}},
        "required": ["zone"],
    },
}


def graded(document: Any) -> Grade:
    catalog = read_snapshot(json.dumps(document).encode(), "case.json")
    return grade(catalog, check(catalog, choose_rules(["grade"])))


def tools(*changes: dict[str, Any]) -> dict[str, Any]:
    """A list of good tools, each changed in one place."""
    return {"tools": [{**GOOD_TOOL, "name": f"tool_{number}", **change} for number, change in enumerate(changes)]}


def test_a_clean_server_scores_100() -> None:
    result = graded(tools({}, {}))
    assert (result.score, result.letter, result.word) == (100, "A", "excellent")
    assert result.gains == []


@pytest.mark.parametrize(
    ("score", "letter"),
    [(100, "A"), (90, "A"), (89, "B"), (75, "B"), (74, "C"), (60, "C"), (59, "D"), (40, "D"), (39, "F"), (0, "F")],
)
def test_the_letter_follows_the_thresholds(score: int, letter: str) -> None:
    assert letter_of(score) == letter


def test_an_error_costs_15_a_warning_5_and_an_info_1() -> None:
    assert graded(tools({}, {"description": ""})).score == 85
    assert graded(tools({"inputSchema": None})).unclamped == 100 - 5 + 5
    assert graded(tools({"name": "a.b"})).unclamped == 100 - 1 + 5


def test_the_bonus_needs_20_characters_in_every_description() -> None:
    assert graded(tools({"description": "x" * 20})).bonus
    assert not graded(tools({"description": "x" * 19})).bonus
    assert not graded(tools({"description": "  " + "x" * 19 + "  "})).bonus, "blanks around it do not count"
    assert graded(tools({"description": "\U0001f600" * 10})).bonus, "an emoji is two UTF-16 code units"
    assert not graded(tools({}, {"description": "x" * 19})).bonus


def test_the_bonus_is_added_before_the_score_is_cut_to_its_range() -> None:
    undescribed = {str(number): {"type": "string"} for number in range(21)}
    schema = {"type": "object", "properties": undescribed, "required": ["0"]}
    result = graded(tools({"inputSchema": schema}))
    assert result.unclamped == 100 - 105 + 5
    assert result.score == 0


def test_a_server_without_tools_gets_no_bonus_but_is_judged_by_what_it_has() -> None:
    prompt = {"name": "plan", "description": "Plan a trip around the weather."}
    server = {"initialize": {"serverInfo": {"name": "x", "version": "1"}}, "tools": [], "prompts": [prompt]}
    result = graded(server)
    assert not result.bonus
    assert result.score == 100


def test_an_empty_server_scores_0() -> None:
    result = graded({"initialize": {"serverInfo": {"name": "x", "version": "1"}}, "tools": []})
    assert (result.score, result.letter) == (0, "F")
    assert result.gains == []


def test_the_largest_gain_stands_first_and_names_the_letter_it_leads_to() -> None:
    undescribed = {str(number): {"type": "string"} for number in range(7)}
    schema = {"type": "object", "properties": undescribed, "required": ["0"]}
    result = graded(tools({"inputSchema": schema}, {"name": "a.b"}))
    first = result.gains[0]
    assert first.rule == "prop-no-description"
    assert (result.letter, first.points, first.letter) == ("C", 31, "A")


def test_describing_the_last_undescribed_tool_also_earns_the_bonus() -> None:
    result = graded(tools({}, {"description": ""}, {"name": "a.b"}, {"name": "c.d"}))
    gain = next(each for each in result.gains if each.rule == "tool-no-description")
    assert result.score == 83
    assert gain.points == 17, "15 for the error, and of the bonus what fits below 100"


@given(
    st.lists(st.sampled_from([{}, {"description": ""}, {"name": "a b"}, {"inputSchema": []}]), min_size=1, max_size=12)
)
def test_another_finding_never_raises_the_score(changes: list[dict[str, Any]]) -> None:
    clean = graded(tools(*changes, {}))
    worse = graded(tools(*changes, {"description": "Short."}))
    assert worse.score <= clean.score


@given(
    st.lists(st.sampled_from([{}, {"description": ""}, {"name": "a b"}, {"inputSchema": {}}]), min_size=1, max_size=12)
)
def test_every_lost_point_names_a_rule(changes: list[dict[str, Any]]) -> None:
    result = graded(tools(*changes))
    lost = sum(each.points for each in result.deductions)
    assert result.score == max(0, min(100, 100 - lost + result.bonus))


def test_findings_of_other_rulesets_do_not_count() -> None:
    catalog: Catalog = read_snapshot(json.dumps(tools({})).encode(), "case.json")
    findings = check(catalog, choose_rules(["all"]))
    assert any(finding.rule.ruleset == "strict" for finding in findings)
    assert grade(catalog, findings).score == 100


def test_the_bonus_is_promised_only_to_a_fix_that_earns_it_alone() -> None:
    result = graded(tools({"description": ""}, {"description": "twelve chars"}, {"name": "a.b"}))
    gain = next(each for each in result.gains if each.rule == "tool-no-description")
    assert gain.points == 15
    assert result.short_descriptions == 2


def test_the_example_of_the_documentation_is_right() -> None:
    """Three tools: one has no description, four parameters have none, one tool requires nothing."""
    bare = {"type": "object", "properties": {name: {"type": "string"} for name in ("a", "b")}, "required": ["a"]}
    without = tools({"description": "", "inputSchema": bare}, {"inputSchema": {**bare, "required": []}}, {})
    assert (graded(without).score, graded(without).letter) == (64, "C")
    without["tools"][0]["description"] = GOOD_TOOL["description"]
    assert (graded(without).score, graded(without).letter) == (84, "B")

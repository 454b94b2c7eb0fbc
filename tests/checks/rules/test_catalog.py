"""The rules about the input itself: what they say, and how they get along with the others."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from mcproof.checks.engine import check
from mcproof.checks.findings import Problem
from mcproof.checks.rule import Rule, find_rule
from mcproof.checks.subjects import RuleCrash
from mcproof.core.catalog.model import Tool
from mcproof.targets.snapshots import read_snapshot

from .helpers import catalog_of, findings_in, findings_on_tool

if TYPE_CHECKING:
    from collections.abc import Iterator

TOOLS = [{"name": name, "description": "Find tickets.", "inputSchema": {"type": "object"}} for name in ("a", "b", "c")]


def crash(times: int) -> RuleCrash:
    return RuleCrash("SCH-003", "tool:search", "KeyError: 'type'", times)


def failing_rule() -> Rule:
    """A rule that finds something in the first tool and fails on all others."""

    def check_tool(tool: Any) -> Iterator[Problem]:
        if tool.index > 0:
            raise KeyError(tool.name)
        yield Problem("is the first")

    facts: dict[str, Any] = {"ruleset": "grade", "name": "failing-rule", "severity": "error", "category": "schema"}
    return Rule(check_tool, subject=Tool, id="failing-rule", fault=None, fixable=False, since="0.1.0", **facts)


def test_a_crash_names_the_rule_the_subject_and_the_error() -> None:
    [problem] = find_rule("CAT-004").check(crash(1))
    for part in ("`SCH-003`", "tool:search", "KeyError: 'type'"):
        assert part in problem.message
    assert "times" not in problem.message
    assert problem.evidence == {"rule": "SCH-003", "subject": "tool:search", "error": "KeyError: 'type'", "times": 1}


def test_a_crash_that_came_again_tells_how_often() -> None:
    [problem] = find_rule("CAT-004").check(crash(12))
    assert "12 times" in problem.message


def test_a_rule_that_fails_is_one_finding_and_the_others_still_run() -> None:
    rules = [find_rule("tool-empty-schema"), failing_rule(), find_rule("CAT-004"), find_rule("tool-short-description")]
    found = check(catalog_of({"tools": TOOLS}), rules)
    assert [finding.item.name for finding in found if finding.rule.id == "tool-empty-schema"] == ["a", "b", "c"]
    assert [finding.item.name for finding in found if finding.rule.id == "failing-rule"] == ["a"]
    [crashed] = [finding for finding in found if finding.rule.id == "CAT-004"]
    assert crashed.evidence == {"rule": "failing-rule", "subject": "tool:b", "error": "KeyError: 'b'", "times": 2}


def test_the_last_of_two_equal_keys_is_the_one_that_is_judged() -> None:
    text = '{"tools": [{"name": "a b",\n"name": "search", "description": "Find tickets."}]}'
    rules = [find_rule(rule) for rule in ("CAT-003", "tool-name-convention")]
    [finding] = check(read_snapshot(text.encode(), "case.json"), rules)
    assert finding.rule.id == "CAT-003"
    assert finding.pointer == "/tools/0"
    assert "`name`" in finding.message


@pytest.mark.parametrize("entry", [None, True, 5, 1.5, "search", []], ids=repr)
def test_an_entry_that_is_no_object_does_not_hide_its_neighbours(entry: Any) -> None:
    found = findings_in({"tools": [TOOLS[0], entry, {"description": "Find tickets."}]}, "CAT-001", "CAT-002")
    assert [(finding.rule.id, finding.item.index) for finding in found] == [("CAT-001", 1), ("CAT-002", 2)]


@pytest.mark.parametrize("key", ["title", "annotations", "outputSchema", "_meta", "icons"])
@pytest.mark.parametrize("value", [None, 5, True], ids=repr)
def test_every_field_of_another_type_is_told_at_its_place(key: str, value: Any) -> None:
    [finding] = findings_on_tool({**TOOLS[0], key: value}, "CAT-006")
    assert finding.pointer == f"/{key}"


@pytest.mark.parametrize(
    "tool",
    [
        None,
        {},
        {"name": None},
        {"name": "search", "description": None},
        {"name": "search", "description": 5},
        {"name": "search", "description": "Find tickets.", "inputSchema": []},
        {"name": "search", "description": "Find tickets.", "inputSchema": {"type": "object", "properties": []}},
    ],
    ids=str,
)
def test_a_malformed_tool_is_always_told_of(tool: Any) -> None:
    assert [finding for finding in findings_in({"tools": [TOOLS[0], tool]}) if finding.item.index == 1] != []

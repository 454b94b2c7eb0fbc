"""Which entry of the configuration suppresses a finding, and which is not needed any more."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from mcproof.checks.engine import check
from mcproof.checks.ignores import IGNORED, IgnoreFor, IgnoreTracker, Suppression
from mcproof.checks.rule import Rule, choose_rules
from mcproof.core.errors import SettingLocation
from mcproof.runs.judging import Plan, find_problems
from mcproof.targets.snapshots import read_snapshot

if TYPE_CHECKING:
    from mcproof.core.catalog.model import Catalog

STRICT = choose_rules(["strict"])


def catalog_of(*names: str) -> Catalog:
    schema = {"type": "object", "properties": {"q": {"type": "string"}}}
    tools: list[Any] = [{"name": name, "inputSchema": schema} for name in names]
    return read_snapshot(json.dumps(tools).encode(), "case.json")


def entry(*rules: str, tool: str | None = None, line: int = 1, reason: str | None = None) -> IgnoreFor:
    place = SettingLocation("mcproof.toml", line)
    return IgnoreFor("tool" if tool else None, tool or "*", frozenset(rules), rules, reason, place)


def suppressed(
    tracker: IgnoreTracker, catalog: Catalog, *entries: IgnoreFor, rules: list[Rule] = STRICT
) -> set[tuple[str, str]]:
    """The rules and tools whose findings are suppressed."""
    findings = check(catalog, rules)
    answers = tracker.apply(findings, entries, rules)
    assert len(answers) == len(findings)
    return {(each.rule.id, each.item.name) for each, why in zip(findings, answers, strict=True) if why is not None}


def test_a_finding_is_suppressed_by_rule_and_name() -> None:
    found = suppressed(IgnoreTracker(), catalog_of("old_a", "new_a"), entry("SCH-001", tool="old_*"))
    assert found == {("SCH-001", "old_a")}


def test_without_entries_nothing_is_suppressed() -> None:
    assert suppressed(IgnoreTracker(), catalog_of("a")) == set()


def test_the_first_entry_that_fits_answers() -> None:
    catalog = catalog_of("a")
    findings = check(catalog, choose_rules([], select=["SCH-001"]))
    entries = [entry("SCH-001", tool="b", line=1), entry("SCH-001", line=2, reason="why"), entry("SCH-001", line=3)]
    answers = IgnoreTracker().apply(findings, entries, STRICT)
    assert Suppression(IGNORED, "why", "mcproof.toml", 2) in answers


def test_an_entry_that_suppressed_nothing_is_unused() -> None:
    tracker = IgnoreTracker()
    needed, unused = entry("SCH-001", tool="a"), entry("SCH-001", tool="b")
    suppressed(tracker, catalog_of("a"), needed, unused)
    assert tracker.unused() == [unused]


def test_an_entry_that_any_catalog_needed_is_used() -> None:
    tracker = IgnoreTracker()
    needed = entry("SCH-001", tool="a")
    suppressed(tracker, catalog_of("a"), needed)
    suppressed(tracker, catalog_of("b"), needed)
    assert tracker.unused() == []


@pytest.mark.parametrize("rules", [("CAT-001",), ("SCH-001", "CAT-001")], ids=", ".join)
def test_an_entry_with_a_rule_that_did_not_run_is_not_unused(rules: tuple[str, ...]) -> None:
    tracker = IgnoreTracker()
    suppressed(tracker, catalog_of("a"), entry(*rules, tool="b"))
    assert tracker.unused() == []


def test_a_rule_that_failed_makes_no_entry_unused_and_is_suppressed_all_the_same(broken_rule: Rule) -> None:
    tracker = IgnoreTracker()
    entries = (entry("SCH-002", tool="a"), entry("SCH-002", tool="b"))
    judged = find_problems(catalog_of("a"), Plan(choose_rules([], select=["SCH-002"]), "note", entries), tracker)
    assert [finding.rule.id for finding in judged.active] == ["CAT-004"]
    assert tracker.unused() == []

"""Findings as a page shows them: grouped by tool, with excerpts, and the rules they belong to."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, NamedTuple

from mcproof.checks.findings import LEVELS, Level, group_by_fault
from mcproof.report.html.page_limits import MOST

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from mcproof.checks.findings import FindingGroup, FixFacts, ReportedFinding, RuleFacts, Snippet
    from mcproof.checks.fixes.snippets import CodeHelp
    from mcproof.checks.ignores import Suppression
    from mcproof.runs.results import RunResult, TargetResult

OPEN_FINDINGS = 30
"""A target with at most this many findings shows them unfolded."""

BEFORE, AFTER = 60, 120
"""How much of a long line is shown around the location; pages wrap, and a minified file is one line."""

_SUPPRESSED_BY = {
    "ignore-for": "Ignored by the configuration",
    "baseline": "Accepted in the baseline",
    "comment": "Ignored by a comment",
}


def count_levels(groups: Iterable[FindingGroup]) -> dict[Level, int]:
    """Return the number of findings of each level."""
    counted: dict[Level, int] = dict.fromkeys(LEVELS, 0)
    for group in groups:
        counted[group.shown.level] += 1
    return counted


class RuleUse(NamedTuple):
    """A rule with findings in a run."""

    rule: RuleFacts
    number: int
    """Identifies the rule on the page; an untrusted id would not be a safe anchor."""
    times: int
    code_help: list[CodeHelp] = []  # noqa: RUF012 (never mutated)
    """What to write in a server's code; of the first target that has it."""


def rules_used(run: RunResult) -> dict[str, RuleUse]:
    """Return the rules with findings, suppressed or not, by id; the most serious and frequent first."""
    facts: dict[str, RuleFacts] = {}
    times: dict[str, int] = {}
    for result in run.targets:
        for each in (*result.findings, *result.suppressed):
            facts.setdefault(each.rule.id, each.rule)
            times[each.rule.id] = times.get(each.rule.id, 0) + 1
    ranked = sorted(facts.values(), key=lambda rule: (LEVELS.index(rule.level), -times[rule.id], rule.id))
    return {
        rule.id: RuleUse(rule, number, times[rule.id], _code_help(run, rule.id))
        for number, rule in enumerate(ranked, 1)
    }


def _code_help(run: RunResult, rule: str) -> list[CodeHelp]:
    found = ([each for each in result.code_help if each.rule == rule] for result in run.targets)
    return next((each for each in found if each), [])


class RulesetUse(NamedTuple):
    """A ruleset and its rules with findings."""

    number: int
    name: str
    rules: list[RuleUse]


def rulesets_used(rules: dict[str, RuleUse]) -> list[RulesetUse]:
    """Return the rules with findings by ruleset, sorted by name."""
    names = sorted({use.rule.ruleset for use in rules.values()})
    return [
        RulesetUse(number, name, [use for use in rules.values() if use.rule.ruleset == name])
        for number, name in enumerate(names, 1)
    ]


class Excerpt(NamedTuple):
    """The line of a finding without its indentation, with the part to mark."""

    before: str
    marked: str
    after: str


class FindingView:
    """One finding: message, rules, location, line, and how it is fixed or suppressed."""

    def __init__(self, group: FindingGroup, target: str) -> None:
        self.shown: ReportedFinding = group.shown
        self.rules = [group.shown.rule.id, *group.also]
        self._target = target

    @property
    def location(self) -> str:
        """File, line and column; the file only if it is not the target."""
        parts = [str(part) for part in (self.shown.line, self.shown.column) if part is not None]
        if self.shown.file != self._target:
            return ":".join([self.shown.file[:1000], *parts])
        return f"line {':'.join(parts)}" if parts else ""

    @property
    def excerpt(self) -> Excerpt | None:
        snippet: Snippet | None = self.shown.snippet
        if snippet is None:
            return None
        first = max(0, snippet.start - BEFORE)
        last = min(len(snippet.text), snippet.start + AFTER)
        end = min(snippet.end, last)
        before, marked, after = (
            part.replace("\t", "    ")
            for part in (snippet.text[first : snippet.start], snippet.text[snippet.start : end], snippet.text[end:last])
        )
        before = f"…{before}" if first or snippet.cut_before else before.lstrip()
        after = f"{after}…" if last < len(snippet.text) or snippet.cut_after else after
        return Excerpt(before, marked, after.rstrip())

    @property
    def fix(self) -> FixFacts | None:
        return self.shown.fix

    @property
    def fix_value(self) -> str:
        return json.dumps(self.shown.fix.value, ensure_ascii=False) if self.shown.fix is not None else ""

    @property
    def suppression(self) -> Suppression | None:
        return self.shown.suppression

    @property
    def suppressed_by(self) -> str:
        by = self.shown.suppression.by if self.shown.suppression is not None else ""
        return _SUPPRESSED_BY.get(by) or f"Suppressed by {by[:40]}"


class ItemFindings(NamedTuple):
    """The findings about one tool or another item."""

    item: str
    shown: list[FindingGroup]
    suppressed: list[FindingGroup]
    target: str

    @property
    def kind(self) -> str:
        return self.item.partition(":")[0]

    @property
    def name(self) -> str:
        return self.item.partition(":")[2]

    @property
    def levels(self) -> dict[Level, int]:
        """The number of findings of each level, without suppressed ones."""
        return count_levels(self.shown)

    @property
    def findings(self) -> list[FindingView]:
        return [FindingView(group, self.target) for group in (*self.shown, *self.suppressed)]


class Findings:
    """The findings of a target, grouped as people see them."""

    def __init__(self, result: TargetResult) -> None:
        self.shown = group_by_fault(result.findings)
        self.suppressed = group_by_fault(result.suppressed)
        self._target = result.target
        self.most = MOST
        """How many findings the page has room for; the page may lower it."""

    @property
    def levels(self) -> dict[Level, int]:
        """The number of findings of each level, without suppressed ones."""
        return count_levels(self.shown)

    @property
    def left_out(self) -> int:
        """The number of findings that the page has no room for."""
        return max(0, len(self.shown) + len(self.suppressed) - self.most)

    @property
    def is_open(self) -> bool:
        return len(self.shown) + len(self.suppressed) <= OPEN_FINDINGS

    @property
    def by_item(self) -> list[ItemFindings]:
        """The findings by item, the item with the most serious first, as many as the page has room for."""
        items: dict[tuple[str, str], ItemFindings] = {}
        for is_suppressed, groups in ((False, self.shown), (True, self.suppressed)):
            for group in groups:
                key = (group.shown.item_pointer, group.shown.item)
                item = items.setdefault(key, ItemFindings(group.shown.item, [], [], self._target))
                (item.suppressed if is_suppressed else item.shown).append(group)
        ranked = sorted(items.values(), key=lambda item: [-count for count in item.levels.values()])
        return list(_cropped(ranked, self.most)) if self.left_out else ranked


def _cropped(items: list[ItemFindings], most: int) -> Iterator[ItemFindings]:
    """The first items, with at most this many findings in all."""
    for item in items:
        if most <= 0:
            return
        shown = item.shown[:most]
        suppressed = item.suppressed[: most - len(shown)]
        yield item._replace(shown=shown, suppressed=suppressed)
        most -= len(shown) + len(suppressed)

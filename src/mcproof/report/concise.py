"""One line each, for people and grep: findings, changes, tests that did not pass, and the findings of each rule."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from mcproof.checks.findings import LEVELS, RuleFacts, group_by_fault
from mcproof.core.console import Style, plural
from mcproof.report.frames import location_of
from mcproof.report.phrases import CHANGE_WORDS

if TYPE_CHECKING:
    from collections.abc import Iterator

    from mcproof.checks.findings import ReportedFinding
    from mcproof.runs.results import RunResult, TargetResult


def concise_lines(result: TargetResult, style: Style) -> Iterator[str]:
    """Render one line for each finding or change, or for each test that did not pass."""
    kind = result.payload.kind
    return (_changes if kind == "diff" else _tests if kind == "suite" else _findings)(result, style)


def _findings(result: TargetResult, style: Style) -> Iterator[str]:
    for group in group_by_fault(result.findings):
        shown = group.shown
        others = f" [also {', '.join(group.also)}]" if group.also else ""
        yield f"{_line(shown, shown.level, style)}{others}\n"


def _changes(result: TargetResult, style: Style) -> Iterator[str]:
    for finding in result.findings:
        yield f"{_line(finding, CHANGE_WORDS[finding.level], style)}\n"


def _line(finding: ReportedFinding, word: str, style: Style) -> str:
    """Return location, level, rule, item and message."""
    item = f"{style.text(finding.label, 100)}: " if finding.label else ""
    painted = style.paint(word, finding.level)
    return f"{location_of(finding, style)}: {painted} {finding.rule.id} {item}{style.text(finding.message)}"


def _tests(result: TargetResult, style: Style) -> Iterator[str]:
    from mcproof.report.sections.suites import merge_unrun  # it loads what tests and probes are made of

    for test in merge_unrun(result.tests):
        if test.is_bad:
            location = f"{test.file}:{test.first_line}: " if test.first_line is not None else ""
            word = style.paint(test.outcome, "error")
            yield f"{style.text(location)}{word} {style.text(test.label)}: {style.text(test.message, 1000)}\n"


class RuleCount(NamedTuple):
    """How many findings a rule has, and how many of them have an automatic fix."""

    rule: RuleFacts
    total: int
    fixable: int


def rule_counts(run: RunResult, style: Style) -> Iterator[str]:
    """Render one line a rule: the number of findings, the level, the id and the name; then the total."""
    counts = count_rules(run)
    checked = [result for result in run.targets if result.trouble is None]
    scope = plural(len(checked), "target")
    if not counts:
        yield f"no findings in {scope}\n"
        return
    digits = max(len(f"{count.total:,}") for count in counts)
    level = max(len(count.rule.level) for count in counts)
    ids = max(len(count.rule.id) for count in counts)
    for rule, total, fixable in counts:
        painted = style.paint(f"{rule.level:{level}}", rule.level)
        name = rule.name if rule.name != rule.id else ""
        yield f"{total:>{digits},}  {painted}  {rule.id:{ids}}  [{'*' if fixable else ' '}] {name}".rstrip() + "\n"
    yield f"{plural(sum(count.total for count in counts), 'finding')} of {plural(len(counts), 'rule')} in {scope}\n"
    if fixable := sum(count.fixable for count in counts):
        yield f"[*] {fixable:,} can be fixed automatically\n"


def count_rules(run: RunResult) -> list[RuleCount]:
    """Count the findings of all targets by rule: the most frequent first, then the worst level, then by id."""
    counts: dict[str, RuleCount] = {}
    for result in run.targets:
        is_file = result.connection is None  # the schemas of a live server are in its code
        for finding in result.findings:
            rule, total, fixable = counts.get(finding.rule.id, RuleCount(finding.rule, 0, 0))
            counts[finding.rule.id] = RuleCount(rule, total + 1, fixable + (is_file and finding.fix is not None))
    return sorted(counts.values(), key=lambda count: (-count.total, LEVELS.index(count.rule.level), count.rule.id))

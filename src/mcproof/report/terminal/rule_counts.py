"""The number of findings of each rule on a terminal."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from mcproof.checks.findings import LEVELS
from mcproof.core.console import plural

if TYPE_CHECKING:
    from collections.abc import Iterator

    from mcproof.checks.findings import RuleFacts
    from mcproof.core.console import Style
    from mcproof.runs.results import RunResult


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
    digits = max(len(f"{each.total:,}") for each in counts)
    level = max(len(each.rule.level) for each in counts)
    ids = max(len(each.rule.id) for each in counts)
    for rule, total, fixable in counts:
        painted = style.paint(f"{rule.level:{level}}", rule.level)
        name = rule.name if rule.name != rule.id else ""
        yield f"{total:>{digits},}  {painted}  {rule.id:{ids}}  [{'*' if fixable else ' '}] {name}".rstrip() + "\n"
    yield f"{plural(sum(each.total for each in counts), 'finding')} of {plural(len(counts), 'rule')} in {scope}\n"
    if fixable := sum(each.fixable for each in counts):
        yield f"[*] {fixable:,} can be fixed automatically\n"


def count_rules(run: RunResult) -> list[RuleCount]:
    """Count the findings of all targets by rule: the most frequent first, then the worst level, then by id."""
    counts: dict[str, RuleCount] = {}
    for result in run.targets:
        is_file = result.connection is None  # the schemas of a live server are in its code
        for each in result.findings:
            rule, total, fixable = counts.get(each.rule.id, RuleCount(each.rule, 0, 0))
            counts[each.rule.id] = RuleCount(rule, total + 1, fixable + (is_file and each.fix is not None))
    return sorted(counts.values(), key=lambda each: (-each.total, LEVELS.index(each.rule.level), each.rule.id))

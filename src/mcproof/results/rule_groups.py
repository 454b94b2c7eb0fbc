"""Findings grouped by rule, as people read them: one habit is one group, one shared definition one entry."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from mcproof.linting.finding import LEVELS

if TYPE_CHECKING:
    from collections.abc import Iterable

    from mcproof.results.findings import FindingGroup, ReportedFinding, RuleFacts


class FindingEntry(NamedTuple):
    """A finding to show, and the items that have the very same one."""

    shown: ReportedFinding
    also: list[str]
    """The ids of other rules that report the same, with what the fault does in clients."""
    items: list[str]
    """The names of the items, in the order of the file."""


class RuleGroup(NamedTuple):
    """The findings of one rule."""

    rule: RuleFacts
    entries: list[FindingEntry]

    @property
    def size(self) -> int:
        """How many findings the group has."""
        return count_findings(self.entries)


def count_findings(entries: Iterable[FindingEntry]) -> int:
    """Return how many findings entries stand for."""
    return sum(len(entry.items) for entry in entries)


def group_by_rule(groups: Iterable[FindingGroup], *, merges: bool = True) -> list[RuleGroup]:
    """Group findings by rule: the worst level first, then the most frequent, then in the order of the file.

    With `merges`, identical findings about several items are one entry.
    """
    by_rule: dict[str, RuleGroup] = {}
    known: dict[int, FindingEntry] = {}
    for group in groups:
        shown, also = group.shown, group.also_in_words
        entry = known.get(shown.twins) if merges and shown.twins else None
        if entry is not None and entry.also == also:
            entry.items.append(shown.label)
            continue
        entry = FindingEntry(shown, also, [shown.label])
        if shown.twins:
            known[shown.twins] = entry
        by_rule.setdefault(shown.rule.id, RuleGroup(shown.rule, [])).entries.append(entry)
    return sorted(by_rule.values(), key=lambda group: (LEVELS.index(group.rule.level), -group.size))

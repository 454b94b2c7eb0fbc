"""The `[[ignore-for]]` entries: apply them, and track which entries and comments are needed."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, NamedTuple

from mcproof.linting.registry import is_ignored

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from mcproof.core.catalog.model import Item
    from mcproof.linting.finding import Finding
    from mcproof.linting.registry import Rule

IGNORED, ACCEPTED, COMMENTED = "ignore-for", "baseline", "comment"
"""The sources of suppressions: an entry of the configuration, one of the baseline, a comment in the source."""


class SettingLocation(NamedTuple):
    """The location of a setting: the file as a user would name it, and the line."""

    file: str
    line: int

    def __str__(self) -> str:
        return f"{self.file}:{self.line}"


class IgnoreFor(NamedTuple):
    """An `[[ignore-for]]` entry: rules that are suppressed for some items."""

    kind: str | None
    """The kind of item; None for everything, the server included."""
    glob: str
    rules: frozenset[str]
    """The ids of the rules."""
    named: tuple[str, ...]
    """The rules and rulesets as written."""
    reason: str | None
    location: SettingLocation

    def matches(self, rule_id: str, item: Item) -> bool:
        """Whether it suppresses findings of this rule about this item."""
        return rule_id in self.rules and self.concerns(item)

    def concerns(self, item: Item) -> bool:
        """Whether it applies to this item. A full name always matches itself."""
        if self.kind is None:
            return True
        return item.kind == self.kind and (item.label == self.glob or _pattern(self.glob)(item.label) is not None)


@cache
def _pattern(glob: str) -> Callable[[str], object]:
    """The compiled matcher of a glob."""
    import re
    from fnmatch import translate

    return re.compile(translate(glob)).match


class Suppression(NamedTuple):
    """Why a finding is suppressed, and where that is declared."""

    by: str
    reason: str | None
    file: str
    line: int | None


class IgnoreNotice(NamedTuple):
    """A comment that suppresses nothing, or not what its author meant."""

    kind: str
    """`unused-ignore`, or `bad-ignore` for one that cannot be parsed."""
    message: str
    file: str
    line: int


class IgnoreTracker:
    """The entries and comments of a run that suppress findings, and which of them were needed."""

    def __init__(self) -> None:
        self._needed: dict[IgnoreFor, bool] = {}
        self.notices: dict[tuple[str, int, str], IgnoreNotice | None] = {}
        """By a comment's location and text: what is wrong with it; None if it was needed."""

    def apply(
        self, findings: list[Finding], ignores: Iterable[IgnoreFor], running: Iterable[Rule]
    ) -> list[Suppression | None]:
        """The suppression of each finding, or None; the first matching entry counts as needed."""
        entries = list(ignores)
        ids = {rule.id for rule in running}
        for entry in entries:
            if entry.rules <= ids:  # otherwise a rule that did not run may need it
                self._needed.setdefault(entry, False)
        concerned: dict[int, list[IgnoreFor]] = {}
        for finding in findings:  # match each item once, however many findings it has
            if id(finding.item) not in concerned:
                concerned[id(finding.item)] = [entry for entry in entries if entry.concerns(finding.item)]
        return [self._suppression(finding, concerned[id(finding.item)]) for finding in findings]

    def _suppression(self, finding: Finding, entries: Iterable[IgnoreFor]) -> Suppression | None:
        for entry in entries:
            if is_ignored(finding.rule, entry.rules):
                self._needed[entry] = True
                return Suppression(IGNORED, entry.reason, entry.location.file, entry.location.line)
        return None

    def unused(self) -> list[IgnoreFor]:
        """The entries that suppressed nothing although all their rules ran."""
        return [entry for entry, needed in self._needed.items() if not needed]

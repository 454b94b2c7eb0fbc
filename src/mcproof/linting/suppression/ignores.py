"""What is said about findings that are there and do not count, and whether it still has to be."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable

    from mcproof.config.settings import IgnoreFor
    from mcproof.linting.finding import Finding
    from mcproof.linting.registry import Rule

IGNORED, ACCEPTED, COMMENTED = "ignore-for", "baseline", "comment"
"""Who can suppress a finding: an entry of the configuration, one of the baseline, or a comment in the source."""


class Suppression(NamedTuple):
    """Why a finding does not count, and who says so."""

    by: str
    reason: str | None
    file: str
    line: int | None


class IgnoreNotice(NamedTuple):
    """What there is to say of a comment that suppresses nothing, or not what its author meant."""

    kind: str
    """`unused-ignore`, or `bad-ignore` for one that cannot be read."""
    message: str
    file: str
    line: int


class IgnoreTracker:
    """What a run came across that suppresses, in configuration and comments, and which of it was needed."""

    def __init__(self) -> None:
        self._needed: dict[IgnoreFor, bool] = {}
        self.notices: dict[tuple[str, int, str], IgnoreNotice | None] = {}
        """By the place of a comment and what it says: what is wrong with it; None for one that was needed."""

    def apply(
        self, findings: list[Finding], ignores: Iterable[IgnoreFor], running: Iterable[Rule]
    ) -> list[Suppression | None]:
        """For each finding, the entry that suppresses it, if one does; the first that fits is needed."""
        entries = list(ignores)
        ids = {rule.id for rule in running}
        for entry in entries:
            if entry.rules <= ids:  # else a rule that did not run may be why it is there
                self._needed.setdefault(entry, False)
        concerned: dict[int, list[IgnoreFor]] = {}
        for finding in findings:  # an item is matched once, however much is found in it
            if id(finding.item) not in concerned:
                concerned[id(finding.item)] = [entry for entry in entries if entry.concerns(finding.item)]
        return [self._suppression(finding, concerned[id(finding.item)]) for finding in findings]

    def _suppression(self, finding: Finding, entries: Iterable[IgnoreFor]) -> Suppression | None:
        for entry in entries:
            if finding.rule.id in entry.rules:
                self._needed[entry] = True
                return Suppression(IGNORED, entry.reason, entry.location.file, entry.location.line)
        return None

    def unused(self) -> list[IgnoreFor]:
        """The entries whose rules ran, all of them, and that suppressed nothing."""
        return [entry for entry, needed in self._needed.items() if not needed]

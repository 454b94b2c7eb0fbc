"""The words and symbols of a page."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from mcproof.core.console import plural
from mcproof.report.phrases import CHANGE_WORDS

if TYPE_CHECKING:
    from mcproof.checks.findings import Level
    from mcproof.runs.results import Kind


class Words(NamedTuple):
    """How a kind of run names its findings, their levels and its targets."""

    noun: str
    heading: str
    levels: dict[str, str]
    is_countable: bool
    """Whether the word of a level has a plural, as in "two errors"."""
    target: str = "target"

    def counted(self, count: int, level: Level) -> str:
        """Return a number of findings of a level, in words."""
        word = self.levels[level]
        return plural(count, word) if self.is_countable else f"{count:,} {word}"


_FINDINGS = Words("finding", "Findings", {"error": "error", "warning": "warning", "note": "note"}, is_countable=True)
_CHANGES = Words("change", "Changes", CHANGE_WORDS, is_countable=False)
_TESTS = _FINDINGS._replace(noun="test", heading="Tests", target="suite")


def words_of(kind: Kind) -> Words:
    """Return the words of a kind of run."""
    return {"diff": _CHANGES, "suite": _TESTS}.get(kind, _FINDINGS)


class Share(NamedTuple):
    """A part of a whole, for a bar with a key."""

    tone: str
    symbol: str
    amount: int
    word: str


class Segment(NamedTuple):
    """A share as drawn, in percent."""

    tone: str
    start: float
    width: float


SLIVER = 0.015
"""The least part of a bar that a share takes, so that one in a thousand is visible."""


def segments(shares: list[Share]) -> list[Segment]:
    """Return the segments of a bar."""
    total = sum(share.amount for share in shares)
    weights = [max(share.amount, total * SLIVER) for share in shares]
    drawn, start = [], 0.0
    for share, weight in zip(shares, weights, strict=True):
        width = 100 * weight / sum(weights)
        drawn.append(Segment(share.tone, start, width))
        start += width
    return drawn


def bar_width(share: float) -> float:
    """Return the width of a bar in percent, never invisible."""
    return min(100.0, max(0.5, 100 * share))


class Look(NamedTuple):
    """How the page shows the outcome of a test."""

    tone: str
    symbol: str
    word: str
    is_open: bool = False
    """Whether its tests are always shown unfolded."""


LOOKS = {
    "failed": Look("bad", "✗", "failed", is_open=True),
    "error": Look("unmade", "!", "could not run", is_open=True),
    "skipped": Look("open", "–", "skipped"),
    "not_applicable": Look("none", "·", "not applicable"),
    "passed": Look("good", "✓", "passed"),
}
"""The outcomes of tests, the most urgent first."""

GRADE_TONES = {"A": "good", "B": "good", "C": "fair", "D": "fair"}
"""The tones of the letters of a grade; any other is bad."""

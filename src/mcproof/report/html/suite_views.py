"""Tests of suites as a page shows them."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from mcproof.report.html.page_limits import MOST
from mcproof.report.html.wording import LOOKS, Look, Share
from mcproof.testing.outcomes import OUTCOMES

if TYPE_CHECKING:
    from collections.abc import Sequence

    from mcproof.runs.results import RunResult
    from mcproof.testing.outcomes import TestResult

OPEN_TESTS = 30
"""A suite with at most this many tests shows them unfolded; a longer one folds those that passed or did not apply."""

_LONGEST = 1_000_000
"""Seconds; a longer duration comes from a stored report that is not credible."""


class OutcomeGroup(NamedTuple):
    """The tests with one outcome."""

    outcome: str
    look: Look
    tests: list[TestResult]
    """As many as the page has room for."""
    total: int

    @property
    def left_out(self) -> int:
        return self.total - len(self.tests)


def by_outcome(tests: Sequence[TestResult], most: int = MOST) -> list[OutcomeGroup]:
    """Return the tests by outcome, the most urgent first and at most so many; empty outcomes are left out."""
    groups: dict[str, list[TestResult]] = {outcome: [] for outcome in LOOKS}
    for test in tests:
        groups[test.outcome].append(test)
    shown = []
    for outcome, members in groups.items():
        if members:
            shown.append(OutcomeGroup(outcome, LOOKS[outcome], members[: max(0, most)], len(members)))
            most -= len(members)
    return shown


def test_shares(tests: Sequence[TestResult]) -> list[Share]:
    """Return the number of tests of each outcome that occurs, for a bar."""
    groups = {group.outcome: group for group in by_outcome(tests)}
    return [
        Share(
            groups[outcome].look.tone,
            groups[outcome].look.symbol,
            groups[outcome].total,
            groups[outcome].look.word,
        )
        for outcome in OUTCOMES
        if outcome in groups
    ]


def duration(seconds: float) -> str:
    """Return a duration in words; empty if unknown."""
    seconds = round(seconds, 4)  # as a stored report has it, so that its page is the same
    if not 0 < seconds < _LONGEST:
        return ""
    if seconds < 0.9995:
        return f"{seconds * 1000:.0f} ms" if seconds >= 0.001 else "< 1 ms"
    if seconds < 59.95:
        return f"{seconds:.1f} s"
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes:,} min {rest} s"


def servers_of(tests: Sequence[TestResult]) -> list[str]:
    """Return the servers of tests, in order of occurrence."""
    return list(dict.fromkeys(test.server for test in tests if test.server))


def all_tests(run: RunResult) -> list[TestResult]:
    """Return the tests of all suites of a run."""
    return [test for result in run.targets for test in result.tests]

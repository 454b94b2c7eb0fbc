"""What the results of a sweep show together, in one pass and bounded memory, also as text."""

from __future__ import annotations

import heapq
from collections import Counter
from typing import TYPE_CHECKING, Any, NamedTuple

from mcproof.checks.scores.grade import LETTERS
from mcproof.core.console import Style, plural
from mcproof.services.sweep.results import CHECKED, OUTCOMES

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator


_WIDEST_BAR = 40
_MOST_RULES, _MOST_FAILURES, _MOST_RANKED, _MOST_SLOW = 10, 12, 10, 3


def summary_lines(summary: SweepSummary, style: Style, results: str) -> Iterator[str]:
    """Render a summary: grades, rules, failures, the best and the slowest."""
    checked = summary.outcomes[CHECKED]
    yield f"{style.paint(plural(summary.targets, 'target'), 'bold')}: {checked:,} checked"
    yield "".join(
        f", {count:,} {outcome}" for outcome, count in summary.outcomes.items() if outcome != CHECKED and count
    )
    yield "\n"
    yield from _grades(summary, style)
    yield from _rules(summary)
    yield from _failures(summary, style)
    for title, counts in (("Verdicts", summary.verdicts), ("Contracts", summary.proofs)):
        if counts:
            yield f"\n{title}: {', '.join(f'{count:,} {word}' for word, count in counts.items())}\n"
    if summary.ranking:
        yield "\nBest\n"
        for ranked in summary.ranking[:_MOST_RANKED]:
            where = "" if ranked.title == ranked.target else f" ({ranked.target})"
            yield f"  {ranked.letter} {ranked.score:3}  {style.fitting(ranked.title + where, style.width - 10)}\n"
    if summary.slowest:
        slow = ", ".join(f"{style.text(name, 60)} ({seconds:.1f} s)" for seconds, name in summary.slowest[:_MOST_SLOW])
        yield f"\nSlowest: {slow}\n"
    yield f"Results: {style.text(results)}\n"


def _grades(summary: SweepSummary, style: Style) -> Iterator[str]:
    graded = sum(summary.grades.values())
    if not graded:
        return
    yield f"\nGrades (mean score {summary.mean_score})\n"
    for letter, count in summary.grades.items():
        bar = style.symbol("█", "#") * round(_WIDEST_BAR * count / graded)
        yield f"  {letter} {count:8,}  {count / graded:4.0%}  {bar}".rstrip() + "\n"


def _rules(summary: SweepSummary) -> Iterator[str]:
    if summary.rules:
        yield "\nMost frequent rules (targets, findings)\n"
        for rule in summary.rules[:_MOST_RULES]:
            yield f"  {rule.targets:8,} {rule.findings:9,}  {rule.rule}\n"


def _failures(summary: SweepSummary, style: Style) -> Iterator[str]:
    if not summary.failures:
        return
    yield "\nNot checked\n"
    for failure in summary.failures[:_MOST_FAILURES]:
        what = f"{failure.outcome}: {style.text(failure.reason)}, such as {style.text(failure.example, 100)}"
        yield f"  {failure.targets:8,}  {what}\n"
    hidden = len(summary.failures) - _MOST_FAILURES
    if hidden > 0:
        yield f"            and {plural(hidden, 'other reason')}\n"
    for target in summary.crashed:
        yield f"  ended its worker process twice: {style.text(target)}\n"


SUMMARY_VERSION = 1
MOST_RULES = 20
MOST_SLOW = 10
MOST_NAMED = 20
"""How many targets that ended their worker are named."""
LEADERBOARD = 2000
"""How many targets the leaderboard shows."""
_LONGEST_SAMPLE = 300


class FrequentRule(NamedTuple):
    """How often a rule has found something."""

    rule: str
    targets: int
    findings: int


class FailureCount(NamedTuple):
    """How many targets were not checked for one reason."""

    outcome: str
    reason: str
    targets: int
    example: str
    """The first of them by name."""
    message: str


class Ranked(NamedTuple):
    """A target on the leaderboard; sorts by score, the best first, then by name."""

    order: int
    """The negative score."""
    title: str
    target: str
    letter: str
    tokens: int | None
    tools: int
    errors: int
    warnings: int
    notes: int
    verdict: str | None
    """Of `--scan`."""
    passed: bool | None
    """Of `--prove`."""

    @property
    def score(self) -> int:
        return -self.order


class SweepSummary(NamedTuple):
    """A sweep as a whole."""

    targets: int
    outcomes: dict[str, int]
    grades: dict[str, int]
    ungraded: int
    """Checked, but without a grade, since not all of its rules ran."""
    mean_score: float | None
    rules: list[FrequentRule]
    """The rules that the most targets break."""
    failures: list[FailureCount]
    crashed: list[str]
    """The targets whose check ended the worker."""
    verdicts: dict[str, int]
    proofs: dict[str, int]
    slowest: list[tuple[float, str]]
    ranking: list[Ranked]

    def document(self) -> dict[str, Any]:
        """Return the summary as JSON; what differs from run to run is in `timings`."""
        return {
            "schema_version": SUMMARY_VERSION,
            "kind": "sweep",
            "targets": self.targets,
            "outcomes": self.outcomes,
            "grades": self.grades,
            "ungraded": self.ungraded,
            "mean_score": self.mean_score,
            "rules": [rule._asdict() for rule in self.rules],
            "failures": [failure._asdict() for failure in self.failures],
            "crashed": self.crashed,
            "verdicts": self.verdicts,
            "proofs": self.proofs,
            "timings": {"slowest": [{"target": target, "seconds": seconds} for seconds, target in self.slowest]},
        }


class _Failures:
    """The targets that were not checked for one reason."""

    def __init__(self) -> None:
        self.targets = 0
        self.example = ""
        self.message = ""

    def add(self, target: str, message: str) -> None:
        self.targets += 1
        if self.targets == 1 or target < self.example:
            self.example, self.message = target, message[:_LONGEST_SAMPLE]


def summarize(rows: Iterable[dict[str, Any]], *, ranked: int = LEADERBOARD) -> SweepSummary:
    """Summarize the rows of a sweep; the result does not depend on their order."""
    outcomes: Counter[str] = Counter()
    grades: Counter[str] = Counter()
    verdicts: Counter[str] = Counter()
    proofs: Counter[str] = Counter()
    rules: dict[str, list[int]] = {}
    failures: dict[tuple[str, str], _Failures] = {}
    crashed: list[str] = []
    ranking, slowest = _Least(ranked), _Least(MOST_SLOW)
    total = points = 0
    for row in rows:
        total += 1
        target, outcome = row["target"], row["outcome"]
        outcomes[outcome] += 1
        slowest.add((-row["timings"]["seconds"], target))
        if outcome != CHECKED:
            failures.setdefault((outcome, row["reason"]), _Failures()).add(target, row["message"])
            if outcome == "crashed" and len(crashed) < 10 * MOST_NAMED:
                crashed.append(target)
            continue
        grade, proof = row["grade"], row.get("proof")
        if grade is not None:
            grades[grade["letter"]] += 1
            points += grade["score"]
            ranking.add(_ranked(row))
        for rule, count in row["summary"]["by_rule"].items():
            counted = rules.setdefault(rule, [0, 0])
            counted[0] += 1
            counted[1] += count
        if row.get("trust"):
            verdicts[row["trust"]["verdict"]] += 1
        if proof:
            proofs["passed" if proof["passed"] else "failed"] += 1
    graded = grades.total()
    frequent = sorted((FrequentRule(rule, *counts) for rule, counts in rules.items()), key=_by_frequency)
    return SweepSummary(
        targets=total,
        outcomes={outcome: outcomes[outcome] for outcome in OUTCOMES},
        grades={letter: grades[letter] for letter in LETTERS},
        ungraded=outcomes[CHECKED] - graded,
        mean_score=round(points / graded, 1) if graded else None,
        rules=frequent[:MOST_RULES],
        failures=sorted(
            (
                FailureCount(*which, failure.targets, failure.example, failure.message)
                for which, failure in failures.items()
            ),
            key=lambda failure: (-failure.targets, failure.outcome, failure.reason),
        ),
        crashed=sorted(crashed)[:MOST_NAMED],
        verdicts=dict(sorted(verdicts.items())),
        proofs=dict(sorted(proofs.items())),
        slowest=[(-seconds, target) for seconds, target in slowest.sorted()],
        ranking=ranking.sorted(),
    )


def _by_frequency(rule: FrequentRule) -> tuple[int, int, str]:
    return -rule.targets, -rule.findings, rule.rule


def _ranked(row: dict[str, Any]) -> Ranked:
    server, summary, proof = row["server"], row["summary"], row.get("proof")
    return Ranked(
        order=-row["grade"]["score"],
        title=row["name"] or server.get("name") or row["target"],
        target=row["target"],
        letter=row["grade"]["letter"],
        tokens=row["tokens"],
        tools=row["counts"].get("tools", 0),
        errors=summary["errors"],
        warnings=summary["warnings"],
        notes=summary["notes"],
        verdict=row["trust"]["verdict"] if row.get("trust") else None,
        passed=proof["passed"] if proof else None,
    )


class _Least:
    """The least of many values."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._values: list[Any] = []

    def add(self, value: Any) -> None:
        self._values.append(value)
        if len(self._values) >= 2 * self._most + 100:
            self._values = self.sorted()

    def sorted(self) -> list[Any]:
        return heapq.nsmallest(self._most, self._values, key=lambda value: value[:3])

"""The summary of a sweep, and what is written of it: progress, leaderboard, table and documents."""

from __future__ import annotations

import heapq
import json
import os
import sys
from collections import Counter
from itertools import islice
from time import monotonic
from typing import TYPE_CHECKING, Any

from mcproof import __version__
from mcproof.checks.scores.grade import LETTERS
from mcproof.core.console import ProgressLine, Style, plural
from mcproof.core.errors import UsageError, WriteError, reason_of
from mcproof.core.named_tuple import NamedTuple
from mcproof.core.text.files import write_file
from mcproof.report.html.page import content_policy, environment
from mcproof.report.phrases import GRADE_TONES
from mcproof.runs.records import printable
from mcproof.services.sweep.results import CHECKED, OUTCOMES, rows_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from mcproof.services.sweep import SweepRequest
    from mcproof.services.sweep.conductor import Tally


_WIDEST_BAR = 40
_MOST_RULES, _MOST_FAILURES, _MOST_RANKED, _MOST_SLOW = 10, 12, 10, 3


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

    def pieces(self) -> list[str]:
        """Return the summary as a JSON document."""
        return [printable(json.dumps(self.document(), indent=2)), "\n"]

    def lines(self, style: Style, results: str) -> Iterator[str]:
        """Render a summary: grades, rules, failures, the best and the slowest."""
        checked = self.outcomes[CHECKED]
        yield f"{style.paint(plural(self.targets, 'target'), 'bold')}: {checked:,} checked"
        yield "".join(
            f", {count:,} {outcome}" for outcome, count in self.outcomes.items() if outcome != CHECKED and count
        )
        yield "\n"
        yield from self._grade_lines(style)
        if self.rules:
            yield "\nMost frequent rules (targets, findings)\n"
            for rule in self.rules[:_MOST_RULES]:
                yield f"  {rule.targets:8,} {rule.findings:9,}  {rule.rule}\n"
        yield from self._failure_lines(style)
        for title, counts in (("Verdicts", self.verdicts), ("Contracts", self.proofs)):
            if counts:
                yield f"\n{title}: {', '.join(f'{count:,} {word}' for word, count in counts.items())}\n"
        if self.ranking:
            yield "\nBest\n"
            for ranked in self.ranking[:_MOST_RANKED]:
                where = "" if ranked.title == ranked.target else f" ({ranked.target})"
                yield f"  {ranked.letter} {ranked.score:3}  {style.fitting(ranked.title + where, style.width - 10)}\n"
        if self.slowest:
            slow = ", ".join(f"{style.text(name, 60)} ({seconds:.1f} s)" for seconds, name in self.slowest[:_MOST_SLOW])
            yield f"\nSlowest: {slow}\n"
        yield f"Results: {style.text(results)}\n"

    def _grade_lines(self, style: Style) -> Iterator[str]:
        graded = sum(self.grades.values())
        if not graded:
            return
        yield f"\nGrades (mean score {self.mean_score})\n"
        for letter, count in self.grades.items():
            bar = style.symbol("█", "#") * round(_WIDEST_BAR * count / graded)
            yield f"  {letter} {count:8,}  {count / graded:4.0%}  {bar}".rstrip() + "\n"

    def _failure_lines(self, style: Style) -> Iterator[str]:
        if not self.failures:
            return
        yield "\nNot checked\n"
        for failure in self.failures[:_MOST_FAILURES]:
            what = f"{failure.outcome}: {style.text(failure.reason)}, such as {style.text(failure.example, 100)}"
            yield f"  {failure.targets:8,}  {what}\n"
        hidden = len(self.failures) - _MOST_FAILURES
        if hidden > 0:
            yield f"            and {plural(hidden, 'other reason')}\n"
        for target in self.crashed:
            yield f"  ended its worker process twice: {style.text(target)}\n"


def summarize(rows: Iterable[dict[str, Any]], *, ranked: int = LEADERBOARD) -> SweepSummary:
    """Summarize the rows of a sweep; the result does not depend on their order."""
    outcomes: Counter[str] = Counter()
    grades: Counter[str] = Counter()
    verdicts: Counter[str] = Counter()
    proofs: Counter[str] = Counter()
    rules: dict[str, list[int]] = {}
    failures: dict[tuple[str, str], FailureCount] = {}
    crashed: list[str] = []
    ranking, slowest = _Least(ranked), _Least(MOST_SLOW)
    total = points = 0
    for row in rows:
        total += 1
        target, outcome = row["target"], row["outcome"]
        outcomes[outcome] += 1
        slowest.add((-row["timings"]["seconds"], target))
        if outcome != CHECKED:
            which = outcome, row["reason"]
            former = failures.get(which) or FailureCount(*which, 0, target, row["message"][:_LONGEST_SAMPLE])
            if target < former.example:
                former = former._replace(example=target, message=row["message"][:_LONGEST_SAMPLE])
            failures[which] = former._replace(targets=former.targets + 1)
            # More than are named, as rows come in the order of their ends and names are shown in theirs.
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
    frequent = [FrequentRule(rule, *counts) for rule, counts in rules.items()]
    frequent.sort(key=lambda rule: (-rule.targets, -rule.findings, rule.rule))
    return SweepSummary(
        targets=total,
        # Also those that did not occur, so that the document has the same members for every sweep.
        outcomes={outcome: outcomes[outcome] for outcome in OUTCOMES},
        grades={letter: grades[letter] for letter in LETTERS},
        ungraded=outcomes[CHECKED] - graded,
        mean_score=round(points / graded, 1) if graded else None,
        rules=frequent[:MOST_RULES],
        failures=sorted(failures.values(), key=lambda failure: (-failure.targets, failure.outcome, failure.reason)),
        crashed=sorted(crashed)[:MOST_NAMED],
        verdicts=dict(sorted(verdicts.items())),
        proofs=dict(sorted(proofs.items())),
        slowest=[(-seconds, target) for seconds, target in slowest.sorted()],
        ranking=ranking.sorted(),
    )


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
        # Cut now and then: a sweep may have a million rows, and few of them are shown.
        if len(self._values) >= 2 * self._most + 100:
            self._values = self.sorted()

    def sorted(self) -> list[Any]:
        return heapq.nsmallest(self._most, self._values, key=lambda value: value[:3])


def leaderboard(summary: SweepSummary) -> str:
    """Render the page; it depends on the results alone, timings aside, which it does not show."""
    pages = environment()
    graded = sum(summary.grades.values())
    return pages.get_template("leaderboard.html").render(
        summary=summary,
        checked=summary.outcomes[CHECKED],
        graded=graded,
        hidden=graded - len(summary.ranking),
        largest=max(summary.grades.values(), default=0) or 1,
        tones=GRADE_TONES,
        version=__version__,
        policy=content_policy("leaderboard.css", "leaderboard.js"),
    )


# The rows of a group are in memory until it is written.
_ROW_GROUP = 10_000


def _of(*path: str) -> Callable[[dict[str, Any]], Any]:
    """Return a function that reads a member of a row; None if something around it is not there."""

    def read(row: dict[str, Any]) -> Any:
        value: Any = row
        for key in path:
            value = value.get(key) if isinstance(value, dict) else None
        return value

    return read


COLUMNS: dict[str, tuple[str, Callable[[dict[str, Any]], Any]]] = {
    "id": ("string", _of("id")),
    "target": ("string", _of("target")),
    "name": ("string", _of("name")),
    "outcome": ("string", _of("outcome")),
    "reason": ("string", _of("reason")),
    "message": ("string", _of("message")),
    "server_name": ("string", _of("server", "name")),
    "server_version": ("string", _of("server", "version")),
    "protocol": ("string", _of("protocol")),
    "transport": ("string", _of("transport")),
    "tools": ("int64", _of("counts", "tools")),
    "resources": ("int64", _of("counts", "resources")),
    "prompts": ("int64", _of("counts", "prompts")),
    "grade": ("string", _of("grade", "letter")),
    "score": ("int64", _of("grade", "score")),
    "tokens": ("int64", _of("tokens")),
    "descriptions": ("double", _of("descriptions")),
    "errors": ("int64", _of("summary", "errors")),
    "warnings": ("int64", _of("summary", "warnings")),
    "notes": ("int64", _of("summary", "notes")),
    "rules": ("map", lambda row: list(row.get("summary", {}).get("by_rule", {}).items())),
    "trust_score": ("int64", _of("trust", "score")),
    "verdict": ("string", _of("trust", "verdict")),
    "proof_passed": ("bool", _of("proof", "passed")),
    "attempts": ("int64", _of("attempts")),
    "started": ("string", _of("timings", "started")),
    "seconds": ("double", _of("timings", "seconds")),
}
"""The columns, each with its type and where its value is in a row."""


def require_pyarrow() -> Any:
    """Return pyarrow. Raises a UsageError if it is not installed."""
    try:
        import pyarrow as arrow
        import pyarrow.parquet
    except ImportError:
        raise UsageError("Parquet needs pyarrow: `pip install 'mcproof[parquet]'`") from None
    return arrow


def write_parquet(rows: Iterable[dict[str, Any]], file: str) -> None:
    """Write a table, a part at a time; the file is replaced when it is complete."""
    arrow = require_pyarrow()
    types = {
        "string": arrow.string(),
        "int64": arrow.int64(),
        "double": arrow.float64(),
        "bool": arrow.bool_(),
        "map": arrow.map_(arrow.string(), arrow.int64()),
    }
    schema = arrow.schema([(name, types[kind]) for name, (kind, _) in COLUMNS.items()])
    partial = f"{file}.part"
    try:
        with arrow.parquet.ParquetWriter(partial, schema) as writer:
            remaining = iter(rows)
            while group := list(islice(remaining, _ROW_GROUP)):
                columns = {name: [read(row) for row in group] for name, (_, read) in COLUMNS.items()}
                writer.write_table(arrow.table(columns, schema=schema))
        os.replace(partial, file)
    except OSError as error:
        raise WriteError(f"cannot be written: {reason_of(error)}", file=file) from None


FORMATS = {".html": "a leaderboard", ".json": "the summary", ".txt": "the summary", ".parquet": "a table"}


def check_outputs(files: Iterable[str], results: str) -> None:
    """Raise a UsageError, before any work is done, if an output is not possible."""
    for file in files:
        kind = os.path.splitext(file)[1]
        if kind not in FORMATS:
            endings = ", ".join(f"{ending} ({noun})" for ending, noun in FORMATS.items())
            raise UsageError(f"--output {file}: unknown format; a name ends in {endings}")
        if os.path.realpath(file) == os.path.realpath(results):
            raise UsageError(f"--output {file} would replace the results")
        if kind == ".parquet":
            require_pyarrow()


def write_outputs(results: str, files: Iterable[str]) -> SweepSummary:
    """Write the outputs; return the summary."""
    summary = summarize(rows_of(results))
    for file in files:
        kind = os.path.splitext(file)[1]
        if kind == ".parquet":
            write_parquet(rows_of(results), file)
            continue
        write_file(file, _text(summary, kind, results).encode("utf-8", "backslashreplace"))
    return summary


def _text(summary: SweepSummary, kind: str, results: str) -> str:
    if kind == ".html":
        return leaderboard(summary)
    if kind == ".json":
        return "".join(summary.pieces())
    return "".join(summary.lines(Style(), results))


_EVERY = 0.2
"""Seconds between two updates."""


class SweepProgress:
    """Shows what a sweep has done; silent in a pipe."""

    def __init__(self, request: SweepRequest) -> None:
        self._line = ProgressLine(sys.stderr)
        self._start = self._last = monotonic()
        # Counting reads all sources once more, so it is left out where the number is not shown.
        self._total = self._count(request) if self._line.is_shown else None

    @staticmethod
    def _count(request: SweepRequest) -> int | None:
        """Count the targets; None for a list that can be read only once."""
        from mcproof.services.sweep.targets import TargetSources, is_list

        if any(is_list(source) and not os.path.isfile(source) for source in request.sources):
            return None
        return sum(1 for _ in TargetSources(request.sources, request.permissions, request.ours).targets())

    def __call__(self, tally: Tally) -> None:
        now = monotonic()
        if self._line.is_shown and now - self._last >= _EVERY:
            self._last = now
            self._line.show(progress_text(tally, self._total, now - self._start))

    def clear(self) -> None:
        self._line.clear()


def progress_text(tally: Tally, total: int | None, seconds: float) -> str:
    """Return the line: how many are done, how fast, how long it will take, and how many failed."""
    done = tally.done + tally.skipped
    # Of this run only: what an earlier one has done would make it look fast.
    rate = tally.done / seconds if seconds > 0 else 0.0
    parts = [f"{done:,}" if total is None else f"{done:,}/{total:,}"]
    parts.append(f"{rate:,.0f}/s" if rate >= 10 else f"{rate:.1f}/s")
    if total is not None and rate > 0:
        parts.append(f"{_duration((total - done) / rate)} left")
    if tally.failed:
        parts.append(f"{tally.failed:,} not checked")
    return ", ".join(parts)


def _duration(seconds: float) -> str:
    minutes, rest = divmod(round(max(0.0, seconds)), 60)
    hours, minutes = divmod(minutes, 60)
    if hours:
        return f"{hours} h {minutes} min"
    return f"{minutes} min {rest} s" if minutes else f"{rest} s"

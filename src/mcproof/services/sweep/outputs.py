"""What a sweep shows and writes besides its results: progress, summary, leaderboard, Parquet table."""

from __future__ import annotations

import json
import os
import sys
from itertools import islice
from time import monotonic
from typing import TYPE_CHECKING, Any

from mcproof import __version__
from mcproof.core.console import ProgressLine
from mcproof.core.errors import UsageError, WriteError, reason_of
from mcproof.core.text.files import write_file
from mcproof.report.html.blocks import GRADE_TONES
from mcproof.report.html.page import content_policy, environment
from mcproof.runs.records import printable
from mcproof.services.sweep.results import CHECKED, rows_of
from mcproof.services.sweep.summary import SweepSummary, summarize

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from mcproof.services.sweep import SweepRequest
    from mcproof.services.sweep.conductor import Tally


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


_ROW_GROUP = 10_000


def _of(*path: str) -> Callable[[dict[str, Any]], Any]:
    """Return a function that reads a member of a row; None if something around it is not there."""

    def read(row: dict[str, Any]) -> Any:
        value: Any = row
        for key in path:
            value = value.get(key) if isinstance(value, dict) else None
        return value

    return read


def _rules(row: dict[str, Any]) -> list[tuple[str, int]]:
    return list(row.get("summary", {}).get("by_rule", {}).items())


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
    "rules": ("map", _rules),
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
            for group in _groups(iter(rows)):
                columns = {name: [read(row) for row in group] for name, (_, read) in COLUMNS.items()}
                writer.write_table(arrow.table(columns, schema=schema))
        os.replace(partial, file)
    except OSError as error:
        raise WriteError(f"cannot be written: {reason_of(error)}", file=file) from None


def _groups(rows: Iterator[dict[str, Any]]) -> Iterator[list[dict[str, Any]]]:
    while group := list(islice(rows, _ROW_GROUP)):
        yield group


FORMATS = {".html": "a leaderboard", ".json": "the summary", ".txt": "the summary", ".parquet": "a table"}


def check_outputs(files: Iterable[str], results: str) -> None:
    """Raise a UsageError, before any work is done, if an output is not possible."""
    for file in files:
        kind = os.path.splitext(file)[1]
        if kind not in FORMATS:
            endings = ", ".join(f"{ending} ({what})" for ending, what in FORMATS.items())
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
        return "".join(summary_pieces(summary))
    from mcproof.core.console import Style
    from mcproof.services.sweep.summary import summary_lines

    return "".join(summary_lines(summary, Style(), results))


def summary_pieces(summary: SweepSummary) -> list[str]:
    """Return the summary as a JSON document."""
    return [printable(json.dumps(summary.document(), indent=2)), "\n"]


_EVERY = 0.2
"""Seconds between two updates."""


class SweepProgress:
    """Shows what a sweep has done; silent in a pipe."""

    def __init__(self, request: SweepRequest) -> None:
        self._line = ProgressLine(sys.stderr)
        self._start = self._last = monotonic()
        # Counting reads all sources once more, so it is left out where nobody would see the number.
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

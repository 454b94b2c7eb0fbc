"""Write what follows from the results of a sweep: summary, leaderboard, table."""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING

from mcproof.core.errors import UsageError
from mcproof.core.text.files import write_file
from mcproof.runs.records import printable
from mcproof.sweep.results_file import rows_of
from mcproof.sweep.sweep_summary import SweepSummary, summarize

if TYPE_CHECKING:
    from collections.abc import Iterable

FORMATS = {".html": "a leaderboard", ".json": "the summary", ".txt": "the summary", ".parquet": "a table"}


def check_outputs(files: Iterable[str], results: str) -> None:
    """Raise a UsageError, before any work is done, if an output is not possible."""
    for file in files:
        kind = os.path.splitext(file)[1]
        if kind not in FORMATS:
            known = ", ".join(f"{each} ({what})" for each, what in FORMATS.items())
            raise UsageError(f"--output {file}: unknown format; a name ends in {known}")
        if os.path.realpath(file) == os.path.realpath(results):
            raise UsageError(f"--output {file} would replace the results")
        if kind == ".parquet":
            from mcproof.sweep.parquet_table import require_pyarrow

            require_pyarrow()


def write_outputs(results: str, files: Iterable[str]) -> SweepSummary:
    """Write the outputs; return the summary."""
    summary = summarize(rows_of(results))
    for file in files:
        kind = os.path.splitext(file)[1]
        if kind == ".parquet":
            from mcproof.sweep.parquet_table import write_parquet

            write_parquet(rows_of(results), file)
            continue
        write_file(file, _text(summary, kind, results).encode("utf-8", "backslashreplace"))
    return summary


def _text(summary: SweepSummary, kind: str, results: str) -> str:
    if kind == ".html":
        from mcproof.sweep.leaderboard import leaderboard

        return leaderboard(summary)
    if kind == ".json":
        return "".join(summary_pieces(summary))
    from mcproof.core.console import Style
    from mcproof.sweep.summary_text import summary_lines

    return "".join(summary_lines(summary, Style(), results))


def summary_pieces(summary: SweepSummary) -> list[str]:
    """Return the summary as a JSON document."""
    return [printable(json.dumps(summary.document(), indent=2)), "\n"]

"""The history of a server, as a table with sparklines or as JSON."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mcproof.core.console import plural
from mcproof.runs.codec import encode
from mcproof.runs.records import SCHEMA_VERSION

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from mcproof.core.console import Style
    from mcproof.runs.records import Record
    from mcproof.services.store.queries import History, PastRun

_BARS, _PLAIN_BARS = "▁▂▃▄▅▆▇█", "_.,-=+*#"
_GAP = " "
"""The bar of a run without a value."""


def history_document(history: History) -> Record:
    return {
        "schema_version": SCHEMA_VERSION,
        "server": history.name,
        "total": history.total,
        "runs": encode(history.runs),
    }


def history_lines(history: History, style: Style) -> Iterator[str]:
    """Render a history: one line a run, the newest last, below the sparklines."""
    shown = "" if history.total == len(history.runs) else f", the newest {len(history.runs):,}"
    yield f"{style.paint(style.text(history.name), 'bold')}: {plural(history.total, 'run')}{shown}\n\n"
    bars = style.symbol(_BARS, _PLAIN_BARS)
    for label, values, limits in (
        ("score", [run.score for run in history.runs], (0, 100)),
        ("trust", [run.trust for run in history.runs], (0, 100)),
        ("tokens", [run.tokens for run in history.runs], None),
        ("findings", [_findings(run) for run in history.runs], None),
    ):
        if any(value is not None for value in values):
            yield f"  {label:8}  {sparkline(values, bars, limits)}  {_span(values)}\n"
    yield "\n"
    for run in history.runs:
        yield f"  {_row(run, style)}\n"


def sparkline(values: Sequence[int | None], bars: str, limits: tuple[int, int] | None = None) -> str:
    """Return one bar for each value, between the limits or between the least and the greatest value."""
    present = [value for value in values if value is not None]
    low, high = limits or (min(present, default=0), max(present, default=0))
    span = (high - low) or 1
    return "".join(_GAP if value is None else bars[(value - low) * (len(bars) - 1) // span] for value in values)


def _span(values: Sequence[int | None]) -> str:
    present = [value for value in values if value is not None]
    return f"{present[0]:,}" if present[0] == present[-1] else f"{present[0]:,} → {present[-1]:,}"


def _findings(run: PastRun) -> int | None:
    return None if run.error is not None else run.errors + run.warnings + run.notes


def _row(run: PastRun, style: Style) -> str:
    moment = run.started.replace("T", " ").removesuffix("Z")
    if run.error is not None:
        return f"{moment}  {run.command:11}  {style.paint(style.text(run.error, 200), 'error')}"
    parts = []
    if run.grade is not None:
        parts.append(f"{run.grade} {run.score:>3}")
    if run.verdict is not None:
        parts.append(run.verdict if run.trust is None else f"{run.verdict} {run.trust}")
    if run.tokens is not None:
        parts.append(plural(run.tokens, "token"))
    parts.append(f"{plural(run.errors, 'error')}, {plural(run.warnings, 'warning')}, {plural(run.notes, 'note')}")
    return f"{moment}  {run.command:11}  {'  '.join(parts)}"

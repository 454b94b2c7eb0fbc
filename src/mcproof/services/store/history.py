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
        ("score", [each.score for each in history.runs], (0, 100)),
        ("trust", [each.trust for each in history.runs], (0, 100)),
        ("tokens", [each.tokens for each in history.runs], None),
        ("findings", [_findings(each) for each in history.runs], None),
    ):
        if any(value is not None for value in values):
            yield f"  {label:8}  {sparkline(values, bars, limits)}  {_span(values)}\n"
    yield "\n"
    for each in history.runs:
        yield f"  {_row(each, style)}\n"


def sparkline(values: Sequence[int | None], bars: str, limits: tuple[int, int] | None = None) -> str:
    """Return one bar for each value, between the limits or between the least and the greatest value."""
    known = [value for value in values if value is not None]
    low, high = limits or (min(known, default=0), max(known, default=0))
    span = (high - low) or 1
    return "".join(_GAP if value is None else bars[(value - low) * (len(bars) - 1) // span] for value in values)


def _span(values: Sequence[int | None]) -> str:
    known = [value for value in values if value is not None]
    return f"{known[0]:,}" if known[0] == known[-1] else f"{known[0]:,} → {known[-1]:,}"


def _findings(each: PastRun) -> int | None:
    return None if each.error is not None else each.errors + each.warnings + each.notes


def _row(each: PastRun, style: Style) -> str:
    moment = each.started.replace("T", " ").removesuffix("Z")
    if each.error is not None:
        return f"{moment}  {each.command:11}  {style.paint(style.text(each.error, 200), 'error')}"
    parts = []
    if each.grade is not None:
        parts.append(f"{each.grade} {each.score:>3}")
    if each.verdict is not None:
        parts.append(each.verdict if each.trust is None else f"{each.verdict} {each.trust}")
    if each.tokens is not None:
        parts.append(plural(each.tokens, "token"))
    parts.append(f"{plural(each.errors, 'error')}, {plural(each.warnings, 'warning')}, {plural(each.notes, 'note')}")
    return f"{moment}  {each.command:11}  {'  '.join(parts)}"

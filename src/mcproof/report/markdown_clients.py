"""Clients against tools, and what to change, in Markdown."""

from __future__ import annotations

from string import ascii_uppercase
from typing import TYPE_CHECKING

from mcproof.core.console import plural
from mcproof.report.client_grid import client_grid, gain_phrases
from mcproof.report.markdown import code, escaped

if TYPE_CHECKING:
    from collections.abc import Iterator

    from mcproof.runs.results import CompatPayload, TargetResult

_COLUMNS = 12
"""How many groups of tools have a column."""
_NAMES, _CLIENTS = 8, 12
"""How many tools of a group and clients of a row are named; the rest are counted."""
_SIGNS = {"works": "✅", "degraded": "🟡", "lost": "⚪", "breaks": "🔴"}


def client_sections(result: TargetResult, payload: CompatPayload) -> Iterator[str]:
    """Write the matrix, unless everything works, and what to change."""
    grid = client_grid(result, payload, _COLUMNS)
    if any(row.verdict != "works" for row in grid.rows):
        letters = ascii_uppercase[: len(grid.columns)]
        titles = [*(["server"] if grid.has_server_column else []), *letters]
        yield f"\n| clients | {' | '.join(titles)} | result |\n|{' --- |' * (len(titles) + 2)}\n"
        for row in grid.rows:
            cells = [row.server, *row.cells] if grid.has_server_column else row.cells
            names = row.names if row.verdict != "works" else [f"{len(row.names):,} others"]
            listed = escaped(", ".join(names[:_CLIENTS])) + _more(names, _CLIENTS)
            yield f"| {listed} | {' | '.join(_SIGNS[cell] for cell in cells)} | {escaped(row.summary)} |\n"
        yield "\n"
        for letter, column in zip(letters, grid.columns, strict=True):
            listed = ", ".join(map(code, column.tools[:_NAMES])) + _more(column.tools, _NAMES)
            yield f"- {letter}: {plural(column.size, 'tool')}{f': {listed}' if listed else ''}\n"
        meanings = [f"{_SIGNS[mark.word]} {mark.meaning or mark.word}" for mark in grid.legend()]
        yield f"\n{' · '.join(meanings)}\n"
    if payload.improvements:
        yield "\nWhat to change, most clients gained first:\n\n"
        for number, each in enumerate(payload.improvements, 1):
            gains = "; ".join(gain_phrases(each)) or "no gain before the steps below"
            yield f"{number}. {escaped(each.remedy)} ({code(each.rule)}): {escaped(gains)}\n"


def _more(names: list[str], most: int) -> str:
    return f" and {len(names) - most:,} more" if len(names) > most else ""

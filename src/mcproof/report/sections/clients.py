"""Clients against tools: the headline, the matrix, what to change, and the findings, in text and Markdown."""

from __future__ import annotations

from string import ascii_uppercase
from typing import TYPE_CHECKING

from mcproof.core.console import Style, display_width, plural, shell_word, wrapped
from mcproof.report.grids import (
    OUTCOME_SYMBOLS,
    ClientGrid,
    ClientRow,
    ToolColumn,
    client_counts,
    client_grid,
    gain_phrases,
)
from mcproof.report.sections.findings import command_hint, frames
from mcproof.report.sections.probes import painted_symbol, sentence, symbols_legend

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
    # Here, as the text for a terminal is loaded more often, and without the Markdown around it.
    from mcproof.report.markdown import code, escaped

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
        meanings = [f"{_SIGNS[symbol.word]} {symbol.meaning or symbol.word}" for symbol in grid.legend()]
        yield f"\n{' · '.join(meanings)}\n"
    if payload.improvements:
        yield "\nWhat to change, most clients gained first:\n\n"
        for number, improvement in enumerate(payload.improvements, 1):
            gains = "; ".join(gain_phrases(improvement)) or "no gain before the steps below"
            yield f"{number}. {escaped(improvement.remedy)} ({code(improvement.rule)}): {escaped(gains)}\n"


def _more(names: list[str], most: int) -> str:
    return f" and {len(names) - most:,} more" if len(names) > most else ""


_LABEL, _MOST_LABEL, _SUMMARY = 20, 44, 24
"""The least and most columns of the names of clients, and the least of the summary of a row."""
_NAMED = 4
"""How many tools of a column are named; the rest are counted."""
_STEPS = 8
"""How many changes are listed unless everything is."""
_SERVER = "*"
"""The title of the column of the server as a whole."""


def compat_text(result: TargetResult, style: Style) -> Iterator[str]:
    """Render the result of `compat`."""
    payload = result.payload
    if payload.kind != "compat":
        raise ValueError("not a result about clients")
    for text in client_counts(payload):
        yield from sentence(text[:1].upper() + text[1:], style)
    yield "\n"
    grid = client_grid(result, payload, _most_columns(style))
    if any(row.verdict != "works" for row in grid.rows):
        yield from _grid(grid, style)
    yield from _changes(result, payload, style)
    yield from frames(result, style)


def _most_columns(style: Style) -> int:
    """The number of columns of tools that fit beside the names and the summaries."""
    return max(2, min(len(ascii_uppercase), (style.width - 6 - _LABEL - _SUMMARY) // 2 - 1))


def _grid(grid: ClientGrid, style: Style) -> Iterator[str]:
    """Draw one row for each group of clients, one column for each group of tools, and a key."""
    has_server = grid.has_server_column
    letters = ([_SERVER] if has_server else []) + list(ascii_uppercase[: len(grid.columns)])
    heading = " ".join(letters)
    room = max(_LABEL, min(_MOST_LABEL, style.width - 6 - len(heading) - _SUMMARY))
    labels = [_label(row, room, style) for row in grid.rows]
    titles = {True: "Clients", False: "APIs, engines, SDKs"}
    column = max(map(display_width, (*labels, *(titles[row.is_client] for row in grid.rows))))
    previous = None
    for row, label in zip(grid.rows, labels, strict=True):
        if row.is_client is not previous:
            previous = row.is_client
            yield style.paint(f"  {titles[previous]:{column}}  {heading}".rstrip(), "dim") + "\n"
        cells = [row.server, *row.cells] if has_server else row.cells
        drawn = " ".join(painted_symbol(OUTCOME_SYMBOLS[cell], style) for cell in cells)
        used = column + len(heading) + 6
        first, *others = wrapped(row.summary, style.width, used=used, indent=used)
        yield f"  {label}{' ' * (column - display_width(label))}  {drawn}  {first}\n"
        yield from (f"{line}\n" for line in others)
    yield "\n"
    yield from _key(grid.columns, letters[has_server:], has_server, style)
    yield from symbols_legend(grid.legend(), style)


def _label(row: ClientRow, room: int, style: Style) -> str:
    """Return the names of the clients of a row that fit, and the number of the others."""
    names = [style.text(name, 60) for name in row.names]
    if row.verdict == "works" and len(names) > 1:
        return f"{len(names):,} {'clients' if row.is_client else 'others'}"
    shown = names[:1]
    for count in range(2, len(names) + 1):
        more = f" +{len(names) - count:,}" if count < len(names) else ""
        if display_width(", ".join(names[:count]) + more) > room:
            break
        shown = names[:count]
    rest = f" +{len(names) - len(shown):,}" if len(names) > len(shown) else ""
    return style.shortened(", ".join(shown), room - len(rest)) + rest


def _key(columns: list[ToolColumn], letters: list[str], has_server: bool, style: Style) -> Iterator[str]:
    """Render the tools of each column."""
    lines = [(_SERVER, "the server as a whole")] if has_server else []
    for letter, column in zip(letters, columns, strict=True):
        counted = plural(column.size, "other tool" if column.is_rest and len(columns) > 1 else "tool")
        names = _tools(column.tools, style)
        lines.append((letter, names if len(column.tools) == 1 else ": ".join(filter(None, (counted, names)))))
    for letter, text in lines:
        first, *others = wrapped(text, style.width, used=5, indent=5)
        yield f"  {style.paint(letter, 'bold')}  {first}\n"
        yield from (f"{line}\n" for line in others)
    yield "\n"


def _tools(names: list[str], style: Style) -> str:
    listed = ", ".join(style.shortened(name, min(40, style.width - 10)) for name in names[:_NAMED])
    return f"{listed} and {len(names) - _NAMED:,} more" if len(names) > _NAMED else listed


def _changes(result: TargetResult, payload: CompatPayload, style: Style) -> Iterator[str]:
    """Render what to change, each step with what it gains after those before it."""
    if not payload.improvements:
        return
    yield style.paint("What to change, most clients gained first", "bold") + "\n\n"
    shown = payload.improvements if style.examples is None else payload.improvements[:_STEPS]
    for number, improvement in enumerate(shown, 1):
        gains = "; ".join(gain_phrases(improvement)) or "no gain before the steps below"
        head = f"{number:>3}  "
        text = f"{style.text(improvement.remedy)} ({style.text(improvement.rule)}): {style.text(gains)}"
        first, *others = wrapped(text, style.width, used=len(head), indent=len(head))
        yield f"{head}{first}\n"
        yield from (f"{line}\n" for line in others)
    if len(payload.improvements) > len(shown):
        yield f"     and {len(payload.improvements) - len(shown):,} more; --show all lists everything\n"
    yield "\n"
    if payload.is_fixable:
        hint = "Some of it can be fixed automatically, at no cost for any client"
        named = f" --for {','.join(payload.named)}" if payload.named else ""
        lines = command_hint(hint, f"mcproof compat {shell_word(result.target)} --diff{named}", style)
        yield "".join(f"{line}\n" for line in lines) + "\n"

"""The probes and the contract matrix on a terminal."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mcproof.checks.findings import group_by_fault
from mcproof.core.console import Style, display_width, plural, wrapped
from mcproof.probing.outcomes import predictions
from mcproof.probing.permission import HOW_TO_ALLOW, MAY_CHANGE
from mcproof.report.matrix_grid import TITLES, mark_of, matrix_grid, probe_grid, server_probes
from mcproof.report.outcome_phrases import (
    probe_sentence,
    promise_sentence,
    server_sentence,
    split_static,
    static_sentence,
)
from mcproof.report.terminal.finding_list import grouped_findings
from mcproof.runs.results import IN_PART

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from mcproof.checks.findings import ReportedFinding
    from mcproof.probing.outcomes import ProbeResult
    from mcproof.report.matrix_grid import Grid, Mark, Row
    from mcproof.runs.results import TargetResult

_COLOURS = {"good": "good", "fair": "warning", "bad": "error", "open": "note", "none": "dim"}
NAME_WIDTH = 48
"""The most columns that a tool's name takes in a table."""

NAMES = 6
"""How many tools a sentence names; the rest are counted."""
MOST_CHANGING = 20
"""How many tools that may change something are named, with the evidence."""
_TOOL = "tool "


def prove_text(result: TargetResult, style: Style) -> Iterator[str]:
    """Render the contract matrix, then the findings and the totals."""
    heading = f"{TITLES['prove']}: what the schemas promise and the server keeps"
    yield from _text(result, heading, matrix_grid(result.matrix), style)
    for total in filter(None, (promise_sentence(result.matrix), server_sentence(result.probes))):
        yield from sentence(total, style)


def probe_text(result: TargetResult, style: Style) -> Iterator[str]:
    """Render the probes of each tool, then the findings and the totals."""
    heading = f"{TITLES['probe']}: bad requests, and whether the server rejects them"
    yield from _text(result, heading, probe_grid(result.probes), style)
    yield from sentence(probe_sentence(result.probes), style)


def _text(result: TargetResult, heading: str, grid: Grid, style: Style) -> Iterator[str]:
    """Render the grid, then what is wrong, what was predicted and what was not tested."""
    if grid.rows:
        yield from sentence(heading, style)
        yield "\n"
        yield from _grid(grid, style)
    yield from _server_text(server_probes(result.probes), style)
    yield from findings_text(result.findings, style)
    yield from _predicted(result, style)
    yield from untested_text(result, style)


def _grid(grid: Grid, style: Style) -> Iterator[str]:
    """Draw one row a tool, one column a fault, and a legend."""
    labels = _labels(grid, style)
    widest = [max(map(len, column)) for column in zip(grid.titles, *labels, strict=True)]
    longest = max(display_width(style.fitting(row.tool, NAME_WIDTH)) for row in grid.rows)
    if style.width - 4 - sum(widest) - 2 * len(widest) < min(longest, 20):  # no room for the numbers
        labels = [[label[:1] for label in row] for row in labels]
        widest = list(map(len, grid.titles))
    left = style.width - 4 - sum(widest)
    gap = 2 if left >= 2 * len(widest) + 12 else 1
    widths = [width + gap for width in widest]
    room = max(6, min(NAME_WIDTH, left - gap * len(widths)))
    names = [style.shortened(row.tool, room) for row in grid.rows]
    column = max(map(display_width, names))
    titles = "".join(title.ljust(width) for title, width in zip(grid.titles, widths, strict=True))
    yield style.paint(f"  {' ' * column}  {titles}".rstrip(), "dim") + "\n"
    for row, name, symbols in zip(grid.rows, names, labels, strict=True):
        padded = name + " " * (column - display_width(name))
        shown = style.paint(padded, "dim") if row.was_left_out else padded
        yield f"  {shown}  {_row(row, symbols, widths, style)}\n"
    yield "\n"
    yield from marks_legend(grid.legend(), style)


def _labels(grid: Grid, style: Style) -> list[list[str]]:
    """Return the text of each square, by row; each begins with its symbol."""
    return [
        ["" if square is None else square.label(_symbol(square.mark, style)) for square in row.squares]
        for row in grid.rows
    ]


def _row(row: Row, labels: list[str], widths: list[int], style: Style) -> str:
    """Draw the squares of a row, each at the left of its column; the symbols are distinct without colour."""
    drawn = []
    for square, symbol, width in zip(row.squares, labels, widths, strict=True):
        colour = "dim" if square is None else _COLOURS[square.mark.tone]
        drawn.append((symbol, colour, width))
    while drawn and not drawn[-1][0]:
        drawn.pop()
    *others, last = drawn or [("", "dim", 0)]
    return "".join(style.paint(symbol, colour) + " " * (width - len(symbol)) for symbol, colour, width in others) + (
        style.paint(last[0], last[1])
    )


def _symbol(mark: Mark, style: Style) -> str:
    return style.symbol(mark.symbol, mark.ascii)


def painted_mark(mark: Mark, style: Style) -> str:
    """Return the symbol of a mark in its colour."""
    return style.paint(_symbol(mark, style), _COLOURS[mark.tone])


def marks_legend(marks: list[Mark], style: Style) -> Iterator[str]:
    """Render what the marks mean."""
    longest = max((len(mark.word) for mark in marks), default=0)
    for mark in marks:
        symbol = painted_mark(mark, style)
        head = f"{mark.word:{longest}}  "
        first, *others = wrapped(mark.meaning, style.width, used=len(head) + 4, indent=len(head) + 4)
        yield f"  {symbol} {head}{first}".rstrip() + "\n"
        yield from (f"{line}\n" for line in others)
    yield "\n"


def _server_text(probes: list[ProbeResult], style: Style) -> Iterator[str]:
    """Render the probes of the server as a whole, one line each."""
    if not probes:
        return
    yield style.paint("The server as a whole", "bold") + "\n\n"
    longest = max(len(each.probe) for each in probes)
    for each in probes:
        mark = mark_of(each)
        symbol = painted_mark(mark, style)
        reason = style.text(each.reason or mark.word)
        first, *others = wrapped(reason, style.width, used=longest + 6, indent=longest + 6)
        yield f"  {symbol} {each.probe:{longest}}  {first}".rstrip() + "\n"
        yield from (f"{line}\n" for line in others)
    yield "\n"


def findings_text(findings: Iterable[ReportedFinding], style: Style) -> Iterator[str]:
    """Render the findings about behaviour by rule; findings of the strict rules are only counted."""
    shown, static = split_static(findings)
    yield from grouped_findings(group_by_fault(shown), style)
    if static:
        yield "\n".join(wrapped(static_sentence(static), style.width, indent=4)) + "\n\n"


def _predicted(result: TargetResult, style: Style) -> Iterator[str]:
    found = predictions(result.matrix)
    if not found:
        return
    yield style.paint("Not enforced, as predicted", "bold") + "\n\n"
    for each in found:
        rules = ", ".join(each.rules)
        head = f"{each.column}: {rules} warned about {plural(len(each.tools), 'tool')}: "
        yield from _wrapped(head + _text_names(each.tools, style), style)
    yield "\n"


def untested_text(result: TargetResult, style: Style) -> Iterator[str]:
    """Render what was not tested, by reason; tools that may change something in one sentence, with the evidence."""
    reasons = result.untested_reasons()
    if not reasons:
        return
    yield style.paint("Not tested", "bold") + "\n\n"
    changing: list[str] = []
    for why, whats in reasons:
        reason = why.removesuffix(HOW_TO_ALLOW)
        if reason.startswith(MAY_CHANGE) and reason != why:
            changing += (f"{what.removeprefix(_TOOL)} ({reason.removeprefix(MAY_CHANGE)})" for what in whats)
        else:
            yield from _wrapped(f"{_untested_names(whats, style)}: {style.text(reason)}", style)
    if changing:
        yield from _wrapped(
            f"may change something: {_text_names(changing, style, most=MOST_CHANGING, longest=120)}", style
        )
    if any(why.endswith(HOW_TO_ALLOW) for why, _ in reasons):
        yield from _wrapped("--allow TOOL allows a tool, --allow-writes all of them", style)
    yield "\n"


def _untested_names(whats: list[str], style: Style) -> str:
    """Name what was not tested; `in part` and the noun once if they are true of all."""
    is_partial = all(what.endswith(IN_PART) for what in whats)
    if is_partial:
        whats = [what.removesuffix(IN_PART) for what in whats]
    if all(what.startswith(_TOOL) for what in whats):
        whats = [what.removeprefix(_TOOL) for what in whats]
    return _text_names(whats, style) + (IN_PART if is_partial else "")


def _text_names(names: list[str], style: Style, most: int = NAMES, longest: int = 60) -> str:
    """Return the first names, and the number of the others."""
    listed = ", ".join(style.text(name, longest) for name in names[:most])
    return f"{listed} and {len(names) - most:,} more" if len(names) > most else listed


def _wrapped(text: str, style: Style) -> list[str]:
    """Wrap a sentence into indented lines."""
    first, *others = wrapped(text, style.width, used=2, indent=4)
    return [f"  {first}\n", *(f"{line}\n" for line in others)]


def sentence(text: str, style: Style) -> Iterator[str]:
    """Render an important sentence."""
    return (f"{style.paint(line, 'bold')}\n" for line in wrapped(text, style.width, indent=4))

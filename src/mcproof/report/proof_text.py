"""What probes and proofs came to, for a terminal: a picture of the server, and below it what is to be said."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mcproof.console import Style, display_width, plural
from mcproof.report.matrix import FAULTS, TITLES, mark_of, matrix_grid, probe_grid, server_probes
from mcproof.report.proof import probe_sentence, promise_sentence, split_static, static_sentence
from mcproof.report.text import frame, scope_of
from mcproof.results.findings import group_by_fault
from mcproof.results.proof import predictions

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from mcproof.report.matrix import Grid, Mark, Row
    from mcproof.results.findings import ReportedFinding
    from mcproof.results.proof import ProbeResult
    from mcproof.results.run import TargetResult

_COLOURS = {"good": "good", "fair": "warning", "bad": "error", "open": "note", "none": "dim"}
NAME_WIDTH = 48
"""How much of a tool's name a table shows."""

NAMES = 6
"""How many tools a sentence names; the rest is counted."""


def prove_text(report: TargetResult, style: Style) -> Iterator[str]:
    """The contract matrix, and below it what is to be said of it."""
    heading = f"{TITLES['prove']}: what the schemas promise, and what the server keeps"
    yield from _text(report, heading, matrix_grid(report.matrix), style)
    yield style.paint(promise_sentence(report.matrix), "bold") + "\n"
    yield from _sum(report, style)


def probe_text(report: TargetResult, style: Style) -> Iterator[str]:
    """The probes of each tool, and below them what is to be said of them."""
    heading = f"{TITLES['probe']}: what the server must refuse, and whether it does"
    yield from _text(report, heading, probe_grid(report.probes), style)
    yield from _sum(report, style)


def _text(report: TargetResult, heading: str, grid: Grid, style: Style) -> Iterator[str]:
    """A picture first; then what is wrong, what was predicted and what is not known."""
    if grid.rows:
        yield style.paint(style.fitting(heading, style.width), "bold") + "\n\n"
        yield from _drawn(grid, style)
    yield from _server(server_probes(report.probes), style)
    yield from findings_text(report.findings, style)
    yield from _predicted(report, style)
    yield from untested_text(report, style)


def _drawn(grid: Grid, style: Style) -> Iterator[str]:
    """One row a tool, one column a fault, and a legend."""
    left = style.width - 4 - sum(map(len, grid.titles))
    gap = 2 if left >= 2 * len(grid.titles) + 12 else 1
    widths = [len(title) + gap for title in grid.titles]
    room = max(6, min(NAME_WIDTH, left - gap * len(widths)))
    names = [style.fitting(row.tool, room) for row in grid.rows]
    column = max(map(display_width, names))
    titles = "".join(title.ljust(width) for title, width in zip(grid.titles, widths, strict=True))
    yield style.paint(f"  {' ' * column}  {titles}".rstrip(), "dim") + "\n"
    for row, name in zip(grid.rows, names, strict=True):
        padded = name + " " * (column - display_width(name))
        shown = style.paint(padded, "dim") if row.was_left_out else padded
        yield f"  {shown}  {_squares(row, widths, style)}\n"
    yield "\n"
    yield from _legend(grid.legend(), style)


def _squares(row: Row, widths: list[int], style: Style) -> str:
    """The marks of a row, each at the left of its column; none needs its colour to be understood."""
    drawn = []
    for square, width in zip(row.squares, widths, strict=True):
        symbol = "" if square is None else _symbol(square.mark, style) + ("?" if square.is_doubtful else "")
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


def _legend(marks: list[tuple[Mark, int]], style: Style) -> Iterator[str]:
    """What the marks mean, and how often each occurs."""
    digits = max((len(f"{count:,}") for _, count in marks), default=0)
    longest = max((len(mark.words(count)) for mark, count in marks), default=0)
    for mark, count in marks:
        symbol = style.paint(_symbol(mark, style), _COLOURS[mark.tone])
        line = f"{count:>{digits},} {mark.words(count):{longest}}  {mark.meaning}".rstrip()
        yield f"  {symbol} {style.fitting(line, style.width - 4)}\n"
    yield "\n"


def _server(probes: list[ProbeResult], style: Style) -> Iterator[str]:
    """What concerns no tool: one line a probe."""
    if not probes:
        return
    yield style.paint("The server as a whole", "bold") + "\n\n"
    longest = max(len(each.probe) for each in probes)
    for each in probes:
        mark = mark_of(each)
        symbol = style.paint(_symbol(mark, style), _COLOURS[mark.tone])
        reason = style.fitting(each.reason or mark.word, max(8, style.width - longest - 6))
        yield f"  {symbol} {each.probe:{longest}}  {reason}\n"
    yield "\n"


def findings_text(findings: Iterable[ReportedFinding], style: Style) -> Iterator[str]:
    """What the server did wrong, in frames; what its schemas alone are to blame for is counted."""
    shown, static = split_static(findings)
    for group in group_by_fault(shown):
        yield frame(group, style) + "\n"
    if static:
        yield f"{static_sentence(static)}\n\n"


def _predicted(report: TargetResult, style: Style) -> Iterator[str]:
    found = predictions(report.matrix)
    if not found:
        return
    yield style.paint("Open, as the schema said", "bold") + "\n\n"
    for each in found:
        rules = ", ".join(each.rules)
        head = f"{FAULTS[each.fault]}: {rules} predicted it for {plural(len(each.tools), 'tool')}: "
        yield from _wrapped(head + _names(each.tools, style), style)
    yield "\n"


def untested_text(report: TargetResult, style: Style) -> Iterator[str]:
    """What was not tested, by the reason."""
    reasons = report.untested_reasons()
    if not reasons:
        return
    yield style.paint("Not tested", "bold") + "\n\n"
    for why, whats in reasons:
        yield from _wrapped(f"{_names(whats, style)}: {style.text(why)}", style)
    yield "\n"


def _names(names: list[str], style: Style) -> str:
    """Some names, and how many more there are."""
    listed = ", ".join(style.text(name, 60) for name in names[:NAMES])
    return f"{listed} and {len(names) - NAMES:,} more" if len(names) > NAMES else listed


def _wrapped(text: str, style: Style) -> list[str]:
    """A sentence on as many lines as it needs."""
    from textwrap import wrap

    lines = wrap(text, style.width, initial_indent="  ", subsequent_indent="    ", break_on_hyphens=False)
    return [f"{line}\n" for line in lines]


def _sum(report: TargetResult, style: Style) -> Iterator[str]:
    """The last lines: what became of the probes, and whether that is good enough."""
    yield f"{style.paint(probe_sentence(report.probes), 'bold')}\n"
    yield verdict_line(report, style)


def verdict_line(report: TargetResult, style: Style) -> str:
    """Whether a server that was tried has passed; what was not tested has not."""
    scope = f"{scope_of(report)} of {style.text(report.target)}"
    hidden = f" ({len(report.suppressed):,} suppressed)" if report.suppressed else ""
    if not report.was_tested and not report.failing:
        return f"{style.paint('nothing was tested', 'warning')}, which does not pass: {scope}{hidden}\n"
    if not report.passed:
        failed = style.paint(f"{style.symbol('✗ ', '')}failed", "error")
        return f"{failed}: {plural(report.failing, 'finding')} in {scope}{hidden}\n"
    return f"{style.paint(style.symbol('✓ ', '') + 'passed', 'good')}: {scope}{hidden}\n"

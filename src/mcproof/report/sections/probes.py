"""Probes, the contract matrix and fuzzing, in text and Markdown, with what was not tested."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mcproof.checks.findings import ReportedFinding, group_by_fault
from mcproof.core.console import Style, display_width, plural, wrapped
from mcproof.probing.outcomes import Failure, Fuzzing, ProbeResult, predictions
from mcproof.probing.permission import HOW_TO_ALLOW, MAY_CHANGE
from mcproof.report.grids import (
    TITLES,
    Grid,
    Row,
    Square,
    Symbol,
    covered_by_failures,
    matrix_grid,
    probe_grid,
    server_probes,
    symbol_of,
)
from mcproof.report.markdown import code, escaped
from mcproof.report.sections.findings import grouped_findings, readable_response
from mcproof.report.sections.outcomes import (
    arguments_text,
    fuzz_sentence,
    probe_sentence,
    promise_sentence,
    server_sentence,
    split_static,
    static_sentence,
)
from mcproof.runs.results import IN_PART, TargetResult

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator


NAMES = 6
"""How many tools a sentence names; the rest are counted."""


def call_sections(result: TargetResult) -> Iterator[str]:
    """Write the sections between summary and findings of a server that was called."""
    kind = result.payload.kind
    if result.payload.kind == "fuzz":
        yield from _fuzzing(result.payload.fuzzing)
    else:
        if kind == "prove" and (sentence := server_sentence(result.probes)):
            yield f"\n{escaped(sentence)}\n"
        grid = matrix_grid(result.matrix) if kind == "prove" else probe_grid(result.probes)
        if grid.rows:
            yield f"\n### {TITLES[kind]}\n\n"
            yield from _table(grid)
        yield from _server_markdown(server_probes(result.probes))
        for rules, column, tools in predictions(result.matrix):
            warned = f"warned about {plural(len(tools), 'tool')}: {_markdown_names(tools)}"
            yield f"\n{column} not enforced: {', '.join(map(code, rules))} {warned}\n"


def _table(grid: Grid) -> Iterator[str]:
    yield f"| tool | {' | '.join(grid.titles)} |\n|{' --- |' * (len(grid.titles) + 1)}\n"
    for row in grid.rows:
        yield f"| {code(row.tool)} | {' | '.join(map(_drawn, row.squares))} |\n"
    yield f"\n{'; '.join(map(_meaning, grid.legend()))}\n"


def _drawn(square: Square | None) -> str:
    return "" if square is None else square.label(square.symbol.unicode)


def _meaning(symbol: Symbol) -> str:
    return f"{symbol.unicode} {symbol.word}" + (f" ({symbol.meaning})" if symbol.meaning else "")


def _server_markdown(probes: list[ProbeResult]) -> Iterator[str]:
    """Write the probes of the server as a whole."""
    if not probes:
        return
    yield "\n### The server as a whole\n\n| probe | result | what |\n| --- | --- | --- |\n"
    for probe in probes:
        symbol = symbol_of(probe)
        yield f"| {code(probe.probe)} | {symbol.unicode} {symbol.word} | {escaped(probe.reason)} |\n"


def _fuzzing(fuzzing: Fuzzing) -> Iterator[str]:
    tools = plural(len(fuzzing.tools), "tool")
    yield f"\n{plural(fuzzing.cases, 'case')} for {tools}, seed {fuzzing.seed}\n"
    titles = " | ".join(name.replace("_", " ") for name in fuzzing.counts)
    counts = " | ".join(f"{count:,}" for count in fuzzing.counts.values())
    yield f"\n| {titles} |\n|{' --- |' * len(fuzzing.counts)}\n| {counts} |\n"
    if not fuzzing.failures:
        return
    yield "\n### Failed cases\n\n| outcome | tool | what | arguments | replay |\n| --- | --- | --- | --- | --- |\n"
    for failure in fuzzing.failures:
        times = f" ({plural(failure.times, 'case')})" if failure.times > 1 else ""
        tool = "the server" if failure.tool is None else code(failure.tool)
        outcome = failure.outcome.replace("_", " ")
        arguments, replay = code(arguments_text(failure)), code(failure.replay)
        yield f"| {outcome} | {tool} | {escaped(failure.what)}{times} | {arguments} | {replay} |\n"


def untested_section(result: TargetResult) -> Iterator[str]:
    """Write what was not tested, by reason."""
    reasons = result.untested_reasons()
    if reasons:
        yield "\n### Not tested\n\n| what | why |\n| --- | --- |\n"
    for why, whats in reasons:
        yield f"| {_markdown_names(whats)} | {escaped(why)} |\n"


def _markdown_names(names: list[str]) -> str:
    """Return the first names, and the number of the others."""
    listed = ", ".join(map(code, names[:NAMES]))
    return f"{listed} and {len(names) - NAMES:,} more" if len(names) > NAMES else listed


_COLOURS = {"good": "good", "fair": "warning", "bad": "error", "open": "note", "none": "dim"}
NAME_WIDTH = 48
"""The most columns that a tool's name takes in a table."""
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
    yield from symbols_legend(grid.legend(), style)


def _labels(grid: Grid, style: Style) -> list[list[str]]:
    """Return the text of each square, by row; each begins with its symbol."""
    return [
        ["" if square is None else square.label(_character(square.symbol, style)) for square in row.squares]
        for row in grid.rows
    ]


def _row(row: Row, labels: list[str], widths: list[int], style: Style) -> str:
    """Draw the squares of a row, each at the left of its column; the symbols are distinct without colour."""
    drawn = []
    for square, symbol, width in zip(row.squares, labels, widths, strict=True):
        colour = "dim" if square is None else _COLOURS[square.symbol.tone]
        drawn.append((symbol, colour, width))
    # no blanks at the end of a line
    while drawn and not drawn[-1][0]:
        drawn.pop()
    *others, last = drawn or [("", "dim", 0)]
    return "".join(style.paint(symbol, colour) + " " * (width - len(symbol)) for symbol, colour, width in others) + (
        style.paint(last[0], last[1])
    )


def _character(symbol: Symbol, style: Style) -> str:
    return style.symbol(symbol.unicode, symbol.ascii)


def painted_symbol(symbol: Symbol, style: Style) -> str:
    """Return a symbol in its colour."""
    return style.paint(_character(symbol, style), _COLOURS[symbol.tone])


def symbols_legend(symbols: list[Symbol], style: Style) -> Iterator[str]:
    """Render what the symbols mean."""
    longest = max((len(symbol.word) for symbol in symbols), default=0)
    for symbol in symbols:
        painted = painted_symbol(symbol, style)
        head = f"{symbol.word:{longest}}  "
        first, *others = wrapped(symbol.meaning, style.width, used=len(head) + 4, indent=len(head) + 4)
        yield f"  {painted} {head}{first}".rstrip() + "\n"
        yield from (f"{line}\n" for line in others)
    yield "\n"


def _server_text(probes: list[ProbeResult], style: Style) -> Iterator[str]:
    """Render the probes of the server as a whole, one line each."""
    if not probes:
        return
    yield style.paint("The server as a whole", "bold") + "\n\n"
    longest = max(len(probe.probe) for probe in probes)
    for probe in probes:
        symbol = symbol_of(probe)
        painted = painted_symbol(symbol, style)
        reason = style.text(probe.reason or symbol.word)
        first, *others = wrapped(reason, style.width, used=longest + 6, indent=longest + 6)
        yield f"  {painted} {probe.probe:{longest}}  {first}".rstrip() + "\n"
        yield from (f"{line}\n" for line in others)
    yield "\n"


def findings_text(findings: Iterable[ReportedFinding], style: Style) -> Iterator[str]:
    """Render the findings about behaviour by rule; findings of the strict rules are only counted."""
    shown, static = split_static(findings)
    yield from grouped_findings(group_by_fault(shown), style)
    if static:
        yield "\n".join(wrapped(static_sentence(static), style.width, indent=4)) + "\n\n"


def _predicted(result: TargetResult, style: Style) -> Iterator[str]:
    predicted = predictions(result.matrix)
    if not predicted:
        return
    yield style.paint("Not enforced, as predicted", "bold") + "\n\n"
    for prediction in predicted:
        rules = ", ".join(prediction.rules)
        head = f"{prediction.column}: {rules} warned about {plural(len(prediction.tools), 'tool')}: "
        yield from _wrapped(head + _text_names(prediction.tools, style), style)
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


BAR_WIDTH = 32
_FUZZ_COLOURS = {"clean": "good", "accepted": "warning"}


def fuzz_text(result: TargetResult, style: Style) -> Iterator[str]:
    """Render outcomes, failures, what was not tested, and the totals."""
    if result.payload.kind != "fuzz":
        raise ValueError("not a result of fuzzing")
    fuzzing = result.payload.fuzzing
    heading = f"Fuzzing: {plural(fuzzing.cases, 'case')} for {plural(len(fuzzing.tools), 'tool')}, seed {fuzzing.seed}"
    yield from sentence(heading, style)
    yield "\n"
    yield from _outcomes(fuzzing, style)
    yield from _failures(fuzzing.failures, style)
    covered = covered_by_failures(fuzzing.failures)
    yield from findings_text(
        (finding for finding in result.findings if (finding.tool, finding.rule.id) not in covered), style
    )
    yield from untested_text(result, style)
    yield from sentence(fuzz_sentence(fuzzing), style)
    yield f"seed {fuzzing.seed}\n"


def _outcomes(fuzzing: Fuzzing, style: Style) -> Iterator[str]:
    """Render the number of cases of each outcome."""
    widest = max(1, *fuzzing.counts.values())
    room = min(BAR_WIDTH, style.width - 32)
    block = style.symbol("█", "#")
    for name, count in fuzzing.counts.items():
        bar = block * (max(1, round(room * count / widest)) if count else 0)
        painted = style.paint(bar, _FUZZ_COLOURS.get(name, "error"))
        yield f"  {name.replace('_', ' '):18} {count:>8,}  {painted}".rstrip() + "\n"
    yield "\n"


def _failures(failures: list[Failure], style: Style) -> Iterator[str]:
    """Render the failed cases: some of each outcome of a tool, and the number of the others."""
    groups: dict[tuple[str, str | None], list[Failure]] = {}
    for failure in failures:
        groups.setdefault((failure.outcome, failure.tool), []).append(failure)
    for (outcome, tool), members in groups.items():
        shown = members[: style.examples]
        for failure in shown:
            yield _failure(failure, style) + "\n"
        if hidden := len(members) - len(shown):
            yield f"and {hidden:,} more: {outcome.replace('_', ' ')} {_name(tool, style)} (--show all)\n\n"


def _name(tool: str | None, style: Style) -> str:
    return style.text(tool, 100) if tool is not None else "the server"


def _failure(failure: Failure, style: Style) -> str:
    """Return a failed case: the problem, the arguments, the response and the replay command."""
    colour = "warning" if failure.outcome == "accepted" else "error"
    outcome = failure.outcome.replace("_", " ")
    times = f" ({plural(failure.times, 'case')})" if failure.times > 1 else ""
    what = f"{style.text(failure.what or 'invalid response')}{times}"
    first, *others = wrapped(f"{_name(failure.tool, style)}: {what}", style.width, used=len(outcome) + 1, indent=4)
    lines = [f"{style.paint(outcome, colour, 'bold')} {style.paint(first, 'bold')}".rstrip()]
    lines += [style.paint(line, "bold") for line in others]
    lines.append(f"    arguments  {style.fitting(arguments_text(failure), style.width - 15)}")
    if failure.response and failure.response not in failure.what:
        lines.append(f"    response   {style.fitting(readable_response(failure.response), style.width - 15)}")
    lines.append(f"    replay     {style.text(failure.replay, 2000)}")
    return "\n".join(lines) + "\n"

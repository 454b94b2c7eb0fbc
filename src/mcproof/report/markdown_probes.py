"""Probes, the contract matrix and fuzzing in Markdown."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mcproof.core.console import plural
from mcproof.probing.outcomes import predictions
from mcproof.report.markdown import code, escaped
from mcproof.report.matrix_grid import TITLES, mark_of, matrix_grid, probe_grid, server_probes
from mcproof.report.outcome_phrases import arguments_text, server_sentence

if TYPE_CHECKING:
    from collections.abc import Iterator

    from mcproof.probing.outcomes import Fuzzing, ProbeResult
    from mcproof.report.matrix_grid import Grid, Mark, Square
    from mcproof.runs.results import TargetResult

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
    return "" if square is None else square.label(square.mark.symbol)


def _meaning(mark: Mark) -> str:
    return f"{mark.symbol} {mark.word}" + (f" ({mark.meaning})" if mark.meaning else "")


def _server_markdown(probes: list[ProbeResult]) -> Iterator[str]:
    """Write the probes of the server as a whole."""
    if not probes:
        return
    yield "\n### The server as a whole\n\n| probe | result | what |\n| --- | --- | --- |\n"
    for each in probes:
        mark = mark_of(each)
        yield f"| {code(each.probe)} | {mark.symbol} {mark.word} | {escaped(each.reason)} |\n"


def _fuzzing(fuzzing: Fuzzing) -> Iterator[str]:
    tools = plural(len(fuzzing.tools), "tool")
    yield f"\n{plural(fuzzing.cases, 'case')} for {tools}, seed {fuzzing.seed}\n"
    titles = " | ".join(name.replace("_", " ") for name in fuzzing.counts)
    counts = " | ".join(f"{count:,}" for count in fuzzing.counts.values())
    yield f"\n| {titles} |\n|{' --- |' * len(fuzzing.counts)}\n| {counts} |\n"
    if not fuzzing.failures:
        return
    yield "\n### Failed cases\n\n| outcome | tool | what | arguments | replay |\n| --- | --- | --- | --- | --- |\n"
    for each in fuzzing.failures:
        times = f" ({plural(each.times, 'case')})" if each.times > 1 else ""
        tool = "the server" if each.tool is None else code(each.tool)
        outcome = each.outcome.replace("_", " ")
        arguments, replay = code(arguments_text(each)), code(each.replay)
        yield f"| {outcome} | {tool} | {escaped(each.what)}{times} | {arguments} | {replay} |\n"


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

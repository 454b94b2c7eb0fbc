"""A server that was tried, on a page: the contract matrix as a picture, the evidence, and what fuzzing found."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mcproof.console import plural
from mcproof.exchange.probe_facts import CASE_OUTCOMES
from mcproof.report.matrix import (
    DOUBTFUL,
    FAULTS,
    MEANINGS,
    TITLES,
    mark_of,
    matrix_grid,
    probe_grid,
    server_probes,
)
from mcproof.report.page.markup import bar, names, proportion_bar, prose, text
from mcproof.report.page.suite_section import shares
from mcproof.report.proof import PROBING, probe_sentence, shown_arguments
from mcproof.results.proof import predictions, promises

if TYPE_CHECKING:
    from collections.abc import Iterator

    from mcproof.report.matrix import Grid, Mark, Row, Square
    from mcproof.results.proof import Failure, Fuzzing, ProbeResult
    from mcproof.results.run import TargetResult

_TONES = {"clean": "good", "accepted": "fair"}


def proportions(report: TargetResult) -> str:
    """The result as one bar, with a key that needs no colours."""
    payload = report.payload
    if payload.kind == "prove":
        numbers = promises(payload.matrix)
        parts = [("good", "✓", numbers.kept, "kept"), ("bad", "✗", numbers.broken, "broken")]
        parts.append(("none", "·", numbers.not_tested, "not tested"))
    elif payload.kind == "probe":
        judged = [each.passed for each in report.probes]
        idle = sum(each.outcome == "not_tested" for each in report.probes)
        parts = [("good", "✓", judged.count(True), "passed"), ("bad", "✗", judged.count(False), "failed")]
        parts.append(("none", "·", idle, "not tested"))
    elif payload.kind == "fuzz":
        counts = payload.fuzzing.outcomes
        clean, accepted = counts.get("clean", 0), counts.get("accepted", 0)
        rest = max(0, payload.fuzzing.cases - clean - accepted)
        parts = [
            ("good", "✓", clean, "clean"),
            ("fair", "!", accepted, "invalid but accepted"),
            ("bad", "✗", rest, "failed"),
        ]
    else:
        parts = shares(report.tests)
    return proportion_bar([part for part in parts if part[2]])


def trial_sections(report: TargetResult, number: int, level: int) -> Iterator[str]:
    """What the page has of a server that was tried; `number` keeps the anchors of several targets apart."""
    kind = report.payload.kind
    if report.payload.kind == "fuzz":
        yield from _fuzzing(report.payload.fuzzing, level)
    if kind not in PROBING:
        return
    tools = _by_tool(report.probes)
    anchors = {name: f"e{number}-{at}" for at, name in enumerate(tools, 1)}
    grid = matrix_grid(report.matrix) if kind == "prove" else probe_grid(report.probes)
    if grid.rows:
        gist = f' <span class="gist">{probe_sentence(report.probes)}</span>' if kind == "prove" else ""
        yield f"<section>\n<h{level}>{TITLES[kind]}{gist}</h{level}>\n"
        yield from _picture(grid, anchors)
        yield from _predicted(report)
        yield "</section>\n"
    if whole := server_probes(report.probes):
        yield f'<section>\n<h{level}>The server as a whole</h{level}>\n<ul class="probes">\n'
        yield from map(_probe, whole)
        yield "</ul>\n</section>\n"
    if tools:
        yield f"<section>\n<h{level}>What was sent, and what came back</h{level}>\n"
        for name, probes in tools.items():
            yield from _evidence(name, probes, anchors[name], level + 1)
        yield "</section>\n"


def _by_tool(probes: list[ProbeResult]) -> dict[str, list[ProbeResult]]:
    """The probes of each tool."""
    tools: dict[str, list[ProbeResult]] = {}
    for each in probes:
        if each.tool is not None:
            tools.setdefault(each.tool, []).append(each)
    return tools


def _picture(grid: Grid, anchors: dict[str, str]) -> Iterator[str]:
    """A square for each tool and fault; what it means is said by its symbol, its colour and in words."""
    head = "".join(
        f'<th scope="col" title="{text(MEANINGS.get(title, title))}">{text(title, 60)}</th>' for title in grid.titles
    )
    yield (
        '<table class="matrix"><caption class="unseen">One row a tool, one column a fault</caption>\n'
        f'<thead><tr><th scope="col"><span class="unseen">Tool</span></th>{head}</tr></thead>\n<tbody>\n'
    )
    for row in grid.rows:
        yield _row(row, grid.titles, anchors.get(row.tool))
    yield "</tbody></table>\n"
    entries = "".join(_legend_entry(mark, count) for mark, count in grid.legend())
    yield f'<ul class="legend">\n{entries}</ul>\n'


def _row(row: Row, titles: list[str], anchor: str | None) -> str:
    name = f"<code>{text(row.tool, 60)}</code>"
    linked = name if anchor is None else f'<a href="#{anchor}">{name}</a>'
    squares = "".join(_square(square, title) for square, title in zip(row.squares, titles, strict=True))
    idle = ' class="idle"' if row.was_left_out else ""
    return f'<tr{idle}><th scope="row">{linked}</th>{squares}</tr>\n'


def _square(square: Square | None, title: str) -> str:
    if square is None:
        return '<td class="square absent"></td>'
    mark = square.mark
    told = [f"{title}: {mark.word}", square.reason or mark.meaning, DOUBTFUL.meaning if square.is_doubtful else ""]
    doubt = (" doubtful", "?") if square.is_doubtful else ("", "")
    return (
        f'<td class="square {mark.tone}{doubt[0]}" title="{text("; ".join(part for part in told if part))}">'
        f'<span aria-hidden="true">{mark.symbol}{doubt[1]}</span><span class="unseen">{mark.word}{doubt[0]}</span></td>'
    )


def _legend_entry(mark: Mark, count: int) -> str:
    meaning = f' <span class="gist">{mark.meaning}</span>' if mark.meaning else ""
    return (
        f'<li><span class="square {mark.tone}" aria-hidden="true">{mark.symbol}</span>'
        f"<span><b>{count:,}</b> {mark.words(count)}{meaning}</span></li>\n"
    )


def _predicted(report: TargetResult) -> Iterator[str]:
    for rules, fault, tools in predictions(report.matrix):
        ids = ", ".join(f"<code>{text(rule)}</code>" for rule in rules)
        yield (
            f'<p class="aside">Open under <b>{FAULTS[fault]}</b>: {ids} predicted it for '
            f"{plural(len(tools), 'tool')}: {names(tools)}</p>\n"
        )


def _evidence(tool: str, probes: list[ProbeResult], anchor: str, level: int) -> Iterator[str]:
    """All that was tried on one tool, folded."""
    marks = "".join(_symbol(mark_of(each)) for each in probes)
    yield (
        f'<details class="tried"><summary><h{level} class="title"><code>{text(tool, 200)}</code></h{level}>'
        f'<span class="marks">{marks}</span></summary>\n<ul class="probes" id="{anchor}">\n'
    )
    yield from map(_probe, probes)
    yield "</ul></details>\n"


def _symbol(mark: Mark) -> str:
    return (
        f'<span class="square {mark.tone}"><span aria-hidden="true">{mark.symbol}</span>'
        f'<span class="unseen">{mark.word} </span></span>'
    )


def _probe(each: ProbeResult) -> str:
    """One probe: what it asks, what came of it, and the words on the wire."""
    mark = mark_of(each)
    reason = f"<p>{prose(each.reason)}</p>\n" if each.reason else ""
    wire = "".join(
        f"<div><dt>{label}</dt><dd><code>{text(said, 2000)}</code></dd></div>\n"
        for label, said in (("sent", each.request), ("answered", each.answer))
        if said
    )
    return (
        f'<li>{_symbol(mark)}<div class="what"><p><b>{text(each.probe.replace("_", " "), 60)}</b> '
        f'<span class="gist">{text(each.outcome.replace("_", " "), 40)}'
        f"{', exploratory' if each.is_exploratory else ''}</span></p>\n"
        f"{reason}{f'<dl>{wire}</dl>' if wire else ''}</div></li>\n"
    )


def _fuzzing(fuzzing: Fuzzing, level: int) -> Iterator[str]:
    """How many cases had which outcome, and each case that failed."""
    head = f"{plural(fuzzing.cases, 'case')} for {plural(len(fuzzing.tools), 'tool')}, seed {fuzzing.seed}"
    widest = max(1, *(fuzzing.outcomes.get(name, 0) for name in CASE_OUTCOMES))
    rows = "".join(_outcome(name, fuzzing.outcomes.get(name, 0), widest) for name in CASE_OUTCOMES)
    yield (
        f'<section>\n<h{level}>Outcomes <span class="gist">{head}</span></h{level}>\n'
        '<table class="rows"><thead class="unseen"><tr><th scope="col">Outcome</th><th scope="col">Bar</th>'
        f'<th scope="col">Cases</th></tr></thead>\n<tbody>\n{rows}</tbody></table>\n</section>\n'
    )
    if fuzzing.failures:
        yield f'<section>\n<h{level}>Cases that failed</h{level}>\n<ul class="probes">\n'
        yield from map(_failure, fuzzing.failures)
        yield "</ul>\n</section>\n"


def _outcome(name: str, count: int, widest: int) -> str:
    tone = _TONES.get(name, "bad")
    drawn = bar(count / widest, f"tone {tone}") if count else ""
    return (
        f'<tr><th scope="row">{name.replace("_", " ")}</th><td class="chart wide">{drawn}</td>'
        f'<td class="number">{count:,}</td></tr>\n'
    )


def _failure(each: Failure) -> str:
    tone = _TONES.get(each.outcome, "bad")
    whose = "the server" if each.tool is None else f"<code>{text(each.tool, 200)}</code>"
    times = f' <span class="gist">{plural(each.times, "case")}</span>' if each.times > 1 else ""
    what = f"<p>{prose(each.what)}</p>\n" if each.what else ""
    return (
        f'<li><span class="square {tone}" aria-hidden="true">{"!" if tone == "fair" else "✗"}</span>'
        f'<div class="what"><p><b>{each.outcome.replace("_", " ")}</b> {whose}{times}</p>\n{what}<dl>'
        f"<div><dt>arguments</dt><dd><code>{text(shown_arguments(each), 2000)}</code></dd></div>\n"
        f"<div><dt>replay</dt><dd><code>{text(each.replay, 2000)}</code></dd></div>\n</dl></div></li>\n"
    )


def untested_reasons(report: TargetResult) -> str:
    """What was not tested, by the reason."""
    rows = "".join(
        f"<div><dt>{names(whats)}</dt><dd>{prose(why)}</dd></div>\n" for why, whats in report.untested_reasons()
    )
    return f'<dl class="untested">\n{rows}</dl>\n' if rows else ""

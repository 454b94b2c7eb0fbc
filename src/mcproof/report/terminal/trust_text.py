"""The result of `scan` on a terminal: the verdict with its reasons, what to do, what was not seen, the findings."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mcproof.checks.texts.tool_graph import graph_lines
from mcproof.core.console import plural, wrapped
from mcproof.report.terminal.frames import frames
from mcproof.report.trust_phrases import TONES, action_gain, outcome_counts, trust_sentence, unseen_rules

if TYPE_CHECKING:
    from collections.abc import Iterator

    from mcproof.checks.scores.trust import Trust
    from mcproof.checks.texts.tool_graph import ToolGraph
    from mcproof.core.console import Style
    from mcproof.runs.results import TargetResult

_COLOURS = {"good": "good", "fair": "warning", "bad": "error"}
_STEPS, _TEXT_EDGES = 8, 12
"""How many actions, and lines of the tool graph, are listed unless everything is."""


def scan_text(result: TargetResult, style: Style) -> Iterator[str]:
    """Render the result of `scan`."""
    payload = result.payload
    if payload.kind != "scan" or payload.trust is None:
        raise ValueError("not a result of a scan")
    trust = payload.trust
    verdict, _, rest = trust_sentence(trust).partition(":")
    yield f"{style.paint(verdict, 'bold', _COLOURS[TONES[trust.verdict]])}:{rest}\n"
    yield from _lines(outcome_counts(trust), style)
    yield "\n"
    if trust.reasons:
        yield style.paint("Why", "bold") + "\n\n"
        for reason in trust.reasons:
            yield from _lines(style.text(reason, 1_000), style, "  - ")
        yield "\n"
    yield from _actions(trust, style)
    yield from _unseen(trust, style)
    yield from _graph(payload.graph, style)
    yield from frames(result, style)


def _actions(trust: Trust, style: Style) -> Iterator[str]:
    if not trust.actions:
        return
    yield style.paint("What to do, the largest gain first", "bold") + "\n\n"
    shown = trust.actions if style.examples is None else trust.actions[:_STEPS]
    for number, each in enumerate(shown, 1):
        gain = action_gain(each, trust)
        text = f"{style.text(each.advice, 500)} ({style.text(each.rule)}{f': {gain}' if gain else ''})"
        yield from _lines(text, style, f"{number:>3}  ")
    if len(trust.actions) > len(shown):
        yield f"     and {len(trust.actions) - len(shown):,} more; --show all lists everything\n"
    yield "\n"


def _graph(graph: ToolGraph | None, style: Style) -> Iterator[str]:
    """Render which tools name each other, unless none does."""
    if graph is None or not graph.edges:
        return
    yield style.paint("Tools that name each other", "bold") + "\n\n"
    lines = graph_lines(graph)
    shown = lines if style.examples is None else lines[:_TEXT_EDGES]
    for line in shown:
        head = "  " + " " * (len(line) - len(line.lstrip()))
        yield from _lines(style.text(line.strip(), 400), style, head)
    if len(lines) > len(shown):
        yield f"  and {len(lines) - len(shown):,} more lines; --show all lists everything\n"
    yield "\n"


def _unseen(trust: Trust, style: Style) -> Iterator[str]:
    unseen = [each for each in unseen_rules(trust) if each.is_applicable]
    if not unseen:
        return
    yield style.paint("Not observed", "bold") + "\n\n"
    for each in unseen:
        named = ", ".join(each.rules) if style.examples is None or len(each.rules) == 1 else ""
        what = named or plural(len(each.rules), "rule")
        yield from _lines(f"{what}: {style.text(each.why, 500)}", style, "  - ")
    yield "\n"


def _lines(text: str, style: Style, head: str = "") -> Iterator[str]:
    first, *others = wrapped(text, style.width, used=len(head), indent=len(head))
    yield f"{head}{first}\n"
    yield from (f"{line}\n" for line in others)

"""The changes between two catalogs, for a terminal."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mcproof.console import plural
from mcproof.report.text import place_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from mcproof.console import Style
    from mcproof.results.findings import ReportedFinding
    from mcproof.results.run import TargetResult

WORDS = {"error": "breaking", "warning": "cannot tell", "note": "compatible"}
_MARKS = {"error": "!", "warning": "?", "note": " "}


def changes_text(report: TargetResult, style: Style) -> Iterator[str]:
    """The changes, grouped by item; then how many break callers."""
    about = None
    for each in report.findings:
        if (each.item, each.item_pointer) != about:
            yield ("" if about is None else "\n") + style.paint(style.text(each.label or "server", 100), "bold") + "\n"
            about = (each.item, each.item_pointer)
        mark = style.paint(_MARKS[each.level], each.level)
        yield f"  {mark} {style.text(each.message)} ({_word(each, style)})\n"
        yield "      " + style.paint(f"{each.rule.id}  {place_of(each, style)}", "dim") + "\n"
    yield ("\n" if report.findings else "") + _summary(report, style)


def changes_concise(report: TargetResult, style: Style) -> Iterator[str]:
    """One line a change."""
    for each in report.findings:
        item = f"{style.text(each.label, 100)}: " if each.label else ""
        yield f"{place_of(each, style)}: {_word(each, style)} {each.rule.id} {item}{style.text(each.message)}\n"


def _word(each: ReportedFinding, style: Style) -> str:
    return style.paint(WORDS[each.level], each.level)


def _summary(report: TargetResult, style: Style) -> str:
    older = report.payload.compared_with if report.payload.kind == "diff" else "?"
    between = f"from {style.text(older)} to {style.text(report.target)}"
    if not report.findings:
        return f"{style.paint(style.symbol('✓', 'ok:'), 'good')} no change {between}\n"
    levels = report.levels()
    counts = [style.paint(f"{levels[level]:,} {WORDS[level]}", level) for level in levels if levels[level]]
    return f"{plural(len(report.findings), 'change')} {between}: {', '.join(counts)}\n"

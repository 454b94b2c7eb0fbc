"""The changes between two catalogs on a terminal."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mcproof.core.console import plural
from mcproof.report.phrases import CHANGE_WORDS
from mcproof.report.terminal.finding_list import location_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from mcproof.checks.findings import ReportedFinding
    from mcproof.core.console import Style
    from mcproof.runs.results import TargetResult

_LEVEL_SYMBOLS = {"error": "!", "warning": "?", "note": " "}


def changes_text(result: TargetResult, style: Style) -> Iterator[str]:
    """Render the changes, grouped by item; then how many break callers."""
    item = None
    for each in result.findings:
        if (each.item, each.item_pointer) != item:
            yield ("" if item is None else "\n") + style.paint(style.text(each.label or "server", 100), "bold") + "\n"
            item = (each.item, each.item_pointer)
        mark = style.paint(_LEVEL_SYMBOLS[each.level], each.level)
        yield f"  {mark} {style.text(each.message)} ({_word(each, style)})\n"
        yield "      " + style.paint(f"{each.rule.id}  {location_of(each, style)}", "dim") + "\n"
    yield ("\n" if result.findings else "") + _changes_summary(result, style)


def changes_concise(result: TargetResult, style: Style) -> Iterator[str]:
    """Render one line a change."""
    for each in result.findings:
        item = f"{style.text(each.label, 100)}: " if each.label else ""
        yield f"{location_of(each, style)}: {_word(each, style)} {each.rule.id} {item}{style.text(each.message)}\n"


def _word(each: ReportedFinding, style: Style) -> str:
    return style.paint(CHANGE_WORDS[each.level], each.level)


def _changes_summary(result: TargetResult, style: Style) -> str:
    older = result.payload.compared_with if result.payload.kind == "diff" else "?"
    between = f"from {style.text(older)} to {style.text(result.target)}"
    if not result.findings:
        return f"{style.paint(style.symbol('✓', 'ok:'), 'good')} no changes {between}\n"
    levels = result.levels()
    counts = [style.paint(f"{levels[level]:,} {CHANGE_WORDS[level]}", level) for level in levels if levels[level]]
    return f"{plural(len(result.findings), 'change')} {between}: {', '.join(counts)}\n"

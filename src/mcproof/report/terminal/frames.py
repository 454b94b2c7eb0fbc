"""Findings on a terminal: a frame around the offending line, or one line each."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mcproof.console import Style, display_width, plural, safe
from mcproof.linting.finding import LEVELS
from mcproof.report.phrases import code_help_lines, fixing_hint, scope_of
from mcproof.results.findings import group_by_fault

if TYPE_CHECKING:
    from collections.abc import Iterator

    from mcproof.results.findings import FindingGroup, ReportedFinding, Snippet
    from mcproof.results.run import TargetResult

_TAB = "    "


def frames(result: TargetResult, style: Style) -> Iterator[str]:
    """Render every finding with its line, a caret and the advice; then a summary."""
    groups = group_by_fault(result.findings)
    last = {group.shown.rule.id: number for number, group in enumerate(groups)}
    for number, group in enumerate(groups):
        rule = group.shown.rule.id
        yield frame(group, style) + (_in_code(result, rule, style) if last[rule] == number else "") + "\n"
    yield _summary(result, groups, style)


def concise(result: TargetResult, style: Style) -> Iterator[str]:
    """Render one line a finding: location, level, rule, item, message."""
    for shown, also in group_by_fault(result.findings):
        level = style.paint(shown.level, shown.level)
        others = f" [also {', '.join(also)}]" if also else ""
        yield f"{location_of(shown, style)}: {level} {shown.rule.id} {_sentence(shown, style)}{others}\n"


def location_of(shown: ReportedFinding, style: Style) -> str:
    """Return file, line and column as far as known; a live server has only a name."""
    parts = [style.text(shown.file), shown.line, shown.column]
    return ":".join(str(part) for part in parts if part is not None)


def _sentence(shown: ReportedFinding, style: Style) -> str:
    """Return the message, prefixed with the name of its item."""
    message = style.text(shown.message)
    return f"{style.text(shown.label, 100)}: {message}" if shown.label else message


def frame(group: FindingGroup, style: Style) -> str:
    """Return a finding with its line, if any, and the advice."""
    shown = group.shown
    gutter = len(str(shown.line or " ")) + 1
    head = style.paint(f"{shown.level}[{shown.rule.id}]", shown.level, "bold")
    pointer = style.paint(f"  {style.text(shown.pointer)}", "dim") if shown.pointer else ""
    lines = [
        f"{head} {style.paint(_sentence(shown, style), 'bold')}",
        f"{' ' * (gutter - 1)}{style.paint('-->', 'help')} {location_of(shown, style)}{pointer}",
    ]
    if shown.snippet is not None:
        lines += _excerpt(shown, shown.snippet, gutter, style)
    notes = [("help", shown.rule.fix), ("replay", _replay(shown)), ("also", ", ".join(group.also))]
    bullet = style.paint("=", "help")
    lines += [f"{' ' * gutter}{bullet} {style.paint(label, 'bold')}: {text}" for label, text in notes if text]
    return "\n".join(lines) + "\n"


def _in_code(result: TargetResult, rule: str, style: Style) -> str:
    """Return what to write in the server's code about the findings of a rule."""
    bullet = style.paint("=", "help")
    lines = [style.text(line, 200) for line in code_help_lines(result, rule)]
    return "".join(f"     {line}\n" if line.startswith(" ") or not line else f"  {bullet} {line}\n" for line in lines)


def _replay(shown: ReportedFinding) -> str:
    """Return the command that replays the request of a finding, if there is one."""
    failure = shown.evidence.get("failure") if shown.evidence is not None else None
    return f"mcproof replay {safe(failure)}" if isinstance(failure, str) else ""


def _excerpt(shown: ReportedFinding, snippet: Snippet, gutter: int, style: Style) -> list[str]:
    """Return the line of the file, cropped around the location, with carets under it."""
    line, start, length = snippet.text, snippet.start, len(snippet.text)
    room = style.width - gutter - 6
    first = max(0, min(start - room // 3, length - room)) if length > room else 0
    line = line[first : first + room]
    start -= first
    while len(line) > start + 1 and display_width(line) > room:
        line = line[:-1]
    end = min(snippet.end - first, len(line))
    ellipsis = style.symbol("…", "...")
    before, marked, after = (
        style.text(part.replace("\t", _TAB), style.width) for part in (line[:start], line[start:end], line[end:])
    )
    before = (ellipsis if first or snippet.cut_before else "") + before
    after += ellipsis if first + len(line) < length or snippet.cut_after else ""
    bar = style.paint("|", "help")
    shown_number = shown.line if shown.column is not None else ""  # a live catalog has no lines
    number = style.paint(str(shown_number).rjust(gutter - 1), "help")
    carets = style.paint("^" * max(1, display_width(marked)), shown.level)
    return [
        f"{' ' * gutter}{bar}",
        f"{number} {bar} {before}{marked}{after}",
        f"{' ' * gutter}{bar} {' ' * display_width(before)}{carets}",
    ]


def _summary(result: TargetResult, groups: list[FindingGroup], style: Style) -> str:
    """Return the last lines: the numbers of findings, and how many can be fixed automatically."""
    scope = f"{scope_of(result)} of {style.text(result.target)}"
    hidden = f" ({len(result.suppressed):,} suppressed)" if result.suppressed else ""
    polish = "" if result.scores.polish is None else f"polish score {result.scores.polish} of 100\n"
    if not result.findings:
        tick = style.paint(style.symbol("✓", "ok:"), "good")
        return f"{tick} no findings in {scope}{hidden}\n{polish}"
    levels = [group.shown.level for group in groups]
    counts = [(level, levels.count(level)) for level in LEVELS]
    parts = [style.paint(plural(count, level), level) for level, count in counts if count]
    lines = [f"{', '.join(parts)} in {scope}{hidden}", ": ".join(filter(None, fixing_hint(result)))]
    return "\n".join(filter(None, lines)) + f"\n{polish}"

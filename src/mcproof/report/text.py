"""Findings for people: a frame around the offending line, or one line each."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mcproof.console import Style, display_width, plural, safe, shell_word
from mcproof.linting.finding import LEVELS
from mcproof.results.findings import Snippet, group_by_fault
from mcproof.results.run import BROKEN

if TYPE_CHECKING:
    from collections.abc import Iterator

    from mcproof.results.findings import FindingGroup, ReportedFinding
    from mcproof.results.run import TargetResult

_TAB = "    "
COUNTED = {"tools": "tool", "resources": "resource", "templates": "template", "prompts": "prompt"}


def frames(report: TargetResult, style: Style) -> Iterator[str]:
    """Every finding with the line it is about, a caret, and what to do; then a summary."""
    groups = group_by_fault(report.findings)
    for group in groups:
        yield frame(group, style) + "\n"
    yield summary(report, groups, style)


def concise(report: TargetResult, style: Style) -> Iterator[str]:
    """One line a finding: place, level, rule, subject, message."""
    for shown, also in group_by_fault(report.findings):
        level = style.paint(shown.level, shown.level)
        others = f" [also {', '.join(also)}]" if also else ""
        yield f"{place_of(shown, style)}: {level} {shown.rule.id} {_sentence(shown, style)}{others}\n"


def place_of(shown: ReportedFinding, style: Style) -> str:
    """Where something stands, as far as that is known: of a live server there is only the name."""
    parts = [style.text(shown.file), shown.line, shown.column]
    return ":".join(str(part) for part in parts if part is not None)


def _sentence(shown: ReportedFinding, style: Style) -> str:
    """The message, with whose it is in front."""
    message = style.text(shown.message)
    return f"{style.text(shown.label, 100)}: {message}" if shown.label else message


def frame(group: FindingGroup, style: Style) -> str:
    """A finding with the line it is about, as far as there is one, and what to do."""
    shown = group.shown
    gutter = len(str(shown.line or " ")) + 1
    head = style.paint(f"{shown.level}[{shown.rule.id}]", shown.level, "bold")
    pointer = style.paint(f"  {style.text(shown.pointer)}", "dim") if shown.pointer else ""
    lines = [
        f"{head} {style.paint(_sentence(shown, style), 'bold')}",
        f"{' ' * (gutter - 1)}{style.paint('-->', 'help')} {place_of(shown, style)}{pointer}",
    ]
    if shown.snippet is not None:
        lines += _excerpt(shown, shown.snippet, gutter, style)
    notes = [("help", shown.rule.fix), ("replay", _replay(shown)), ("also", ", ".join(group.also))]
    bullet = style.paint("=", "help")
    lines += [f"{' ' * gutter}{bullet} {style.paint(label, 'bold')}: {text}" for label, text in notes if text]
    return "\n".join(lines) + "\n"


def _replay(shown: ReportedFinding) -> str:
    """The command that sends again what a finding is about, if it is about something that was sent."""
    failure = shown.evidence.get("failure") if shown.evidence is not None else None
    return f"mcproof replay {safe(failure)}" if isinstance(failure, str) else ""


def _excerpt(shown: ReportedFinding, snippet: Snippet, gutter: int, style: Style) -> list[str]:
    """The line of the file, cropped around the place, with carets under it."""
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


def summary(report: TargetResult, groups: list[FindingGroup], style: Style) -> str:
    """The last lines: how much is shown, of how much, what was left out, and what a machine can mend."""
    scope = f"{scope_of(report)} of {style.text(report.target)}"
    hidden = f" ({len(report.suppressed):,} suppressed)" if report.suppressed else ""
    if not report.findings:
        tick = style.paint(style.symbol("✓", "ok:"), "good")
        return f"{tick} no findings in {scope}{hidden}\n{_polish(report)}"
    levels = [group.shown.level for group in groups]
    counts = [(level, levels.count(level)) for level in LEVELS]
    parts = [style.paint(plural(count, level), level) for level, count in counts if count]
    lines = [f"{', '.join(parts)} in {scope}{hidden}"]
    fixable = sum(each.fix is not None for each in report.findings)
    if fixable:
        lines.append(f"{fixable:,} can be fixed by machine: {fixing_command(report)}")
    return "\n".join(lines) + f"\n{_polish(report)}"


def fixing_command(report: TargetResult) -> str:
    """The command that mends what a machine can mend."""
    whose = shell_word(report.target) if report.connection is None else "FILE"
    how = "--fix" if report.connection is not None or report.findings[0].file == report.target else "--diff"
    rulesets = {each.rule.ruleset for each in report.findings if each.fix is not None}
    is_source = report.findings[0].file.endswith(".py")  # where `lint` runs the polish rules without being told to
    return f"mcproof {'lint' if rulesets == {'polish'} and is_source else 'schema-lint'} {whose} {how}"


def _polish(report: TargetResult) -> str:
    return "" if report.scores.polish is None else f"polish score {report.scores.polish} of 100\n"


def failing_words(fail_on: str) -> str:
    """Which findings fail a run."""
    if fail_on == BROKEN:
        return f"of the level error in what the server did (--fail-on {BROKEN})"
    return f"at or above the level {fail_on} (--fail-on)"


def scope_of(report: TargetResult) -> str:
    """What was looked at."""
    counted = [
        plural(report.counts.get(key, 0), word)
        for key, word in COUNTED.items()
        if report.counts.get(key) or key == "tools"
    ]
    return ", ".join(counted)

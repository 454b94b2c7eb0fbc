"""The findings of a target on a terminal: in frames, or one line each; and their numbers."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mcproof.checks.findings import LEVELS, group_by_fault
from mcproof.core.console import display_width, plural, wrapped
from mcproof.report.phrases import code_help_lines, fixing_hint, scope_of
from mcproof.report.terminal.finding_list import command_hint, fitting_target, grouped_findings, location_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from mcproof.checks.findings import FindingGroup, ReportedFinding
    from mcproof.core.console import Style
    from mcproof.runs.results import TargetResult


def frames(result: TargetResult, style: Style) -> Iterator[str]:
    """Render the findings, grouped by rule; then a summary."""
    groups = group_by_fault(result.findings)
    yield from grouped_findings(groups, style, lambda rule: _in_code(result, rule, style))
    yield _summary(result, groups, style)


def concise(result: TargetResult, style: Style) -> Iterator[str]:
    """Render one line a finding: location, level, rule, item, message."""
    for group in group_by_fault(result.findings):
        shown = group.shown
        level = style.paint(shown.level, shown.level)
        others = f" [also {', '.join(group.also)}]" if group.also else ""
        yield f"{location_of(shown, style)}: {level} {shown.rule.id} {_finding_sentence(shown, style)}{others}\n"


def _finding_sentence(shown: ReportedFinding, style: Style) -> str:
    """Return the message, prefixed with the name of its item."""
    message = style.text(shown.message)
    return f"{style.text(shown.label, 100)}: {message}" if shown.label else message


def _in_code(result: TargetResult, rule: str, style: Style) -> str:
    """Return what to write in the server's code about the findings of a rule."""
    bullet, lines = style.paint("=", "help"), []
    for line in code_help_lines(result, rule):
        text = style.text(line, 200)
        if line.startswith(" ") or not line:
            lines.append(f"     {text}".rstrip())
        else:
            first, *others = wrapped(text, style.width, used=4, indent=4)
            lines += [f"  {bullet} {first}", *others]
    return "".join(f"{line}\n" for line in lines)


def _summary(result: TargetResult, groups: list[FindingGroup], style: Style) -> str:
    """Return the last lines: the numbers of findings, and how many can be fixed automatically."""
    target = fitting_target(result.target, style.width // 2, style)
    scope = f"{scope_of(result)} of {target}"
    hidden = f" ({len(result.suppressed):,} suppressed)" if result.suppressed else ""
    polish = "" if result.scores.polish is None else f"polish score {result.scores.polish} of 100\n"
    if not result.findings:
        tick = style.paint(style.symbol("✓", "ok:"), "good")
        return _wrapped(f"{tick} no findings in {scope}{hidden}", target, style) + polish
    levels = [group.shown.level for group in groups]
    counts = [(level, levels.count(level)) for level in LEVELS]
    parts = [style.paint(plural(count, level), level) for level, count in counts if count]
    counted = _wrapped(f"{', '.join(parts)} in {scope}{hidden}", target, style)
    return counted + "".join(f"{line}\n" for line in command_hint(*fixing_hint(result), style)) + polish


def _wrapped(line: str, target: str, style: Style) -> str:
    """Wrap the line that ends with the target; a long target stays on it, as in a list of many."""
    is_long = display_width(target) > style.width // 2
    return "\n".join([line] if is_long else wrapped(line, style.width, indent=4)) + "\n"

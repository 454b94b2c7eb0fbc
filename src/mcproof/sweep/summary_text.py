"""The summary of a sweep as text."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mcproof.core.console import plural
from mcproof.sweep.outcome_rows import CHECKED

if TYPE_CHECKING:
    from collections.abc import Iterator

    from mcproof.core.console import Style
    from mcproof.sweep.sweep_summary import SweepSummary

_WIDEST_BAR = 40
_MOST_RULES, _MOST_FAILURES, _MOST_RANKED, _MOST_SLOW = 10, 12, 10, 3


def summary_lines(summary: SweepSummary, style: Style, results: str) -> Iterator[str]:
    """Render a summary: grades, rules, failures, the best and the slowest."""
    checked = summary.outcomes[CHECKED]
    yield f"{style.paint(plural(summary.targets, 'target'), 'bold')}: {checked:,} checked"
    yield "".join(
        f", {count:,} {outcome}" for outcome, count in summary.outcomes.items() if outcome != CHECKED and count
    )
    yield "\n"
    yield from _grades(summary, style)
    yield from _rules(summary)
    yield from _failures(summary, style)
    for title, counts in (("Verdicts", summary.verdicts), ("Contracts", summary.proofs)):
        if counts:
            yield f"\n{title}: {', '.join(f'{count:,} {word}' for word, count in counts.items())}\n"
    if summary.ranking:
        yield "\nBest\n"
        for each in summary.ranking[:_MOST_RANKED]:
            where = "" if each.title == each.target else f" ({each.target})"
            yield f"  {each.letter} {each.score:3}  {style.fitting(each.title + where, style.width - 10)}\n"
    if summary.slowest:
        slow = ", ".join(f"{style.text(name, 60)} ({seconds:.1f} s)" for seconds, name in summary.slowest[:_MOST_SLOW])
        yield f"\nSlowest: {slow}\n"
    yield f"Results: {style.text(results)}\n"


def _grades(summary: SweepSummary, style: Style) -> Iterator[str]:
    graded = sum(summary.grades.values())
    if not graded:
        return
    yield f"\nGrades (mean score {summary.mean_score})\n"
    for letter, count in summary.grades.items():
        bar = style.symbol("█", "#") * round(_WIDEST_BAR * count / graded)
        yield f"  {letter} {count:8,}  {count / graded:4.0%}  {bar}".rstrip() + "\n"


def _rules(summary: SweepSummary) -> Iterator[str]:
    if summary.rules:
        yield "\nMost frequent rules (targets, findings)\n"
        for each in summary.rules[:_MOST_RULES]:
            yield f"  {each.targets:8,} {each.findings:9,}  {each.rule}\n"


def _failures(summary: SweepSummary, style: Style) -> Iterator[str]:
    if not summary.failures:
        return
    yield "\nNot checked\n"
    for each in summary.failures[:_MOST_FAILURES]:
        what = f"{each.outcome}: {style.text(each.reason)}, such as {style.text(each.example, 100)}"
        yield f"  {each.targets:8,}  {what}\n"
    hidden = len(summary.failures) - _MOST_FAILURES
    if hidden > 0:
        yield f"            and {plural(hidden, 'other reason')}\n"
    for target in summary.crashed:
        yield f"  ended its worker process twice: {style.text(target)}\n"

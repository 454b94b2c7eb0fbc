"""The result of fuzzing on a terminal: outcomes as bars, and each failure with its replay command."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mcproof.console import plural
from mcproof.report.outcome_phrases import arguments_text, fuzz_sentence
from mcproof.report.probe_rules import covered_by_failures
from mcproof.report.terminal.matrix_text import findings_text, untested_text

if TYPE_CHECKING:
    from collections.abc import Iterator

    from mcproof.console import Style
    from mcproof.results.proof import Failure, Fuzzing
    from mcproof.results.run import TargetResult

BAR_WIDTH = 32
_COLOURS = {"clean": "good", "accepted": "warning"}


def fuzz_text(result: TargetResult, style: Style) -> Iterator[str]:
    """Render outcomes, failures, what was not tested, and the totals."""
    if result.payload.kind != "fuzz":
        raise ValueError("not a result of fuzzing")
    fuzzing = result.payload.fuzzing
    heading = f"Fuzzing: {plural(fuzzing.cases, 'case')} for {plural(len(fuzzing.tools), 'tool')}, seed {fuzzing.seed}"
    yield style.paint(heading, "bold") + "\n\n"
    yield from _outcomes(fuzzing, style)
    for failure in fuzzing.failures:
        yield _failure(failure, style) + "\n"
    covered = covered_by_failures(fuzzing.failures)
    yield from findings_text((each for each in result.findings if (each.tool, each.rule.id) not in covered), style)
    yield from untested_text(result, style)
    yield f"{style.paint(fuzz_sentence(fuzzing), 'bold')}\nseed {fuzzing.seed}\n"


def _outcomes(fuzzing: Fuzzing, style: Style) -> Iterator[str]:
    """Render the number of cases of each outcome."""
    widest = max(1, *fuzzing.counts.values())
    room = min(BAR_WIDTH, style.width - 32)
    block = style.symbol("█", "#")
    for name, count in fuzzing.counts.items():
        bar = block * (max(1, round(room * count / widest)) if count else 0)
        painted = style.paint(bar, _COLOURS.get(name, "error"))
        yield f"  {name.replace('_', ' '):18} {count:>8,}  {painted}".rstrip() + "\n"
    yield "\n"


def _failure(failure: Failure, style: Style) -> str:
    """Return a failed case: the problem, the arguments and the replay command."""
    colour = "warning" if failure.outcome == "accepted" else "error"
    head = style.paint(failure.outcome.replace("_", " "), colour, "bold")
    tool = style.text(failure.tool, 100) if failure.tool is not None else "the server"
    times = f" ({plural(failure.times, 'case')})" if failure.times > 1 else ""
    lines = [f"{head} {style.paint(tool, 'bold')}: {style.text(failure.what or 'invalid response')}{times}"]
    lines.append(f"    arguments  {style.fitting(arguments_text(failure), style.width - 15)}")
    lines.append(f"    replay     {style.text(failure.replay, 2000)}")
    return "\n".join(lines) + "\n"

"""What fuzzing came to, for a terminal: the outcomes as bars, a block a failure, and how to send it again."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mcproof.console import plural
from mcproof.exchange.probe_facts import CASE_OUTCOMES
from mcproof.report.proof import fuzz_sentence, shown_arguments, told_by_failures
from mcproof.report.proof_text import findings_text, untested_text, verdict_line

if TYPE_CHECKING:
    from collections.abc import Iterator

    from mcproof.console import Style
    from mcproof.results.proof import Failure, Fuzzing
    from mcproof.results.run import TargetResult

BAR_WIDTH = 32
_COLOURS = {"clean": "good", "accepted": "warning"}


def fuzz_text(report: TargetResult, style: Style) -> Iterator[str]:
    """Outcomes, failures, what no case has reached, and the verdict."""
    if report.payload.kind != "fuzz":
        raise ValueError("not a result of fuzzing")
    fuzzing = report.payload.fuzzing
    heading = f"Fuzzing: {plural(fuzzing.cases, 'case')} for {plural(len(fuzzing.tools), 'tool')}, seed {fuzzing.seed}"
    yield style.paint(heading, "bold") + "\n\n"
    yield from _outcomes(fuzzing, style)
    for failure in fuzzing.failures:
        yield _failure(failure, style) + "\n"
    told = told_by_failures(fuzzing.failures)
    yield from findings_text((each for each in report.findings if (each.tool, each.rule.id) not in told), style)
    yield from untested_text(report, style)
    yield f"{style.paint(fuzz_sentence(fuzzing), 'bold')}\nseed {fuzzing.seed}\n"
    yield verdict_line(report, style)


def _outcomes(fuzzing: Fuzzing, style: Style) -> Iterator[str]:
    """How many cases had each outcome."""
    widest = max(1, *(fuzzing.outcomes.get(name, 0) for name in CASE_OUTCOMES))
    room = min(BAR_WIDTH, style.width - 32)
    block = style.symbol("█", "#")
    for name in CASE_OUTCOMES:
        count = fuzzing.outcomes.get(name, 0)
        bar = block * (max(1, round(room * count / widest)) if count else 0)
        painted = style.paint(bar, _COLOURS.get(name, "error"))
        yield f"  {name.replace('_', ' '):18} {count:>8,}  {painted}".rstrip() + "\n"
    yield "\n"


def _failure(failure: Failure, style: Style) -> str:
    """What was sent to whom, what is wrong about the answer, and the command that sends it again."""
    colour = "warning" if failure.outcome == "accepted" else "error"
    head = style.paint(failure.outcome.replace("_", " "), colour, "bold")
    whose = style.text(failure.tool, 100) if failure.tool is not None else "the server"
    times = f" ({plural(failure.times, 'case')})" if failure.times > 1 else ""
    lines = [f"{head} {style.paint(whose, 'bold')}: {style.text(failure.what or 'no answer as it should be')}{times}"]
    lines.append(f"    arguments  {style.fitting(shown_arguments(failure), style.width - 15)}")
    lines.append(f"    replay     {style.text(failure.replay, 2000)}")
    return "\n".join(lines) + "\n"

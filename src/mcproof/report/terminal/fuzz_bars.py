"""The result of fuzzing on a terminal: outcomes as bars, and each failure with its replay command."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mcproof.core.console import plural, wrapped
from mcproof.report.outcome_phrases import arguments_text, fuzz_sentence
from mcproof.report.probe_rules import covered_by_failures
from mcproof.report.terminal.exchange_text import readable_response
from mcproof.report.terminal.matrix_text import findings_text, sentence, untested_text

if TYPE_CHECKING:
    from collections.abc import Iterator

    from mcproof.core.console import Style
    from mcproof.probing.outcomes import Failure, Fuzzing
    from mcproof.runs.results import TargetResult

BAR_WIDTH = 32
_FUZZ_COLOURS = {"clean": "good", "accepted": "warning"}


def fuzz_text(result: TargetResult, style: Style) -> Iterator[str]:
    """Render outcomes, failures, what was not tested, and the totals."""
    if result.payload.kind != "fuzz":
        raise ValueError("not a result of fuzzing")
    fuzzing = result.payload.fuzzing
    heading = f"Fuzzing: {plural(fuzzing.cases, 'case')} for {plural(len(fuzzing.tools), 'tool')}, seed {fuzzing.seed}"
    yield from sentence(heading, style)
    yield "\n"
    yield from _outcomes(fuzzing, style)
    yield from _failures(fuzzing.failures, style)
    covered = covered_by_failures(fuzzing.failures)
    yield from findings_text((each for each in result.findings if (each.tool, each.rule.id) not in covered), style)
    yield from untested_text(result, style)
    yield from sentence(fuzz_sentence(fuzzing), style)
    yield f"seed {fuzzing.seed}\n"


def _outcomes(fuzzing: Fuzzing, style: Style) -> Iterator[str]:
    """Render the number of cases of each outcome."""
    widest = max(1, *fuzzing.counts.values())
    room = min(BAR_WIDTH, style.width - 32)
    block = style.symbol("█", "#")
    for name, count in fuzzing.counts.items():
        bar = block * (max(1, round(room * count / widest)) if count else 0)
        painted = style.paint(bar, _FUZZ_COLOURS.get(name, "error"))
        yield f"  {name.replace('_', ' '):18} {count:>8,}  {painted}".rstrip() + "\n"
    yield "\n"


def _failures(failures: list[Failure], style: Style) -> Iterator[str]:
    """Render the failed cases: some of each outcome of a tool, and the number of the others."""
    groups: dict[tuple[str, str | None], list[Failure]] = {}
    for failure in failures:
        groups.setdefault((failure.outcome, failure.tool), []).append(failure)
    for (outcome, tool), members in groups.items():
        shown = members[: style.examples]
        for failure in shown:
            yield _failure(failure, style) + "\n"
        if hidden := len(members) - len(shown):
            yield f"and {hidden:,} more: {outcome.replace('_', ' ')} {_name(tool, style)} (--show all)\n\n"


def _name(tool: str | None, style: Style) -> str:
    return style.text(tool, 100) if tool is not None else "the server"


def _failure(failure: Failure, style: Style) -> str:
    """Return a failed case: the problem, the arguments, the response and the replay command."""
    colour = "warning" if failure.outcome == "accepted" else "error"
    outcome = failure.outcome.replace("_", " ")
    times = f" ({plural(failure.times, 'case')})" if failure.times > 1 else ""
    what = f"{style.text(failure.what or 'invalid response')}{times}"
    first, *others = wrapped(f"{_name(failure.tool, style)}: {what}", style.width, used=len(outcome) + 1, indent=4)
    lines = [f"{style.paint(outcome, colour, 'bold')} {style.paint(first, 'bold')}".rstrip()]
    lines += [style.paint(line, "bold") for line in others]
    lines.append(f"    arguments  {style.fitting(arguments_text(failure), style.width - 15)}")
    if failure.response and failure.response not in failure.what:
        lines.append(f"    response   {style.fitting(readable_response(failure.response), style.width - 15)}")
    lines.append(f"    replay     {style.text(failure.replay, 2000)}")
    return "\n".join(lines) + "\n"

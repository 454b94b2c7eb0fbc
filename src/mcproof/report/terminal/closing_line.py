"""The last line of a run on a terminal: its verdict, and why."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mcproof.core.console import wrapped
from mcproof.report.gate_verdicts import run_verdict

if TYPE_CHECKING:
    from mcproof.core.console import Style
    from mcproof.runs.results import RunResult

_COLOURS = {"good": ("good",), "fair": ("warning",), "bad": ("error",)}
_SYMBOLS = {"good": "✓ ", "bad": "✗ "}

_SUMMED_UP = ("lint", "compat", "diff")
"""The kinds of run whose text ends with the number of findings."""


def closing_line(run: RunResult, style: Style) -> str:
    """Return the line; empty if the text above ends with the same words, or if an error was reported instead."""
    if not run.targets or (len(run.targets) == 1 and run.failed):
        return ""
    verdict = run_verdict(run)
    if len(run.targets) == 1 and run.kind in _SUMMED_UP and not verdict.word and not run.targets[0].findings:
        return ""  # "no findings in 4 tools"
    if len(run.targets) == 1 and run.kind == "suite" and ": " not in verdict.word:
        return ""  # "4 tests: 3 passed, 1 failed"
    gap = "\n" if len(run.targets) == 1 and run.is_single and run.kind == "grade" else ""
    symbol = style.symbol(_SYMBOLS.get(verdict.tone, ""), "") if verdict.word else ""
    first, *others = wrapped(f"{symbol}{style.text(str(verdict), 1_000)}", style.width, indent=4)
    head = f"{symbol}{verdict.word}" if verdict.word else first
    colours = _COLOURS.get(verdict.tone, ()) if verdict.word or verdict.tone == "fair" else ()
    painted = style.paint(head, *colours) if colours and first.startswith(head) else first[: len(head)]
    return gap + "".join(f"{line}\n" for line in (f"{painted}{first[len(head) :]}", *others))

"""The contract matrix: for each tool and kind of promise, what the schema declares and the server keeps."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, NamedTuple

from mcproof.prove.probe_cases import FAULT_OF, PROBE_OF, ProbeCase, SkippedProbe, column_of
from mcproof.results.proof import Cell

if TYPE_CHECKING:
    from collections.abc import Iterable

    from mcproof.checks.findings import ReportedFinding
    from mcproof.generation.promises import Promise
    from mcproof.prove.probe_cases import ToolProbes
    from mcproof.prove.seen_responses import Showing
    from mcproof.results.proof import Column, Verdict


class Trial(NamedTuple):
    """A case that was sent, and what the response shows."""

    case: ProbeCase
    shows: Showing


def cell_of(column: Column, probes: ToolProbes, trials: list[Trial], untested: str) -> Cell:
    """The cell of a tool and column; `untested` is the reason if there are no trials."""
    probe = PROBE_OF[column]
    tool, fault = probes.tool.name, FAULT_OF.get(probe)
    own = [each for each in trials if each.case.probe == probe]
    for case in probes.cases:
        if isinstance(case, SkippedProbe) and case.probe == probe:
            skipped = Cell(tool, column, fault, case.declared, None, "not applicable", reason=case.reason)
            if not case.is_applicable:
                return skipped
            return skipped._replace(verdict="not tested", left_out=int(bool(case.declared)))
    promised = [each for each in probes.promises if column_of(each.keyword) == column]
    planned = [each for each in probes.cases if isinstance(each, ProbeCase) and each.probe == probe and each.is_promise]
    if not own:
        is_declared = bool(promised)
        return Cell(tool, column, fault, is_declared, None, "not tested", left_out=len(promised), reason=untested)
    sent = Counter(each.case.promise for each in own if each.case.is_promise)
    unsent = Counter(each.promise for each in planned) - sent
    if promised:
        cell = _Promises(own, promised, {*probes.left_out, *unsent}).cell(tool, column)
    else:
        cell = _explored(tool, column, own)
    lenient = sum(each.case.is_lenient and not each.case.is_promise and each.shows == "accepted" for each in own)
    return cell._replace(lenient=lenient)


class _Promises:
    """The promises of one cell, by what the trials show of them."""

    def __init__(self, trials: list[Trial], promised: list[Promise], left_out: set[Promise]) -> None:
        shown: dict[Promise, set[Showing]] = {}
        for trial in trials:
            if trial.case.is_promise:
                shown.setdefault(trial.case.promise, set()).add(trial.shows)
        self._trials = trials
        self._broken = [each for each in promised if "accepted" in shown.get(each, ())]
        rest = [each for each in promised if each not in self._broken]
        self._not_shown = [each for each in rest if "nothing" in shown.get(each, ())]
        rest = [each for each in rest if each not in self._not_shown]
        self._left_out = [each for each in rest if each in left_out]
        self._kept = [each for each in rest if each not in self._left_out]

    def cell(self, tool: str, column: Column) -> Cell:
        """The cell, with the verdict that the worst promise decides."""
        kept, not_shown, left_out = len(self._kept), len(self._not_shown), len(self._left_out)
        cell = Cell(tool, column, FAULT_OF.get(PROBE_OF[column]), True, None, "proven", refused=kept)
        tried = kept + len(self._broken) + not_shown
        if self._broken:
            reason = self._reason("accepted")
            # What shows nothing beside a broken promise counts as left out, so that tried less refused is broken.
            return cell._replace(
                kept=False,
                verdict="broken promise",
                tried=tried - not_shown,
                left_out=left_out + not_shown,
                arguments=_arguments(self._broken),
                reason=reason,
            )
        if self._not_shown:
            arguments, reason = _arguments(self._not_shown), self._reason("nothing")
            return cell._replace(
                verdict="not shown", tried=tried, left_out=left_out, arguments=arguments, reason=reason
            )
        if self._left_out:
            arguments = _arguments(self._left_out)
            return cell._replace(
                verdict="partly tried",
                tried=tried,
                left_out=left_out,
                arguments=arguments,
                reason=f"not every call that breaks {_listed(arguments)} was sent",
            )
        return cell._replace(kept=True, tried=tried, arguments=_arguments(self._kept), reason=self._reason("refused"))

    def _reason(self, shows: Showing) -> str:
        found = [each.case.description for each in self._trials if each.case.is_promise and each.shows == shows]
        return _sentence(shows, found)


def _explored(tool: str, column: Column, trials: list[Trial]) -> Cell:
    """The cell of what the schema does not promise."""
    explored = [each for each in trials if not each.case.is_lenient]
    fault = FAULT_OF.get(PROBE_OF[column])
    if not explored:
        reason = "servers commonly convert every value that the schema excludes"
        return Cell(tool, column, fault, None, None, "not applicable", reason=reason)
    cell = Cell(tool, column, fault, False, None, "not shown", tried=len(explored))
    cell = cell._replace(refused=sum(each.shows == "refused" for each in explored))
    for shows, verdict in _EXPLORED.items():
        found = [each.case for each in explored if each.shows == shows]
        if found:
            return cell._replace(
                kept=None if shows == "nothing" else shows == "refused",
                verdict=verdict,
                arguments=tuple(dict.fromkeys(each.argument for each in found if each.argument)),
                reason=_sentence(shows, [each.description for each in found]),
            )
    return cell


_EXPLORED: dict[Showing, Verdict] = {"accepted": "open", "refused": "hidden rule", "nothing": "not shown"}
"""The verdicts on what is not promised, the first that occurs deciding."""
_RESULTS: dict[Showing, str] = {
    "accepted": "not refused",
    "refused": "refused",
    "nothing": "the response is that of the valid call, about something else, or depends on the user",
}


def _sentence(shows: Showing, descriptions: list[str]) -> str:
    more = f" and {len(descriptions) - 3:,} more" if len(descriptions) > 3 else ""
    return f"{'; '.join(descriptions[:3])}{more}: {_RESULTS[shows]}"


def _arguments(promises: list[Promise]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(each.argument for each in promises))


def _listed(names: tuple[str, ...]) -> str:
    more = f" and {len(names) - 3:,} more" if len(names) > 3 else ""
    return ", ".join(f"`{name}`" for name in names[:3]) + more


def with_predictions(matrix: list[Cell], findings: Iterable[ReportedFinding]) -> list[Cell]:
    """Add the static rules that predicted the open cells."""
    predictions: dict[tuple[str | None, str], dict[str, None]] = {}
    for each in findings:
        if each.rule.fault is not None and each.rule.ruleset != "wire":
            predictions.setdefault((each.tool, each.rule.fault), {})[each.rule.id] = None
    return [
        cell._replace(predicted_by=tuple(predictions.get((cell.tool, cell.fault or ""), ())))
        if cell.verdict == "open"
        else cell
        for cell in matrix
    ]

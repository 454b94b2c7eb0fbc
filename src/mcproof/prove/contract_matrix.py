"""The contract matrix: for each tool and fault, whether the schema declares the promise and the server keeps it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mcproof.prove.probes import ProbeCase
from mcproof.results.proof import Cell

if TYPE_CHECKING:
    from collections.abc import Iterable

    from mcproof.catalog.model import Tool
    from mcproof.prove.probes import ToolProbes
    from mcproof.results.findings import ReportedFinding
    from mcproof.results.proof import ProbeResult, Verdict

_VERDICTS: dict[tuple[bool, bool], Verdict] = {
    (True, True): "proven",
    (True, False): "broken promise",
    (False, True): "hidden rule",
    (False, False): "open",
}


def cell_of(tool: Tool, result: ProbeResult, probes: ToolProbes, weakness: str | None) -> Cell:
    """The cell that a probe decides; a promise is kept if its violation is rejected."""
    fault = result.fault or ""
    declared = _declared(result.probe, probes)
    if result.outcome == "not_applicable":
        return Cell(tool.name, fault, declared, None, "not applicable", result.reason)
    if result.outcome == "not_tested" or declared is None:
        return Cell(tool.name, fault, declared, None, "not tested", result.reason)
    kept = result.outcome == "rejected"
    return Cell(tool.name, fault, declared, kept, _VERDICTS[declared, kept], result.reason, weakness is not None)


def _declared(probe: str, probes: ToolProbes) -> bool | None:
    """Whether the schema declares the promise that a probe tests; None if there is nothing to declare."""
    for case in probes.cases:
        if case.probe == probe:
            return case.declared if isinstance(case, ProbeCase) or case.declared is not None else None
    return None


def with_predictions(matrix: list[Cell], findings: Iterable[ReportedFinding]) -> list[Cell]:
    """Add the static rules that predicted the open cells."""
    predictions: dict[tuple[str | None, str], dict[str, None]] = {}
    for each in findings:
        if each.rule.fault is not None and each.rule.ruleset != "wire":
            predictions.setdefault((each.tool, each.rule.fault), {})[each.rule.id] = None
    return [
        cell._replace(predicted_by=tuple(predictions.get((cell.tool, cell.fault), ())))
        if cell.verdict == "open"
        else cell
        for cell in matrix
    ]

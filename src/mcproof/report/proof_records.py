"""What `probe`, `prove` and `fuzz` add to the findings, for machines."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from mcproof.exchange.probe_facts import CASE_OUTCOMES
from mcproof.report.documents import document_of, documents, encode, summary_of
from mcproof.report.proof import negative_path, promises

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from mcproof.results.model import Cell, Fuzzing, ProbeResult, RunReport, TargetReport

    Members = dict[str, Any]
    Lists = dict[str, list[Members]]


def probe_document(run: RunReport) -> Iterator[str]:
    """What `probe` prints."""

    def document(report: TargetReport, notices: Members) -> Iterator[str]:
        return _document(report, *_probed(report), notices)

    return documents(run, document)


def prove_document(run: RunReport) -> Iterator[str]:
    """What `prove` prints."""

    def document(report: TargetReport, notices: Members) -> Iterator[str]:
        lists, members = _probed(report)
        lists["matrix"] = [cell_record(each) for each in report.matrix]
        return _document(report, lists, {**members, "promises": promises(report.matrix)._asdict()}, notices)

    return documents(run, document)


def fuzz_document(run: RunReport) -> Iterator[str]:
    """What `fuzz` prints."""

    def document(report: TargetReport, notices: Members) -> Iterator[str]:
        if report.fuzzing is None:
            raise ValueError("a report without fuzzing has no document of it")
        members = fuzzing_record(report.fuzzing)
        return _document(report, {"failures": members.pop("failures")}, members, notices)

    return documents(run, document)


def _probed(report: TargetReport) -> tuple[Lists, Members]:
    lists = {"probes": [probe_record(each) for each in report.probes]}
    return lists, {"negative_path": negative_path(report.probes)._asdict()}


def _document(report: TargetReport, lists: Lists, members: Members, notices: Members) -> Iterator[str]:
    """The lists one entry a line, then the numbers."""
    lists = {**lists, "not_tested": [{"what": each.what, "why": each.why} for each in report.untested]}
    lines: dict[str, Iterable[str]] = {key: map(encode, records) for key, records in lists.items()}
    return document_of({}, report, {"summary": summary_of(report), **members, **notices}, lists=lines)


def probe_record(each: ProbeResult) -> Members:
    """What a probe came to."""
    return {
        "tool": each.tool,
        "probe": each.probe,
        "fault": each.fault,
        "outcome": each.outcome,
        "passed": each.passed,
        "reason": each.reason,
        "exploratory": each.is_exploratory,
        "request": each.request,
        "answer": each.answer,
    }


def cell_record(each: Cell) -> Members:
    """One fault of one tool."""
    return {
        "tool": each.tool,
        "fault": each.fault,
        "declared": each.declared,
        "kept": each.kept,
        "verdict": each.verdict,
        "reason": each.reason,
        "doubtful": each.is_doubtful,
        "predicted_by": list(each.predicted_by),
    }


def fuzzing_record(fuzzing: Fuzzing) -> Members:
    """What fuzzing came to, with every outcome there is."""
    return {
        "seed": fuzzing.seed,
        "cases": fuzzing.cases,
        "outcomes": {name: fuzzing.outcomes.get(name, 0) for name in CASE_OUTCOMES},
        "tools": fuzzing.tools,
        "failures": [each._asdict() for each in fuzzing.failures],
    }

"""What `probe`, `prove` and `fuzz` add to the findings, for machines."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from mcproof.report.documents import document_of, documents
from mcproof.results.proof import negative_path, promises
from mcproof.results.records import cell_record, encode, fuzzing_record, probe_record, summary_record

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from mcproof.results.run import RunResult, TargetResult

    Members = dict[str, Any]
    Lists = dict[str, list[Members]]


def probe_document(run: RunResult) -> Iterator[str]:
    """What `probe` prints."""

    def document(report: TargetResult, notices: Members) -> Iterator[str]:
        return _document(report, *_probed(report), notices)

    return documents(run, document)


def prove_document(run: RunResult) -> Iterator[str]:
    """What `prove` prints."""

    def document(report: TargetResult, notices: Members) -> Iterator[str]:
        lists, members = _probed(report)
        lists["matrix"] = [cell_record(each) for each in report.matrix]
        return _document(report, lists, {**members, "promises": promises(report.matrix)._asdict()}, notices)

    return documents(run, document)


def fuzz_document(run: RunResult) -> Iterator[str]:
    """What `fuzz` prints."""

    def document(report: TargetResult, notices: Members) -> Iterator[str]:
        if report.payload.kind != "fuzz":
            raise ValueError("not a result of fuzzing")
        members = fuzzing_record(report.payload.fuzzing)
        return _document(report, {"failures": members.pop("failures")}, members, notices)

    return documents(run, document)


def _probed(report: TargetResult) -> tuple[Lists, Members]:
    lists = {"probes": [probe_record(each) for each in report.probes]}
    return lists, {"negative_path": negative_path(report.probes)._asdict()}


def _document(report: TargetResult, lists: Lists, members: Members, notices: Members) -> Iterator[str]:
    """The lists one entry a line, then the numbers."""
    lists = {**lists, "not_tested": [{"what": each.what, "why": each.why} for each in report.untested]}
    lines: dict[str, Iterable[str]] = {key: map(encode, records) for key, records in lists.items()}
    return document_of({}, report, {"summary": summary_record(report), **members, **notices}, lists=lines)

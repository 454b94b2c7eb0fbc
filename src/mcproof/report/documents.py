"""Findings for machines: versioned JSON documents, one finding a line.

The schemas of these documents ship with the package, in `mcproof/report/schemas`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from mcproof.results.findings import IS_BREAKING
from mcproof.results.records import (
    SCHEMA_VERSION,
    encode,
    finding_line,
    listed,
    notice_record,
    printable,
    summary_record,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from mcproof.results.findings import ReportedFinding
    from mcproof.results.run import RunResult, TargetResult, Trouble


def lint_document(run: RunResult) -> Iterator[str]:
    """What `lint` and `schema-lint` print."""
    return documents(run, lambda report, notices: document_of({}, report, _lint_tail(report, notices)))


def _lint_tail(report: TargetResult, notices: dict[str, Any]) -> dict[str, Any]:
    polish = {} if report.scores.polish is None else {"polish": report.scores.polish}
    return {"summary": {**summary_record(report), **polish}, **notices}


def grade_document(run: RunResult) -> Iterator[str]:
    """What `grade` prints. Only findings of the scheme count; the others are listed all the same."""
    return documents(run, lambda report, notices: document_of(_graded(report), report, notices))


def diff_document(run: RunResult) -> Iterator[str]:
    """What `diff` prints."""

    def document(report: TargetResult, _: dict[str, Any]) -> Iterator[str]:
        levels = report.levels()
        summary = {"breaking": levels["error"], "compatible": levels["note"], "unknown": levels["warning"]}
        yield f'{{"schema_version": {SCHEMA_VERSION},\n'
        yield from listed("changes", map(_change_line, report.findings))
        yield _members({"summary": summary}) + "}"

    return documents(run, document)


def _change_line(each: ReportedFinding) -> str:
    return encode(
        {
            "tool": each.tool,
            "pointer": each.pointer,
            "kind": each.rule.id,
            "breaking": IS_BREAKING[each.rule.severity],
            "message": each.message,
            "subject": each.subject,
            "file": each.file,
            "line": each.line,
            "column": each.column,
        }
    )


def documents(run: RunResult, document: Callable[[TargetResult, dict[str, Any]], Iterator[str]]) -> Iterator[str]:
    """The document of one target, or one that holds those of several."""
    notices = {"notices": [notice_record(each) for each in run.notices]} if run.notices else {}
    if run.is_single and run.targets:
        (report,) = run.targets
        yield from [_trouble_document(report.trouble)] if report.trouble is not None else document(report, notices)
        yield "\n"
        return
    yield f'{{"schema_version": {SCHEMA_VERSION},\n"targets": [\n'
    for number, report in enumerate(run.targets):
        yield ",\n" if number else ""
        if report.trouble is not None:
            yield _trouble_document(report.trouble, report.target)
        else:
            yield from document(report, {})
    yield "\n]" + _members(notices) + "}\n"


def _graded(report: TargetResult) -> dict[str, Any]:
    score, tokens = report.scores.grade, report.scores.tokens
    if score is None or tokens is None:
        raise ValueError("a report without a grade has no document of one")
    return {
        "scheme": "grade",
        "score": score.score,
        "grade": score.letter,
        "counts": {
            "errors": score.findings_of("error"),
            "warnings": score.findings_of("warning"),
            "infos": score.findings_of("info"),
        },
        "rules": {each.rule: each.times for each in sorted(score.deductions)},
        "tokens": {"total": tokens.total, "tools": tokens.tools},
        **({} if report.scores.descriptions is None else {"descriptions": report.scores.descriptions.tools}),
        "gates": [gate._asdict() for gate in report.gates],
    }


def document_of(
    head: dict[str, Any],
    report: TargetResult,
    tail: dict[str, Any],
    line: Callable[[ReportedFinding], str] = finding_line,
    lists: dict[str, Iterable[str]] | None = None,
) -> Iterator[str]:
    """The document of one target in pieces, so that a long one is never in memory twice; one finding a line.

    Further lists, one entry a line, stand between the findings and the tail.
    """
    members = {"schema_version": SCHEMA_VERSION, "target": report.target, **head}
    yield "{" + "".join(f"{encode(key)}: {printable(encode(value))},\n" for key, value in members.items())
    yield from listed("findings", map(line, report.findings))
    for key, lines in (lists or {}).items():
        yield ",\n"
        yield from listed(key, lines)
    yield _members(tail) + "}"


def _members(members: dict[str, Any]) -> str:
    """Members that follow others, each on a line."""
    return "".join(f",\n{encode(key)}: {printable(encode(value))}" for key, value in members.items())


def _trouble_document(trouble: Trouble, target: str | None = None) -> str:
    record: dict[str, Any] = {"schema_version": SCHEMA_VERSION}
    if target is not None:
        record["target"] = target
    return printable(encode({**record, "error": trouble._asdict()}))

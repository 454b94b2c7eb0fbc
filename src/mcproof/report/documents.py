"""Findings for machines: versioned JSON documents, one finding a line.

The schemas of these documents ship with the package, in `mcproof/report/schemas`.
"""

from __future__ import annotations

import json
from functools import cache
from json.encoder import encode_basestring_ascii as _quoted
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from mcproof.results.model import Notice, Reported, RuleFacts, RunReport, TargetReport, Trouble

SCHEMA_VERSION = 1

encode = json.JSONEncoder(check_circular=False).encode


def finding_line(each: Reported) -> str:
    """One finding as every JSON document has it, on one line.

    Written by hand, because a long report is little else: with the encoder it took half as long again.
    """
    fix, evidence, tool = each.fix, each.evidence, each.tool
    return (
        f"{{{_rule_members(each.rule)}, "
        f'"subject": {_quoted(each.subject)}, "tool": {"null" if tool is None else _quoted(tool)}, '
        f'"pointer": {_quoted(each.pointer)}, '
        f'"message": {_quoted(each.message)}, "evidence": {"null" if evidence is None else encode(evidence)}, '
        f'"file": {_quoted(each.file)}, "line": {_number(each.line)}, "column": {_number(each.column)}, '
        f'"fix": {"null" if fix is None else encode({"set": fix.key, "to": fix.value})}}}'
    )


def _number(value: int | None) -> str:
    return "null" if value is None else str(value)


@cache
def _rule_members(rule: RuleFacts) -> str:
    """What is the same in all findings of a rule."""
    members = {
        "rule": rule.id,
        "ruleset": rule.ruleset,
        "severity": rule.severity,
        "level": rule.level,
        "fault": rule.fault,
    }
    return encode(members)[1:-1]


def lint_document(run: RunReport) -> Iterator[str]:
    """What `lint` and `schema-lint` print."""
    return documents(run, lambda report, notices: document_of({}, report, _lint_tail(report, notices)))


def _lint_tail(report: TargetReport, notices: dict[str, Any]) -> dict[str, Any]:
    polish = {} if report.polish is None else {"polish": report.polish}
    return {"summary": {**summary_of(report), **polish}, **notices}


def grade_document(run: RunReport) -> Iterator[str]:
    """What `grade` prints. Only findings of the scheme count; the others are listed all the same."""
    return documents(run, lambda report, notices: document_of(_graded(report), report, notices))


def diff_document(run: RunReport) -> Iterator[str]:
    """What `diff` prints."""

    def document(report: TargetReport, _: dict[str, Any]) -> Iterator[str]:
        levels = report.levels()
        summary = {"breaking": levels["error"], "compatible": levels["note"], "unknown": levels["warning"]}
        yield f'{{"schema_version": {SCHEMA_VERSION},\n'
        yield from listed("changes", map(_change_line, report.findings))
        yield _members({"summary": summary}) + "}"

    return documents(run, document)


def _change_line(each: Reported) -> str:
    from mcproof.report.diff_text import BREAKING

    return encode(
        {
            "tool": each.tool,
            "pointer": each.pointer,
            "kind": each.rule.id,
            "breaking": BREAKING[each.rule.severity],
            "message": each.message,
            "subject": each.subject,
            "file": each.file,
            "line": each.line,
            "column": each.column,
        }
    )


def documents(run: RunReport, document: Callable[[TargetReport, dict[str, Any]], Iterator[str]]) -> Iterator[str]:
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


def summary_of(report: TargetReport) -> dict[str, Any]:
    """How much was found."""
    levels = report.levels()
    summary: dict[str, Any] = {
        "errors": levels["error"],
        "warnings": levels["warning"],
        "notes": levels["note"],
        "by_rule": report.by_rule(),
    }
    if report.suppressed:
        summary["suppressed"] = len(report.suppressed)
    return summary


def _graded(report: TargetReport) -> dict[str, Any]:
    score, tokens = report.score, report.tokens
    if score is None or tokens is None:
        raise ValueError("a report without a grade has no document of one")
    return {
        "scheme": "grade",
        "score": score.score,
        "grade": score.grade,
        "counts": {
            "errors": score.findings_of("error"),
            "warnings": score.findings_of("warning"),
            "infos": score.findings_of("info"),
        },
        "rules": {each.rule: each.times for each in sorted(score.deductions)},
        "tokens": {"total": tokens.total, "tools": tokens.tools},
        **({} if report.descriptions is None else {"descriptions": report.descriptions.tools}),
        "gates": [gate._asdict() for gate in report.gates],
    }


def notice_record(notice: Notice) -> dict[str, Any]:
    """A notice for machines."""
    return {**notice._asdict(), "level": notice.level}


def document_of(
    head: dict[str, Any],
    report: TargetReport,
    tail: dict[str, Any],
    line: Callable[[Reported], str] = finding_line,
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


def listed(key: str, lines: Iterable[str]) -> Iterator[str]:
    """A member that is a list, one entry a line."""
    yield f'"{key}": ['
    empty = True
    for entry in lines:
        yield ("\n" if empty else ",\n") + printable(entry)
        empty = False
    yield "]" if empty else "\n]"


def _members(members: dict[str, Any]) -> str:
    """Members that follow others, each on a line."""
    return "".join(f",\n{encode(key)}: {printable(encode(value))}" for key, value in members.items())


def _trouble_document(trouble: Trouble, target: str | None = None) -> str:
    record: dict[str, Any] = {"schema_version": SCHEMA_VERSION}
    if target is not None:
        record["target"] = target
    return printable(encode({**record, "error": trouble._asdict()}))


def printable(text: str) -> str:
    """JSON without the one control character that it lets through, and without what a CI runner takes for a command."""
    if "\x7f" in text:
        text = text.replace("\x7f", "\\u007f")
    while "##" in text:
        text = text.replace("##", "\\u0023#")
    return text

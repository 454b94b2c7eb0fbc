"""Findings for machines: versioned JSON documents, one finding a line.

The schemas of these documents ship with the package, in `mcproof/report/schemas`.
"""

from __future__ import annotations

import json
from functools import cache
from json.encoder import encode_basestring_ascii as _quoted
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator

    from mcproof.catalog import Catalog
    from mcproof.errors import McproofError
    from mcproof.registry import Rule
    from mcproof.report.located import Located
    from mcproof.scores.grade import Grade
    from mcproof.scores.tokens import TokenCost

SCHEMA_VERSION = 1

_encode = json.JSONEncoder(check_circular=False).encode


def finding_line(located: Located, file: str) -> str:
    """One finding as every JSON document has it, on one line.

    Written by hand, because a long report is little else: with the encoder it took half as long again.
    """
    finding, _, (line, column) = located
    item, fix, evidence = finding.item, finding.fix, finding.evidence
    tool = _quoted(item.label) if item.kind == "tool" else "null"
    return (
        f"{{{_rule_members(finding.rule)}, "
        f'"subject": {_quoted(finding.subject)}, "tool": {tool}, "pointer": {_quoted(finding.pointer)}, '
        f'"message": {_quoted(finding.message)}, "evidence": {"null" if evidence is None else _encode(evidence)}, '
        f'"file": {_quoted(file)}, "line": {line}, "column": {column}, '
        f'"fix": {"null" if fix is None else _encode({"set": fix.key, "to": fix.value})}}}'
    )


@cache
def _rule_members(rule: Rule) -> str:
    """What is the same in all findings of a rule."""
    members = {
        "rule": rule.id,
        "ruleset": rule.ruleset,
        "severity": rule.severity,
        "level": rule.level,
        "fault": rule.fault.id if rule.fault is not None else None,
    }
    return _encode(members)[1:-1]


def lint_document(catalog: Catalog, located: list[Located]) -> Iterator[str]:
    """What `lint` and `schema-lint` print."""
    by_rule: dict[str, int] = {}
    levels = {"error": 0, "warning": 0, "note": 0}
    for each in located:
        rule = each.finding.rule
        by_rule[rule.id] = by_rule.get(rule.id, 0) + 1
        levels[rule.level] += 1
    summary = {
        "errors": levels["error"],
        "warnings": levels["warning"],
        "notes": levels["note"],
        "by_rule": dict(sorted(by_rule.items())),
    }
    return _document({"target": catalog.name}, catalog, located, {"summary": summary})


def grade_document(
    catalog: Catalog, located: list[Located], grade: Grade, tokens: TokenCost, gates: list[dict[str, Any]]
) -> Iterator[str]:
    """What `grade` prints. Only findings of the scheme count; the others are listed all the same."""
    head = {
        "target": catalog.name,
        "scheme": "grade",
        "score": grade.score,
        "grade": grade.letter,
        "counts": {
            "errors": grade.findings_of("error"),
            "warnings": grade.findings_of("warning"),
            "infos": grade.findings_of("info"),
        },
        "rules": {each.rule.id: each.times for each in sorted(grade.deductions, key=lambda each: each.rule.id)},
        "tokens": {"total": tokens.total, "tools": tokens.tools},
        "gates": gates,
    }
    return _document(head, catalog, located, {})


def _document(head: dict[str, Any], catalog: Catalog, located: list[Located], tail: dict[str, Any]) -> Iterator[str]:
    """A document in pieces, so that a long one is never in memory twice; one finding a line."""
    members = [("schema_version", SCHEMA_VERSION), *head.items()]
    yield "{" + "".join(f"{_encode(key)}: {_printable(_encode(value))},\n" for key, value in members)
    yield '"findings": ['
    for number, each in enumerate(located):
        yield (",\n" if number else "\n") + _printable(finding_line(each, catalog.name))
    yield "\n]" if located else "]"
    yield "".join(f",\n{_encode(key)}: {_encode(value)}" for key, value in tail.items()) + "}"


def error_document(error: McproofError, target: str | None = None) -> str:
    """What a JSON format prints where the job could not be done."""
    record: dict[str, Any] = {"schema_version": SCHEMA_VERSION}
    if target is not None:
        record["target"] = target
    record["error"] = {
        "message": error.message,
        "file": error.file,
        "line": error.line,
        "column": error.column,
    }
    return _printable(_encode(record))


def targets_document(documents: list[str]) -> str:
    """Several documents as one."""
    listed = ",\n".join(documents)
    return f'{{"schema_version": {SCHEMA_VERSION},\n"targets": [\n{listed}\n]}}'


def _printable(text: str) -> str:
    """JSON without the one control character that it lets through, and without what a CI runner takes for a command."""
    if "\x7f" in text:
        text = text.replace("\x7f", "\\u007f")
    return text.replace("##", "\\u0023#") if "##" in text else text

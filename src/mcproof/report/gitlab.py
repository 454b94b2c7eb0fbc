"""GitLab's code quality report: a list of issues."""

from __future__ import annotations

from hashlib import sha256
from typing import TYPE_CHECKING, Any

from mcproof.report.places import repository_path
from mcproof.report.records import encode, printable
from mcproof.report.terminal import safe

if TYPE_CHECKING:
    from collections.abc import Iterator

    from mcproof.report.model import RunReport

_SEVERITIES = {"error": "critical", "warning": "major", "note": "minor"}


def document(run: RunReport) -> Iterator[str]:
    """One issue for each finding, each notice and each target that could not be checked, one a line."""
    yield "["
    for number, issue in enumerate(_issues(run)):
        yield (",\n" if number else "\n") + printable(encode(issue))
    yield "\n]\n"


def _issues(run: RunReport) -> Iterator[dict[str, Any]]:
    for report in run.targets:
        if report.trouble is not None:
            trouble = report.trouble
            file = trouble.file or report.target
            yield _issue("mcproof", "blocker", trouble.message, file, trouble.line, report.target)
        for each in report.findings:
            severity = _SEVERITIES[each.level]
            identity = f"{report.target}\0{each.fingerprint}"
            yield _issue(each.rule.id, severity, each.sentence, each.file, each.line, identity)
    for notice in run.notices:
        identity = f"{notice.kind}\0{notice.message}"
        yield _issue(notice.kind, _SEVERITIES[notice.level], notice.message, notice.file, notice.line, identity)


def _issue(rule: str, severity: str, text: str, file: str, line: int | None, identity: str) -> dict[str, Any]:
    return {
        "description": safe(text),
        "check_name": rule,
        "fingerprint": sha256(identity.encode("utf-8", "surrogatepass")).hexdigest(),
        "severity": severity,
        "location": {"path": repository_path(file), "lines": {"begin": line or 1}},
    }

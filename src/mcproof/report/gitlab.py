"""GitLab's code quality result: a list of issues."""

from __future__ import annotations

from hashlib import sha256
from typing import TYPE_CHECKING, Any

from mcproof.core.console import safe
from mcproof.report.ci_paths import relative_path, repository_path
from mcproof.runs.records import encode, printable

if TYPE_CHECKING:
    from collections.abc import Iterator

    from mcproof.runs.results import RunResult

_SEVERITIES = {"error": "critical", "warning": "major", "note": "minor"}


def gitlab_document(run: RunResult) -> Iterator[str]:
    """Write an issue for each finding, notice and target that could not be checked, one a line."""
    yield "["
    seen: dict[str, int] = {}
    for number, (identity, issue) in enumerate(_issues(run)):
        twin = seen[identity] = seen.get(identity, -1) + 1
        issue["fingerprint"] = _fingerprint(f"{identity}\0{twin}" if twin else identity)
        yield (",\n" if number else "\n") + printable(encode(issue))
    yield "\n]\n"


def _issues(run: RunResult) -> Iterator[tuple[str, dict[str, Any]]]:
    """Return each issue, with an identity that is stable between runs."""
    for result in run.targets:
        if result.trouble is not None:
            trouble = result.trouble
            file = trouble.file or result.target
            path = repository_path(file)
            yield path, _issue("mcproof", "blocker", trouble.message, path, trouble.line)
        for test in result.tests:
            if test.is_bad:
                path = repository_path(test.file or result.target)
                issue = _issue("mcproof-test", "critical", f"{test.label}: {test.message}", path, test.first_line)
                yield f"{path}\0{test.block}\0{test.name}", issue
        for each in result.findings:
            path = relative_path(each.file, each.line)
            identity = f"{path}\0{each.fingerprint}"
            yield identity, _issue(each.rule.id, _SEVERITIES[each.level], each.sentence, path, each.line)
    for notice in run.notices:
        identity = f"{notice.kind}\0{notice.message}"
        path = repository_path(notice.file)
        yield identity, _issue(notice.kind, _SEVERITIES[notice.level], notice.message, path, notice.line)


def _fingerprint(identity: str) -> str:
    return sha256(identity.encode("utf-8", "surrogatepass")).hexdigest()


def _issue(rule: str, severity: str, text: str, path: str, line: int | None) -> dict[str, Any]:
    return {
        "description": safe(text),
        "check_name": rule,
        "severity": severity,
        "location": {"path": path, "lines": {"begin": line or 1}},
    }

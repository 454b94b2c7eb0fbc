"""SARIF 2.1.0, for code scanning.

A finding is located by its file from the root of the repository, with line and column; a live server has a name
only. Where a finding is in its file is found in `checks.reporting`.
"""

from __future__ import annotations

from itertools import chain
from typing import TYPE_CHECKING, Any

from mcproof.checks.findings import LEVELS
from mcproof.checks.ignores import ACCEPTED, COMMENTED, IGNORED
from mcproof.checks.rulebook import sentence
from mcproof.core.console import safe
from mcproof.report.phrases import HOME, help_uri, page_url, relative_path, repository_path
from mcproof.runs.records import encode, listed, printable

if TYPE_CHECKING:
    from collections.abc import Iterator

    from mcproof.checks.findings import ReportedFinding, RuleSummary, TextEdit
    from mcproof.runs.results import RunResult
    from mcproof.testing.outcomes import TestResult

SCHEMA = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
MOST_RESULTS = 25_000
"""The limit of code scanning for one run; it rejects a file with more."""

_JUSTIFICATIONS = {
    IGNORED: "ignored by the configuration",
    ACCEPTED: "accepted by the baseline",
    COMMENTED: "ignored by a comment",
}
_TEST = "mcproof-test"
_LOGICAL_KINDS = {"tool": "function", "resource": "resource", "template": "resource", "prompt": "function"}


def document(run: RunResult) -> Iterator[str]:
    """Write the run as a SARIF log, one result a line."""
    reported = [finding for result in run.targets for finding in (*result.findings, *result.suppressed)]
    results = (
        # Sorted only if some must go: otherwise the order is that of the catalog, as in every format.
        sorted(reported, key=lambda finding: LEVELS.index(finding.level))[:MOST_RESULTS] if _too_many(run) else reported
    )
    # With the rules that ran without a finding, so that a log tells clean from not checked.
    rules = {rule.id: rule for rule in (*run.rules, *(finding.rule for finding in results))}
    numbers = {name: number for number, name in enumerate(rules)}
    tests = [test for result in run.targets for test in result.tests if test.is_bad]
    driver = {"name": "mcproof", "version": run.version, "semanticVersion": run.version, "informationUri": HOME}
    yield f'{{"$schema": "{SCHEMA}",\n"version": "2.1.0",\n"runs": [{{\n'
    yield f'"tool": {{"driver": {printable(encode(driver))[:-1]},\n'
    described = [*map(_rule, rules.values()), *([_test_rule()] if tests else [])]
    yield from listed("rules", map(encode, described))
    yield "}},\n"
    # Code scanning reads it as CATEGORY/RUN: the results of another command stay.
    yield f'"automationDetails": {encode({"id": f"mcproof/{run.command}/"})},\n'
    yield '"columnKind": "unicodeCodePoints",\n'
    yield f'"invocations": [{printable(encode(_invocation(run, len(reported) - len(results))))}],\n'
    failed = (_failed(test, len(rules)) for test in tests)
    yield from listed("results", map(encode, chain((_result(finding, numbers) for finding in results), failed)))
    yield "\n}]}\n"


def _too_many(run: RunResult) -> bool:
    return sum(len(result.findings) + len(result.suppressed) for result in run.targets) > MOST_RESULTS


def _rule(rule: RuleSummary) -> dict[str, Any]:
    tags = [tag for tag in (rule.ruleset, rule.category, rule.fault) if tag]
    why, fix = sentence(rule.why), sentence(rule.fix)
    # A name equal to the id is redundant, and validators complain about it.
    named = {} if rule.name == rule.id else {"name": rule.name}
    return {
        "id": rule.id,
        **named,
        "shortDescription": {"text": rule.summary},
        "fullDescription": {"text": why},
        "help": {
            "text": f"{rule.summary}\n\nWhy: {why}\n\nFix: {fix}",
            "markdown": f"{rule.summary}\n\n**Why** {why}\n\n**Fix** {fix}",
        },
        "helpUri": help_uri(rule),
        "defaultConfiguration": {"level": rule.level},
        "properties": {"tags": tags, "problem.severity": _SEVERITIES[rule.level], "severity": rule.severity},
    }


_SEVERITIES = {"error": "error", "warning": "warning", "note": "recommendation"}
"""The levels as code scanning names them."""


def _test_rule() -> dict[str, Any]:
    """Return the entry for failed tests, which have no rule."""
    return {
        "id": _TEST,
        "shortDescription": {"text": "A test of a suite failed or could not run."},
        "helpUri": page_url("suites/"),
        "defaultConfiguration": {"level": "error"},
    }


def _invocation(run: RunResult, left_out: int) -> dict[str, Any]:
    invocation: dict[str, Any] = {"executionSuccessful": run.exit_code in (0, 1), "exitCode": run.exit_code}
    troubles = [result.trouble for result in run.targets if result.trouble is not None]
    failures = [_notification("error", trouble.message, trouble.file, trouble.line) for trouble in troubles]
    if left_out:
        what = f"{left_out:,} of the least serious findings left out: code scanning accepts at most {MOST_RESULTS:,}"
        failures.append(_notification("warning", what, None, None))
    if failures:
        invocation["toolExecutionNotifications"] = failures
    if run.notices:
        invocation["toolConfigurationNotifications"] = [
            _notification(notice.level, notice.message, notice.file, notice.line) for notice in run.notices
        ]
    return invocation


def _message(text: str) -> dict[str, str]:
    """Return a message without links: viewers turn `[text](address)` into one."""
    return {"text": safe(text).replace("](", "] (")}


def _notification(level: str, message: str, file: str | None, line: int | None) -> dict[str, Any]:
    notification: dict[str, Any] = {"level": level, "message": _message(message)}
    if file is not None:
        region = {"startLine": line} if line is not None else None
        notification["locations"] = [{"physicalLocation": _physical(repository_path(file), region)}]
    return notification


def _physical(path: str, region: dict[str, int] | None) -> dict[str, Any]:
    location: dict[str, Any] = {"artifactLocation": _artifact(path)}
    if region is not None:
        location["region"] = region
    return location


def _artifact(path: str) -> dict[str, str]:
    from urllib.parse import quote

    try:
        # The bytes of the name, as a file may have one that is not UTF-8.
        uri = quote(path.encode("utf-8", "surrogateescape"))
    except UnicodeEncodeError:  # not a file name; only from a stored report
        uri = quote(safe(path))
    if path.startswith("/"):
        return {"uri": f"file://{uri}"}
    # A first segment with a colon would read as a scheme.
    return {"uri": f"./{uri}" if ":" in path.partition("/")[0] else uri, "uriBaseId": "%SRCROOT%"}


def _result(finding: ReportedFinding, numbers: dict[str, int]) -> dict[str, Any]:
    result: dict[str, Any] = {
        "ruleId": finding.rule.id,
        "ruleIndex": numbers[finding.rule.id],
        "level": finding.level,
        "message": _message(finding.sentence),
        "locations": [_location(finding)],
        "partialFingerprints": {"mcproof/v1": finding.fingerprint},
        "properties": {"subject": finding.subject, "pointer": finding.pointer, "severity": finding.rule.severity},
    }
    if finding.fix is not None and finding.fix.edit is not None:
        result["fixes"] = [_fix(finding.file, finding.fix.key, finding.fix.edit)]
    if finding.suppression is not None:
        by, reason = finding.suppression.by, finding.suppression.reason
        kind = "inSource" if by == COMMENTED else "external"
        result["suppressions"] = [
            {"kind": kind, "status": "accepted", "justification": safe(reason or _JUSTIFICATIONS[by])}
        ]
    return result


def _failed(test: TestResult, number: int) -> dict[str, Any]:
    from hashlib import sha256

    identity = f"{test.file}\0{test.block}\0{test.name}".encode("utf-8", "surrogatepass")
    line = test.first_line
    region = {"startLine": line} if line is not None else None
    return {
        "ruleId": _TEST,
        "ruleIndex": number,
        "level": "error",
        "message": _message(f"{test.label}: {test.message}"),
        "locations": [{"physicalLocation": _physical(repository_path(test.file or ""), region)}],
        "partialFingerprints": {"mcproof/v1": sha256(identity).hexdigest()[:16]},
    }


def _location(finding: ReportedFinding) -> dict[str, Any]:
    region = None
    if finding.line is not None:
        region = {"startLine": finding.line}
        if finding.column is not None:
            region["startColumn"] = finding.column
            if finding.end_column is not None:
                region["endColumn"] = finding.end_column
    location: dict[str, Any] = {"physicalLocation": _physical(relative_path(finding.file, finding.line), region)}
    kind, _, name = finding.item.partition(":")
    if name:
        logical = {"name": safe(name), "kind": _LOGICAL_KINDS[kind]}
        if finding.pointer:
            logical["fullyQualifiedName"] = safe(name + finding.pointer)
        location["logicalLocations"] = [logical]
    return location


def _fix(file: str, key: str, edit: TextEdit) -> dict[str, Any]:
    region = {
        "startLine": edit.line,
        "startColumn": edit.column,
        "endLine": edit.end_line,
        "endColumn": edit.end_column,
    }
    change = {"deletedRegion": region, "insertedContent": {"text": edit.text}}
    return {
        "description": {"text": f"set `{key}`"},
        "artifactChanges": [{"artifactLocation": _artifact(repository_path(file)), "replacements": [change]}],
    }

"""JUnit XML, for CI servers that show tests."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mcproof.core.console import safe, without_commands
from mcproof.report.as_tests import suites_of
from mcproof.report.ci_paths import repository_path

if TYPE_CHECKING:
    from collections.abc import Iterator

    from mcproof.report.as_tests import Check, CheckSuite, Outcome
    from mcproof.runs.results import RunResult

_ELEMENTS = {"failed": "failure", "error": "error", "skipped": "skipped"}
_ENTITIES = {"&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;"}


def junit_document(run: RunResult) -> Iterator[str]:
    """Write a test suite for each target, and a test case for each check."""
    suites = suites_of(run)
    yield '<?xml version="1.0" encoding="UTF-8"?>\n'
    yield f"<testsuites{_attributes(name=f'mcproof {run.command}', **_counts(suites))}>\n"
    for suite in suites:
        yield f"  <testsuite{_attributes(name=suite.name, **_counts([suite]))}>\n"
        for check in suite.checks:
            yield _test(check, suite.name)
        yield "  </testsuite>\n"
    yield "</testsuites>\n"


def _counts(suites: list[CheckSuite]) -> dict[str, str]:
    def total(outcome: Outcome) -> str:
        return str(sum(suite.count(outcome) for suite in suites))

    tests = str(sum(len(suite.checks) for suite in suites))
    return {"tests": tests, "failures": total("failed"), "errors": total("error"), "skipped": total("skipped")}


def _test(check: Check, suite: str) -> str:
    location = {} if check.file is None else {"file": repository_path(check.file)}
    if check.line is not None:
        location["line"] = str(check.line)
    time = {} if check.seconds is None else {"time": f"{check.seconds:.3f}"}
    head = f"    <testcase{_attributes(classname=f'{suite}.{check.group}', name=check.name, **location, **time)}"
    where = ":".join(str(part) for part in (check.file, check.line) if part is not None)
    texts = check.lines or (check.message, check.detail, check.exchange)
    lines = [part for part in (*texts, where) if part]
    element = _ELEMENTS.get(check.outcome)
    if element == "skipped":
        return f"{head}>\n      <skipped{_attributes(message=check.message)}/>\n    </testcase>\n"
    if element is not None:
        attributes = _attributes(type=check.kind, message=check.message)
        return f"{head}>\n      <{element}{attributes}>{_text(lines)}</{element}>\n    </testcase>\n"
    if check.message:
        printed = _text([f"{check.kind}: {lines[0]}", *lines[1:]])
        return f"{head}>\n      <system-out>{printed}</system-out>\n    </testcase>\n"
    return f"{head}/>\n"


def _attributes(**values: str) -> str:
    return "".join(f' {name}="{_escaped(safe(value))}"' for name, value in values.items())


def _text(lines: list[str]) -> str:
    return "\n".join(_escaped(safe(line)) for line in lines)


def _escaped(text: str) -> str:
    return "".join(_ENTITIES.get(character, character) for character in without_commands(text))

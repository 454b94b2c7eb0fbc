"""What the tests of a suite came to, in sentences and for a terminal."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from mcproof.console import plural
from mcproof.results.suite_tests import count_outcomes

if TYPE_CHECKING:
    from collections.abc import Iterator

    from mcproof.console import Style
    from mcproof.results.run import RunResult, TargetResult
    from mcproof.results.suite_tests import TestResult

_WORDS = {"error": "could not be made", "not_applicable": "not applicable"}
_MARKS = {"passed": ("✓", "ok"), "failed": ("✗", "FAIL"), "error": ("!", "ERROR")}
_COLOURS = {"passed": "good", "failed": "error", "error": "error"}


def sentence_of(tests: list[TestResult]) -> str:
    """How many tests there were, and how they ended."""
    parts = [f"{count:,} {_WORDS.get(outcome, outcome)}" for outcome, count in count_outcomes(tests).items() if count]
    return f"{plural(len(tests), 'test')}: {', '.join(parts)}" if tests else "no tests"


def tests_text(report: TargetResult, style: Style) -> Iterator[str]:
    """A line for each test, the reasons below those that did not pass, and the sum."""
    yield style.paint(style.text(report.target), "bold") + "\n"
    for test in told_once(report.tests):
        yield from _lines(test, style)
    yield f"\n{style.paint(sentence_of(report.tests), 'bold')}\n"


def told_once(tests: list[TestResult]) -> Iterator[TestResult]:
    """The tests for people: those that one server could not be asked, for one reason, are one."""
    groups: dict[tuple[str, str], list[TestResult]] = {}
    for test in tests:
        if _is_unmade(test):
            groups.setdefault((test.server, test.message), []).append(test)
    for test in tests:
        group = groups.pop((test.server, test.message), None) if _is_unmade(test) else [test]
        if group is not None and len(group) == 1:
            yield test
        elif group is not None:
            what = f"{plural(len(group), 'test')} of {test.server} could not be made"
            yield test._replace(name=what, block="", detail=next((each.detail for each in group if each.detail), ""))


def _is_unmade(test: TestResult) -> bool:
    return test.outcome == "error" and test.block not in ("setup", "teardown")


def _lines(test: TestResult, style: Style) -> Iterator[str]:
    mark = style.symbol(*_MARKS.get(test.outcome, ("-", "-")))
    yield f"  {style.paint(mark, _COLOURS.get(test.outcome, 'dim'))} {style.text(test.label)}"
    if test.message and test.outcome in ("passed", "skipped", "not_applicable"):
        yield style.paint(f"  {style.text(test.message)}", "dim")
    yield "\n"
    for line in reasons(test, style):
        yield f"      {line}\n"


def reasons(test: TestResult, style: Style) -> Iterator[str]:
    """Why a test did not pass, line by line, and where it stands."""
    if test.outcome == "error":
        yield style.text(test.message, 1000)
        yield from (style.paint(f"  {style.text(line, 400)}", "dim") for line in test.detail.splitlines())
    for number, failure in enumerate(test.failures):
        yield style.text(failure.sentence, 1000)
        if failure.has_difference:
            yield f"  {style.paint('expected', 'dim')} {style.text(failure.expected, 400)}"
            yield f"  {style.paint('got', 'dim')}      {style.text(failure.got, 400)}"
        following = test.failures[number + 1] if number + 1 < len(test.failures) else None
        if following is not None and following.line != failure.line and failure.line is not None:
            yield style.paint(style.text(f"{test.file}:{failure.line}"), "dim")
    if test.is_bad and (line := test.last_line) is not None:
        yield style.paint(style.text(f"{test.file}:{line}"), "dim")


def tests_concise(report: TargetResult, style: Style) -> Iterator[str]:
    """One line for each test that did not pass."""
    for test in told_once(report.tests):
        if test.is_bad:
            line = test.first_line
            place = f"{test.file}:{line}: " if line is not None else ""
            word = style.paint(test.outcome, "error")
            yield f"{style.text(place)}{word} {style.text(test.label)}: {style.text(test.message, 1000)}\n"


def run_tests_document(run: RunResult) -> Iterator[str]:
    """What `run` prints."""
    from mcproof.report.documents import documents
    from mcproof.results.records import SCHEMA_VERSION, encode, listed, printable, test_record

    def document(report: TargetResult, notices: dict[str, Any]) -> Iterator[str]:
        yield f'{{"schema_version": {SCHEMA_VERSION},\n"target": {printable(encode(report.target))},\n'
        yield from listed("tests", (encode(test_record(test)) for test in report.tests))
        more = "".join(f",\n{encode(key)}: {printable(encode(value))}" for key, value in notices.items())
        yield f',\n"summary": {encode({"tests": len(report.tests), **count_outcomes(report.tests)})}{more}}}'

    return documents(run, document)

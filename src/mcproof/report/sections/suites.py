"""The tests of a suite."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mcproof.core.console import plural
from mcproof.report.blocks import TEXT, Document, Headline, Only, Tests
from mcproof.report.sections.outcomes import tests_sentence

if TYPE_CHECKING:
    from mcproof.runs.results import TargetResult
    from mcproof.testing.outcomes import TestResult


def suite_document(result: TargetResult) -> Document:
    """Return the tests, and in text the totals below them."""
    tests = result.tests
    title, totals = (Only((TEXT,), [Headline(words)]) for words in (result.target, tests_sentence(tests)))
    return Document([title, Tests(tests), totals])


def merge_unrun(tests: list[TestResult]) -> list[TestResult]:
    """Merge tests that could not run on one server for one reason into one entry, for people."""
    groups: dict[tuple[str, str], list[TestResult]] = {}
    for test in tests:
        if _is_unrun(test):
            groups.setdefault((test.server, test.message), []).append(test)
    merged = []
    for test in tests:
        # The group stands where its first test was; the others find it gone.
        group = groups.pop((test.server, test.message), None) if _is_unrun(test) else [test]
        if group is not None and len(group) == 1:
            merged.append(test)
        elif group is not None:
            name = f"{plural(len(group), 'test')} on `{test.server}` could not run"
            detail = next((member.detail for member in group if member.detail), "")
            merged.append(test._replace(name=name, block="", detail=detail))
    return merged


def _is_unrun(test: TestResult) -> bool:
    return test.outcome == "error" and test.block not in ("setup", "teardown")

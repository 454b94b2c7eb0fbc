"""The tests of a suite on a terminal."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mcproof.report.outcome_phrases import merge_unrun, tests_sentence
from mcproof.testing.outcomes import reasons

if TYPE_CHECKING:
    from collections.abc import Iterator

    from mcproof.core.console import Style
    from mcproof.runs.results import TargetResult
    from mcproof.testing.outcomes import TestResult

_OUTCOME_SYMBOLS = {"passed": ("✓", "ok"), "failed": ("✗", "FAIL"), "error": ("!", "ERROR")}
_TEST_COLOURS = {"passed": "good", "failed": "error", "error": "error"}


def tests_text(result: TargetResult, style: Style) -> Iterator[str]:
    """Render a line for each test, with the reasons below those that did not pass; then the totals."""
    yield style.paint(style.text(result.target), "bold") + "\n"
    for test in merge_unrun(result.tests):
        yield from _lines(test, style)
    yield f"\n{style.paint(tests_sentence(result.tests), 'bold')}\n"


def _lines(test: TestResult, style: Style) -> Iterator[str]:
    mark = style.symbol(*_OUTCOME_SYMBOLS.get(test.outcome, ("-", "-")))
    yield f"  {style.paint(mark, _TEST_COLOURS.get(test.outcome, 'dim'))} {style.text(test.label)}"
    if test.message and not test.is_bad:
        yield style.paint(f"  {style.text(test.message)}", "dim")
    yield "\n"
    for line in reasons(test, style):
        yield f"      {line}\n"


def tests_concise(result: TargetResult, style: Style) -> Iterator[str]:
    """Render one line for each test that did not pass."""
    for test in merge_unrun(result.tests):
        if test.is_bad:
            line = test.first_line
            location = f"{test.file}:{line}: " if line is not None else ""
            word = style.paint(test.outcome, "error")
            yield f"{style.text(location)}{word} {style.text(test.label)}: {style.text(test.message, 1000)}\n"

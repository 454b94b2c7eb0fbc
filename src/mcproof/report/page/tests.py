"""The tests of a suite on a page: a list, the reasons below those that did not pass."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mcproof.report.page.markup import text
from mcproof.report.tests import failure_sentence, says_more

if TYPE_CHECKING:
    from collections.abc import Iterator

    from mcproof.report.model import TestFailure, TestResult

_MARKS = {"passed": ("good", "✓"), "failed": ("bad", "✗"), "error": ("bad", "!")}


def list_of_tests(tests: list[TestResult]) -> Iterator[str]:
    """Every test, in the order of the suite."""
    yield '<ul class="tests">\n'
    for test in tests:
        tone, mark = _MARKS.get(test.outcome, ("none", "·"))
        yield f'<li><span class="chip {tone}">{mark}</span> <span class="unseen">{text(test.outcome, 20)}: </span>'
        yield f"<strong>{text(test.label, 300)}</strong>"
        if test.file is not None and test.failures:
            yield f" <code>{text(f'{test.file}:{test.line}', 300)}</code>"
        if test.failures:
            yield f"\n<ul>\n{''.join(map(_failure, test.failures))}</ul>\n"
        elif test.message:
            yield f" <span>{text(test.message)}</span>"
        yield "</li>\n"
    yield "</ul>\n"


def _failure(failure: TestFailure) -> str:
    said = f"<li>{text(failure_sentence(failure))}"
    if says_more(failure):
        said += f"<br>expected <code>{text(failure.expected)}</code><br>got <code>{text(failure.got)}</code>"
    return f"{said}</li>\n"

"""The outcomes of the tests of a suite, and why a test did not pass."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Annotated, Literal

from mcproof.core.console import Style
from mcproof.core.named_tuple import NamedTuple
from mcproof.core.stored_form import Position, Text, member, record

TestOutcome = Literal["passed", "failed", "error", "skipped", "not_applicable"]

OUTCOMES: tuple[TestOutcome, ...] = ("passed", "failed", "error", "skipped", "not_applicable")


@record()
class TestFailure(NamedTuple):
    """One expectation that was not met."""

    target: str
    """The value it is about; empty if it is about the test as a whole."""
    message: str
    """The problem."""
    expected: str = ""
    """The expected value, truncated."""
    got: str = ""
    """The actual value, truncated."""
    line: Position | None = None
    """The line of the expectation in the file of its test."""

    @property
    def sentence(self) -> str:
        """The message, prefixed with the value it is about."""
        if not self.target or self.message.startswith(self.target):
            return self.message
        return f"{self.target}: {self.message}"

    @property
    def has_difference(self) -> bool:
        """Whether `expected` and `got` tell more than the message."""
        return bool(self.got) and f"expected {self.expected}, got {self.got}" not in self.message

    @property
    def difference(self) -> list[str]:
        """The expected and the actual value, a line each, if they tell more than the message."""
        return [f"expected {self.expected}", f"got      {self.got}"] if self.has_difference else []


TEST_BLOCKS = ["tools", "resources", "prompts", "tool_quality", "negative_path", "fuzz", "setup", "teardown"]


@record("name", "block", "server", "outcome", "message", "failures", "file", "line", "detail")
class TestResult(NamedTuple):
    """The result of a test."""

    name: str
    """The name of the test."""
    block: Annotated[str, member(enum=TEST_BLOCKS)]
    """The list that holds the test, the block of the test, or the step that failed."""
    server: str
    """The server, by its name in the suite; empty for a step without one."""
    outcome: TestOutcome
    """The outcome; `error` means that the test could not run."""
    message: str = ""
    """Why the test did not pass, or a remark about one that did, in one line."""
    failures: tuple[TestFailure, ...] = ()
    """Every expectation that was not met."""
    file: str | None = None
    """The file of the suite."""
    line: Position | None = None
    """The line in that file, counted from 1."""
    seconds: float = 0.0
    detail: Annotated[Text, member(presence="unless empty")] = ""
    """More lines, such as the last stderr lines of a server that did not start; on the first test of that server,
    absent if there are none."""

    @property
    def label(self) -> str:
        """The name, with the block where that is not the test itself."""
        return f"{self.name} ({self.block})" if self.block in ("negative_path", "fuzz") else self.name

    @property
    def is_bad(self) -> bool:
        """Whether it failed or could not run."""
        return self.outcome in ("failed", "error")

    @property
    def first_line(self) -> int | None:
        """The line of the first unmet expectation, else of the test."""
        return self.failures[0].line or self.line if self.failures else self.line

    @property
    def last_line(self) -> int | None:
        """The line of the last unmet expectation, else of the test."""
        return self.failures[-1].line or self.line if self.failures else self.line


def count_outcomes(tests: Iterable[TestResult]) -> dict[str, int]:
    """Return the number of tests of each outcome, zeros included."""
    counts: dict[str, int] = dict.fromkeys(OUTCOMES, 0)
    for test in tests:
        counts[test.outcome] += 1
    return counts


def reasons(test: TestResult, style: Style) -> Iterator[str]:
    """Render why a test did not pass, line by line, and its location."""
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

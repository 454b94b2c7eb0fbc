"""Problems of a suite, and the error that carries them."""

from __future__ import annotations

from typing import NamedTuple

from mcproof.core.errors import McproofError

MOST_PROBLEMS = 50
"""Maximum number of problems reported."""


class SuiteProblem(NamedTuple):
    """A mistake in a suite, with its location."""

    file: str
    line: int | None
    column: int | None
    message: str

    def __str__(self) -> str:
        location = ":".join(str(part) for part in (self.file, self.line, self.column) if part is not None)
        return f"{location}: {self.message}"


class SuiteError(McproofError):
    """An invalid suite; its message is the first problem."""

    def __init__(self, problems: list[SuiteProblem]) -> None:
        first = problems[0]
        more = len(problems) - 1
        hint = f" (and {more:,} more)" if more else ""
        super().__init__(f"{first.message}{hint}", file=first.file, line=first.line, column=first.column)
        self.problems = problems[:MOST_PROBLEMS]
        self.left_out = len(problems) - len(self.problems)
        """Number of problems beyond MOST."""

    @property
    def lines(self) -> list[str]:
        """The reported problems, and the number of those left out."""
        more = [f"{self.file}: and {self.left_out:,} more"] if self.left_out else []
        return [*map(str, self.problems), *more]

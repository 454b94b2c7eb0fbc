"""What is wrong with a suite: every mistake with its place, and the error that carries them all."""

from __future__ import annotations

from typing import NamedTuple

from mcproof.errors import McproofError

MOST = 50
"""How many mistakes are told; whoever has made more than that will look again anyway."""


class Problem(NamedTuple):
    """One mistake, and where it stands."""

    file: str
    line: int | None
    column: int | None
    message: str

    def __str__(self) -> str:
        place = ":".join(str(part) for part in (self.file, self.line, self.column) if part is not None)
        return f"{place}: {self.message}"


class SuiteError(McproofError):
    """A suite that cannot be run as it stands; the first mistake is its message."""

    def __init__(self, problems: list[Problem]) -> None:
        first = problems[0]
        more = len(problems) - 1
        hint = f" (and {more:,} more)" if more else ""
        super().__init__(f"{first.message}{hint}", file=first.file, line=first.line, column=first.column)
        self.problems = problems[:MOST]
        self.left_out = len(problems) - len(self.problems)
        """How many more there are."""

    @property
    def lines(self) -> list[str]:
        """Every mistake that is told, and how many are not."""
        more = [f"{self.file}: and {self.left_out:,} more"] if self.left_out else []
        return [*map(str, self.problems), *more]

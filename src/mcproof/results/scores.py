"""The scores of a target."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from mcproof.checks.scores.grade import Grade
    from mcproof.checks.scores.tokens import TokenCost


class Weakness(NamedTuple):
    """One of the weakest descriptions, and its costliest flaw."""

    tool: str
    score: float
    reason: str


class Descriptions(NamedTuple):
    """How useful the tools' descriptions are to an agent, each from 0 to 1."""

    tools: dict[str, float]
    weakest: list[Weakness]
    """The lowest few with flaws, the worst first."""

    @property
    def mean(self) -> float:
        return sum(self.tools.values()) / len(self.tools) if self.tools else 0.0


class Scores(NamedTuple):
    """The scores of a target; None for each that was not computed."""

    grade: Grade | None = None
    tokens: TokenCost | None = None
    descriptions: Descriptions | None = None
    polish: int | None = None
    """The polish score; computed only if all of its rules ran."""

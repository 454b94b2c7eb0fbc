"""Charts as SVG: how many servers have which grade, and how scores move."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from mcproof.checks.scores.grade import LETTERS
from mcproof.web.grade_tones import tone_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from mcproof.store.server_list import Totals

WIDTH, HEIGHT = 320, 80
"""The size of the drawing of a line, in its own units."""


class GradeBar(NamedTuple):
    """One bar of the distribution."""

    letter: str
    servers: int
    width: float
    """In percent of the longest."""
    tone: str


class Line(NamedTuple):
    """A line over time, in the units of its drawing."""

    points: str
    """Its corners, as SVG's `points` has them; empty if there are fewer than two."""
    last: tuple[float, float] | None
    last_score: str
    first_label: str
    last_label: str
    spoken: str


def grade_bars(totals: Totals) -> list[GradeBar]:
    """Return a bar for each grade, also for those that no server has."""
    longest = max(totals.grades.values(), default=0) or 1
    return [
        GradeBar(letter, count, 100 * count / longest, tone_of(letter))
        for letter, count in ((letter, totals.grades.get(letter, 0)) for letter in LETTERS)
    ]


def score_line(values: Sequence[tuple[str, float]]) -> Line:
    """Return the line of scores from 0 to 100, each with its moment."""
    if not values:
        return Line("", None, "", "", "", "no scores")
    step = WIDTH / max(1, len(values) - 1)
    corners = [
        (round(number * step, 1), round(HEIGHT - score * HEIGHT / 100, 1)) for number, (_, score) in enumerate(values)
    ]
    points = " ".join(f"{x},{y}" for x, y in corners) if len(corners) > 1 else ""
    spoken = f"scores from {values[0][1]:.0f} to {values[-1][1]:.0f}, {values[0][0]} to {values[-1][0]}"
    return Line(points, corners[-1], f"{values[-1][1]:.0f}", values[0][0], values[-1][0], spoken)

"""The verdicts of `scan`, and the scores they need."""

from __future__ import annotations

from typing import Literal, NamedTuple

Verdict = Literal["allow", "review", "block"]
VERDICTS: tuple[Verdict, ...] = ("allow", "review", "block")
"""From the best to the worst."""


class Thresholds(NamedTuple):
    """The least trust scores of the verdicts `allow` and `review`; below both, the verdict is `block`."""

    allow: int = 80
    review: int = 50

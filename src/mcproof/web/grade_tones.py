"""The colours of grades."""

from __future__ import annotations

from mcproof.report.html.blocks import GRADE_TONES


def tone_of(letter: str) -> str:
    """Return `good`, `fair` or `bad`."""
    return GRADE_TONES.get(letter, "bad")

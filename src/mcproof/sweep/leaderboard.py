"""The leaderboard of a sweep: one self-contained HTML page."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mcproof import __version__
from mcproof.report.html.blocks import GRADE_TONES
from mcproof.report.html.page import content_policy, environment
from mcproof.sweep.outcome_rows import CHECKED

if TYPE_CHECKING:
    from mcproof.sweep.sweep_summary import SweepSummary


def leaderboard(summary: SweepSummary) -> str:
    """Render the page; it depends on the results alone, timings aside, which it does not show."""
    pages = environment()
    graded = sum(summary.grades.values())
    return pages.get_template("leaderboard.html").render(
        summary=summary,
        checked=summary.outcomes[CHECKED],
        graded=graded,
        hidden=graded - len(summary.ranking),
        largest=max(summary.grades.values(), default=0) or 1,
        tones=GRADE_TONES,
        version=__version__,
        policy=content_policy("leaderboard.css", "leaderboard.js"),
    )

"""The line that shows the progress of a sweep."""

from __future__ import annotations

import pytest

from mcproof.services.sweep.conductor import Tally
from mcproof.services.sweep.summary import progress_text


@pytest.mark.parametrize(
    ("tally", "total", "seconds", "text"),
    [
        (Tally(), 10, 0.0, "0/10, 0.0/s"),
        (Tally(done=50), 100, 10.0, "50/100, 5.0/s, 10 s left"),
        (Tally(done=5000, failed=1234), 9_000_000, 10.0, "5,000/9,000,000, 500/s, 4 h 59 min left, 1,234 not checked"),
        (Tally(done=20, skipped=30), 100, 2.0, "50/100, 10/s, 5 s left"),
        (Tally(done=100), None, 1.0, "100, 100/s"),
        (Tally(done=10), 800, 1.0, "10/800, 10/s, 1 min 19 s left"),
    ],
)
def test_done_rate_time_left_and_failures(tally: Tally, total: int | None, seconds: float, text: str) -> None:
    assert progress_text(tally, total, seconds) == text

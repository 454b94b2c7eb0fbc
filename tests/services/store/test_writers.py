"""Several processes that write at once, and one that is killed."""

from __future__ import annotations

import pytest

from .killing import kill_round


@pytest.mark.slow
def test_no_finished_run_is_lost_and_no_half_run_is_seen(word: str) -> None:
    before = 0
    for seed in range(2):
        reported, there = kill_round(word, writers=3, times=6, seed=seed)
        assert reported >= 2 * 6
        assert there - before <= reported + 1, (
            "only the run being recorded when its writer died may be there unreported"
        )
        before = there

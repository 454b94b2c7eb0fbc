"""The progress of a sweep on a terminal: done, rate, time left, failures."""

from __future__ import annotations

import os
import sys
from time import monotonic
from typing import TYPE_CHECKING

from mcproof.core.console import ProgressLine

if TYPE_CHECKING:
    from mcproof.sweep.conductor import Tally
    from mcproof.sweep.run_sweep import SweepRequest

_EVERY = 0.2
"""Seconds between two updates."""


class SweepProgress:
    """Shows what a sweep has done; silent in a pipe."""

    def __init__(self, request: SweepRequest) -> None:
        self._line = ProgressLine(sys.stderr)
        self._start = self._last = monotonic()
        self._total = self._count(request) if self._line.is_shown else None

    @staticmethod
    def _count(request: SweepRequest) -> int | None:
        """Count the targets; None for a list that can be read only once."""
        from mcproof.sweep.target_streams import TargetSources, is_list

        if any(is_list(source) and not os.path.isfile(source) for source in request.sources):
            return None
        return sum(1 for _ in TargetSources(request.sources, request.permissions, request.ours).targets())

    def __call__(self, tally: Tally) -> None:
        now = monotonic()
        if self._line.is_shown and now - self._last >= _EVERY:
            self._last = now
            self._line.show(progress_text(tally, self._total, now - self._start))

    def clear(self) -> None:
        self._line.clear()


def progress_text(tally: Tally, total: int | None, seconds: float) -> str:
    """Return the line: how many are done, how fast, how long it will take, and how many failed."""
    done = tally.done + tally.skipped
    rate = tally.done / seconds if seconds > 0 else 0.0
    parts = [f"{done:,}" if total is None else f"{done:,}/{total:,}"]
    parts.append(f"{rate:,.0f}/s" if rate >= 10 else f"{rate:.1f}/s")
    if total is not None and rate > 0:
        parts.append(f"{_duration((total - done) / rate)} left")
    if tally.failed:
        parts.append(f"{tally.failed:,} not checked")
    return ", ".join(parts)


def _duration(seconds: float) -> str:
    minutes, rest = divmod(round(max(0.0, seconds)), 60)
    hours, minutes = divmod(minutes, 60)
    if hours:
        return f"{hours} h {minutes} min"
    return f"{minutes} min {rest} s" if minutes else f"{rest} s"

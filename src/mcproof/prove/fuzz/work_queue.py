"""The work of a fuzzing campaign: slices of cases in turns, then failures to shrink, for any number of workers."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, NamedTuple

from mcproof.prove.fuzz.turns import turns

if TYPE_CHECKING:
    from mcproof.prove.fuzz.case_slice import CaseSlice
    from mcproof.prove.fuzz.tool_fuzzer import ToolFuzzer
    from mcproof.prove.worker_pool import TimeLimit

_SHRINKING = 0.15
"""The share of the time limit that is left for shrinking, if there are failures."""
_MOST_AHEAD = 64
"""How many slices may wait for an earlier one of the same tool to be counted."""
_MOST_LOST = 3
"""After how many failed starts in a row the server is gone."""


class ShrinkJob(NamedTuple):
    """A failure to shrink."""

    fuzzer: ToolFuzzer
    key: tuple[str, ...]
    """The outcome, and what else distinguishes the failure."""

    @property
    def is_harmful(self) -> bool:
        return self.key[0] in ("crash", "hang")


class WorkQueue:
    """Hands out work until there is no more, the time is up, or the server is gone."""

    def __init__(self, fuzzers: list[ToolFuzzer], limit: TimeLimit) -> None:
        self.gone = ""
        """Why the server cannot be called any more; empty if it can."""
        self._fuzzers = fuzzers
        self._turns = turns(fuzzers)
        self._limit = limit
        self._under_way = 0
        self._uncounted = 0
        self._lost = 0
        self._shrinking: dict[int, ToolFuzzer] = {}
        """The tools whose failures may be shrunk, by identity."""
        self._changed = asyncio.Event()

    def is_late(self) -> bool:
        """Whether the time is up."""
        return self._limit.is_over()

    def is_late_for_cases(self) -> bool:
        """Whether the rest of the time is needed for shrinking."""
        left, seconds = self._limit.left, self._limit.seconds
        if left is None or seconds is None:
            return False
        return left <= 0 or (left < _SHRINKING * seconds and any(each.has_failed for each in self._fuzzers))

    async def next(self) -> CaseSlice | ShrinkJob | None:
        """The next piece of work; None if there is no more. Waits for others if their work may lead to more."""
        while not self.gone and not self.is_late():
            if (job := self._next_failure()) is not None:
                return job
            if (slice_ := self._next_slice()) is not None:
                return slice_
            if not self._under_way and not self._release_failures():
                return None
            if self._under_way:
                self._changed.clear()
                await self._changed.wait()
        return None

    def _next_slice(self) -> CaseSlice | None:
        if self._uncounted >= _MOST_AHEAD or self.is_late_for_cases():
            return None
        slice_ = next(self._turns, None)
        if slice_ is not None:
            self._under_way += 1
        return slice_

    def _next_failure(self) -> ShrinkJob | None:
        for fuzzer in self._shrinking.values():
            if (key := fuzzer.take_failure()) is not None:
                return ShrinkJob(fuzzer, key)
        return None

    def _release_failures(self) -> bool:
        """Let the failures of all tools be shrunk; False if they were before."""
        count = len(self._shrinking)
        self._shrinking.update((id(each), each) for each in self._fuzzers)
        return len(self._shrinking) > count

    def finish(self, slice_: CaseSlice) -> None:
        """Count a slice that was sent."""
        self._lost = 0
        self._end(slice_)

    def lose(self, slice_: CaseSlice, why: str) -> None:
        """Count what was sent of a slice, after which the server could not be started."""
        slice_.trouble = f"the server is gone: {why}"
        self._lost += 1
        if self._lost >= _MOST_LOST:
            self.gone = slice_.trouble
        self._end(slice_)

    def _end(self, slice_: CaseSlice) -> None:
        fuzzer = slice_.fuzzer
        self._under_way -= 1
        self._uncounted += 1 - fuzzer.finish(slice_)
        if fuzzer.is_complete:
            self._shrinking[id(fuzzer)] = fuzzer
        self._changed.set()

"""A time limit that tells a server that hangs from one that is slow on a busy machine.

A server that has not responded by its limit gets more time as long as it computes, or waits for a CPU, up to a limit in
CPU seconds. A server that does neither hangs. If its CPU time cannot be seen, the limit is one of time alone.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Self

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import TracebackType

    from mcproof.client.transports.cpu_usage import CpuUsage

CPU_FACTOR = 3.0
"""How many times its time limit a server may compute, in CPU seconds."""
HARD_FACTOR, HARD_LEAST = 10.0, 60.0
"""How many times its time limit, and how many seconds at least, a server that computes is waited for."""
_IDLE = 0.05
"""The share of a CPU that a waiting server uses at most, for timers and the like."""
_STARVED = 0.25
"""The share of the time that a server on a busy machine waits for a CPU, at least."""
_WINDOW = 1.0
"""The seconds over which the usage is looked at."""


class PatientTimeout:
    """Like `asyncio.timeout`, but patient with a server that is computing."""

    def __init__(self, seconds: float, usual: float, usage: Callable[[], CpuUsage | None]) -> None:
        self._seconds = seconds
        self._cpu_limit = CPU_FACTOR * usual
        self._hard_limit = max(HARD_FACTOR * usual, HARD_LEAST, seconds)
        self._window = min(_WINDOW, usual / 4)
        self._usage = usage
        self._loop = asyncio.get_running_loop()
        self._scope = asyncio.timeout(None)
        self._start = self._loop.time()
        self._handle = self._loop.call_later(seconds, self._look)
        # Looking takes milliseconds, so the start is measured only if the limit is longer than usual, and else assumed
        # to be as bad as possible: that the server has computed all the time.
        self._first = usage() if seconds > usual else None
        self._before = 0.0 if seconds > usual else seconds
        self._last: CpuUsage | None = None
        self.is_computing = False
        """Whether the server was still computing when its CPU time was used up."""
        self.is_undecided = False
        """Whether the machine was too busy to find out."""

    async def __aenter__(self) -> Self:
        await self._scope.__aenter__()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._handle.cancel()
        await self._scope.__aexit__(kind, error, trace)

    def _look(self) -> None:
        """Expire, or look again later."""
        now = self._usage()
        if now is None:
            self._expire()
            return
        self._first = first = self._first or now
        last, self._last = self._last, now
        if self._before + now.used - first.used >= self._cpu_limit:
            self.is_computing = True
            self._expire()
        elif last is not None and now.used - last.used + now.waited - last.waited <= _IDLE * self._window:
            self._expire()
        elif self._loop.time() - self._start >= self._hard_limit:
            self.is_undecided = now.waited - first.waited > _STARVED * (self._hard_limit - self._seconds)
            self._expire()
        else:
            self._handle = self._loop.call_later(self._window, self._look)

    def _expire(self) -> None:
        self._scope.reschedule(self._loop.time())

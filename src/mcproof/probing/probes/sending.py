"""Workers that share the work on one server: the first over a given session, the others over processes of their own."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from time import monotonic
from typing import TYPE_CHECKING, Any, Literal

from mcproof.client.errors import ConnectError

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine

    from mcproof.client.session import Session

Incomplete = Literal["", "interrupted", "out of time", "server gone"]
"""Why a run has not tried everything; empty if it has."""
GRACE = 1.0
"""Seconds after the time limit when pending requests are given up."""


class TimeLimit:
    """The time that a run may take."""

    def __init__(self, seconds: float | None) -> None:
        self.seconds = seconds
        self._start = monotonic()

    @property
    def left(self) -> float | None:
        """Seconds until the time is up; None without a limit."""
        return None if self.seconds is None else self._start + self.seconds - monotonic()

    def is_over(self) -> bool:
        left = self.left
        return left is not None and left <= 0


class WorkerPool:
    """Starts a second worker once there has been enough to do, and then, if the server allows that, the others."""

    def __init__(self, session: Session, processes: int, limit: TimeLimit, start_delay: float) -> None:
        self.was_cut = False
        """Whether requests were pending when the time was up, so that the state of the server is unknown."""
        self._session = session
        self._processes = processes
        self._limit = limit
        self._start_delay = start_delay
        self._is_done = asyncio.Event()
        self._second = asyncio.Event()
        """Whether a second process has started or failed to."""
        self._has_second = self._allows_more = False

    def jobs(
        self, work: Callable[[Session], Coroutine[Any, Any, None]]
    ) -> list[Callable[[], Coroutine[Any, Any, None]]]:
        """One job for each worker, to be run concurrently. The work ends with the first worker's."""
        others = [lambda: self._work_separately(work)] * (self._processes - 1)
        return [lambda: self._work_first(work), *others]

    async def _work_first(self, work: Callable[[Session], Coroutine[Any, Any, None]]) -> None:
        try:
            await self._work_in_time(work, self._session)
            if self.was_cut:
                await self._session.close(at_once=True)
        finally:
            self._is_done.set()

    async def _work_separately(self, work: Callable[[Session], Coroutine[Any, Any, None]]) -> None:
        session = self._session.new_session()
        is_interrupted = True
        try:
            if await self._has_started(session):
                await self._work_in_time(work, session)
            is_interrupted = False
        finally:
            await session.close(at_once=self.was_cut or is_interrupted)

    async def _has_started(self, session: Session) -> bool:
        """Start a server, unless all work is done before that. It may not allow a further process."""
        is_second = not self._has_second
        self._has_second = True
        waiting = asyncio.sleep(self._start_delay) if is_second else self._second.wait()
        try:
            with suppress(ConnectError):
                if await self._comes_first(waiting) and (is_second or self._allows_more):
                    self._allows_more = await self._comes_first(session.connection()) or self._allows_more
                    return not self._is_done.is_set()
            return False
        finally:
            self._second.set()

    async def _comes_first(self, waiting: Coroutine[Any, Any, object]) -> bool:
        """Whether something ends before the work does; else it is cancelled."""
        task, done = asyncio.create_task(waiting), asyncio.create_task(self._is_done.wait())
        try:
            await asyncio.wait({task, done}, return_when=asyncio.FIRST_COMPLETED)
            if task.done():
                task.result()
            return not self._is_done.is_set()
        finally:
            for each in (task, done):
                each.cancel()
            await asyncio.gather(task, done, return_exceptions=True)

    async def _work_in_time(self, work: Callable[[Session], Coroutine[Any, Any, None]], session: Session) -> None:
        """Work until there is no more; pending requests are given up soon after the time limit."""
        left = self._limit.left
        try:
            async with asyncio.timeout(None if left is None else max(0.0, left) + GRACE):
                await work(session)
        except TimeoutError:
            self.was_cut = True

"""Processes of one server for the negative paths of its tests, apart from the process that the tests call.

A process is used again after a run in which nothing crashed or hung. Another one is started only if waiting for a free
one takes longer than a start.
"""

from __future__ import annotations

import asyncio
from contextlib import asynccontextmanager, suppress
from time import perf_counter
from typing import TYPE_CHECKING

from mcproof.client.session import Session

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from mcproof.client.connect import ConnectOptions
    from mcproof.client.endpoints import Endpoint

MOST_PROCESSES = 4
"""How many processes of one server are probed at once."""


class ProbeServers:
    """Lends sessions with a server, one to each borrower."""

    def __init__(self, endpoint: Endpoint, options: ConnectOptions) -> None:
        self._endpoint = endpoint
        self._options = options
        self._sessions: list[Session] = []
        self._free: list[Session] = []
        self._start_seconds: float | None = None
        """How long a start takes; None until the first is done."""
        self._first_started = 0.0
        self._changed = asyncio.Condition()

    @asynccontextmanager
    async def start(self, limit: float) -> AsyncIterator[Session]:
        """Lend a session with a process of its own, whose responses are due within `limit` seconds."""
        session = Session(self._endpoint, self._options, limit)
        try:
            yield session
        finally:
            await session.close()

    @asynccontextmanager
    async def borrow(self, limit: float) -> AsyncIterator[Session]:
        """Lend a session that others have used before, or will use.

        The borrower closes it if the process must not be used again; the next one then gets a fresh process.
        """
        session = await self._take()
        session.limit = limit
        try:
            await self._time_start(session)
            yield session
        except BaseException:
            await session.close(at_once=True)
            raise
        finally:
            self._free.append(session)
            await self._notify()

    async def _take(self) -> Session:
        """Return a free session, or a new one after a wait that is longer than a start."""
        since = perf_counter()
        async with self._changed:
            while not self._free and self._sessions:
                left = self._worthwhile_wait(since)
                if left is not None and left <= 0:
                    break
                with suppress(TimeoutError):
                    async with asyncio.timeout(left):
                        await self._changed.wait()
            if not self._free:
                self._sessions.append(Session(self._endpoint, self._options, 0.0))
                return self._sessions[-1]
            return self._free.pop()

    def _worthwhile_wait(self, since: float) -> float | None:
        """Return how many more seconds to wait for a free session; None to wait for one whatever it takes."""
        if self._start_seconds is None or len(self._sessions) >= MOST_PROCESSES:
            return None
        return self._start_seconds - (perf_counter() - max(since, self._first_started))

    async def _time_start(self, session: Session) -> None:
        """Time the first start. Raises ConnectError."""
        if self._start_seconds is None:
            start = perf_counter()
            await session.connection()
            self._first_started = perf_counter()
            self._start_seconds = self._first_started - start
            await self._notify()

    async def _notify(self) -> None:
        async with self._changed:
            self._changed.notify_all()

    async def close(self, *, at_once: bool) -> None:
        """End all processes."""
        await asyncio.gather(*(session.close(at_once=at_once) for session in self._sessions))

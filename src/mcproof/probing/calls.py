"""The loop that probes, fuzzing and attacks share: who sends the next request, for how long, and what was seen.

A `Campaign` knows what to send; a `WorkerPool` has the sessions over which it is sent. The first worker uses a given
session, the others processes of their own; more are started only when there is enough to do. What the responses show
ends up as `Called`, whatever was sent.
Why there is one loop: docs/decisions/0066-one-entrance.md.
"""

from __future__ import annotations

import asyncio
from abc import ABC, abstractmethod
from collections.abc import Callable, Coroutine, Sequence
from contextlib import suppress
from time import monotonic
from typing import TYPE_CHECKING, Any, Generic, Literal, TypeVar

from mcproof.client.errors import ConnectError
from mcproof.client.waiting import all_of
from mcproof.core.named_tuple import NamedTuple

if TYPE_CHECKING:
    from mcproof.client.capture import OpenServer
    from mcproof.client.session import Session
    from mcproof.core.errors import Untested
    from mcproof.core.observations.probes import ItemProbes
    from mcproof.probing.permission import Permission
    from mcproof.probing.probes.failures import StoredFailure

Job = Callable[[], Coroutine[Any, Any, None]]
Progress = Callable[[int, int, str], None]


class CallPlan(NamedTuple):
    """Which tools of a server to call, and within which limits."""

    permissions: list[Permission]
    """The selected tools, each with its permission."""
    arguments: dict[str, dict[str, Any]]
    """Valid arguments from the user, by tool."""
    limit: float
    """Seconds until a response is due."""
    seconds: float | None = None
    """The time limit of all calls."""
    processes: int = 1
    """How many server processes are called at once."""
    target: dict[str, Any] = {}  # noqa: RUF012 (never mutated)
    """How to find the server again, for stored failures."""
    is_strict: bool = False
    """Whether values that servers commonly convert must be rejected, too."""


Incomplete = Literal["", "interrupted", "out of time", "server gone"]
"""Why a run has not tried everything; empty if it has."""


class Called(NamedTuple):
    """What calls to a server showed, and what was not called."""

    item_probes: list[ItemProbes]
    stored: list[StoredFailure]
    """The failures, as `replay` needs them."""
    untested: list[Untested]
    incomplete: Incomplete = ""
    """Why requests are missing; empty if none are."""
    was_cut: bool = False
    """Whether requests were pending when the time was up, so that the state of the server is unknown."""

    def with_more(self, later: Called) -> Called:
        """The same with what further calls showed, which did not have to be complete."""
        of_item = {id(probes.item): probes for probes in self.item_probes}
        for probes in later.item_probes:
            earlier = of_item.get(id(probes.item))
            of_item[id(probes.item)] = (
                probes if earlier is None else earlier._replace(records=[*earlier.records, *probes.records])
            )
        return self._replace(
            item_probes=list(of_item.values()),
            stored=[*self.stored, *later.stored],
            untested=[*self.untested, *later.untested],
        )


GRACE = 0.5
"""Seconds after the time limit when pending requests are given up."""


class TimeLimit:
    """The time that a run may take."""

    def __init__(self, seconds: float | None, start: float | None = None) -> None:
        self.seconds = seconds
        self._start = monotonic() if start is None else start

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
        # Stays true if anything is raised, also a cancellation.
        is_interrupted = True
        try:
            if await self._has_started(session):
                await self._work_in_time(work, session)
            is_interrupted = False
        finally:
            await session.close(at_once=self.was_cut or is_interrupted)

    async def _has_started(self, session: Session) -> bool:
        """Start a server, unless all work is done before that. It may not allow a further process."""
        # The second process shows whether a server allows several; the others wait for what it finds out.
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
                # Raises what the task raised.
                task.result()
            return not self._is_done.is_set()
        finally:
            for pending in (task, done):
                pending.cancel()
            await asyncio.gather(task, done, return_exceptions=True)

    async def _work_in_time(self, work: Callable[[Session], Coroutine[Any, Any, None]], session: Session) -> None:
        """Work until there is no more; pending requests are given up soon after the time limit."""
        left = self._limit.left
        try:
            # With some grace: the last response may just be on its way, and to cut it would leave the server in an
            # unknown state.
            async with asyncio.timeout(None if left is None else max(0.0, left) + GRACE):
                await work(session)
        except TimeoutError:
            self.was_cut = True


Work = TypeVar("Work")
_PROGRESS_INTERVAL = 0.1
"""Seconds between two updates of the progress."""


def in_silence(*_: object) -> None:
    """Report no progress."""


class Campaign(ABC, Generic[Work]):
    """The calls to one server: workers share them until there are none left, the time is up or the server is gone."""

    def __init__(self, session: Session, calls: CallPlan, progress: Progress, start_delay: float) -> None:
        self.trouble = ""
        """Why no more is sent; empty if nothing prevents it."""
        self.is_interrupted: Callable[[], bool] = lambda: False
        self._session = session
        self._calls = calls
        self._progress = progress
        self._limit = TimeLimit(calls.seconds)
        self._pool = WorkerPool(session, calls.processes, self._limit, start_delay)
        self._sent = 0
        """The number of calls so far."""
        self._last_progress = 0.0
        self._under_way = 0
        """How much of the work that others do may lead to more."""
        self._changed = asyncio.Event()

    @abstractmethod
    def jobs(self) -> Sequence[Job]:
        """The jobs that do all the work between them, to be run concurrently."""

    def _take(self) -> Work | None:
        """The next piece of work; None if there is none now."""
        return None

    def _release(self) -> bool:
        """Whether more work turns up once nothing is under way."""
        return False

    @abstractmethod
    def _label(self) -> tuple[int, int, str]:
        """The progress: how much is done, of how much, and in words."""

    async def _next(self) -> Work | None:
        """The next piece of work; None if there is no more. Waits for others if their work may lead to more."""
        while not self.trouble and not self._limit.is_over():
            if (work := self._take()) is not None:
                return work
            if self._under_way:
                self._changed.clear()
                await self._changed.wait()
            elif not self._release():
                return None
        return None

    def _end_work(self) -> None:
        """Count a piece of work as done that could lead to more."""
        self._under_way -= 1
        self._changed.set()

    def _count_call(self) -> None:
        self._sent += 1
        if monotonic() - self._last_progress > _PROGRESS_INTERVAL:
            self._show_progress()

    def _show_progress(self) -> None:
        self._last_progress = monotonic()
        self._progress(*self._label())


def run(server: OpenServer, campaign: Campaign[Any]) -> None:
    """Run a campaign over an open server; an interrupt ends it, and keeps what it has seen.

    The first worker calls the process that was listed. Further processes are started to share the work, to find out
    which call ended a server (`blame`), and to replace a server that has ended.
    """
    campaign.is_interrupted = lambda: server.is_interrupted
    server.run(*campaign.jobs())


async def run_within(campaign: Campaign[Any]) -> None:
    """Run a campaign in this event loop; the caller handles interrupts."""
    await all_of(*campaign.jobs())

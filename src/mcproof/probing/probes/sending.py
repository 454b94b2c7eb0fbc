"""The work of probing one server: the probes of each tool, and the workers that share them.

The first worker uses a given session, the others processes of their own; more are started only when there is enough
to do.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from contextlib import suppress
from time import monotonic
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from mcproof.client.errors import ConnectError
from mcproof.core.observations.probes import SERVER_LOST, Outcome
from mcproof.core.observations.responses import OutputContract
from mcproof.probing.probes.cases import ProbeCase, SkippedProbe, ToolProbes

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine, Iterable

    from mcproof.client.session import Session
    from mcproof.core.catalog.model import Item
    from mcproof.probing.generation.violations import Promise
    from mcproof.probing.permission import Permission
    from mcproof.probing.probes.responses import SeenResponse


SPAN = 8
"""How many cases of a tool a worker takes at once."""
MOST_CRASHES, MOST_HANGS = 5, 3
"""After how many crashes or hangs a tool is not called any more."""


class SentProbe(NamedTuple):
    """A case that was sent and what was seen of the response, or a skipped one. Large values are not kept."""

    item: Item
    case: ProbeCase | SkippedProbe
    params: dict[str, Any] = {}  # noqa: RUF012 (never mutated)
    """The parameters of a request that calls no tool."""
    number: tuple[int, int] = (0, 0)
    """The sender, and its number of the request."""
    seen: SeenResponse | None = None
    method: str = "tools/call"


class ToolRun:
    """The probes of one tool, and what was sent of them."""

    def __init__(self, permission: Permission, probes: ToolProbes) -> None:
        self.permission = permission
        self.tool = permission.tool
        self.probes = probes
        self.output = OutputContract(self.tool.fields.get("outputSchema"))
        self.valid: list[SentProbe] = []
        self.sent: dict[int, SentProbe] = {}
        """The cases that were sent, by their position."""
        self.slices_left = 0
        self.is_done = False

    def slices(self) -> list[CaseSpan]:
        """The cases to send, in parts; skipped ones are recorded."""
        cases = self.probes.cases
        for at, case in enumerate(cases):
            if isinstance(case, SkippedProbe):
                self.sent[at] = SentProbe(self.tool, case)
        positions = [at for at, case in enumerate(cases) if isinstance(case, ProbeCase)]
        slices = [CaseSpan(self, positions[at : at + SPAN]) for at in range(0, len(positions), SPAN)]
        self.slices_left = len(slices)
        return slices

    def is_superfluous(self, position: int) -> bool:
        """Whether a case is not to be sent: its promise is known to end the server, or too many cases have."""
        case = self.probes.cases[position]
        lost, broken = _losses(sent for at, sent in self.sent.items() if at < position)
        return _is_lost(lost) or (isinstance(case, ProbeCase) and bool(case.keyword) and case.promise in broken)

    def in_order(self, corrected: Callable[[SentProbe], SentProbe]) -> tuple[list[SentProbe], bool]:
        """What was sent, without cases that would not have been sent one after the other; whether that is all."""
        valid = list(map(corrected, self.valid))
        counted: list[SentProbe] = []
        for _, sent in sorted(self.sent.items()):
            probe = corrected(sent)
            lost, broken = _losses(counted)
            if isinstance(probe.case, SkippedProbe) or not (
                _is_lost(lost) or (probe.case.keyword and probe.case.promise in broken)
            ):
                counted.append(probe)
        lost, _ = _losses(counted)
        is_stopped = _is_lost(lost) and len(counted) < len(self.probes.cases)
        return [*valid, *counted], is_stopped


class CaseSpan(NamedTuple):
    """Some cases of a tool, by their positions."""

    run: ToolRun
    positions: list[int]


def _losses(sent: Iterable[SentProbe]) -> tuple[Counter[Outcome], set[Promise]]:
    """How often the server was lost, and the promises whose violation caused it."""
    lost: Counter[Outcome] = Counter()
    broken: set[Promise] = set()
    for probe in sent:
        if isinstance(probe.case, ProbeCase) and probe.seen is not None and probe.seen.outcome in SERVER_LOST:
            lost[probe.seen.outcome] += 1
            broken.add(probe.case.promise)
    return lost, broken


def _is_lost(lost: Counter[Outcome]) -> bool:
    return lost["crash"] >= MOST_CRASHES or lost["hang"] >= MOST_HANGS


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
            async with asyncio.timeout(None if left is None else max(0.0, left) + GRACE):
                await work(session)
        except TimeoutError:
            self.was_cut = True

"""Visits: checks that visitors ask for, each in a fork of a worker process, with bounds on everything.

Visits are in the memory of the service. Nothing of a visitor is written to the store, so no visit can change a
listed server, a badge or a ranking, and a restart forgets them all.
Why visits are processes: docs/decisions/0055-visits-in-processes.md.
"""

from __future__ import annotations

import asyncio
import zlib
from collections import Counter, OrderedDict
from datetime import UTC, datetime, timedelta
from secrets import token_urlsafe
from threading import Lock
from time import monotonic
from typing import TYPE_CHECKING

from mcproof.client.redaction import redacted_url
from mcproof.core.named_tuple import NamedTuple
from mcproof.services.web.access import BusyError
from mcproof.services.web.reading import pieces
from mcproof.services.web.visit_jobs import PARTS, GuestJob, GuestOutcome
from mcproof.services.workers.messages import WorkerLimits
from mcproof.services.workers.worker import LostError, OverdueError, WorkerPool

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from concurrent.futures import Future

TOKEN_BYTES = 24
"""The random bytes of a link: 192 bits."""
MOST_EXPIRED = 10_000
"""How many expired links are remembered as such."""


class GuestLimits(NamedTuple):
    """The bounds of visits."""

    at_once: int = 4
    """How many are checked at once."""
    queued: int = 20
    """How many wait."""
    for_each_client: int = 3
    """How many a client may have waiting or running."""
    seconds: float = 60.0
    """The time of one."""
    memory: int = 1024**3
    """The most bytes of memory of one."""
    stored_results: int = 500
    """How many results are kept."""
    stored_bytes: int = 256 * 1024**2
    """How many bytes they have in all, compressed."""
    hours: float = 24.0
    """How long a link works."""


class GuestCheck:
    """One check, and its result when there is one. It holds no headers."""

    def __init__(self, url: str, client: str, hours: float) -> None:
        self.token = token_urlsafe(TOKEN_BYTES)
        self.url = url
        """The server that is checked, without secrets; empty for a catalog."""
        self.client = client
        self.step = "waiting"
        """`waiting`, a step of the process, or `done`."""
        self.expires = datetime.now(UTC) + timedelta(hours=hours)
        self.outcome: GuestOutcome | None = None
        """The result, with its parts compressed."""
        self.work: Future[None] | None = None
        self._deadline = monotonic() + hours * 3600

    @property
    def is_done(self) -> bool:
        return self.outcome is not None

    @property
    def is_expired(self) -> bool:
        return monotonic() >= self._deadline

    async def finished(self) -> GuestOutcome:
        """Wait for the result; its parts are compressed."""
        if self.work is not None:
            await asyncio.shield(asyncio.wrap_future(self.work))
        return self.outcome or GuestOutcome("crashed", "the service is stopping")

    def part(self, name: str) -> bytes:
        """Return a part of the result; empty if there is none."""
        data: bytes = getattr(self.outcome, name)
        return zlib.decompress(data) if data else b""

    def pieces(self, name: str) -> Iterator[bytes]:
        """Return a part of the result in pieces."""
        return pieces(getattr(self.outcome, name))

    def finish(self, outcome: GuestOutcome) -> None:
        """Set the result, which must be compressed."""
        self.outcome = outcome
        self.step = "done"

    @property
    def size(self) -> int:
        return sum(len(getattr(self.outcome, name)) for name in PARTS) if self.outcome is not None else 0


class Visits:
    """All visits of a service."""

    def __init__(
        self, limits: GuestLimits | None = None, finished: Callable[[GuestOutcome], None] = lambda _: None
    ) -> None:
        self.limits = limits or GuestLimits()
        self._finished = finished
        self.is_closed = False
        self._lock = Lock()
        self._active: dict[str, GuestCheck] = {}
        """Those that wait or run, the oldest first."""
        self._stored_results: OrderedDict[str, GuestCheck] = OrderedDict()
        self._stored_bytes = 0
        self._expired: OrderedDict[str, None] = OrderedDict()
        self._pool = WorkerPool("mcproof.services.web.visit_warmup:work", GuestJob, GuestOutcome, self.limits.at_once)

    def start(self, job: GuestJob, client: str, *, is_kept: bool = True) -> GuestCheck:
        """Start a job, or let it wait. Raises BusyError.

        A visit that is not kept has no link: its result is for the caller only.
        """
        started = GuestCheck(redacted_url(job.url), client, self.limits.hours)
        with self._lock:
            if sum(visit.client == client for visit in self._active.values()) >= self.limits.for_each_client:
                raise BusyError(is_client=True)
            if self.is_closed or len(self._active) >= self.limits.at_once + self.limits.queued:
                raise BusyError(is_client=False)
            self._active[started.token] = started
            started.work = self._pool.threads.submit(self._run, started, job, is_kept=is_kept)
        return started

    def find(self, token: str) -> GuestCheck | None:
        """Return a visit by its link; None if there is none, or if it has expired."""
        with self._lock:
            self._forget_old()
            return self._active.get(token) or self._stored_results.get(token)

    def has_expired(self, token: str) -> bool:
        """Whether a link worked until some time ago."""
        return token in self._expired

    def before(self, visit: GuestCheck) -> int:
        """Return how many visits wait before this one."""
        with self._lock:
            waiting = [visit.token for visit in self._active.values() if visit.step == "waiting"]
        return waiting.index(visit.token) if visit.token in waiting else 0

    def counts(self) -> dict[str, int]:
        """Return how many visits wait and run, and how many results are kept."""
        with self._lock:
            waiting = sum(visit.step == "waiting" for visit in self._active.values())
            return {"waiting": waiting, "running": len(self._active) - waiting, "kept": len(self._stored_results)}

    def close(self) -> None:
        """End all processes."""
        with self._lock:
            self.is_closed = True
        self._pool.close()

    def _run(self, visit: GuestCheck, job: GuestJob, *, is_kept: bool) -> None:
        try:
            outcome = self._outcome(visit, job)
        except Exception as error:  # no process, a broken pipe: a visit must end whatever happens
            outcome = GuestOutcome("crashed", f"the check could not be run: {type(error).__name__}")
        with self._lock:
            visit.finish(outcome)
            self._active.pop(visit.token, None)
            if is_kept:
                self._stored_results[visit.token] = visit
                self._stored_bytes += visit.size
                self._forget_old()
        self._finished(outcome)

    def _outcome(self, visit: GuestCheck, job: GuestJob) -> GuestOutcome:
        """Do a job in a process, which is killed at the deadline."""

        def note(step: str) -> None:
            visit.step = step

        limits = WorkerLimits(self.limits.seconds, self.limits.memory, roots=(), network=job.networks, forgets=True)
        try:
            return self._pool.run(job, limits, note)
        except OverdueError:
            return GuestOutcome("slow", f"not done within {self.limits.seconds:g} seconds")
        except LostError:  # killed, by a limit or by the end of the service
            return GuestOutcome("slow", "the check needed too much time or memory")

    def _forget_old(self) -> None:
        """Forget visits that have expired, and beyond the bounds the oldest of whoever has the most."""
        while self._stored_results:
            oldest = next(iter(self._stored_results.values()))
            if not oldest.is_expired:
                has_too_many = len(self._stored_results) > self.limits.stored_results
                if not has_too_many and self._stored_bytes <= self.limits.stored_bytes:
                    return
                # The client with the largest share loses reports first, so that it cannot push out those of others.
                shares: Counter[str] = Counter()
                # Counted anew each time: there are few hundred, and a count beside them could be wrong.
                for visit in self._stored_results.values():
                    shares[visit.client] += 1 if has_too_many else visit.size
                most = shares.most_common(1)[0][0]
                oldest = next(visit for visit in self._stored_results.values() if visit.client == most)
            del self._stored_results[oldest.token]
            self._stored_bytes -= oldest.size
            self._expired[oldest.token] = None
            if len(self._expired) > MOST_EXPIRED:
                self._expired.popitem(last=False)

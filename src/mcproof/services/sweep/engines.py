"""What a sweep needs of the machines that do its work, and the engine on one machine.

Captures are checked by processes, live servers by one process with an event loop. The engine on a cluster is
`ray_engine`.
"""

from __future__ import annotations

import contextlib
import os
from queue import Empty, SimpleQueue
from time import monotonic
from typing import TYPE_CHECKING, Any, Protocol

from mcproof.core.errors import McproofError
from mcproof.core.named_tuple import NamedTuple
from mcproof.runs.codec import decode
from mcproof.services.sweep.check import Attempt, SweepJob
from mcproof.services.workers.messages import ERROR, OUTCOME, WorkerLimits
from mcproof.services.workers.worker import WorkerProcess

if TYPE_CHECKING:
    from mcproof.services.sweep import SweepPlan
    from mcproof.services.sweep.check import SweepTask


class Finished(NamedTuple):
    """A try of a target has ended."""

    number: int
    attempt: Attempt


class Lost(NamedTuple):
    """A worker has ended before its work was done."""

    suspects: tuple[int, ...]
    """The tasks that may have ended it."""
    bystanders: tuple[int, ...] = ()
    """The tasks that it had not begun."""


class Overdue(NamedTuple):
    """A task did not end by itself within its time limit, so its worker was killed."""

    number: int


EngineEvent = Finished | Lost | Overdue


class SweepEngine(Protocol):
    """Checks the targets of tasks. A task that is submitted ends in exactly one event that names it."""

    def has_room(self, *, is_live: bool, alone: bool = False) -> bool:
        """Whether another task would begin soon; if not, the sweep reads no further targets."""

    def submit(self, task: SweepTask, *, alone: bool = False) -> None:
        """Begin a task; `alone` in a worker that has nothing else to do."""

    def events(self, seconds: float) -> list[EngineEvent]:
        """Return what has happened; wait for up to this many seconds if nothing has."""

    def close(self) -> None:
        """End all workers, and everything that they have started."""


BATCH = 8
"""How many captures are sent to a worker at once."""
_AHEAD = 4 * BATCH
"""How many captures a worker has at most, begun or not."""
GRACE = 10.0
"""Seconds after the time limit until the worker of a task is killed: ending a server takes a few."""
_CLOSING = 5.0
"""Seconds until the workers must have ended."""
MOST_MEMORY, MOST_MEMORY_OF_SERVERS = 2 << 30, 4 << 30
"""Bytes of memory of a worker that checks captures one by one, and of one that checks live servers concurrently."""
CAPTURES, LIVE, ALONE = "captures", "live", "alone"
"""What a worker does: captures one by one, live servers concurrently, or one live server at a time."""


class _Worker:
    """A worker process, and the tasks that it has not reported on."""

    def __init__(self, kind: str, plan: SweepPlan, inbox: SimpleQueue[tuple[_Worker, Any]]) -> None:
        self.kind = kind
        self.pending: dict[int, float] = {}
        """The tasks in order, each with the time when it was sent."""
        self.last_report = monotonic()
        self.ready_since: float | None = None
        self._plan = plan
        seconds = plan.limit + GRACE
        if kind == CAPTURES:
            # Any file that the user names is read; a capture may name no other, and nothing is started or connected.
            limits = WorkerLimits(seconds, MOST_MEMORY, roots=(os.sep,))
            function = "mcproof.services.sweep.check:check_capture_job"
        else:
            limits = WorkerLimits(seconds, MOST_MEMORY_OF_SERVERS)
            function = "mcproof.services.sweep.check:check_live_job"
        self.process = WorkerProcess(function, limits, lambda message: inbox.put((self, message)))
        self.process.send((0, SweepJob(plan)))

    def send(self, tasks: list[SweepTask]) -> None:
        now = monotonic()
        self.pending.update((task.number, now) for task in tasks)
        self.process.send(*((task.number, SweepJob(self._plan, task)) for task in tasks))

    def overdue(self, limit: float) -> int | None:
        """The task that has taken too long since the worker was ready for it; None if there is none."""
        if not self.pending or self.ready_since is None:
            return None
        number, sent = next(iter(self.pending.items()))  # the first is the oldest
        # Captures are checked one by one, so the time of the first counts from the report on the one before.
        since = max(sent, self.last_report if self.kind == CAPTURES else self.ready_since)
        return number if monotonic() - since > limit else None


class LocalEngine:
    """Workers on this machine, started when there is work for them."""

    def __init__(self, plan: SweepPlan, *, jobs: int, at_once: int) -> None:
        self._plan = plan
        self._jobs = jobs
        self._at_once = at_once
        """How many live servers are checked concurrently."""
        self._workers: list[_Worker] = []
        self._inbox: SimpleQueue[tuple[_Worker, Any]] = SimpleQueue()
        self._batch: list[SweepTask] = []
        """Captures that are sent soon."""

    def has_room(self, *, is_live: bool, alone: bool = False) -> bool:
        if not is_live:
            return len(self._batch) + self._pending(CAPTURES) < self._jobs * _AHEAD
        return self._pending(ALONE) == 0 if alone else self._pending(LIVE) < self._at_once

    def _pending(self, kind: str) -> int:
        return sum(len(worker.pending) for worker in self._workers if worker.kind == kind)

    def submit(self, task: SweepTask, *, alone: bool = False) -> None:
        if task.target.is_live:
            self._worker(ALONE if alone else LIVE).send([task])
            return
        self._batch.append(task)
        if len(self._batch) >= BATCH:
            self._send_batch()

    def _send_batch(self) -> None:
        if self._batch:
            self._worker(CAPTURES).send(self._batch)
            self._batch = []

    def _worker(self, kind: str) -> _Worker:
        """Return the worker of a kind with the least to do; another one if all are busy and more are allowed."""
        workers = [worker for worker in self._workers if worker.kind == kind]
        most = self._jobs if kind == CAPTURES else 1
        if not workers or (len(workers) < most and all(worker.pending for worker in workers)):
            workers.append(_Worker(kind, self._plan, self._inbox))
            self._workers.append(workers[-1])
        return min(workers, key=lambda worker: len(worker.pending))

    def events(self, seconds: float) -> list[EngineEvent]:
        self._send_batch()
        events: list[EngineEvent] = []
        with contextlib.suppress(Empty):
            # Wait for one message, then take all that are there.
            events += self._event(*self._inbox.get(timeout=seconds))
            while True:
                events += self._event(*self._inbox.get_nowait())
        for worker in list(self._workers):
            if (number := worker.overdue(self._plan.limit + GRACE)) is not None:
                events += self._killed(worker, number)
        return events

    def _event(self, worker: _Worker, message: Any) -> list[EngineEvent]:
        if worker not in self._workers:  # killed; its tasks are accounted for
            return []
        if message is None:
            return self._ended(worker)
        number, kind, value = message
        if kind == ERROR:  # the work itself never raises
            raise McproofError(value)
        if kind == OUTCOME:
            worker.last_report = monotonic()
        if value is None:
            worker.ready_since = worker.last_report
            return []
        worker.pending.pop(number, None)
        return [Finished(number, decode(Attempt, value))]

    def _ended(self, worker: _Worker) -> list[EngineEvent]:
        self._remove(worker)
        if worker.ready_since is None:
            raise McproofError(f"a worker process cannot start (exit code {worker.process.exit_code})")
        numbers = tuple(worker.pending)
        if worker.kind == CAPTURES:  # one at a time, in order: the first has not ended
            return [Lost(numbers[:1], numbers[1:])] if numbers else []
        return [Lost(numbers)] if numbers else []

    def _killed(self, worker: _Worker, number: int) -> list[EngineEvent]:
        self._remove(worker)
        others = tuple(other for other in worker.pending if other != number)
        return [Overdue(number), Lost((), others)]

    def _remove(self, worker: _Worker) -> None:
        """Forget a worker; it may have closed its output and still run."""
        self._workers.remove(worker)
        worker.process.kill()
        worker.process.wait()

    def close(self) -> None:
        workers, self._workers = self._workers, []
        # All inputs are closed before the first wait, so that the workers end at the same time.
        for worker in workers:
            worker.process.end()
        end = monotonic() + _CLOSING
        for worker in workers:
            worker.process.wait(end - monotonic())


def descriptors_left(reserved: int = 48) -> int:
    """How many files a process may have open besides its own."""
    try:
        import resource
    except ImportError:  # Windows, which has no such limit
        return 512 - reserved
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = 4096 if hard == resource.RLIM_INFINITY else min(hard, 4096)
    if soft != resource.RLIM_INFINITY and soft < wanted:
        with contextlib.suppress(OSError, ValueError):
            resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))
            soft = wanted
    return max(4, (4096 if soft == resource.RLIM_INFINITY else soft) - reserved)


def cores() -> int:
    """How many processors this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1

"""Run the targets of a sweep through an engine: limits per host, retries, lost workers, rows.

Live servers wait in a queue: few at once per host, and later after a failure.
Why the conductor has all memory: docs/decisions/0056-a-row-is-the-record.md.
"""

from __future__ import annotations

import heapq
from collections import deque
from time import monotonic
from typing import TYPE_CHECKING

from mcproof.core.named_tuple import NamedTuple
from mcproof.services.sweep.check import Attempt, SweepTask, crashed, failed_line, timed_out
from mcproof.services.sweep.engines import EngineEvent, Finished, Lost, SweepEngine
from mcproof.services.sweep.results import CHECKED, ResultsFile, RowSink

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from mcproof.services.sweep import Politeness, SweepPlan
    from mcproof.services.sweep.registry import Failing, SweepTarget


MOST_WAITING = 1000
"""How many servers wait before no further targets are read."""


class LiveQueue:
    """Tasks for live servers, in the order of arrival per host."""

    def __init__(self, per_host: int) -> None:
        self._per_host = per_host
        self._waiting: dict[str, deque[SweepTask]] = {}
        self._later: list[tuple[float, int, SweepTask]] = []
        """Tasks that are tried again, by time."""
        self._active: dict[str, int] = {}
        self._paused: dict[str, float] = {}
        """Until when a host gets no requests."""
        self._count = 0

    def __len__(self) -> int:
        return self._count + len(self._later)

    @property
    def is_full(self) -> bool:
        return len(self) >= MOST_WAITING

    def add(self, task: SweepTask) -> None:
        self._waiting.setdefault(task.target.host, deque()).append(task)
        self._count += 1

    def add_later(self, task: SweepTask, due: float, *, pauses_host: bool) -> None:
        """Add a task for another try; with `pauses_host`, the host gets no other request before."""
        heapq.heappush(self._later, (due, task.number, task))
        host = task.target.host
        if pauses_host and host:
            self._paused[host] = max(due, self._paused.get(host, 0.0))

    def take(self, now: float) -> SweepTask | None:
        """Return a task that may begin; None if there is none."""
        while self._later and self._later[0][0] <= now:
            self.add(heapq.heappop(self._later)[2])
        for host, tasks in self._waiting.items():
            if host and (self._active.get(host, 0) >= self._per_host or self._paused.get(host, 0.0) > now):
                continue
            task = tasks.popleft()
            self._count -= 1
            if not tasks:
                del self._waiting[host]
            return task
        return None

    def began(self, task: SweepTask) -> None:
        """Count a task among those of its host."""
        host = task.target.host
        self._active[host] = self._active.get(host, 0) + 1

    def ended(self, task: SweepTask) -> None:
        """Count a task no longer that has begun."""
        host = task.target.host
        self._active[host] -= 1
        if not self._active[host]:
            del self._active[host]

    def next_due(self, now: float) -> float | None:
        """Seconds until a task may begin that may not yet; None if time alone changes nothing."""
        times = [self._later[0][0]] if self._later else []
        times += [until for host, until in self._paused.items() if until > now and host in self._waiting]
        return max(0.0, min(times) - now) if times else None


TRIES = 2
"""How often a target may end the process that checks it."""
BACKOFF = 1.0
"""Seconds before the first retry; twice as long before each further one."""
MOST_BACKOFF = 60.0
MOST_PATIENCE = 300.0
"""The longest `Retry-After` that is waited for."""
_TICK = 0.5
"""The longest wait for an event, so that time limits are noticed."""


class Tally(NamedTuple):
    """What a sweep has done in this run."""

    done: int = 0
    failed: int = 0
    """Not checked, for whatever reason."""
    skipped: int = 0
    """Done in an earlier run, or named twice."""


class Conductor:
    """One run of a sweep."""

    def __init__(
        self,
        engine: SweepEngine,
        plan: SweepPlan,
        results: ResultsFile,
        sink: RowSink,
        politeness: Politeness,
        progress: Callable[[Tally], None],
    ) -> None:
        self._engine = engine
        self._plan = plan
        self._results = results
        self._sink = sink
        self._retries = politeness.retries
        self._progress = progress
        self._live = LiveQueue(politeness.per_host)
        self._captures: list[SweepTask] = []
        """Captures to submit; few, because no more are read then."""
        self._alone: list[SweepTask] = []
        """Targets that were under way when their worker ended."""
        self._last: list[SweepTask] = []
        """Targets that were under way whenever the sweep was killed: checked at the end, one by one."""
        self._flying: dict[int, SweepTask] = {}
        self._strikes: dict[int, int] = {}
        self._numbers = 0
        self._is_exhausted = False
        self.tally = Tally()

    def run(self, targets: Iterator[SweepTarget]) -> None:
        """Check all targets that are not done."""
        while True:
            self._read(targets)
            self._submit_all()
            self._results.flush()
            if self._is_exhausted and not (self._flying or self._live or self._captures or self._alone or self._last):
                break
            due = self._live.next_due(monotonic())
            for event in self._engine.events(_TICK if due is None else min(due, _TICK)):
                self._handle(event)
            self._sink.flush()
            self._progress(self.tally)
        self._sink.flush(is_last=True)
        self._progress(self.tally)

    def _read(self, targets: Iterator[SweepTarget]) -> None:
        """Read targets as long as there is room for them."""
        while not (self._is_exhausted or self._live.is_full) and self._makes_room():
            target = next(targets, None)
            if target is None:
                self._is_exhausted = True
            elif self._results.done.add(target.key):
                self._accept(target)
            else:
                self.tally = self.tally._replace(skipped=self.tally.skipped + 1)

    def _makes_room(self) -> bool:
        """Submit the captures that wait; whether all of them are."""
        while self._captures and self._engine.has_room(is_live=False):
            self._submit(self._captures.pop(0))
        return not self._captures

    def _accept(self, target: SweepTarget) -> None:
        self._numbers += 1
        task = SweepTask(self._numbers, target)
        if target.hindrance is not None:
            self._fail(task, target.hindrance)
        # Who was under way in two runs that were killed is checked last, alone; who was so twice is given up.
        elif self._results.unfinished_alone.get(target.key, 0) >= TRIES:
            self._fail(task, crashed())
        elif self._results.unfinished.get(target.key, 0) >= TRIES:
            self._last.append(task)
        elif target.is_live:
            self._live.add(task)
        else:
            self._captures.append(task)

    def _submit_all(self) -> None:
        self._makes_room()
        while self._alone and self._engine.has_room(is_live=self._alone[0].target.is_live, alone=True):
            self._submit(self._alone.pop(0), alone=True)
        while self._engine.has_room(is_live=True) and (task := self._live.take(monotonic())) is not None:
            self._submit(task)
        if self._last and self._is_exhausted and not (self._flying or self._live or self._captures or self._alone):
            self._submit(self._last.pop(), alone=True, is_last=True)

    def _submit(self, task: SweepTask, *, alone: bool = False, is_last: bool = False) -> None:
        self._results.begin(task.target.key, alone=is_last)
        # Written before it begins, because it may end this run, too.
        if is_last:
            self._results.flush()
        self._flying[task.number] = task
        if task.target.is_live:
            self._live.began(task)
        self._engine.submit(task, alone=alone)

    def _handle(self, event: EngineEvent) -> None:
        if isinstance(event, Finished):
            task = self._landed(event.number)
            if not self._is_retried(task, event.attempt):
                self._finish(task, event.attempt)
        elif isinstance(event, Lost):
            for number in event.suspects:
                self._suspect(self._landed(number))
            for number in event.bystanders:
                # Tried again, since another one has ended its worker.
                task = self._landed(number)
                if task.target.is_live:
                    self._live.add(task)
                else:
                    self._captures.append(task)
        else:
            self._fail(self._landed(event.number), timed_out(self._plan))

    def _landed(self, number: int) -> SweepTask:
        task = self._flying.pop(number)
        if task.target.is_live:
            self._live.ended(task)
        return task

    def _is_retried(self, task: SweepTask, attempt: Attempt) -> bool:
        """Whether another try may succeed, which is then planned."""
        # Tries after the end of a worker are not retries of the server.
        retries = task.attempt - 1 - self._strikes.get(task.number, 0)
        if attempt.wait is None or retries >= self._retries or attempt.wait > MOST_PATIENCE:
            return False
        backoff = min(BACKOFF * 2**retries, MOST_BACKOFF)
        due = monotonic() + max(backoff, attempt.wait)
        self._live.add_later(task._replace(attempt=task.attempt + 1), due, pauses_host=attempt.wait > 0)
        return True

    def _suspect(self, task: SweepTask) -> None:
        """Try a target again that may have ended its worker, or give it up."""
        strikes = self._strikes[task.number] = self._strikes.get(task.number, 0) + 1
        task = task._replace(attempt=task.attempt + 1)
        if strikes >= TRIES:
            # The try that was counted above does not take place.
            self._fail(task._replace(attempt=task.attempt - 1), crashed())
        else:
            self._alone.append(task)

    def _fail(self, task: SweepTask, why: Failing) -> None:
        self._finish(task, Attempt(failed_line(task, why), why.outcome))

    def _finish(self, task: SweepTask, attempt: Attempt) -> None:
        self._strikes.pop(task.number, None)
        failed = attempt.outcome != CHECKED
        self.tally = self.tally._replace(done=self.tally.done + 1, failed=self.tally.failed + failed)
        self._sink.add(task.target, attempt)

"""The live servers that wait for their turn: few at once per host, and later after a failure."""

from __future__ import annotations

import heapq
from collections import deque
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from mcproof.sweep.check_target import SweepTask

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

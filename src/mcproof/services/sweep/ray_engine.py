"""The engine on a Ray cluster, which may be this machine alone.

Ray's own retries are off: the sweep counts how often a target ends the process that checks it.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
from secrets import token_hex
from time import monotonic
from typing import TYPE_CHECKING, Any

from mcproof.client.endpoints import CommandEndpoint
from mcproof.client.transports.processes import STARTED
from mcproof.core.errors import McproofError, UsageError
from mcproof.services.sweep.check import check_capture, check_live
from mcproof.services.sweep.engines import MOST_MEMORY, MOST_MEMORY_OF_SERVERS, EngineEvent, Finished, Lost, Overdue
from mcproof.services.workers.process import limit_memory_once

if TYPE_CHECKING:
    from mcproof.services.sweep import SweepPlan
    from mcproof.services.sweep.check import Attempt, SweepTask

BATCH, LIVE_BATCH = 32, 8
"""How many captures, and how many live servers, one call of Ray checks."""
_AHEAD = 2
"""How many calls are under way or waiting, for each core of the cluster."""
_GRACE = 10.0
"""Seconds after the time limit of a call until it is cancelled."""
_LIVE_CPUS = 0.25
"""The share of a core that a call with live servers needs, since it mostly waits."""
LARGEST_SENT = 64 << 20
"""The largest file that is sent to another machine."""


LOOPBACK = "127.0.0.1"
_SAFE_VERSION = (2, 52)
"""The first version of Ray that asks for a token."""


def check_captures(tasks: list[SweepTask], plan: SweepPlan) -> list[tuple[int, Attempt]]:
    """Check captures one after the other."""
    limit_memory_once(MOST_MEMORY)
    return [(task.number, check_capture(task, plan)) for task in tasks]


def check_servers(tasks: list[SweepTask], plan: SweepPlan) -> list[tuple[int, Attempt]]:
    """Check live servers concurrently."""
    STARTED.guard()
    limit_memory_once(MOST_MEMORY_OF_SERVERS)

    async def check_all() -> list[Attempt]:
        return await asyncio.gather(*(check_live(task, plan) for task in tasks))

    return list(zip([task.number for task in tasks], asyncio.run(check_all()), strict=True))


def is_this_machine(address: str | None) -> bool:
    """Whether Ray starts a cluster for an address, instead of joining one: `local` is a name for that."""
    named = os.environ.get("RAY_ADDRESS") or address if address == "auto" else address
    return named in (None, "", "local")


def ray_module(address: str | None) -> Any:
    """Import Ray, for a cluster or for this machine alone. Raises a UsageError if it is missing or not safe enough.

    Ray listens on every interface, and whoever reaches it can run code. So on this machine it gets the loopback
    interface, and a token that only the processes of this sweep have; Ray reads both while it is imported.
    """
    if is_this_machine(address):
        # The first is how Ray is kept from replacing 127.0.0.1 by an address that others reach.
        own = {"RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER": "0", "RAY_AUTH_MODE": "token"}
        os.environ.update(own, RAY_AUTH_TOKEN=os.environ.get("RAY_AUTH_TOKEN") or token_hex(32))
    try:
        import ray
    except ImportError:
        raise UsageError("`--engine ray` needs Ray: `pip install 'mcproof[ray]'`") from None
    if is_this_machine(address):
        refuse_old_version(ray.__version__)
    return ray


def refuse_old_version(version: str) -> None:
    parts = version.split(".")[:2]
    if not all(map(str.isdecimal, parts)) or tuple(map(int, parts)) < _SAFE_VERSION:
        raise UsageError(f"`--engine ray` needs Ray 2.52 or newer, which asks for a token; this is {version}")


class _Call:
    """A call of Ray, and the tasks in it."""

    def __init__(self, numbers: tuple[int, ...], *, is_live: bool, deadline: float) -> None:
        self.numbers = numbers
        self.is_live = is_live
        self.deadline = deadline


class RayEngine:
    """Calls of `check_captures` and `check_servers` on a cluster."""

    def __init__(self, plan: SweepPlan, *, address: str | None, jobs: int | None, at_once: int) -> None:
        ray = self._ray = ray_module(address)
        self._plan = plan
        self._at_once = at_once
        where: dict[str, Any] = {"address": address}
        is_own = is_this_machine(address)
        if is_own:
            where = {"address": "local", "_node_ip_address": LOOPBACK, "include_dashboard": False, "num_cpus": jobs}
        try:
            ray.init(**where, log_to_driver=False, logging_level="ERROR")
        except (ConnectionError, RuntimeError, ValueError, TimeoutError) as error:
            why = str(error).strip().partition("\n")[0]
            raise McproofError(f"the Ray cluster cannot be used: {why}") from None
        # Looked at, not assumed: how Ray chooses its address is not part of what it promises.
        if is_own and (shown := ray.util.get_node_ip_address()) != LOOPBACK:
            ray.shutdown()
            raise McproofError(f"Ray {ray.__version__} listens on {shown}, where others reach it, and was stopped")
        self._cores = max(1, int(ray.cluster_resources().get("CPU", 1)))
        self._shared_plan = ray.put(plan)
        self._on_captures = ray.remote(max_retries=0, num_cpus=1)(check_captures)
        self._on_servers = ray.remote(max_retries=0, num_cpus=_LIVE_CPUS)(check_servers)
        self._calls: dict[Any, _Call] = {}
        self._captures: list[SweepTask] = []
        self._servers: list[SweepTask] = []
        """What the next call gets."""

    def has_room(self, *, is_live: bool, alone: bool = False) -> bool:
        waiting = len(self._servers if is_live else self._captures)
        flying = sum(len(call.numbers) for call in self._calls.values() if call.is_live == is_live)
        most = self._at_once if is_live else _AHEAD * BATCH * self._cores
        return waiting + flying < (self._cores if alone else most)

    def submit(self, task: SweepTask, *, alone: bool = False) -> None:
        task = _portable(task)
        if alone:
            self._call([task], is_live=task.target.is_live)
            return
        waiting, most = (self._servers, LIVE_BATCH) if task.target.is_live else (self._captures, BATCH)
        waiting.append(task)
        if len(waiting) >= most:
            self._send()

    def _send(self) -> None:
        captures, self._captures = self._captures, []
        servers, self._servers = self._servers, []
        for tasks, is_live in ((captures, False), (servers, True)):
            if tasks:
                self._call(tasks, is_live=is_live)

    def _call(self, tasks: list[SweepTask], *, is_live: bool) -> None:
        remote = self._on_servers if is_live else self._on_captures
        seconds = self._plan.limit * (1 if is_live else len(tasks)) + _GRACE
        reference = remote.remote(tasks, self._shared_plan)
        numbers = tuple(task.number for task in tasks)
        # A call waits for a free core, behind all that are there already.
        waits = self._plan.limit * _AHEAD if self._calls else 0.0
        self._calls[reference] = _Call(numbers, is_live=is_live, deadline=monotonic() + waits + seconds)

    def events(self, seconds: float) -> list[EngineEvent]:
        self._send()
        events: list[EngineEvent] = []
        if not self._calls:
            return events
        done, _ = self._ray.wait(list(self._calls), num_returns=1, timeout=seconds)
        if done:
            # The first call returns as soon as one result is there; this one takes all that are.
            done, _ = self._ray.wait(list(self._calls), num_returns=len(self._calls), timeout=0)
        for reference in done:
            events += self._results(reference, self._calls.pop(reference))
        for reference, call in list(self._calls.items()):
            if monotonic() > call.deadline:
                self._ray.cancel(reference, force=True)
                del self._calls[reference]
                events.append(Overdue(call.numbers[0]) if len(call.numbers) == 1 else Lost(call.numbers))
        return events

    def _results(self, reference: Any, call: _Call) -> list[EngineEvent]:
        try:
            attempts = self._ray.get(reference)
        except self._ray.exceptions.RayError:  # its node is gone; the conductor decides whether to try again
            return [Lost(call.numbers)]
        return [Finished(number, attempt) for number, attempt in attempts]

    def close(self) -> None:
        for reference in self._calls:
            with contextlib.suppress(Exception):  # whatever Ray raises, the cluster is left below
                self._ray.cancel(reference, force=True)
        self._calls.clear()
        self._ray.shutdown()


def _portable(task: SweepTask) -> SweepTask:
    """Return a task that another machine can do: with the content of the file, or the folder of the command."""
    target = task.target
    if isinstance(target.endpoint, CommandEndpoint) and target.endpoint.directory is None:
        endpoint = target.endpoint._replace(directory=os.getcwd())
        return task._replace(target=target._replace(endpoint=endpoint))
    if target.endpoint is None:
        with contextlib.suppress(OSError):
            if os.path.getsize(target.file) <= LARGEST_SENT:
                with open(target.file, "rb") as file:
                    return task._replace(target=target._replace(data=file.read()))
    return task

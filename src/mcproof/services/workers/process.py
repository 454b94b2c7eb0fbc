"""A worker process: `python -P -m mcproof.services.workers.process MODULE:FUNCTION`.

Its limits come first on standard input, then jobs; outcomes go to standard output. Jobs are done one after the other,
those of a coroutine function concurrently. The end of input means that the service has ended, however it did: then
this process ends as well, with everything that it has started.
Why there is one kind of worker: docs/decisions/0065-one-worker-process.md.
"""

from __future__ import annotations

import asyncio
import os
import select
import signal
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from functools import cache
from importlib import import_module
from inspect import iscoroutinefunction
from io import BufferedReader
from queue import SimpleQueue
from time import sleep
from typing import IO, TYPE_CHECKING, Any

from mcproof.client.transports.processes import STARTED
from mcproof.core.errors import from_exception
from mcproof.runs.codec import decode, encode
from mcproof.services.workers.confinement import Confinement
from mcproof.services.workers.messages import ERROR, EVENT, OUTCOME, READY, WorkerLimits, frame, read_frame

if TYPE_CHECKING:
    from collections.abc import Callable

MOST_THREADS = 64
"""How many threads concurrent jobs share."""
GRACE = 5
"""Seconds after the limit of a job until the process kills itself, also if the service cannot do it any more."""
_MEMORY_SECONDS = 0.25
# From <sys/prctl.h>: Python has no name for it.
_PR_SET_PDEATHSIG = 1


def imported_function(name: str) -> Callable[..., Any]:
    """Import `module:function`."""
    module, _, attribute = name.partition(":")
    function: Callable[..., Any] = getattr(import_module(module), attribute)
    return function


class _Jobs:
    """A function with the types of its jobs, and where its outcomes go."""

    def __init__(self, name: str, outcomes: IO[bytes]) -> None:
        self.function = imported_function(name)
        # The annotation of the first parameter, which is a name. Those of others may be for type checkers only.
        self._kind: Any = self.function.__globals__[next(iter(self.function.__annotations__.values()))]
        self._outcomes = outcomes

    def send(self, number: int, kind: str, value: Any = None) -> None:
        with suppress(BrokenPipeError):  # the service is gone, and this process about to end
            self._outcomes.write(frame([number, kind, value]))

    def read(self, raw: Any) -> Any:
        return decode(self._kind, raw)

    def do(self, number: int, job: Any) -> None:
        """Do a job; its error is its outcome, since a defect of mcproof fails one job and not the next ones."""
        try:
            outcome = self.function(job, lambda text: self.send(number, EVENT, text))
            self.send(number, OUTCOME, encode(outcome))
        except Exception as error:
            self.send(number, ERROR, str(from_exception(error)))

    async def do_concurrently(self, number: int, job: Any) -> None:
        try:
            self.send(number, OUTCOME, encode(await self.function(job)))
        except Exception as error:
            self.send(number, ERROR, str(from_exception(error)))


def main(name: str) -> None:
    """Do jobs until the input ends."""
    # Without a buffer: a process that forks must not read the job of a fork, nor a fork that of the next one.
    incoming = open(0, "rb", buffering=0, closefd=False)  # noqa: SIM115 (open until the process ends)
    outcomes = os.fdopen(os.dup(1), "wb", buffering=0)
    os.dup2(2, 1)  # what is printed by mistake must not be read as an outcome
    signal.signal(signal.SIGINT, lambda *_: None)  # the service decides; not ignored, since servers would inherit that
    parent = os.getppid()
    _die_with_parent()
    raw = read_frame(incoming)
    # The service may have ended before this process asked to be killed with it.
    if raw is None or os.getppid() != parent:
        return
    limits = decode(WorkerLimits, raw)
    jobs = _Jobs(name, outcomes)
    jobs.send(0, READY)
    if limits.forgets and hasattr(os, "fork"):
        _do_in_forks(jobs, limits, incoming)
        return
    _apply(limits)
    buffered = BufferedReader(incoming)
    if iscoroutinefunction(jobs.function):
        asyncio.run(_do_concurrently(jobs, buffered))
    waiting: SimpleQueue[Any] = SimpleQueue()
    threading.Thread(target=_receive, args=(buffered, waiting.put), daemon=True).start()
    while True:
        number, raw = waiting.get()
        _set_alarm(limits)
        jobs.do(number, jobs.read(raw))
        _set_alarm(None)


def _receive(incoming: IO[bytes], put: Callable[[Any], None]) -> None:
    """Pass jobs on until the end of input."""
    while (job := read_frame(incoming)) is not None:
        put(job)
    _end()


def _end() -> None:
    STARTED.kill_all()
    os._exit(0)


async def _do_concurrently(jobs: _Jobs, incoming: IO[bytes]) -> None:
    """Begin every job at once: the service limits how many there are."""
    loop = asyncio.get_running_loop()
    loop.set_default_executor(ThreadPoolExecutor(MOST_THREADS))
    running: set[asyncio.Task[None]] = set()

    def begin(number: int, raw: Any) -> None:
        task = loop.create_task(jobs.do_concurrently(number, jobs.read(raw)))
        running.add(task)
        task.add_done_callback(running.discard)

    def put(job: Any) -> None:
        loop.call_soon_threadsafe(begin, *job)

    threading.Thread(target=_receive, args=(incoming, put), daemon=True).start()
    await asyncio.Event().wait()


def _do_in_forks(jobs: _Jobs, limits: WorkerLimits, incoming: IO[bytes]) -> None:
    """Do each job in a fork, which reads it itself: this process never has what a stranger has sent.

    A fork takes milliseconds, where a new process takes a second to import mcproof. This process has no threads, which
    a fork would not have.
    """
    while True:
        parent = os.getpid()
        fork = os.fork()
        if not fork:
            _die_with_parent()
            message = read_frame(incoming)
            if message is None or os.getppid() != parent:
                os._exit(1)
            _set_alarm(limits)
            threading.Thread(target=_end_without_service, daemon=True).start()
            number, job = message[0], jobs.read(message[1])
            _apply(limits)
            jobs.do(number, job)
            os._exit(0)
        if os.waitpid(fork, 0)[1] != 0:  # killed by a limit, or the input has ended
            os._exit(1)


def _end_without_service() -> None:
    """End this process when its input is closed, without reading it."""
    if hasattr(select, "poll"):
        waiting = select.poll()
        waiting.register(0, 0)
        waiting.poll()
        _end()


def _apply(limits: WorkerLimits) -> None:
    """Apply the settings that all jobs share."""
    STARTED.guard()
    if limits.memory is not None:
        _limit_memory(limits.memory, may_start_servers=limits.roots is None)
    if limits.roots is not None:
        Confinement(limits).apply()


def _limit_memory(most: int, *, may_start_servers: bool) -> None:
    """Limit the memory of this process; servers would inherit a limit of the system, so then it is watched instead."""
    if may_start_servers:
        threading.Thread(target=_watch_memory, args=(most,), daemon=True).start()
        return
    with suppress(ImportError, OSError, ValueError):  # not every system has these limits
        import resource

        resource.setrlimit(resource.RLIMIT_DATA, (most, most))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


@cache
def limit_memory_once(most: int) -> None:
    """Watch the memory of a process that is not one of ours, such as a worker of Ray, from its first job on."""
    threading.Thread(target=_watch_memory, args=(most,), daemon=True).start()


def _watch_memory(most: int) -> None:
    with suppress(OSError):  # a system without `/proc`
        page = os.sysconf("SC_PAGE_SIZE")
        while True:
            with open("/proc/self/statm", "rb") as file:
                if int(file.read().split()[1]) * page > most:
                    _end()
            sleep(_MEMORY_SECONDS)


def _set_alarm(limits: WorkerLimits | None) -> None:
    """Have this process killed some time after the limit of a job; None for never."""
    if hasattr(signal, "alarm"):
        signal.alarm(0 if limits is None else int(limits.seconds) + GRACE)


def _die_with_parent() -> None:
    """Have Linux kill this process if its parent is killed, whatever keeps the thread that would notice."""
    if sys.platform == "linux":
        import ctypes

        with suppress(OSError, AttributeError):
            ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)


if __name__ == "__main__":
    main(sys.argv[1])

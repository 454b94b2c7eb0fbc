"""A worker process of a sweep: checks captures one after the other, or live servers concurrently.

The sweep writes a plan and lists of tasks to standard input; attempts go to standard output as soon as they are made.
The end of input ends the process, and everything that it has started.
"""

from __future__ import annotations

import asyncio
import gc
import os
import signal
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from queue import SimpleQueue
from typing import IO, TYPE_CHECKING

from mcproof.client.transports.processes import STARTED
from mcproof.services.sweep.check import check_capture, check_live, warm_up
from mcproof.services.workers import read_frame, write_frame

if TYPE_CHECKING:
    from collections.abc import Callable

    from mcproof.services.sweep.check import SweepPlan, SweepTask

READY = "ready"
MOST_THREADS = 64
_PR_SET_PDEATHSIG = 1


def main(kind: str) -> None:
    """Run until the end of input."""
    results = os.fdopen(os.dup(1), "wb", buffering=0)
    os.dup2(2, 1)  # what else is printed must not end up among the results
    signal.signal(signal.SIGINT, lambda *_: None)  # the sweep decides; not ignored, since servers would inherit that
    parent = os.getppid()
    _die_with_parent()
    tasks: SimpleQueue[list[SweepTask]] = SimpleQueue()
    plan = read_frame(sys.stdin.buffer)
    # The sweep may have ended before this process asked to be killed with it.
    if plan is None or os.getppid() != parent:
        return
    gc.disable()  # see `check_target`
    warm_up(plan)
    # All that exists by now lives as long as the process, so no collection needs to look at it.
    gc.freeze()
    write_frame(results, READY)
    if kind == "captures":
        threading.Thread(target=_receive, args=(tasks.put,), daemon=True).start()
        while True:
            for task in tasks.get():
                write_frame(results, (task.number, check_capture(task, plan)))
    STARTED.guard()
    asyncio.run(_check_servers(plan, results))


async def _check_servers(plan: SweepPlan, results: IO[bytes]) -> None:
    """Begin every task at once: the sweep limits how many there are."""
    loop = asyncio.get_running_loop()
    loop.set_default_executor(ThreadPoolExecutor(MOST_THREADS))
    running: set[asyncio.Task[None]] = set()

    async def check(task: SweepTask) -> None:
        write_frame(results, (task.number, await check_live(task, plan)))

    def begin(tasks: list[SweepTask]) -> None:
        for task in tasks:
            started = loop.create_task(check(task))
            running.add(started)
            started.add_done_callback(running.discard)

    reader = threading.Thread(
        target=_receive, args=(lambda tasks: loop.call_soon_threadsafe(begin, tasks),), daemon=True
    )
    reader.start()
    await asyncio.Event().wait()


def _receive(put: Callable[[list[SweepTask]], None]) -> None:
    """Pass tasks on until the end of input; then the sweep has ended, however it did."""
    while (tasks := read_frame(sys.stdin.buffer)) is not None:
        put(tasks)
    STARTED.kill_all()
    os._exit(0)


def _die_with_parent() -> None:
    """Have Linux kill this process if the sweep is killed, whatever keeps the thread that would notice."""
    if sys.platform == "linux":
        import contextlib
        import ctypes

        with contextlib.suppress(OSError, AttributeError):
            ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)


if __name__ == "__main__":
    main(sys.argv[1])

"""Waiting: for a server, with patience and a second look at suspected faults; for the user; and interrupts.

A server that has not responded by its limit gets more time as long as it computes or waits for a CPU. A slow start
or a failed exit, which a busy machine can feign, counts only if a second process shows it too.
Why harm is confirmed: docs/decisions/0034-harm-is-confirmed.md.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import sys
import threading
from collections import deque
from collections.abc import Awaitable, Callable, Coroutine, Iterator, Sequence
from typing import TYPE_CHECKING, Any, Self

from mcproof.client.errors import ConnectError, LostError
from mcproof.core.observations.connection import LINGERING, SLOW_START, ObservedConnection

if TYPE_CHECKING:
    from types import TracebackType

    from mcproof.client.connection import Connection
    from mcproof.client.transports.processes import CpuUsage


GRACE = 5.0
"""Seconds that a process has to exit when it matters whether it does; real servers take up to four."""
LONGER_GRACE = 10.0
"""The same for a second process, which has not been asked for anything."""


async def confirmed(facts: ObservedConnection, connect: Callable[[], Awaitable[Connection]]) -> ObservedConnection:
    """The facts, with a slow start and a failed exit only if a second process shows them too."""
    is_slow = facts.seconds_to_response > SLOW_START
    lingers = facts.ending is not None and facts.ending.how in LINGERING
    if not is_slow and not lingers:
        return facts
    seconds, ending = 0.0, None
    try:
        connection = await connect()
    except (ConnectError, LostError):  # not confirmed
        pass
    else:
        usage = connection.transport.cpu_usage()
        seconds = connection.seconds_to_response - (usage.waited if usage is not None else 0.0)
        ending = await connection.transport.close(LONGER_GRACE if lingers else GRACE)
    return facts._replace(
        seconds_to_response=min(facts.seconds_to_response, seconds) if is_slow else facts.seconds_to_response,
        ending=ending if lingers else facts.ending,
    )


_SIGNALS = ("SIGINT", "SIGTERM", "SIGHUP", "SIGQUIT")


class Interruptible:
    """Runs jobs in an event loop until they are done or a signal cancels them."""

    def __init__(self, runner: asyncio.Runner | None = None) -> None:
        self._runner = runner
        """The event loop to use, if it must survive one run."""
        self.is_interrupted = False
        """Whether a signal has arrived; set before the jobs are cancelled."""

    def run(self, *jobs: Callable[[], Coroutine[Any, Any, None]]) -> bool:
        """Run jobs concurrently; False if a signal cancelled them. An error in one cancels the others."""
        try:
            if self._runner is not None:
                self._runner.run(self._run(jobs))
            else:
                asyncio.run(self._run(jobs))
        except KeyboardInterrupt:  # before or after the handlers were installed
            self.is_interrupted = True
        return not self.is_interrupted

    async def _run(self, jobs: Sequence[Callable[[], Coroutine[Any, Any, None]]]) -> None:
        tasks = [asyncio.create_task(job()) for job in jobs]

        def interrupt() -> None:
            self.is_interrupted = True
            for task in tasks:
                task.cancel()

        with _on_signals(interrupt):
            await _done(tasks)


async def all_of(*jobs: Callable[[], Coroutine[Any, Any, None]]) -> None:
    """Run jobs concurrently in the current event loop; an error in one cancels the others."""
    await _done([asyncio.create_task(job()) for job in jobs])


async def _done(tasks: list[asyncio.Task[None]]) -> None:
    """Wait for tasks, of which some may be cancelled; an error in one cancels the others."""
    try:
        if tasks:
            await asyncio.wait(tasks, return_when=asyncio.FIRST_EXCEPTION)
    finally:
        for task in tasks:
            if not task.done():
                task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
    for task in tasks:
        if not task.cancelled():
            task.result()


@contextlib.contextmanager
def _on_signals(interrupt: Callable[[], None]) -> Iterator[None]:
    """Call `interrupt` on every signal that asks the process to end.

    A second signal cancels the cleanup of the first, so that servers are killed without a grace period.
    """
    loop = asyncio.get_running_loop()
    handled = []
    for name in _SIGNALS:
        # Not on Windows, and not outside the main thread.
        with contextlib.suppress(AttributeError, NotImplementedError, RuntimeError, ValueError):
            number = getattr(signal, name)
            before = signal.getsignal(number)
            if before in (None, signal.SIG_IGN):  # ignored by `nohup`
                continue
            loop.add_signal_handler(number, interrupt)
            handled.append((number, before))
    try:
        yield
    finally:
        for number, before in handled:
            loop.remove_signal_handler(number)
            signal.signal(number, before)


@contextlib.contextmanager
def raising_on_signals() -> Iterator[None]:
    """Raise KeyboardInterrupt on every signal that asks the process to end, while no event loop runs.

    Without it, SIGTERM would end this process without closing the servers that it has started.
    """
    handled = []
    for name in _SIGNALS:
        # Not on Windows, and not outside the main thread.
        with contextlib.suppress(AttributeError, ValueError):
            number = getattr(signal, name)
            before = signal.getsignal(number)
            if before in (None, signal.SIG_IGN):
                continue
            signal.signal(number, signal.default_int_handler)
            handled.append((number, before))
    try:
        yield
    finally:
        for number, before in handled:
            signal.signal(number, before)


CPU_FACTOR = 3.0
"""How many times its time limit a server may compute, in CPU seconds."""
HARD_FACTOR, HARD_LEAST = 10.0, 60.0
"""How many times its time limit, and how many seconds at least, a server that computes is waited for."""
_IDLE = 0.05
"""The share of a CPU that a waiting server uses at most, for timers and the like."""
_STARVED = 0.25
"""The share of the time that a server on a busy machine waits for a CPU, at least."""
_WINDOW = 1.0
"""The seconds over which the usage is looked at."""


class PatientTimeout:
    """Like `asyncio.timeout`, but patient with a server that is computing."""

    def __init__(self, seconds: float, usual: float, usage: Callable[[], CpuUsage | None]) -> None:
        self._seconds = seconds
        self._cpu_limit = CPU_FACTOR * usual
        self._hard_limit = max(HARD_FACTOR * usual, HARD_LEAST, seconds)
        self._window = min(_WINDOW, usual / 4)
        self._usage = usage
        self._loop = asyncio.get_running_loop()
        self._scope = asyncio.timeout(None)
        self._start = self._loop.time()
        self._handle = self._loop.call_later(seconds, self._check)
        # Looking takes milliseconds, so the start is measured only if the limit is longer than usual, and else assumed
        # to be as bad as possible: that the server has computed all the time.
        self._first = usage() if seconds > usual else None
        self._before = 0.0 if seconds > usual else seconds
        self._last: CpuUsage | None = None
        self.is_computing = False
        """Whether the server was still computing when its CPU time was used up."""
        self.is_undecided = False
        """Whether the machine was too busy to find out."""

    async def __aenter__(self) -> Self:
        await self._scope.__aenter__()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._handle.cancel()
        await self._scope.__aexit__(kind, error, trace)

    def _check(self) -> None:
        """Expire, or check again later."""
        now = self._usage()
        if now is None:
            self._expire()
            return
        self._first = first = self._first or now
        last, self._last = self._last, now
        if self._before + now.used - first.used >= self._cpu_limit:
            self.is_computing = True
            self._expire()
        elif last is not None and now.used - last.used + now.waited - last.waited <= _IDLE * self._window:
            self._expire()
        elif self._loop.time() - self._start >= self._hard_limit:
            self.is_undecided = now.waited - first.waited > _STARVED * (self._hard_limit - self._seconds)
            self._expire()
        else:
            self._handle = self._loop.call_later(self._window, self._check)

    def _expire(self) -> None:
        self._scope.reschedule(self._loop.time())


class _TypedLines:
    """The lines that the user types; one thread of the process reads them, whichever event loop waits for one."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._early: deque[str] = deque()
        """Lines for which nothing waits yet."""
        self._waiting: tuple[asyncio.AbstractEventLoop, asyncio.Future[str]] | None = None
        self._is_reading = False

    async def next(self) -> str:
        loop = asyncio.get_running_loop()
        line: asyncio.Future[str] = loop.create_future()
        with self._lock:
            if self._early:
                return self._early.popleft()
            self._waiting = loop, line
            if not self._is_reading:
                self._is_reading = True
                threading.Thread(target=self._read, daemon=True).start()
        return await line

    def _read(self) -> None:
        """Read lines until the program ends; a terminal goes on after the end of its input."""
        while True:
            try:
                # Not through `sys.stdin`, whose lock would delay the end of the program.
                line = os.read(sys.stdin.fileno(), 65_536).decode(errors="replace")
            except (OSError, ValueError):
                line = ""
            with self._lock:
                waiting, self._waiting = self._waiting, None
                if waiting is None:
                    self._early.append(line)
                else:
                    with contextlib.suppress(RuntimeError):  # its event loop is closed
                        waiting[0].call_soon_threadsafe(_set_unless_done, waiting[1], line)
                if not line:
                    self._is_reading = False
                    return


def _set_unless_done(future: asyncio.Future[str], line: str) -> None:
    if not future.done():
        future.set_result(line)


_typed_lines = _TypedLines()


async def typed_line() -> str:
    """The next line that the user types; empty at the end of the input.

    A thread reads it, since the event loop must go on and an interrupt must not wait.
    """
    return await _typed_lines.next()

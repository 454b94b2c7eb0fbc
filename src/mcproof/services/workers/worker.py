"""The side of the service: start a worker process, send it jobs, and kill it when one takes too long.

A process is started when there is a job for it, and again after it was killed.
Why there is one kind of worker: docs/decisions/0065-one-worker-process.md.
"""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from queue import Empty, SimpleQueue
from threading import Lock, Thread
from time import monotonic
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from mcproof.core.errors import McproofError
from mcproof.runs.codec import decode, encode
from mcproof.services.workers.messages import ERROR, EVENT, OUTCOME, READY, WorkerLimits, frame, read_frame

if TYPE_CHECKING:
    from collections.abc import Callable

Job = TypeVar("Job")
Outcome = TypeVar("Outcome")

START_SECONDS = 120.0
"""The longest wait for a process that starts, which imports everything first; no job has begun before."""
_CLOSE_SECONDS = 5.0
"""Seconds until a process whose input has ended must have ended, too."""


class WorkerError(McproofError):
    """A job has no outcome; the message is that of the error that it raised."""


class OverdueError(WorkerError):
    """A job took longer than its limit."""


class LostError(WorkerError):
    """The process ended before its job: it was killed, by a limit or by `close`, or cannot start."""


class WorkerProcess:
    """A running process. Its messages go to `receive`, in a thread; None is the last one."""

    def __init__(self, function: str, limits: WorkerLimits, receive: Callable[[Any], None]) -> None:
        # `-P` keeps the modules of the working directory, which is a stranger's project, from being imported. In a
        # session of its own: Ctrl-C is for the service, and a server that kills the process group of its parent ends
        # neither the service nor its other workers.
        self._popen = subprocess.Popen(  # noqa: S603 (our own program)
            [sys.executable, "-P", "-m", "mcproof.services.workers.process", function],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
        Thread(target=self._read, args=(receive,), daemon=True).start()
        self._write(encode(limits))

    @property
    def exit_code(self) -> int | None:
        """None while it runs."""
        return self._popen.poll()

    def send(self, *jobs: tuple[int, Any]) -> None:
        """Send jobs, each with the number that messages about it have."""
        self._write(*([number, encode(job)] for number, job in jobs))

    def _write(self, *messages: Any) -> None:
        assert self._popen.stdin is not None  # noqa: S101
        with suppress(OSError, ValueError):  # it has ended, which its last message tells
            for message in messages:
                self._popen.stdin.write(frame(message))
            self._popen.stdin.flush()

    def _read(self, receive: Callable[[Any], None]) -> None:
        assert self._popen.stdout is not None  # noqa: S101
        with suppress(OSError, ValueError), self._popen.stdout as stream:
            while (message := read_frame(stream)) is not None:
                receive(message)
        receive(None)

    def end(self) -> None:
        """End its input, which ends it and everything that it has started."""
        assert self._popen.stdin is not None  # noqa: S101
        with suppress(OSError):
            self._popen.stdin.close()

    def kill(self) -> None:
        """Kill it; the watchdog ends the servers that it has started."""
        if self._popen.poll() is None:
            with suppress(ProcessLookupError):
                # With the fork that does its job, which is in the same group.
                os.killpg(self._popen.pid, signal.SIGKILL) if os.name == "posix" else self._popen.kill()

    def wait(self, seconds: float = _CLOSE_SECONDS) -> None:
        """Wait for its end; kill it if that takes longer."""
        try:
            self._popen.wait(max(0.0, seconds))
        except subprocess.TimeoutExpired:
            self.kill()
            self._popen.wait()
        self.end()


class Worker(Generic[Job, Outcome]):
    """Runs `module:function` on jobs in a process of its own, one at a time.

    The function gets a job and a function that sends an event, a text, while it works.
    """

    def __init__(self, function: str, _: type[Job], outcome: type[Outcome], limits: WorkerLimits) -> None:
        self.limits = limits
        self._function = function
        self._outcome = outcome
        self._process: _Process | None = None
        self._lock = Lock()
        self._is_closed = False

    def run(self, job: Job, on_event: Callable[[str], None] = lambda _: None) -> Outcome:
        """Do a job. Raises a WorkerError, and an OSError if no process can be started."""
        return self._exchange(self._started(), job, on_event)

    async def run_in_thread(self, job: Job) -> Outcome:
        """Do a job while the event loop does other work. Cancelling it kills the process."""
        process = self._started()  # here, so that there is one to kill whenever this is cancelled
        try:
            return await asyncio.to_thread(self._exchange, process, job, lambda _: None)
        except asyncio.CancelledError:
            self._stop(process)  # a late outcome would be that of another job
            raise

    def close(self) -> None:
        """Kill the process; jobs fail from now on."""
        self._is_closed = True
        if (process := self._process) is not None:
            self._stop(process)

    def _started(self) -> _Process:
        with self._lock:
            if self._is_closed:
                raise LostError("the service is stopping")
            if self._process is not None and self._process.exit_code is not None:
                self._process.wait()  # closes the pipe to it, too
                self._process = None
            if self._process is None:
                self._process = _Process(self._function, self.limits)
            return self._process

    def _stop(self, process: _Process) -> None:
        with self._lock:
            if self._process is process:
                self._process = None
        process.kill()
        process.wait()

    def _exchange(self, process: _Process, job: Job, on_event: Callable[[str], None]) -> Outcome:
        is_done = False
        try:
            if not process.is_ready:
                process.is_ready = process.next(START_SECONDS)[1] == READY
            # The time of a job does not include the start of the process, which may take a second.
            end = monotonic() + self.limits.seconds
            process.send((1, job))
            while True:
                _, kind, value = process.next(end - monotonic())
                if kind == EVENT:
                    on_event(value)
                    continue
                is_done = True
                if kind == ERROR:
                    raise WorkerError(value)
                assert kind == OUTCOME  # noqa: S101
                return decode(self._outcome, value)
        finally:
            if not is_done or (self.limits.forgets and not hasattr(os, "fork")):
                self._stop(process)


class WorkerPool(Generic[Job, Outcome]):
    """Workers that run one function on several jobs at once, and the threads that wait for them."""

    def __init__(self, function: str, job: type[Job], outcome: type[Outcome], most: int) -> None:
        self._kind = function, job, outcome
        self._most = most
        self._lock = Lock()
        self._threads: ThreadPoolExecutor | None = None
        self._idle: list[Worker[Job, Outcome]] = []
        self._workers: list[Worker[Job, Outcome]] = []
        self._is_closed = False

    @property
    def threads(self) -> ThreadPoolExecutor:
        """The threads for jobs, as many as run at once; other jobs wait."""
        # Threads that stay: Linux kills a worker with the thread that has started it.
        if self._threads is None:
            self._threads = ThreadPoolExecutor(self._most, thread_name_prefix="worker")
        return self._threads

    def run(self, job: Job, limits: WorkerLimits, on_event: Callable[[str], None] = lambda _: None) -> Outcome:
        """Do a job, in a thread of the pool. Raises a WorkerError."""
        worker = self._free_worker(limits)
        try:
            return worker.run(job, on_event)
        finally:
            with self._lock:
                self._idle.append(worker)

    def _free_worker(self, limits: WorkerLimits) -> Worker[Job, Outcome]:
        """Return a worker that has nothing to do: the one that was used last, so that few are started."""
        with self._lock:
            if self._idle:
                return self._idle.pop()
            self._workers.append(Worker(*self._kind, limits))
            if self._is_closed:
                self._workers[-1].close()
            return self._workers[-1]

    def close(self) -> None:
        """End all processes and threads; jobs fail from now on."""
        with self._lock:
            self._is_closed = True
            workers = list(self._workers)
        for worker in workers:
            worker.close()
        if self._threads is not None:
            self._threads.shutdown(cancel_futures=True)


class _Process(WorkerProcess):
    """A process whose messages are queued until they are read."""

    def __init__(self, function: str, limits: WorkerLimits) -> None:
        self.is_ready = False
        self._messages: SimpleQueue[Any] = SimpleQueue()
        super().__init__(function, limits, self._messages.put)

    def next(self, seconds: float) -> Any:
        """Return the next message. Raises a WorkerError if there is none in time, or none any more."""
        try:
            message = self._messages.get(timeout=max(0.0, seconds))
        except Empty:
            raise OverdueError("not done in time") from None
        if message is None:
            raise LostError("the process ended before it was done")
        return message

"""Interruptible work: a signal cancels it cleanly, keeps what was found and leaves no process running."""

from __future__ import annotations

import asyncio
import contextlib
import signal
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine, Iterator, Sequence


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

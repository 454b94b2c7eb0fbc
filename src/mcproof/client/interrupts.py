"""Work that an interrupt ends in order: what was found is kept, and nothing is left running."""

from __future__ import annotations

import asyncio
import contextlib
import signal
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine, Iterator, Sequence


_SIGNALS = ("SIGINT", "SIGTERM", "SIGHUP", "SIGQUIT")


class Interruptible:
    """Work that goes on until it is done, or until the user wants to stop."""

    def __init__(self, runner: asyncio.Runner | None = None) -> None:
        self._runner = runner
        """The event loop to use, if it must survive one run."""
        self.is_interrupted = False
        """Whether the user wanted to stop; known to the work itself as soon as it is so."""

    def run(self, *jobs: Callable[[], Coroutine[Any, Any, None]]) -> bool:
        """Do these jobs at once, where an error in one ends the others; whether no interrupt came first."""
        try:
            if self._runner is not None:
                self._runner.run(self._run(jobs))
            else:
                asyncio.run(self._run(jobs))
        except KeyboardInterrupt:  # before or after the signals were ours
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
    """Do these jobs at once, as a part of work that minds interrupts; an error in one ends the others."""
    await _done([asyncio.create_task(job()) for job in jobs])


async def _done(tasks: list[asyncio.Task[None]]) -> None:
    """Wait for tasks of which any may have been cancelled; an error in one ends the others."""
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
    """Let Ctrl-C and a request to terminate cancel tasks, which then leave nothing running.

    Asked again, they do not wait for servers to end by themselves any more.
    """
    loop = asyncio.get_running_loop()
    handled = []
    for name in _SIGNALS:
        # Not on Windows, and not outside the main thread.
        with contextlib.suppress(AttributeError, NotImplementedError, RuntimeError, ValueError):
            number = getattr(signal, name)
            before = signal.getsignal(number)
            if before in (None, signal.SIG_IGN):  # as `nohup` wants it
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

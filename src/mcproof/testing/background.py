"""An event loop in a background thread, for synchronous tests and tests that run in another event loop."""

from __future__ import annotations

import asyncio
import atexit
import threading
from typing import TYPE_CHECKING, Any, TypeVar

from mcproof.testing.last_signals import handle_signals

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine

T = TypeVar("T")


class Background:
    """Runs coroutines in a background event loop, until closed or the process exits.

    `cleanup` runs on close; its argument is whether an interrupt occurred, in which case it should be quick.
    """

    def __init__(self, cleanup: Callable[[bool], Coroutine[Any, Any, None]]) -> None:
        self.is_closed = False
        self._cleanup = cleanup
        self._is_interrupted = False
        self._lock = threading.Lock()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread: threading.Thread | None = None
        self._running: set[asyncio.Task[Any]] = set()

    def run(self, work: Coroutine[Any, Any, T]) -> T:
        """Run a coroutine and wait for its result; an interrupt cancels it."""
        future = asyncio.run_coroutine_threadsafe(self._tracked(work), self._started())
        try:
            return future.result()
        except BaseException as error:
            if not isinstance(error, Exception):
                self._is_interrupted = True
            future.cancel()
            raise

    async def _tracked(self, work: Coroutine[Any, Any, T]) -> T:
        task = asyncio.current_task()
        assert task is not None  # noqa: S101
        self._running.add(task)
        try:
            return await work
        finally:
            self._running.discard(task)

    def _started(self) -> asyncio.AbstractEventLoop:
        with self._lock:
            if self._loop is None:
                self._loop = asyncio.new_event_loop()
                # A daemon thread: a non-daemon thread would keep an aborted test run alive.
                self._thread = threading.Thread(target=self._loop.run_forever, name="mcproof", daemon=True)
                self._thread.start()
                atexit.register(self.close)
                handle_signals()
            return self._loop

    def close(self) -> None:
        """Cancel running work, clean up, and stop the loop."""
        loop, thread = self._loop, self._thread
        if self.is_closed or loop is None or thread is None:
            self.is_closed = True
            return
        self.is_closed = True
        atexit.unregister(self.close)
        try:
            self._shut_down(loop)
        finally:
            loop.call_soon_threadsafe(loop.stop)
            thread.join()
            loop.close()

    def _shut_down(self, loop: asyncio.AbstractEventLoop) -> None:
        future = asyncio.run_coroutine_threadsafe(self._tracked(self._finish()), loop)
        try:
            future.result()
        except KeyboardInterrupt:  # clean up again, quickly
            self._is_interrupted = True
            future.cancel()
            asyncio.run_coroutine_threadsafe(self._tracked(self._finish()), loop).result()
            raise

    async def _finish(self) -> None:
        others = self._running - {asyncio.current_task()}
        for task in others:
            task.cancel()
        await asyncio.gather(*others, return_exceptions=True)
        await self._cleanup(self._is_interrupted)
        await asyncio.get_running_loop().shutdown_asyncgens()

"""An event loop in a thread of its own, for tests that have none, or are in the middle of one."""

from __future__ import annotations

import asyncio
import atexit
import threading
from typing import TYPE_CHECKING, Any, TypeVar

from mcproof.testing.last_signals import mind_signals

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine

T = TypeVar("T")


class Background:
    """Does work in an event loop, one caller at a time or several; ends with the process at the latest.

    Ending is work as well, and is told whether an interrupt came: then there is no time to be patient.
    """

    def __init__(self, ending: Callable[[bool], Coroutine[Any, Any, None]]) -> None:
        self.is_closed = False
        self._ending = ending
        self._is_interrupted = False
        self._lock = threading.Lock()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread: threading.Thread | None = None
        self._under_way: set[asyncio.Task[Any]] = set()

    def run(self, work: Coroutine[Any, Any, T]) -> T:
        """Do something and wait until it is done; an interrupt ends it."""
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
        self._under_way.add(task)
        try:
            return await work
        finally:
            self._under_way.discard(task)

    def _started(self) -> asyncio.AbstractEventLoop:
        with self._lock:
            if self._loop is None:
                self._loop = asyncio.new_event_loop()
                # A daemon: were it waited for, a test run that ends in a hurry would never end.
                self._thread = threading.Thread(target=self._loop.run_forever, name="mcproof", daemon=True)
                self._thread.start()
                atexit.register(self.close)
                mind_signals()
            return self._loop

    def close(self) -> None:
        """End what is under way, then what was started, then the loop; an interrupt makes that quick."""
        loop, thread = self._loop, self._thread
        if self.is_closed or loop is None or thread is None:
            self.is_closed = True
            return
        self.is_closed = True
        atexit.unregister(self.close)
        try:
            self._end(loop)
        finally:
            loop.call_soon_threadsafe(loop.stop)
            thread.join()
            loop.close()

    def _end(self, loop: asyncio.AbstractEventLoop) -> None:
        future = asyncio.run_coroutine_threadsafe(self._tracked(self._ended()), loop)
        try:
            future.result()
        except KeyboardInterrupt:  # not so patiently, then
            self._is_interrupted = True
            future.cancel()
            asyncio.run_coroutine_threadsafe(self._tracked(self._ended()), loop).result()
            raise

    async def _ended(self) -> None:
        others = self._under_way - {asyncio.current_task()}
        for task in others:
            task.cancel()
        await asyncio.gather(*others, return_exceptions=True)
        await self._ending(self._is_interrupted)
        await asyncio.get_running_loop().shutdown_asyncgens()

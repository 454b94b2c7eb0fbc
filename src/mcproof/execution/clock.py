"""The time of a run, and interrupts at its end."""

from __future__ import annotations

from contextlib import contextmanager
from time import gmtime, perf_counter, strftime
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator


class Clock:
    """When a run started, and how long it has taken."""

    def __init__(self) -> None:
        self.started = strftime("%Y-%m-%dT%H:%M:%SZ", gmtime())
        """In UTC."""
        self._start = perf_counter()

    @property
    def seconds(self) -> float:
        return perf_counter() - self._start


@contextmanager
def interrupts_deferred() -> Iterator[list[object]]:
    """Defer interrupts until the block ends; yield the list of those that arrive."""
    import signal

    arrived: list[object] = []
    try:
        before = signal.signal(signal.SIGINT, lambda *_: arrived.append(None))
    except ValueError:  # not the main thread, the only one that is interrupted
        yield arrived
        return
    try:
        yield arrived
    finally:
        signal.signal(signal.SIGINT, before)

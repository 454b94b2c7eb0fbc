"""Limits on work that do not depend on how busy the machine is."""

from __future__ import annotations

import signal
import sys
import threading
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from types import FrameType

    from _typeshed import TraceFunction

HANG = 300
"""Seconds after which a call or a process hangs; nothing takes that long, even on a busy machine."""
ENDLESS = 60
"""CPU seconds after which a computation is endless; none of the tests needs a tenth of it."""


class HangError(BaseException):
    """A call did not end. Not an `Exception`, which the code under test may catch."""


@contextmanager
def hang_limit(seconds: float = HANG) -> Iterator[None]:
    """Raise HangError if the block takes longer than this, by the clock."""
    with _alarm(signal.SIGALRM, signal.ITIMER_REAL, seconds):
        yield


@contextmanager
def cpu_limit(seconds: float = ENDLESS) -> Iterator[None]:
    """Raise HangError if the block computes longer than this; other processes do not count."""
    with _alarm(signal.SIGPROF, signal.ITIMER_PROF, seconds):
        yield


@contextmanager
def _alarm(number: signal.Signals, timer: int, seconds: float) -> Iterator[None]:
    def stop(*_: object) -> None:
        raise HangError(f"not finished after {seconds} s")

    if threading.current_thread() is not threading.main_thread():  # signals are for the main thread
        yield
        return
    before = signal.signal(number, stop)
    signal.setitimer(timer, seconds)
    try:
        yield
    finally:
        signal.setitimer(timer, 0)
        signal.signal(number, before)


def steps_of(work: Callable[[], object]) -> int:
    """Count the lines of Python that a call executes: a measure of work that is the same on every machine."""
    steps = 0

    def count(frame: FrameType, event: str, argument: Any) -> TraceFunction:
        nonlocal steps
        steps += event == "line"
        return count

    before = sys.gettrace()
    sys.settrace(count)
    try:
        work()
    finally:
        sys.settrace(before)
    return steps


def assert_linear(work: Callable[[int], object], size: int = 100) -> None:
    """Check that four times the size is at most five times the work."""
    work(size)  # fills caches and imports modules
    small, large = steps_of(lambda: work(size)), steps_of(lambda: work(4 * size))
    assert large <= 5 * small, f"{small:,} steps for {size}, {large:,} for {4 * size}"

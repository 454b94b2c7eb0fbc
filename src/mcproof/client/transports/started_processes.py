"""The processes that mcproof has started, known by a mark in their environment that their children inherit."""

from __future__ import annotations

import contextlib
import os
import signal
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

MARK = "MCPROOF_SERVER"
"""The environment variable that holds the mark."""


class StartedProcesses:
    """What was started and has not ended yet, by mark."""

    def __init__(self) -> None:
        self._kill: dict[str, Callable[[], None]] = {}

    def add(self, mark: str, kill: Callable[[], None] = lambda: None) -> None:
        """Register what is started with a mark, and how to kill it directly."""
        self._kill[mark] = kill

    def kill(self, mark: str) -> None:
        """Kill every process with this mark, also those that have left the process group."""
        self._kill.pop(mark, None)
        _kill_marked(mark)

    def kill_all(self) -> None:
        """Kill everything, from any thread, before mcproof itself has to end."""
        for mark, kill in list(self._kill.items()):
            kill()
            _kill_marked(mark)


STARTED = StartedProcesses()
"""All that this process has started. Global, because signal handlers need it."""


def _kill_marked(mark: str) -> None:
    """Kill by environment, which only systems with `/proc` show."""
    wanted = f"{MARK}={mark}".encode()
    try:
        numbers = [int(name) for name in os.listdir("/proc") if name.isdigit()]
    except OSError:
        return
    for number in numbers:
        with contextlib.suppress(OSError):
            with open(f"/proc/{number}/environ", "rb") as environment:
                is_marked = wanted in environment.read(1_000_000).split(b"\0")
            if is_marked and number != os.getpid():
                os.kill(number, signal.SIGKILL)

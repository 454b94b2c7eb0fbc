"""What ends a process without asking, as a CI job that is cancelled does: servers are ended with it.

Only where nobody else minds the signal, and only in the process that has started the servers, not in a fork of it.
"""

from __future__ import annotations

import contextlib
import os
import signal
import threading
from typing import TYPE_CHECKING

from mcproof.client.transports.started import STARTED

if TYPE_CHECKING:
    from types import FrameType

_NAMES = ("SIGTERM", "SIGHUP")
_owner: int | None = None
"""The process that the signals are minded in."""


def mind_signals() -> None:
    """Let a signal that ends this process end all servers first."""
    global _owner  # noqa: PLW0603 (signals are the whole process's)
    if threading.current_thread() is not threading.main_thread():
        return  # where Python does not let one
    for name in _NAMES:
        number = getattr(signal, name, None)  # not on Windows
        if number is not None and signal.getsignal(number) == signal.SIG_DFL:
            with contextlib.suppress(OSError, ValueError):
                signal.signal(number, _end)
                _owner = os.getpid()


def _end(number: int, _: FrameType | None) -> None:
    """End the servers, and then this process as it would have ended."""
    if os.getpid() == _owner:
        STARTED.kill_all()
    signal.signal(number, signal.SIG_DFL)
    os.kill(os.getpid(), number)

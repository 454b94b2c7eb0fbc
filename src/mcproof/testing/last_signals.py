"""End servers when a signal terminates the process, as in a cancelled CI job.

Only for signals without another handler, and only in the process that started the servers, not in its forks.
"""

from __future__ import annotations

import contextlib
import os
import signal
import threading
from typing import TYPE_CHECKING

from mcproof.client.transports.processes import STARTED

if TYPE_CHECKING:
    from types import FrameType

_NAMES = ("SIGTERM", "SIGHUP")
_owner: int | None = None
"""The process that installed the handlers."""


def handle_signals() -> None:
    """End all servers before a signal terminates this process."""
    global _owner  # noqa: PLW0603 (signal handlers are process-wide)
    if threading.current_thread() is not threading.main_thread():
        return  # Python allows signal handlers only in the main thread
    for name in _NAMES:
        number = getattr(signal, name, None)  # not on Windows
        if number is not None and signal.getsignal(number) == signal.SIG_DFL:
            with contextlib.suppress(OSError, ValueError):
                signal.signal(number, _end)
                _owner = os.getpid()


def _end(number: int, _: FrameType | None) -> None:
    """End the servers, then let the default handler end this process."""
    if os.getpid() == _owner:
        STARTED.kill_all()
    signal.signal(number, signal.SIG_DFL)
    os.kill(os.getpid(), number)

"""The processes that mcproof has started, and the CPU time that they use.

A mark in their environment, which children inherit, identifies them. The console script also guards them: a
watchdog kills them if mcproof is killed, and on Linux their orphans become children of mcproof. A program that
imports mcproof has children of its own, so neither is done there.
"""

from __future__ import annotations

import contextlib
import os
import signal
import sys
import time
from collections.abc import Callable
from typing import IO

from mcproof.client.transports import watchdog
from mcproof.core.named_tuple import NamedTuple

_NANOSECOND = 1e-9


class CpuUsage(NamedTuple):
    """What the processes of a server have got from the machine so far, in seconds."""

    used: float
    """CPU time, including that of children that have ended."""
    waited: float
    """Time in which threads were ready to run but had no CPU."""


def cpu_usage(leader: int) -> CpuUsage | None:
    """The usage of all processes in the session of a process; None if it cannot be seen."""
    try:
        numbers = [name for name in os.listdir("/proc") if name.isdigit()]
        tick = 1 / os.sysconf("SC_CLK_TCK")
    except (OSError, ValueError):  # a system without `/proc`
        return None
    used = waited = 0.0
    is_seen = False
    for number in numbers:
        with contextlib.suppress(OSError, ValueError, IndexError):
            with open(f"/proc/{number}/stat", "rb") as file:
                fields = file.read().rpartition(b")")[2].split()  # the name in parentheses may contain anything
            if int(fields[3]) == leader:
                used += sum(map(int, fields[11:15])) * tick
                waited += _waited(number)
                is_seen = True
    return CpuUsage(used, waited) if is_seen else None


def _waited(number: str) -> float:
    """How long the threads of a process have waited for a CPU; 0 if the kernel does not count it."""
    waited = 0.0
    with contextlib.suppress(OSError):
        for thread in os.listdir(f"/proc/{number}/task"):
            with (
                contextlib.suppress(OSError, ValueError, IndexError),
                open(f"/proc/{number}/task/{thread}/schedstat", "rb") as file,
            ):
                waited += int(file.read().split()[1]) * _NANOSECOND
    return waited


MARK = "MCPROOF_SERVER"
"""The environment variable that holds the mark."""
# From <sys/prctl.h>: Python has no name for it.
_PR_SET_CHILD_SUBREAPER = 36
_ADOPTED_LIMIT = 2.0
"""Seconds for ending adopted processes, which may start others meanwhile."""


class StartedProcesses:
    """What was started and has not ended yet, by mark."""

    def __init__(self) -> None:
        self._kill: dict[str, Callable[[], None]] = {}
        self._own: set[int] = set()
        """The ids of all children that mcproof has started itself."""
        self._is_guarded = False
        self._adopts = False
        """Whether orphans among the descendants become children of mcproof."""
        self._watchdog: IO[bytes] | None = None
        self._is_ending = False

    def guard(self) -> None:
        """Guard all processes that are started from now on; for a process that has no other children."""
        self._is_guarded = True

    def expect(self, mark: str) -> None:
        """Prepare for a process that is about to be started with a mark.

        Until it is added or given up, it may be a child that is not registered yet, and is not taken for an orphan.
        Raises an OSError after `kill_all`.
        """
        if self._is_ending:
            raise OSError("mcproof is ending")
        self._kill[mark] = lambda: None
        if self._is_guarded:
            if not self._own:
                self._adopts = _adopt_orphans()
                self._start_watchdog()
            self._notify(f"+ {mark}")

    def add(self, mark: str, kill: Callable[[], None] = lambda: None, process: int | None = None) -> None:
        """Register what is started with a mark, and how to kill it directly."""
        self._kill[mark] = kill
        if process is not None:
            self._own.add(process)
            self._notify(f"+ {mark} {process}")

    def give_up(self, mark: str) -> None:
        """Expect a process with this mark no longer, because it could not be started."""
        self._kill.pop(mark, None)

    def kill(self, mark: str, *, has_ended: bool = False) -> None:
        """Kill every process with this mark, also those that have left the process group.

        If the first of them has ended and no other server runs, all that are left are children of mcproof or
        descendants of those, so the environments of all processes of the machine need not be read.
        """
        self._kill.pop(mark, None)
        is_last = self._is_guarded and not self._kill
        if not (is_last and has_ended and self._adopts):
            watchdog.kill_marked(mark.encode())
        if is_last:  # else it may be another server's
            self._kill_adopted()
        self._notify(f"- {mark}")

    def kill_all(self) -> None:
        """Kill everything, from any thread, before mcproof itself has to end; nothing is started from then on."""
        self._is_ending = True
        for mark, kill in list(self._kill.items()):
            kill()
            watchdog.kill_marked(mark.encode())
        if self._is_guarded:
            self._kill_adopted()

    def _start_watchdog(self) -> None:
        """Start the watchdog; without it, only SIGKILL of mcproof leaves a server behind."""
        import subprocess

        if os.name != "posix":
            return
        with contextlib.suppress(OSError):
            process = subprocess.Popen(  # noqa: S603 (our own program)
                [sys.executable, "-I", "-S", watchdog.__file__],
                stdin=subprocess.PIPE,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                start_new_session=True,
            )
            self._own.add(process.pid)
            self._watchdog = process.stdin

    def _notify(self, line: str) -> None:
        if self._watchdog is not None:
            with contextlib.suppress(OSError, ValueError):
                self._watchdog.write(f"{line}\n".encode())
                self._watchdog.flush()

    def _kill_adopted(self) -> None:
        """Kill the orphans that became children of mcproof, and their descendants, which do in turn."""
        end = time.monotonic() + _ADOPTED_LIMIT
        while (adopted := [number for number in _children() if number not in self._own]) and time.monotonic() < end:
            for number in adopted:
                with contextlib.suppress(OSError):
                    os.kill(number, signal.SIGKILL)
            time.sleep(0.01)
            for number in adopted:
                with contextlib.suppress(OSError):
                    os.waitpid(number, os.WNOHANG)


STARTED = StartedProcesses()
"""All that this process has started. Global, because signal handlers need it."""


def _adopt_orphans() -> bool:
    """Make orphans among the descendants children of this process; return whether this worked. Only Linux can."""
    if sys.platform == "linux":
        import ctypes

        with contextlib.suppress(OSError, AttributeError):
            return int(ctypes.CDLL(None).prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)) == 0
    return False


def _children() -> list[int]:
    """The ids of this process's children, where `/proc` shows them."""
    own = str(os.getpid()).encode()
    children = []
    with contextlib.suppress(OSError):
        for name in os.listdir("/proc"):
            if name.isdigit():
                with contextlib.suppress(OSError, IndexError), open(f"/proc/{name}/stat", "rb") as file:
                    if file.read().rpartition(b")")[2].split()[1] == own:
                        children.append(int(name))
    return children

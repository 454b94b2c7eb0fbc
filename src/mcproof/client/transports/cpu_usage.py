"""The CPU time of a server and its children, where the system has `/proc`."""

from __future__ import annotations

import contextlib
import os
from typing import NamedTuple

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
    except (OSError, ValueError):
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

"""Clocks: CPU and wall time, the best of several rounds, and the peak memory of a process."""

from __future__ import annotations

import json
import os
import pathlib
import resource
import subprocess
import sys
import time
from typing import TYPE_CHECKING, NamedTuple, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

MCPROOF = str(pathlib.Path(sys.executable).parent / "mcproof")
_MONITORED = str(pathlib.Path(__file__).with_name("monitored_run.py"))

Entry = TypeVar("Entry")


class Spent(NamedTuple):
    """Time in seconds. CPU time includes processes that were started and have ended."""

    cpu: float
    wall: float

    def __sub__(self, earlier: Spent) -> Spent:
        return Spent(self.cpu - earlier.cpu, self.wall - earlier.wall)

    def least(self, other: Spent) -> Spent:
        """Return the lesser of each clock."""
        return Spent(min(self.cpu, other.cpu), min(self.wall, other.wall))


NEVER = Spent(float("inf"), float("inf"))


def now() -> Spent:
    children = resource.getrusage(resource.RUSAGE_CHILDREN)
    return Spent(time.process_time() + children.ru_utime + children.ru_stime, time.perf_counter())


def best_of(rounds: int, *actions: Callable[[], object]) -> list[Spent]:
    """Return the least time of each action, taken in turns so that a busy moment affects all alike.

    Results are freed outside the timer.
    """
    best = [NEVER] * len(actions)
    for _ in range(rounds):
        for number, action in enumerate(actions):
            start = now()
            result = action()
            best[number] = best[number].least(now() - start)
            del result
    return best


def best_of_each(rounds: int, entries: Sequence[Entry], *actions: Callable[[Entry], object]) -> list[Spent]:
    """Return, for each action, the sum of the least times of all entries.

    The results of a round are kept until it ends, as a command keeps them, and freed outside the timer.
    """
    best = [[NEVER] * len(entries) for _ in actions]
    for _ in range(rounds):
        for action, least in zip(actions, best, strict=True):
            kept = []
            for number, entry in enumerate(entries):
                start = now()
                kept.append(action(entry))
                least[number] = least[number].least(now() - start)
            del kept
    return [Spent(*map(sum, zip(*least, strict=True))) for least in best]


def run(*command: str) -> None:
    """Run a command as it runs where it is installed: with compiled modules."""
    subprocess.run(command, check=False, env=_environment(), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


class Monitored(NamedTuple):
    """The cost of one run of mcproof, without the start of Python."""

    seconds: float
    """CPU time."""
    peak: int
    """Peak memory in bytes."""
    child_peak: int = 0
    """The same of its largest child; 0 if it has none."""


def monitored(*arguments: str, cwd: pathlib.Path | None = None) -> Monitored:
    """Run mcproof once in a process that reports its own cost."""
    command = [sys.executable, _MONITORED, *arguments]
    done = subprocess.run(command, check=True, capture_output=True, text=True, env=_environment(), cwd=cwd)
    return Monitored(**json.loads(done.stderr.splitlines()[-1]))


def _environment() -> dict[str, str]:
    return {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}

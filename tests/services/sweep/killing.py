"""Sweeps that are killed at random moments and started again."""

from __future__ import annotations

import contextlib
import os
import random
import signal
import subprocess
import time
from typing import TYPE_CHECKING

from client.running import processes
from limits import HANG

from .sweeping import rows, start, sweep, write_captures

if TYPE_CHECKING:
    from pathlib import Path

WORKER = "mcproof.services.sweep.check:check_"


def kill_rounds(folder: Path, *, captures: int, kills: int, seed: int, options: tuple[str, ...] = ()) -> int:
    """Kill a sweep again and again, let it finish, and check its results. Returns how many kills hit it."""
    chance = random.Random(seed)  # noqa: S311
    write_captures(folder / "captures", captures)
    words = ("captures", *options)
    before = _done(folder)
    hits = 0
    span = 1.0
    for _ in range(kills):
        started = time.monotonic()
        running = start(*words, cwd=folder)
        try:
            # From the start of Python to the middle of the work; a sweep that is further on gets less time.
            running.wait(chance.uniform(0.05, span))
        except subprocess.TimeoutExpired:
            hits += 1
        with contextlib.suppress(ProcessLookupError):
            os.killpg(running.pid, signal.SIGKILL)
        running.wait(HANG)
        done = _done(folder)
        span = 1.0 if done > before else 2 * (time.monotonic() - started) + 0.5  # a busy machine is slow to start
        before = done
    finished = sweep(*words, cwd=folder)
    assert finished.returncode == 0, finished
    assert f"{captures:,} targets: {captures:,} checked\n" in finished.stdout
    found = rows(folder / "sweep.jsonl")
    assert sorted(row["server"]["name"] for row in found) == sorted(f"library {number}" for number in range(captures))
    return hits


def _done(folder: Path) -> int:
    with contextlib.suppress(OSError):
        return (folder / "sweep.jsonl").read_bytes().count(b"\n")
    return 0


def workers_of(folder: Path) -> list[str]:
    """The worker processes whose current folder this is."""
    found = []
    for line in processes(WORKER):
        with contextlib.suppress(OSError):
            if os.readlink(f"/proc/{line.partition(':')[0]}/cwd") == str(folder):
                found.append(line)
    return found

"""Sweeps under fire: killed and resumed, with servers of every kind, few open files, and no process left."""

from __future__ import annotations

import os
import signal
import time
from typing import TYPE_CHECKING

import pytest

from client.running import assert_nothing_is_left, processes
from limits import HANG

from .fleet import running_fleet
from .killing import kill_rounds, workers_of
from .sweeping import outcomes, sleeper, start, sweep_with_few_files, write_list

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.slow
def test_every_target_is_in_the_results_once_after_kills(tmp_path: Path) -> None:
    assert kill_rounds(tmp_path, captures=2_000, kills=3, seed=5) > 0


@pytest.mark.slow
def test_a_fleet_of_servers_with_few_open_files(tmp_path: Path, marker: str) -> None:
    with running_fleet(20, marker) as expected:
        words = ("--allow-commands", "--retries", "0", "--timeout", "8", "--per-host", "8")
        done = sweep_with_few_files(write_list(tmp_path / "fleet.txt", expected), *words, cwd=tmp_path)
    assert done.returncode == 0, done
    assert outcomes(tmp_path / "sweep.jsonl") == expected
    assert_nothing_is_left(marker)


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM, signal.SIGINT])
def test_no_worker_and_no_server_outlives_the_sweep(tmp_path: Path, marker: str, number: signal.Signals) -> None:
    source = write_list(tmp_path / "list.txt", [f"{sleeper()} {marker}"])
    running = start(source, "--allow-commands", cwd=tmp_path)
    end = time.monotonic() + HANG
    while not processes(marker) and time.monotonic() < end:
        time.sleep(0.02)
    assert workers_of(tmp_path)
    os.kill(running.pid, number)
    code = running.wait(HANG)
    assert code == (-signal.SIGKILL if number == signal.SIGKILL else 130)
    assert_nothing_is_left(marker)
    while workers_of(tmp_path) and time.monotonic() < end:
        time.sleep(0.02)
    assert not workers_of(tmp_path)

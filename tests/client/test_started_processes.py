"""The processes that mcproof has started: which of them are killed, and when."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from mcproof.client.transports import processes
from mcproof.client.transports.processes import StartedProcesses


@pytest.fixture
def started(monkeypatch: pytest.MonkeyPatch) -> StartedProcesses:
    """Guarded processes, without a watchdog."""
    monkeypatch.setattr(processes, "_adopt_orphans", lambda: True)
    monkeypatch.setattr(StartedProcesses, "_start_watchdog", lambda _: None)
    guarded = StartedProcesses()
    guarded.guard()
    return guarded


def test_the_end_of_a_server_does_not_kill_one_that_is_being_started(
    started: StartedProcesses, monkeypatch: pytest.MonkeyPatch
) -> None:
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as child:
        monkeypatch.setattr(processes, "_children", lambda: [child.pid])
        started.expect("first")
        started.add("first", process=0)
        started.expect("second")  # the child exists, but is not added yet
        started.kill("first", has_ended=True)
        assert child.poll() is None
        started.give_up("second")
        child.communicate(b"\n")
        assert child.returncode == 0


def test_an_orphan_is_killed_with_the_last_server(started: StartedProcesses, monkeypatch: pytest.MonkeyPatch) -> None:
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as orphan:
        listed = iter([[orphan.pid], []])
        monkeypatch.setattr(processes, "_children", lambda: next(listed))
        started.expect("first")
        started.add("first", process=0)
        started.kill("first", has_ended=True)
        with pytest.raises(ProcessLookupError):
            os.kill(orphan.pid, 0)

"""No process is left running: after success, failures, timeouts and interrupts."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from mcproof.client import waiting
from mcproof.client.capture import Capture, OpenServer
from mcproof.client.connect import ConnectOptions
from mcproof.client.transports import stdio
from servers import driver

from .running import PATIENT, assert_nothing_is_left, children, command, outcome

if TYPE_CHECKING:
    from pathlib import Path

    from mcproof.client.connection import Limits

LIMIT = 30.0


@pytest.mark.slow
@pytest.mark.parametrize(
    ("fault", "limits", "is_captured"),
    [
        ("good", PATIENT, True),
        ("grandchild", PATIENT, True),
        ("grandchild-and-exit", PATIENT, False),
        ("grandchild-and-hang", PATIENT._replace(start=0.5), False),
        ("exit-at-start", PATIENT, False),
        ("exit-mid-answer", PATIENT, True),
        ("dies-of-unknown", PATIENT, True),
        ("hang-at-start", PATIENT._replace(start=0.5), False),
        ("hang-on-list", PATIENT._replace(request=0.3), True),
        ("hang-on-list", PATIENT._replace(total=0.5), False),
        ("ignores-eof", PATIENT, True),
        ("ignores-sigterm", PATIENT, True),
        ("stubborn", PATIENT._replace(request=0.3), True),
        ("stubborn", PATIENT._replace(total=0.5), False),
        ("never-reads", PATIENT, True),
        ("endless-flood", PATIENT._replace(total=0.5), False),
        ("refuses-initialize", PATIENT, False),
        ("modern-other-revision", PATIENT, False),
    ],
)
def test_no_process_outlives_its_connection(
    fault: str, limits: Limits, is_captured: bool, marker: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(stdio, "GRACE", 0.2)
    monkeypatch.setattr(waiting, "GRACE", 0.2)
    monkeypatch.setattr(waiting, "LONGER_GRACE", 0.2)
    before = children()
    assert isinstance(outcome(command(fault, marker), limits), Capture) is is_captured
    assert children() == before
    assert_nothing_is_left(marker)


class Driver:
    """Another process that asks servers, each of which says through a pipe when it hangs or is done."""

    def __init__(self, grace: float, faults: list[str], marker: str, folder: Path) -> None:
        self.pipes = [folder / str(place) for place in range(len(faults))]
        for pipe in self.pipes:
            os.mkfifo(pipe)
        self.process = subprocess.Popen(
            [sys.executable, "-W", "error", driver.__file__, str(grace), str(folder), *faults, marker],
            env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def __enter__(self) -> Driver:
        return self

    def __exit__(self, *_: object) -> None:
        self.process.kill()
        self.process.communicate()

    def wait_until_servers_hang(self) -> None:
        for pipe in self.pipes:
            assert pipe.read_text(encoding="utf-8") == "ready"

    def output(self) -> str:
        """All that it prints, when it has ended as it should."""
        output, errors = self.process.communicate(timeout=LIMIT)
        assert (self.process.returncode, errors) == (0, "")
        return output


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_signal_ends_every_server_and_keeps_what_was_there(
    number: signal.Signals, marker: str, tmp_path: Path
) -> None:
    faults = ["good", "stubborn", "hang-at-start", "grandchild-and-hang"]
    with Driver(0.3, faults, marker, tmp_path) as started:
        started.wait_until_servers_hang()
        started.process.send_signal(number)
        assert started.output() == "captured\nNone\nNone\nNone\ninterrupted: True\nchildren: []\n"
    assert_nothing_is_left(marker)


def test_a_second_interrupt_does_not_wait_for_servers_that_do_not_end(marker: str, tmp_path: Path) -> None:
    with Driver(2 * LIMIT, ["stubborn"], marker, tmp_path) as started:
        started.wait_until_servers_hang()
        started.process.send_signal(signal.SIGINT)
        started.wait_until_servers_hang()  # now because its input was closed
        started.process.send_signal(signal.SIGINT)
        assert started.output() == "None\ninterrupted: True\nchildren: []\n"
    assert_nothing_is_left(marker)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_a_signal_between_two_steps_of_a_command_ends_the_server(number: signal.Signals) -> None:
    """No event loop runs then, so nothing else would close the process."""
    with OpenServer(command("ignores-eof"), ConnectOptions(PATIENT), 1.0) as server:
        server.capture()
        assert len(children()) == 1
        with pytest.raises(KeyboardInterrupt):
            os.kill(os.getpid(), number)
    assert children() == []
    assert signal.getsignal(number) == signal.SIG_DFL


ESCAPE = """
import os, sys, time
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        os.execve(sys.executable, [sys.executable, "-c", "import time; time.sleep(600)", {marker!r}], {{}})
    os._exit(0)
os.wait()
time.sleep(0.2)
"""


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="only Linux lets a process adopt orphans")
def test_the_program_ends_a_daemon_that_has_left_session_and_environment(marker: str) -> None:
    server = [sys.executable, "-c", ESCAPE.format(marker=marker)]
    done = subprocess.run(
        [sys.executable, "-m", "mcproof", "lint", "--", *server], capture_output=True, timeout=LIMIT, check=False
    )
    assert done.returncode == 2
    assert_nothing_is_left(marker)


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="signals of POSIX")
def test_killing_the_program_ends_a_server_that_ignores_the_end_of_its_input(marker: str, tmp_path: Path) -> None:
    pipe = tmp_path / "ready"
    os.mkfifo(pipe)
    script = f"import time; open({str(pipe)!r}, 'w').close(); time.sleep(600)"
    program = subprocess.Popen([sys.executable, "-m", "mcproof", "lint", "--", sys.executable, "-c", script, marker])
    pipe.read_bytes()  # the server runs
    program.kill()
    program.wait(LIMIT)
    assert_nothing_is_left(marker)

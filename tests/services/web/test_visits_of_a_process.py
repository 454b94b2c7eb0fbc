"""`mcproof serve` as a process: visits from the command line that starts it, and nothing left when it stops."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
from contextlib import contextmanager
from time import sleep
from typing import TYPE_CHECKING

import httpx2
import pytest

from cli.running import fails
from servers.web import FAULTS, Web

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

SECONDS = 120
"""The longest wait for a process, on a busy machine."""


@contextmanager
def serving(folder: Path, *options: str) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """A service in a process group of its own, and its address."""
    command = [sys.executable, "-m", "mcproof", "serve", "--port", "0", "--database", str(folder / "store.sqlite")]
    process = subprocess.Popen([*command, *options], stderr=subprocess.PIPE, text=True, start_new_session=True)
    try:
        assert process.stderr is not None
        for line in process.stderr:
            if found := re.search(r"http://127\.0\.0\.1:\d+", line):
                break
        assert found is not None
        yield process, found[0]
    finally:
        process.kill()
        process.wait(SECONDS)
        assert process.stderr is not None
        process.stderr.close()


def is_empty(group: int) -> bool:
    """Whether no process of a group is left, after those that are about to end."""
    for _ in range(SECONDS * 20):
        try:
            os.killpg(group, 0)
        except ProcessLookupError:
            return True
        sleep(0.05)
    return False


@pytest.mark.slow
def test_a_server_on_this_machine_is_checked_only_if_its_network_is_allowed(tmp_path: Path) -> None:
    with (
        Web() as server,
        FAULTS["hang"]() as hanging,
        serving(tmp_path, "--allow-network", "127.0.0.1") as (
            process,
            address,
        ),
    ):
        checked = httpx2.post(f"{address}/api/v1/lint", json={"url": server.url}, timeout=SECONDS)
        assert checked.status_code == 201
        assert checked.json()["target"] == server.url
        refused = httpx2.post(f"{address}/api/v1/lint", json={"url": server.url.replace(".1:", ".2:")}, timeout=SECONDS)
        assert refused.status_code == 422
        started = httpx2.post(f"{address}/lint", data={"url": hanging.url}, timeout=SECONDS)
        assert started.status_code == 303
        while not hanging.requests:
            sleep(0.05)
        process.send_signal(signal.SIGTERM)
        assert process.wait(SECONDS) is not None
        assert is_empty(process.pid)


@pytest.mark.slow
def test_nothing_is_left_of_a_service_that_is_killed(tmp_path: Path) -> None:
    with serving(tmp_path) as (process, address):
        catalog = {"tools": [{"name": "a", "description": "b", "inputSchema": {"type": "object"}}]}
        assert httpx2.post(f"{address}/api/v1/grade", content=json.dumps(catalog), timeout=SECONDS).status_code == 200
        process.kill()
        process.wait(SECONDS)
        assert is_empty(process.pid)


@pytest.mark.parametrize("network", ["everything", "10.0.0.1/8", "127.0.0.0/33", ""])
def test_a_network_is_checked(network: str, tmp_path: Path) -> None:
    message = fails("serve", "--allow-network", network, "--database", str(tmp_path / "store.sqlite"))
    assert f"`{network}` is not a network" in message

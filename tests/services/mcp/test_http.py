"""The server over Streamable HTTP, in a process of its own."""

from __future__ import annotations

import json
import logging
import re
import subprocess
from typing import TYPE_CHECKING

import httpx2
import pytest

from cli.running import CLEAN_TOOL, fails, write
from mcproof.services.mcp.server import SafeLog

from .served import COMMAND, HANDSHAKE, STATELESS, agent_of

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

PING = {"jsonrpc": "2.0", "id": 1, "method": "ping"}
ACCEPT = {"accept": "application/json, text/event-stream"}


@pytest.fixture(scope="module")
def url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    folder: Path = tmp_path_factory.mktemp("http")
    write(folder / "tools.json", {"tools": [CLEAN_TOOL]})
    command = [*COMMAND, "--http", "127.0.0.1:0"]
    with subprocess.Popen(command, cwd=folder, stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr is not None
        line = process.stderr.readline()
        found = re.search(r"serving MCP at (http://127\.0\.0\.1:\d+/mcp); readable: (.*)$", line)
        assert found is not None, line
        assert found[2] == str(folder.resolve())
        yield found[1]
        process.terminate()
        process.wait(20)


@pytest.mark.parametrize("mode", [HANDSHAKE, STATELESS])
def test_the_sdk_connects_in_both_eras(url: str, mode: str) -> None:
    with agent_of(url, mode=mode) as served:
        assert served.document("grade_catalog", target="tools.json")["grade"] == "A"
        assert "outside the allowed folders" in served.error("grade_catalog", target="/etc/passwd")


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({"host": "evil.example.com"}, 421),
        ({"host": "127.0.0.1:1"}, 421),
        ({"origin": "https://evil.example.com"}, 403),
        ({"origin": "null"}, 403),
        ({"origin": "http://localhost:1"}, 403),
        ({"content-type": "text/plain"}, 400),
    ],
)
def test_requests_of_web_pages_are_refused(url: str, headers: dict[str, str], status: int) -> None:
    response = httpx2.post(url, json=PING, headers={**ACCEPT, **headers})
    assert response.status_code == status


def test_a_body_that_is_too_large_is_refused(url: str) -> None:
    body = json.dumps({**PING, "params": {"x": "x" * (16 * 1024 * 1024)}})
    headers = {**ACCEPT, "content-type": "application/json"}
    assert httpx2.post(url, content=body, headers=headers).status_code == 413


@pytest.mark.parametrize(
    ("address", "message"),
    [
        ("0.0.0.0:80", "--http serves this machine only, without authorization"),
        ("192.168.0.1:80", "--http serves this machine only"),
        (":80", "--http serves this machine only"),
        ("127.0.0.1", "`127.0.0.1` is not HOST:PORT"),
        ("127.0.0.1:99999", "`127.0.0.1:99999` is not HOST:PORT"),
    ],
)
def test_only_this_machine_is_served(address: str, message: str) -> None:
    assert message in fails("mcp", "--http", address)


def test_a_port_in_use_is_reported(url: str) -> None:
    address = url.removeprefix("http://").removesuffix("/mcp")
    assert f"cannot listen at {address}: address already in use" in fails("mcp", "--http", address)


def test_a_root_must_exist() -> None:
    assert "absent: not a folder; --root names a folder that may be read" in fails("mcp", "--root", "absent")


def test_without_the_sdk_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "mcproof.services.mcp.server", None)
    assert "`mcp` needs more packages: `pip install 'mcproof[mcp]'`" in fails("mcp")


def test_what_libraries_log_is_escaped(capsys: pytest.CaptureFixture[str]) -> None:
    record = logging.makeLogRecord(
        {"msg": "Invalid Host header: %s", "args": ("\x1b[31mevil\n::error::x" + "y" * 999,)}
    )
    SafeLog().emit(record)
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith("mcproof: Invalid Host header: \\x1b[31mevil\\n::error::xyyy")
    assert len(line) < 600

"""The official SDK as a second opinion: its authorization server, and its check of the resource of a token."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from cli.running import run
from servers import raw

if TYPE_CHECKING:
    from collections.abc import Iterator

SERVER = str(Path(raw.__file__).with_name("sdk_guarded.py"))


@pytest.fixture
def url() -> Iterator[str]:
    with subprocess.Popen([sys.executable, SERVER], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as process:
        assert process.stdout is not None
        yield f"http://127.0.0.1:{int(process.stdout.readline())}/mcp"
        process.kill()


@pytest.mark.slow
def test_a_server_of_the_sdk_accepts_the_login_and_the_refresh(url: str, visited: list[str], state: Path) -> None:
    done = run("call", url, "find_book", "title=roses", "--login")
    assert done.returncode == 0, done.stderr
    assert "roses" in done.stdout
    (file,) = state.iterdir()
    stored = json.loads(file.read_text())
    assert stored["granted"] == "books"
    file.write_text(json.dumps({**stored, "expires_at": 1.0}))
    again = run("call", url, "find_book", "title=tulips")
    assert again.returncode == 0, again.stderr
    assert json.loads(file.read_text())["value"] != stored["value"]
    assert len(visited) == 1

"""Python source on the command line: read like any other target."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from .running import CLEAN_TOOL, fails, run

if TYPE_CHECKING:
    from pathlib import Path

SERVER = '''
from fastmcp import FastMCP
mcp = FastMCP("x")
@mcp.tool
def add(a: int, b: int) -> int:
    """Adds."""
'''


def test_a_file_is_captured(tmp_path: Path) -> None:
    file = tmp_path / "server.py"
    file.write_text(SERVER)
    (tool,) = json.loads(run("capture", str(file)).stdout)["tools"]
    assert tool["name"] == "add"
    assert tool["inputSchema"]["required"] == ["a", "b"]


def test_a_folder_is_captured_as_one_catalog(tmp_path: Path) -> None:
    (tmp_path / "one.py").write_text(SERVER)
    (tmp_path / "two.py").write_text("from one import mcp\n@mcp.tool\ndef more(): ...\n")
    captured = json.loads(run("capture", str(tmp_path)).stdout)
    assert [tool["name"] for tool in captured["tools"]] == ["add", "more"]


def test_a_capture_of_source_is_judged_like_the_source(tmp_path: Path) -> None:
    (tmp_path / "server.py").write_text(SERVER)
    (tmp_path / "captured.json").write_text(run("capture", str(tmp_path)).stdout)
    rules = [
        [finding["rule"] for finding in json.loads(run("lint", "--format", "json", str(target)).stdout)["findings"]]
        for target in (tmp_path / "server.py", tmp_path / "captured.json")
    ]
    assert rules[0] == rules[1] != []


def test_a_folder_with_snapshots_only_is_read_as_before(tmp_path: Path) -> None:
    (tmp_path / "a.json").write_text(json.dumps([CLEAN_TOOL]))
    (tmp_path / "unrelated.py").write_text("print('hello')\n")
    assert run("lint", str(tmp_path)).returncode == 0


def test_source_without_a_server_is_nothing_to_check(tmp_path: Path) -> None:
    (tmp_path / "server.py").write_text("print('hello')\n")
    assert "nothing to check" in fails("lint", str(tmp_path / "server.py"))
    assert "nothing to check" in fails("lint", str(tmp_path))


def test_source_that_does_not_parse_says_where(tmp_path: Path) -> None:
    (tmp_path / "server.py").write_text("from fastmcp import FastMCP\ndef f(:\n")
    assert "server.py:2:7: is no valid Python" in fails("lint", str(tmp_path / "server.py"))


def test_a_file_that_is_not_there_cannot_be_read(tmp_path: Path) -> None:
    assert "cannot be read" in fails("lint", str(tmp_path / "nowhere.py"))

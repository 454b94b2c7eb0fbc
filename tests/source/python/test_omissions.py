"""Omissions are reported with their location."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from mcproof.cli.main import main
from mcproof.source.python import entry_points
from mcproof.source.python.pipeline import discover

from .sources import found, names, write

if TYPE_CHECKING:
    from pathlib import Path

SERVER = """
import os
from fastmcp import FastMCP
mcp = FastMCP("demo")
def f(): ...
"""
LINES = SERVER.count("\n")
NO_NAME = "the name of a tool is not known statically, so it is not checked"


def reported(folder: Path, text: str, **files: str) -> list[tuple[int | None, str]]:
    """The omissions in a server with this code; lines count from its start."""
    result = found(folder, SERVER + text, **files)
    return [(each.line and each.line - LINES, each.what) for each in result.omissions]


@pytest.mark.parametrize(
    "registration",
    [
        'mcp.tool(name=os.environ["PREFIX"] + "_p")(f)',
        "mcp.add_tool(os.unheard_of())",
        'mcp.add_tool(f, name=os.environ["NAME"])',
        "either = f if os.environ.get('X') else (lambda: 1)\nmcp.add_tool(either)",
        "for each in os.listdir():\n    mcp.tool(name=each)(f)",
        'for each in range(2_500):\n    mcp.tool(name=f"n{each}")(f)',
    ],
)
def test_a_tool_with_an_unknown_name_is_reported(registration: str, tmp_path: Path) -> None:
    assert reported(tmp_path, registration) == [(1 + registration.count("\n"), NO_NAME)]


def test_a_listed_tool_with_an_unknown_name_is_reported(tmp_path: Path) -> None:
    text = """
import os
from mcp.server import Server
from mcp.types import Tool
server = Server("x")
@server.list_tools()
async def listed():
    return [
        Tool(name="a", inputSchema={}),
        Tool(name=os.environ["P"] + "_p", inputSchema={}),
    ]
"""
    result = found(tmp_path, text)
    assert names(result) == ["a"]
    assert [(each.line, each.what) for each in result.omissions] == [(10, NO_NAME)]
    assert "tools" in result.incomplete_lists


def test_an_unknown_list_is_reported(tmp_path: Path) -> None:
    text = """
from elsewhere import more
from mcp.server import Server
from mcp.types import Tool
server = Server("x")
@server.list_tools()
async def listed():
    return [Tool(name="a", inputSchema={}), *more()]
"""
    result = found(tmp_path, text)
    (omission,) = result.omissions
    assert (omission.line, omission.what.partition(",")[0]) == (7, "the contents of this list are not known statically")


def test_resources_prompts_and_mounted_servers_are_reported(tmp_path: Path) -> None:
    text = (
        'mcp.resource(os.environ["URI"])(f)\nmcp.prompt(name=os.environ["P"])(f)\n'
        'sub = FastMCP("sub")\nmcp.mount(sub, prefix=os.environ["P"])\n'
    )
    assert {line: what.partition(" is not")[0] for line, what in reported(tmp_path, text)} == {
        1: "the URI of a resource",
        2: "the name of a prompt",
        4: "the prefix of a mounted server",
    }


def test_many_omissions_are_reported_together(tmp_path: Path) -> None:
    text = "mcp.tool(name=os.environ['A'])(f)\n" * 5
    assert reported(tmp_path, text) == [
        (1, "the names of 5 tools are not known statically, so they are not checked; this is the first")
    ]


def test_known_items_are_not_reported(tmp_path: Path) -> None:
    assert (
        reported(
            tmp_path, 'mcp.tool()(f)\nmcp.tool(name="x" + "y")(f)\nfor each in "ab":\n    mcp.tool(name=each)(f)\n'
        )
        == []
    )


def test_a_long_loop_is_reported_if_it_registers_something(tmp_path: Path) -> None:
    text = 'many = [str(each) for each in range(1500)]\nmany += ["x" + each for each in many]\n'
    register = "for each in many:\n    mcp.tool(name=each)(f)\n"
    assert reported(tmp_path / "one", text + register) == [
        (3, "this code does too much to follow, so not all that it serves is checked")
    ]
    assert reported(tmp_path / "two", f"{text}mcp.tool()(f)\nfor each in many:\n    print(each)\n") == []


def test_a_slow_part_is_reported(tmp_path: Path) -> None:
    text = "mcp.tool()(f)\nfor a in range(999):\n    for b in range(999):\n        print(a, b)\n"
    result = found(tmp_path, SERVER + text)
    assert [each.what.partition(",")[0] for each in result.omissions] == ["this code takes too long to follow"]
    assert "tools" in result.incomplete_lists


def test_too_many_entry_points_are_reported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(entry_points, "MOST_ENTRIES", 2)
    text = "".join(f"def r{each}():\n    mcp.tool(name='t{each}')(f)\n" for each in range(3))
    assert reported(tmp_path, text) == [(5, "this code does too much to follow, so not all that it serves is checked")]


def test_only_omissions_of_the_target_file_are_reported(tmp_path: Path) -> None:
    files = {"a.py": SERVER + "mcp.tool()(f)\n", "b.py": SERVER + "mcp.tool(name=os.environ['A'])(f)\n"}
    write(tmp_path, files)
    assert not discover(str(tmp_path / "a.py")).omissions
    assert discover(str(tmp_path)).omissions


def test_lint_reports_omissions_as_a_notice(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = write(tmp_path, {"a.py": SERVER + "mcp.tool()(f)\nmcp.tool(name=os.environ['A'])(f)\n"}) / "a.py"
    main(["lint", str(file), "--format", "json"])
    out, err = capsys.readouterr()
    notice = {"kind": "not-checked", "message": NO_NAME, "file": str(file), "line": LINES + 2, "level": "note"}
    assert json.loads(out)["notices"] == [notice]
    assert f"{file}:{LINES + 2}: {NO_NAME}" in err


def test_capture_reports_omissions_beside_the_catalog(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = write(tmp_path, {"a.py": SERVER + "mcp.tool()(f)\nmcp.tool(name=os.environ['A'])(f)\n"}) / "a.py"
    assert main(["capture", str(file)]) == 0
    out, err = capsys.readouterr()
    assert [each["name"] for each in json.loads(out)["tools"]] == ["f"]
    assert NO_NAME in err


def test_an_omission_explains_an_empty_catalog(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = write(tmp_path, {"a.py": SERVER + "mcp.tool(name=os.environ['A'])(f)\n"}) / "a.py"
    assert main(["lint", str(file)]) == 2
    assert f"{file}:{LINES + 1}: nothing to check: {NO_NAME}" in capsys.readouterr().err

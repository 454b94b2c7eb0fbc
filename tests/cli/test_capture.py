"""`mcproof capture`: a catalog saved from any target is judged like the target itself."""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING

import pytest

from client.running import RAW, SDK

from .running import CLEAN_TOOL, FAULTY_TOOL, fails, run, run_bytes, run_process_bytes, write
from .serving import GOOD, config, entry, findings, raw, serve

if TYPE_CHECKING:
    from pathlib import Path

SERVERS = {
    "demo": ("--", sys.executable, "-m", "mcproof.demo.server"),
    "sdk": ("--", sys.executable, SDK),
    **{fault: raw(fault) for fault in ("good", "pages", "modern", "odd-tools", "garbage-between", "nan", "surrogate")},
}


ONLY_LIVE = ("CMP-064", "SPEC-204", "SPEC-205", "SPEC-206", "SPEC-207", "SPEC-208")
"""Rules about how a list is served, which a capture does not show."""


@pytest.mark.slow
@pytest.mark.parametrize("server", SERVERS)
def test_a_capture_is_judged_like_its_server(tmp_path: Path, server: str) -> None:
    file = str(tmp_path / "captured.json")
    done = run("capture", "-o", file, *SERVERS[server])
    assert done.returncode == 0, done
    assert done.stdout == ""
    for command in ("lint", "grade", "schema-lint") if server in ("demo", "pages") else ("lint",):
        live = run(command, "--format", "json", *SERVERS[server])
        later = run(command, "--format", "json", file)
        assert [each for each in findings(live) if each[0] not in ONLY_LIVE] == findings(later)
        if command == "grade":
            assert json.loads(live.stdout)["score"] == json.loads(later.stdout)["score"]


def test_a_capture_goes_to_standard_output_or_to_a_file(tmp_path: Path) -> None:
    file = tmp_path / "captured.json"
    done = run("capture", "-o", str(file), *GOOD)
    assert done.stderr == f"mcproof: {file}: 2 tools captured\n"
    assert run_bytes("capture", *GOOD).stdout == file.read_bytes()
    assert list(tmp_path.iterdir()) == [file]


def test_standard_output_is_utf8_whatever_the_terminal_is(tmp_path: Path) -> None:
    snapshot = write(tmp_path / "tools.json", [{**CLEAN_TOOL, "description": "Café 🍰"}])
    done = run_process_bytes("capture", snapshot, env={"PYTHONIOENCODING": "ascii", "PYTHONUTF8": "0"})
    assert json.loads(done.stdout)["tools"][0]["description"] == "Café 🍰"


def test_a_snapshot_and_standard_input_are_captured(tmp_path: Path) -> None:
    tools = [CLEAN_TOOL, FAULTY_TOOL]
    expected = {"tools": tools}
    assert json.loads(run("capture", write(tmp_path / "tools.json", tools)).stdout) == expected
    assert json.loads(run("capture", "-", stdin=json.dumps({"result": {"tools": tools}})).stdout) == expected


@pytest.mark.parametrize("around", ["{}", '{{"result": {}}}'])
def test_a_capture_of_a_snapshot_keeps_what_python_cannot_write(around: str) -> None:
    page = '{"tools": [{"name": "a", "name": "b", "inputSchema": {"max": 1e999, "x": "\\ud800"}}], "nextCursor": "c"}'
    assert run("capture", "-", stdin=around.format(page)).stdout == f"{page}\n"


def test_an_address_and_a_configured_server_are_captured(tmp_path: Path) -> None:
    configured = config(tmp_path, here=entry("good"))
    started = json.loads(run("capture", f"{configured}#here").stdout)
    with serve("json") as server:
        reached = json.loads(run("capture", server.url).stdout)
    assert started.pop("server") == {"command": [*RAW, "good"]}
    assert reached.pop("server") == {"url": server.url}
    assert started == reached


def test_a_file_that_cannot_be_written_is_told_before_the_server_is_started(tmp_path: Path) -> None:
    mark = tmp_path / "mark"
    start = ("--", "touch", str(mark))
    assert "is a folder" in fails("capture", "-o", str(tmp_path), *start)
    assert "there is no folder" in fails("capture", "-o", str(tmp_path / "missing" / "x.json"), *start)
    assert not mark.exists()


def test_a_capture_does_not_replace_the_configuration_that_names_the_server(tmp_path: Path) -> None:
    configured = config(tmp_path, here=entry("good"))
    assert "is what is read" in fails("capture", f"{configured}#here", "-o", configured)
    assert "mcpServers" in (tmp_path / ".mcp.json").read_text(encoding="utf-8")


def test_a_server_that_fails_leaves_the_file_as_it_was(tmp_path: Path) -> None:
    file = tmp_path / "captured.json"
    file.write_text("before", encoding="utf-8")
    fails("capture", "-o", str(file), *raw("exit-at-start"))
    assert file.read_text(encoding="utf-8") == "before"


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ((), "nothing to capture"),
        (("--all", "x.json"), "--all names several servers"),
        (("x.json", *GOOD), "expected one target, got 2"),
        (("examples/tool-schema-lint",), "is a folder"),
    ],
)
def test_a_capture_is_of_one_target(words: tuple[str, ...], said: str) -> None:
    assert said in fails("capture", *words)


def test_a_dash_is_standard_output(tmp_path: Path) -> None:
    write(tmp_path / "tools.json", [CLEAN_TOOL])
    plain, dash = (run("capture", "tools.json", *words, cwd=tmp_path) for words in ((), ("-o", "-")))
    assert (dash.returncode, dash.stdout) == (0, plain.stdout)
    assert [path.name for path in tmp_path.iterdir()] == ["tools.json"]

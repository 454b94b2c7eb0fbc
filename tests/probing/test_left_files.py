"""Files that calls leave behind are findings, unless every program leaves such files."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from .running import mcproof, small_server, tool

if TYPE_CHECKING:
    from pathlib import Path

TOOLS = [tool("read", text={"type": "string"}), tool("add_entry", text={"type": "string"})]
COMMANDS = (("prove",), ("check",), ("fuzz", "--cases", "20"))


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def left(*words: str, file: str = "calls.txt") -> list[dict[str, Any]]:
    """The findings about files after calls of a server that appends to one at each call."""
    done = mcproof(*words, "--format", "json", "--env", f"CALLED={file}", *small_server(TOOLS))
    return [finding for finding in done.document["findings"] if finding["rule"] == "WIR-038"]


@pytest.mark.parametrize("command", COMMANDS)
def test_a_file_that_a_call_creates_is_a_finding(command: tuple[str, ...]) -> None:
    (found,) = left(*command)
    assert found["message"] == "calls have created 1 file: `calls.txt`"
    assert (found["level"], found["evidence"]) == ("warning", {"files": ["calls.txt"]})


def test_a_file_that_a_call_changes_is_a_finding(here: Path) -> None:
    (here / "calls.txt").write_text("first\n")
    (found,) = left("prove")
    assert found["message"] == "calls have changed 1 file: `calls.txt`"


def test_a_file_of_a_tool_that_may_write_is_a_note() -> None:
    (found,) = left("prove", "--allow", "add_entry")
    assert found["level"] == "note"
    assert found["message"].endswith("allowed to change something: add_entry")


@pytest.mark.parametrize("file", ["server.log", "cache/entry.txt", ".git/index", "node_modules/a/b.js", "venv/a.txt"])
def test_what_programs_write_anyway_is_no_finding(here: Path, file: str) -> None:
    (here / file).parent.mkdir(parents=True, exist_ok=True)
    if file.startswith("venv"):
        (here / "venv" / "pyvenv.cfg").write_text("")
    assert left("prove", file=file) == []


def test_files_elsewhere_and_files_of_mcproof_are_no_finding(
    here: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    assert left("prove", "--trace=trace.jsonl", file=str(tmp_path_factory.mktemp("other") / "calls.txt")) == []
    assert (here / "trace.jsonl").stat().st_size


def test_the_folder_of_a_started_script_is_compared_too(here: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    from servers import small

    folder = tmp_path_factory.mktemp("project")
    script = folder / "server.py"
    script.write_text(f"from runpy import run_path\nrun_path({small.__file__!r}, run_name='__main__')\n")
    command, program, _, _, *words = small_server(TOOLS)
    done = mcproof(
        "prove",
        "--format",
        "json",
        "--env",
        f"CALLED={folder / 'calls.txt'}",
        command,
        program,
        str(script),
        *words[1:],
    )
    (found,) = [finding for finding in done.document["findings"] if finding["rule"] == "WIR-038"]
    assert found["evidence"] == {"files": [str(folder / "calls.txt")]}

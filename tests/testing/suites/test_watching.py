"""`mcproof run --watch`: the suite again after every change."""

from __future__ import annotations

import signal
import subprocess
import sys
from contextlib import contextmanager
from typing import TYPE_CHECKING

import pytest

from cli.running import COMMAND, environment, run
from servers import suited

from .suites import write_suite

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

STDIO = {"command": [sys.executable, "-I", "-S", suited.__file__]}
TEST = {"name": "a", "server": "s", "tool": "echo", "args": {"text": "x"}}
WAITING = "mcproof: waiting for a change; Ctrl-C to stop\n"


@contextmanager
def watching(folder: Path) -> Iterator[subprocess.Popen[str]]:
    words = [*COMMAND, "run", "--watch", "--format", "concise"]
    with subprocess.Popen(
        words,
        cwd=folder,
        env=environment(),
        text=True,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        bufsize=1,
    ) as process:
        try:
            yield process
        finally:
            process.kill()


def told(process: subprocess.Popen[str]) -> list[str]:
    """What was said until it waits."""
    assert process.stdout is not None
    lines: list[str] = []
    for line in process.stdout:
        if line == WAITING:
            return lines
        lines.append(line)
    raise AssertionError(f"it ended: {lines}")


def test_a_change_to_the_suite_runs_it_again_until_an_interrupt(tmp_path: Path) -> None:
    write_suite(tmp_path, {"s": STDIO}, tools=[TEST])
    with watching(tmp_path) as process:
        assert told(process) == []
        write_suite(tmp_path, {"s": STDIO}, tools=[TEST, {**TEST, "name": "b", "tool": "fail"}])
        changed, failed = told(process)
        assert changed == "mcproof: changed: mcproof.yaml\n"
        assert "failed b: the call failed: isError is true: it failed" in failed
        process.send_signal(signal.SIGINT)
        assert process.wait(30) == 130


def test_an_invalid_suite_is_reported_and_watched(tmp_path: Path) -> None:
    write_suite(tmp_path, {"s": STDIO}, tools=[TEST])
    with watching(tmp_path) as process:
        assert told(process) == []
        (tmp_path / "mcproof.yaml").write_text("servers: [")
        assert "not valid YAML" in told(process)[-1]
        write_suite(tmp_path, {"s": STDIO}, tools=[TEST])
        assert told(process) == ["mcproof: changed: mcproof.yaml\n"]


def test_a_file_written_by_every_run_is_ignored_after_the_second(tmp_path: Path) -> None:
    script = tmp_path / "writing.py"
    written = "import os, time; open('state.json', 'w').write(str(time.time_ns()))"
    script.write_text(f"{written}\nexec(open({suited.__file__!r}).read())\n")
    write_suite(tmp_path, {"s": {"command": [sys.executable, str(script)]}}, tools=[TEST])
    with watching(tmp_path) as process:
        assert told(process) == []
        left_alone = "mcproof: state.json changes in every run; ignored from now on\n"
        assert told(process) == ["mcproof: changed: state.json\n", left_alone]
        script.write_text(script.read_text() + "\n")
        assert told(process) == ["mcproof: changed: writing.py\n"]


def test_the_cwd_and_the_command_of_a_server_are_watched(tmp_path: Path) -> None:
    for name in ("suite", "server", "elsewhere"):
        (tmp_path / name).mkdir()
    served = f"exec(open({suited.__file__!r}).read())\n"
    module, script = tmp_path / "server" / "module.py", tmp_path / "elsewhere" / "script.py"
    for file in (module, script):
        file.write_text(served, encoding="utf-8")
    servers = {
        "s": {"command": [sys.executable, "-c", "exec(open('module.py').read())"], "cwd": "../server"},
        "t": {"command": [sys.executable, str(script)]},
    }
    write_suite(tmp_path / "suite", servers, tools=[TEST, {**TEST, "name": "b", "server": "t"}])
    with watching(tmp_path / "suite") as process:
        assert told(process) == []
        for file, name in ((module, "../server/module.py"), (script, "../elsewhere/script.py")):
            file.write_text(f"{served}\n", encoding="utf-8")
            assert told(process) == [f"mcproof: changed: {name}\n"]


@pytest.mark.parametrize("name", ["json", "junit"])
def test_machine_formats_and_watch_exclude_each_other(name: str, tmp_path: Path) -> None:
    write_suite(tmp_path, {"s": STDIO}, tools=[TEST])
    done = run("run", "--watch", "--format", name, cwd=tmp_path)
    assert done.returncode == 2
    assert "--watch prints one run after the other" in done.stdout

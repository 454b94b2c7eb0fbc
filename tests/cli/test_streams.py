"""Readers that leave, streams that are closed, and Ctrl-C."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from typing import TYPE_CHECKING

import pytest

from .running import (
    CLEAN_TOOL,
    COMMAND,
    FAULTY_TOOL,
    TIMEOUT,
    document_of,
    environment,
    run,
    run_bytes,
    run_process,
    validator,
    write,
)

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="signals and pipes of POSIX")


def _shell(script: str, *args: str) -> subprocess.CompletedProcess[str]:
    """Run a line of shell in which `"$@"` is mcproof with these arguments."""
    return subprocess.run(
        ["/bin/sh", "-c", script, "sh", *COMMAND, *args],
        env=environment(),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=TIMEOUT,
        check=False,
    )


def _many(path: Path, count: int = 20_000) -> str:
    return write(path, [{**FAULTY_TOOL, "name": f"tool_{number}"} for number in range(count)])


@pytest.mark.parametrize(
    "arguments",
    [("lint",), ("lint", "--format", "json"), ("lint", "--format", "concise"), ("grade", "--format", "json")],
    ids=" ".join,
)
def test_a_reader_that_leaves_early_sees_no_traceback(tmp_path: Path, arguments: tuple[str, ...]) -> None:
    done = _shell('"$@" | head -n 1', *arguments, _many(tmp_path / "many.json", 2_000))
    assert len(done.stdout.splitlines()) == 1
    assert done.stderr == ""


@pytest.mark.parametrize(
    "arguments", [("rules",), ("lint", "--help"), ("--help",), ("explain", "SCH-001")], ids=" ".join
)
def test_a_reader_that_is_gone_from_the_start_sees_no_traceback(arguments: tuple[str, ...]) -> None:
    reading, writing = os.pipe()
    os.close(reading)
    try:
        done = subprocess.run(
            [*COMMAND, *arguments],
            env=environment(),
            stdin=subprocess.DEVNULL,
            stdout=writing,
            stderr=subprocess.PIPE,
            text=True,
            timeout=TIMEOUT,
            check=False,
        )
    finally:
        os.close(writing)
    assert done.stderr == ""


def test_fix_into_a_closed_pipe_leaves_no_traceback(tmp_path: Path) -> None:
    done = _shell('"$@" | head -c 10', "schema-lint", "--fix", _many(tmp_path / "many.json", 5_000))
    assert len(done.stdout) == 10
    assert "Traceback" not in done.stderr
    assert "Error" not in done.stderr


@pytest.mark.parametrize("arguments", [("lint",), ("lint", "--format", "json"), ("grade",)], ids=" ".join)
def test_a_full_disk_behind_standard_output_is_told_in_one_line(tmp_path: Path, arguments: tuple[str, ...]) -> None:
    if not os.path.exists("/dev/full"):
        pytest.skip("no /dev/full here")
    done = _shell('"$@" > /dev/full', *arguments, write(tmp_path / "faulty.json", [FAULTY_TOOL]))
    assert done.returncode == 2
    assert len(done.stderr.splitlines()) == 1, done.stderr
    assert "no space left on device" in done.stderr.lower()
    assert "internal error" not in done.stderr


def test_a_full_disk_is_noticed_by_commands_that_print_little() -> None:
    if not os.path.exists("/dev/full"):
        pytest.skip("no /dev/full here")
    done = _shell('"$@" > /dev/full', "--version")
    assert done.returncode == 2
    assert len(done.stderr.splitlines()) == 1, done.stderr


@pytest.mark.parametrize("closed", ["<&-", ">&-", "2>&-"])
@pytest.mark.parametrize("target", ["-", "faulty.json", "missing.json"])
def test_a_closed_stream_leaves_no_traceback_and_no_internal_error(tmp_path: Path, closed: str, target: str) -> None:
    write(tmp_path / "faulty.json", [FAULTY_TOOL])
    name = target if target == "-" else str(tmp_path / target)
    done = _shell(f'"$@" {closed}', "lint", name)
    assert "Traceback" not in done.stderr
    assert "internal error" not in done.stderr
    assert done.returncode in ((1, 2) if target == "faulty.json" else (2,))


# --- Ctrl-C -------------------------------------------------------------------------------------------------------


_WITH_SIGINT = """\
import signal, sys
signal.signal(signal.SIGINT, signal.default_int_handler)
from mcproof.cli.main import run
run()
"""
"""Starts mcproof such that SIGINT reaches it, even where the tests run in the background, which ignores it."""


def _start(*args: str) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        [sys.executable, "-c", _WITH_SIGINT, *args],
        env=environment(),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )


def _interrupt(process: subprocess.Popen[bytes], data: bytes, *, then_wait: float | None) -> tuple[str, str]:
    """Feed a run until it must have started to read, interrupt it, and return what it printed.

    Without `then_wait` the input never ends, so that the run is still reading when it is interrupted.
    """
    assert process.stdin is not None
    process.stdin.write(data)
    process.stdin.flush()
    if then_wait is not None:
        process.stdin.close()
        process.stdin = None
        time.sleep(then_wait)
    process.send_signal(signal.SIGINT)
    try:
        out, err = process.communicate(timeout=TIMEOUT)
    finally:
        process.kill()
    return out.decode(), err.decode()


_ENDLESS = b"[" + b" " * 4_000_000


@pytest.mark.parametrize("arguments", [("lint", "-"), ("grade", "-"), ("schema-lint", "-", "--fix")], ids=" ".join)
def test_ctrl_c_while_reading_ends_with_130_and_one_line(arguments: tuple[str, ...]) -> None:
    process = _start(*arguments)
    out, err = _interrupt(process, _ENDLESS, then_wait=None)
    assert process.returncode == 130
    assert out == ""
    assert len(err.splitlines()) == 1, err
    assert "interrupted" in err


@pytest.mark.slow
@pytest.mark.parametrize("format", ["text", "json"])
def test_ctrl_c_while_checking_a_large_catalog_ends_with_130(format: str) -> None:
    tools = [{**FAULTY_TOOL, "name": f"tool_{number}"} for number in range(150_000)]
    process = _start("lint", "-", "--format", format)
    _, err = _interrupt(process, json.dumps(tools).encode(), then_wait=1.0)
    assert process.returncode == 130
    assert "Traceback" not in err
    assert "internal error" not in err
    assert len(err.splitlines()) == 1, err


def test_ctrl_c_in_a_json_format_prints_a_document_or_nothing() -> None:
    process = _start("lint", "-", "--format", "json")
    out, err = _interrupt(process, _ENDLESS, then_wait=None)
    assert process.returncode == 130
    assert "internal error" not in out + err
    assert out == "" or any(validator(name).is_valid(json.loads(out)) for name in ("lint", "error"))


@pytest.mark.parametrize("format", ["concise", "json"])
def test_ctrl_c_keeps_what_was_found_so_far(tmp_path: Path, format: str) -> None:
    first = write(tmp_path / "first.json", [CLEAN_TOOL, FAULTY_TOOL])
    process = _start("lint", first, "-", "--format", format)
    out, err = _interrupt(process, _ENDLESS, then_wait=None)
    assert process.returncode == 130
    assert "interrupted" in err
    if format == "json":
        done = subprocess.CompletedProcess([], 130, out, err)
        assert [entry["target"] for entry in document_of(done, "lint")["targets"]] == [first]
    else:
        assert out == run("lint", first, "--format", "concise").stdout


# --- the exit code tells, whoever reads -----------------------------------------------------------------------------


@pytest.mark.slow
def test_a_reader_that_leaves_does_not_change_the_exit_code(tmp_path: Path) -> None:
    clean, faulty = write(tmp_path / "clean.json", [CLEAN_TOOL] * 500), _many(tmp_path / "faulty.json", 500)
    script = '("$@"; echo $? >&2) | head -c 1 >/dev/null'
    assert _shell(script, "rules").stderr == "0\n"
    assert _shell(script, "schema-lint", clean, "--format", "sarif").stderr == "0\n"
    for each in ("text", "concise", "json", "html"):
        assert _shell(script, "lint", faulty, "--format", each).stderr == "1\n", each


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="there is no /dev/full")
def test_a_full_disk_behind_standard_error_does_not_change_the_exit_code(tmp_path: Path) -> None:
    write(tmp_path / "faulty.json", [FAULTY_TOOL])
    script = '"$@" 2>/dev/full >/dev/null; echo $?'
    assert _shell(script, "lint", str(tmp_path / "missing.json")).stdout == "2\n"
    update = ("--baseline", str(tmp_path / "base.json"), "--update-baseline")
    assert _shell(script, "lint", str(tmp_path / "faulty.json"), *update).stdout == "0\n"


@pytest.mark.parametrize("format", ["junit", "html", "markdown", "tap"])
def test_a_document_is_utf_8_whatever_the_terminal_speaks(tmp_path: Path, format: str) -> None:
    words = ("lint", write(tmp_path / "tools.json", [{**FAULTY_TOOL, "name": "héllo→"}]), "--format", format)
    printed = [run_bytes(*words, encoding=encoding).stdout.decode() for encoding in ("utf-8", "cp1252")]
    printed.append(run_process(*words, env={"PYTHONUTF8": "0", "PYTHONIOENCODING": "ascii"}).stdout)
    assert all("héllo→" in text for text in printed)


@pytest.mark.slow
@pytest.mark.parametrize("format", ["text", "json"])
def test_ctrl_c_while_the_report_is_made_waits_until_it_is_written(tmp_path: Path, format: str) -> None:
    """Whenever it comes, what was found is in the files, and a document is whole."""
    target = _many(tmp_path / "many.json", 5_000)
    for delay in (0.3, 0.6, 0.9, 1.2):
        files = [tmp_path / name for name in ("out.sarif", "run.json")]
        for file in files:
            file.unlink(missing_ok=True)
        arguments = ["lint", target, "--format", format, "--output", str(files[0]), "--report", str(files[1])]
        process = subprocess.Popen(
            [*COMMAND, *arguments], env=environment(), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )
        try:
            printed, _ = process.communicate(timeout=delay)
        except subprocess.TimeoutExpired:
            process.send_signal(signal.SIGINT)
            printed, _ = process.communicate(timeout=TIMEOUT)
        assert process.returncode in (1, 130, -signal.SIGINT)
        if process.returncode == -signal.SIGINT:  # before mcproof was even loaded
            continue
        if all(file.exists() for file in files):
            validator("run").validate(json.loads(files[1].read_text(encoding="utf-8")))
            json.loads(files[0].read_text(encoding="utf-8"))
        if format == "json" and printed:
            json.loads(printed)


@pytest.mark.parametrize(("command", "page"), [("mcp", "docs/mcp.md"), ("lsp", "docs/editors.md")])
def test_a_server_of_standard_input_explains_itself_at_a_terminal(command: str, page: str) -> None:
    terminal, end = os.openpty()
    with subprocess.Popen([*COMMAND, command], env=environment(), stdin=end, stderr=subprocess.PIPE) as process:
        os.close(end)
        try:
            assert process.stderr is not None
            assert page in process.stderr.readline().decode()
            time.sleep(0.3)  # until it reads, which nothing shows
            process.send_signal(signal.SIGINT)
            assert process.wait(TIMEOUT) == -signal.SIGINT
        finally:
            process.kill()
            os.close(terminal)

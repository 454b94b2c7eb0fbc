"""Runners for the command line, and catalogs to run it on.

`run` and `run_bytes` call mcproof in this process, which is ten times cheaper than a child process. `run_process` and
`run_process_bytes` start a child, for tests of streams, signals, encodings and exit paths.
"""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys
from contextlib import contextmanager
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, Any

import jsonschema_rs

from limits import HANG, hang_limit
from mcproof.cli.main import main

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

TIMEOUT = HANG
_READ_BY_PYTHON = {"PYTHONHASHSEED", "PYTHONIOENCODING", "PYTHONSAFEPATH", "PYTHONUTF8"}
COMMAND = [sys.executable, "-m", "mcproof"]

CLEAN_TOOL: dict[str, Any] = {
    "name": "find_book",
    "description": "Find a book by words of its title.",
    "inputSchema": {
        "type": "object",
        "properties": {"title": {"type": "string", "description": "Words of the title.", "maxLength": 100}},
        "required": ["title"],
        "additionalProperties": False,
    },
}
"""No rule of any ruleset finds anything in it."""

LOOSE_TOOL: dict[str, Any] = {
    "name": "list_books",
    "description": "List the books of a shelf, the newest first.",
    "inputSchema": {
        "type": "object",
        "properties": {
            "shelf": {"type": "integer", "description": "The number of the shelf."},
            "limit": {"type": "integer", "description": "How many at most.", "default": 10},
        },
    },
}
"""SCH-001 and SCH-002, both for the machine; and a note of the grade."""

FAULTY_TOOL: dict[str, Any] = {"name": "burn_book", "inputSchema": {"type": "object", "properties": {"id": {}}}}
"""An error, warnings and notes, some of them for the author alone."""


def environment(**changes: str) -> dict[str, str]:
    """The environment of the tests, with changes."""
    return {**os.environ, "PYTHONUTF8": "1", **changes}


def run(
    *args: str, stdin: str | bytes = b"", cwd: Path | None = None, env: dict[str, str] | None = None
) -> subprocess.CompletedProcess[str]:
    """Run mcproof in this process; what it prints is UTF-8, and never a traceback."""
    data = stdin.encode() if isinstance(stdin, str) else stdin
    return _decoded(run_bytes(*args, stdin=data, cwd=cwd, env=env))


def run_process(
    *args: str, stdin: str | bytes = b"", cwd: Path | None = None, env: dict[str, str] | None = None
) -> subprocess.CompletedProcess[str]:
    """Run mcproof in a child process; what it prints is UTF-8, and never a traceback."""
    data = stdin.encode() if isinstance(stdin, str) else stdin
    return _decoded(run_process_bytes(*args, stdin=data, cwd=cwd, env=env))


def run_bytes(
    *args: str,
    stdin: bytes = b"",
    cwd: Path | None = None,
    env: dict[str, str] | None = None,
    encoding: str = "utf-8",
    has_one_output: bool = False,
) -> subprocess.CompletedProcess[bytes]:
    """Run mcproof in this process, with the streams, folder and variables that a child process would have.

    With one output, errors are among the rest, as on a terminal.
    """
    assert not _READ_BY_PYTHON & set(env or {}), "Python reads it when it starts: use run_process"
    with (
        _streams(stdin, encoding, has_one_output=has_one_output) as (stdout, stderr),
        _environment(environment(**(env or {}))),
        _folder(cwd),
        hang_limit(),
    ):
        try:
            code = main(list(args))
        except SystemExit as exit_:
            code = exit_.code if isinstance(exit_.code, int) else exit_.code is not None
        sys.stderr.flush()
    return subprocess.CompletedProcess(args, code, stdout.getvalue(), stderr.getvalue())


def run_process_bytes(
    *args: str, stdin: bytes = b"", cwd: Path | None = None, env: dict[str, str] | None = None
) -> subprocess.CompletedProcess[bytes]:
    """Run mcproof in a child process, and keep every byte that it prints."""
    return subprocess.run(
        [*COMMAND, *args],
        input=stdin,
        cwd=cwd,
        env=environment(**(env or {})),
        capture_output=True,
        timeout=TIMEOUT,
        check=False,
    )


def _decoded(done: subprocess.CompletedProcess[bytes]) -> subprocess.CompletedProcess[str]:
    result = subprocess.CompletedProcess(done.args, done.returncode, done.stdout.decode(), done.stderr.decode())
    assert "Traceback" not in result.stdout + result.stderr
    return result


@contextmanager
def _streams(stdin: bytes, encoding: str, *, has_one_output: bool) -> Iterator[tuple[io.BytesIO, io.BytesIO]]:
    """Replace the standard streams, encoded as the console script has them; yield what is printed."""
    before = sys.stdin, sys.stdout, sys.stderr
    stdout = io.BytesIO()
    stderr = stdout if has_one_output else io.BytesIO()
    sys.stdin = io.TextIOWrapper(io.BytesIO(stdin), "utf-8", "surrogateescape")
    sys.stdout, sys.stderr = (
        io.TextIOWrapper(raw, encoding, "backslashreplace", write_through=has_one_output) for raw in (stdout, stderr)
    )
    ours = sys.stdin, sys.stdout, sys.stderr  # they close their buffers when they are freed
    try:
        yield stdout, stderr
    finally:
        sys.stdin, sys.stdout, sys.stderr = before
        for stream in ours:
            stream.detach()


@contextmanager
def _environment(variables: dict[str, str]) -> Iterator[None]:
    before = dict(os.environ)
    os.environ.clear()
    os.environ.update(variables)
    try:
        yield
    finally:
        os.environ.clear()
        os.environ.update(before)


@contextmanager
def _folder(folder: Path | None) -> Iterator[None]:
    if folder is None:
        yield
        return
    before = os.getcwd()
    os.chdir(folder)
    try:
        yield
    finally:
        os.chdir(before)


def fails(*args: str, stdin: str | bytes = b"", cwd: Path | None = None) -> str:
    """Run mcproof where it cannot do the job, and return the one line that it says about that."""
    done = run(*args, stdin=stdin, cwd=cwd)
    assert done.returncode == 2, done
    assert done.stdout == ""
    assert done.stderr.startswith("mcproof: ")
    assert done.stderr.endswith("\n")
    assert len(done.stderr.splitlines()) == 1, done.stderr
    assert "internal error" not in done.stderr
    return done.stderr


def document_of(done: subprocess.CompletedProcess[str], schema: str) -> Any:
    """The JSON document that a run printed, which must be all of it and keep to the shipped schema."""
    document = json.loads(done.stdout)
    validator(schema).validate(document)
    return document


def error_of(*args: str, stdin: str | bytes = b"", cwd: Path | None = None) -> Any:
    """Run mcproof in a JSON format where it cannot do the job, and return what it says about that."""
    done = run(*args, stdin=stdin, cwd=cwd)
    assert done.returncode == 2, done
    return document_of(done, "error")["error"]


@cache
def shipped_schema(name: str) -> Any:
    return json.loads((files("mcproof.runs") / "schemas" / f"{name}.schema.json").read_text(encoding="utf-8"))


@cache
def validator(name: str) -> jsonschema_rs.Draft202012Validator:
    return jsonschema_rs.Draft202012Validator(shipped_schema(name))


def write(path: Path, value: Any) -> str:
    """Save a value as a person would, and return the file's name."""
    path.write_text(json.dumps(value, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
    return str(path)


def rules_in(done: subprocess.CompletedProcess[str]) -> list[str]:
    """The rules that a run in JSON reports, each once, sorted."""
    return sorted({finding["rule"] for finding in document_of(done, "lint")["findings"]})


def report_of(cwd: Path, *arguments: str) -> Any:
    """The run report of a command, which must keep to its schema."""
    done = run(*arguments, "--report", "report.json", cwd=cwd)
    document = json.loads((cwd / "report.json").read_text(encoding="utf-8"))
    validator("run").validate(document)
    assert document["exit_code"] == done.returncode
    return document

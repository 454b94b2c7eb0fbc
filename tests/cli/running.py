"""How the tests of the command line call it, and what they call it on."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from importlib.resources import files
from typing import TYPE_CHECKING, Any

import jsonschema_rs

if TYPE_CHECKING:
    from pathlib import Path

TIMEOUT = 60
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


def run_bytes(
    *args: str, stdin: bytes = b"", cwd: Path | None = None, env: dict[str, str] | None = None
) -> subprocess.CompletedProcess[bytes]:
    """Run mcproof as a user does, and keep every byte that it prints."""
    return subprocess.run(
        [*COMMAND, *args],
        input=stdin,
        cwd=cwd,
        env=environment(**(env or {})),
        capture_output=True,
        timeout=TIMEOUT,
        check=False,
    )


def run(
    *args: str, stdin: str | bytes = b"", cwd: Path | None = None, env: dict[str, str] | None = None
) -> subprocess.CompletedProcess[str]:
    """Run mcproof as a user does; whatever it prints is UTF-8, and never a traceback."""
    data = stdin.encode() if isinstance(stdin, str) else stdin
    done = run_bytes(*args, stdin=data, cwd=cwd, env=env)
    result = subprocess.CompletedProcess(done.args, done.returncode, done.stdout.decode(), done.stderr.decode())
    assert "Traceback" not in result.stdout + result.stderr
    return result


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


def shipped_schema(name: str) -> Any:
    return json.loads((files("mcproof.report") / "schemas" / f"{name}.schema.json").read_text(encoding="utf-8"))


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

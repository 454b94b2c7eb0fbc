"""Helpers for tests of sweeps: captures, lists, and rows without what differs from run to run."""

from __future__ import annotations

import json
import shlex
import subprocess
import sys
from typing import TYPE_CHECKING, Any

from cli.running import COMMAND, environment, validator
from client.running import RAW
from limits import HANG

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

GOOD = shlex.join((*RAW, "good"))


def capture(number: int) -> dict[str, Any]:
    """A catalog that differs from all others."""
    properties = {f"part_{at}": {"type": "string", "description": f"Part {at}."} for at in range(number % 5)}
    tool = {
        "name": f"find_book_{number}",
        "description": f"Find book {number} by words of its title." if number % 3 else "",
        "inputSchema": {"type": "object", "properties": properties},
    }
    return {"initialize": {"serverInfo": {"name": f"library {number}", "version": "1"}}, "tools": [tool]}


def write_captures(folder: Path, count: int) -> Path:
    """A folder with captures, 100 in each folder in it."""
    for number in range(count):
        file = folder / f"{number // 100:04}" / f"{number:06}.json"
        if number % 100 == 0:
            file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(json.dumps(capture(number)), encoding="utf-8")
    return folder


def write_list(file: Path, lines: Iterable[Any]) -> str:
    file.write_text("".join(f"{line if isinstance(line, str) else json.dumps(line)}\n" for line in lines))
    return str(file)


def rows(file: Path) -> list[dict[str, Any]]:
    """The rows of a results file, in order; each must keep to the shipped schema, and be there once."""
    found = [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]
    for row in found:
        validator("sweep-outcome").validate(row)
    ids = [row["id"] for row in found]
    assert len(ids) == len(set(ids))
    return found


def outcomes(file: Path) -> dict[str, str]:
    """The outcome of each target, by its label."""
    return {row["target"]: row["outcome"] for row in rows(file)}


def lasting(file: Path) -> list[dict[str, Any]]:
    """The rows without what differs from run to run, in an order of their own."""
    kept = [{key: value for key, value in row.items() if key not in ("timings", "attempts")} for row in rows(file)]
    return sorted(kept, key=lambda row: str(row["id"]))


def start(*words: str, cwd: Path, **options: Any) -> subprocess.Popen[bytes]:
    """Start a sweep as the leader of a process group."""
    return subprocess.Popen(
        [*COMMAND, "sweep", *words],
        cwd=cwd,
        env=environment(),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
        **options,
    )


def sweep(*words: str, cwd: Path, **variables: str) -> subprocess.CompletedProcess[str]:
    """Run a sweep in a process of its own."""
    done = subprocess.run(
        [*COMMAND, "sweep", *words],
        cwd=cwd,
        env=environment(**variables),
        capture_output=True,
        text=True,
        timeout=HANG,
        check=False,
    )
    assert "Traceback" not in done.stdout + done.stderr, done
    return done


def killer(mark: Path, *, once: bool) -> str:
    """A server that kills the process that started it: the first time, or every time."""
    then = f"exec {GOOD}" if once else "kill -9 $PPID; sleep 60"
    seen = shlex.quote(str(mark))
    script = f"if [ -e {seen} ]; then {then}; else touch {seen}; kill -9 $PPID; sleep 60; fi"
    return shlex.join(("/bin/sh", "-c", script))


def sleeper() -> str:
    """A server that never responds."""
    return shlex.join((sys.executable, "-I", "-S", "-c", "import time; time.sleep(600)"))


def sweep_with_few_files(*words: str, cwd: Path, files: int = 256) -> subprocess.CompletedProcess[str]:
    """Run a sweep that may have so many files open."""
    return subprocess.run(
        ["/bin/sh", "-c", f'ulimit -n {files}; exec "$@"', "sh", *COMMAND, "sweep", *words],
        cwd=cwd,
        env=environment(),
        capture_output=True,
        text=True,
        timeout=HANG,
        check=False,
    )

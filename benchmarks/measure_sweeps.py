"""Measurements of `sweep`: captures a second on one and two cores, memory, and the overhead of Ray."""

from __future__ import annotations

import json
import os
import pathlib
import sys
from functools import cache
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from measurement import Comparison
from timing import MCPROOF, best_of, monitored, run

if TYPE_CHECKING:
    from measurement import Workspace

CAPTURES = 20_000
FEW, MANY = 2_000, 200_000
MIB = 2**20
ROOT = pathlib.Path(__file__).resolve().parents[1]
EXAMPLES = ("src/mcproof/demo/weather.json", "examples/tool-schema-lint/loose.json")


def varied(number: int) -> dict[str, Any]:
    """An example catalog with names and descriptions that no other capture has."""
    catalog = _example(EXAMPLES[number % len(EXAMPLES)])
    tools = [
        {**tool, "name": f"{tool['name']}_{number}", "description": f"{tool.get('description', '')} Variant {number}."}
        for tool in catalog["tools"]
    ]
    return {**catalog, "tools": tools}


@cache
def _example(name: str) -> dict[str, Any]:
    value = json.loads((ROOT / name).read_text(encoding="utf-8"))
    return value if isinstance(value, dict) else {"tools": value}


def captures(at: Workspace, count: int) -> pathlib.Path:
    """A folder with captures; beyond 20,000, further names of the same files."""
    folder = at.folder / f"captures-{count}"
    if folder.exists():
        return folder
    written: list[pathlib.Path] = []
    for number in range(count):
        file = folder / f"{number // 1000:04}" / f"{number}.json"
        if number % 1000 == 0:
            file.parent.mkdir(parents=True)
        if number < CAPTURES:
            file.write_text(json.dumps(varied(number)), encoding="utf-8")
            written.append(file)
        else:
            os.link(written[number % CAPTURES], file)
    return folder


def _sweep(at: Workspace, folder: pathlib.Path, *words: str) -> None:
    run(MCPROOF, "sweep", str(folder), "--restart", "--results", str(at.folder / "sweep.jsonl"), *words)


def two_cores(at: Workspace) -> Comparison:
    """20,000 captures with two processes against one process."""
    folder = captures(at, CAPTURES)
    two, one = best_of(2, lambda: _sweep(at, folder, "--jobs", "2"), lambda: _sweep(at, folder, "--jobs", "1"))
    rates = f"{CAPTURES / two.wall:,.0f} a second against {CAPTURES / one.wall:,.0f}"
    per_capture = f"{two.cpu / CAPTURES * 1e6:,.0f} µs of CPU each"
    return Comparison.of(two, one, f"{rates}; {per_capture}", clock="wall")


def against_loads(at: Workspace) -> Comparison:
    """20,000 captures with two processes against a loop that reads and parses the files."""
    folder = captures(at, CAPTURES)
    script = (
        "import json, pathlib, sys\n"
        "for file in pathlib.Path(sys.argv[1]).rglob('*.json'):\n"
        "    json.loads(file.read_bytes())\n"
    )
    sweep, loads = best_of(
        2, lambda: _sweep(at, folder, "--jobs", "2"), lambda: run(sys.executable, "-c", script, str(folder))
    )
    return Comparison.of(sweep, loads, f"{CAPTURES:,} captures")


def memory(at: Workspace) -> Comparison:
    """The peak of the sweep itself, and of its largest worker, for 200,000 captures against 2,000."""
    runs = []
    for count in (MANY, FEW):
        words = (str(captures(at, count)), "--restart", "--results", str(at.folder / "memory.jsonl"), "-q")
        runs.append(monitored("sweep", *words))
    many, few = runs
    own = f"{many.peak / MIB:.0f} MiB against {few.peak / MIB:.0f} MiB"
    workers = f"a worker {many.child_peak / MIB:.0f} MiB against {few.child_peak / MIB:.0f} MiB"
    return Comparison(max(many.peak / few.peak, many.child_peak / few.child_peak), f"{own}, {workers}")


def ray_overhead(at: Workspace) -> Comparison:
    """20,000 captures through Ray on this machine against the local engine."""
    if find_spec("ray") is None:
        return Comparison(0.0, "skipped: Ray is not installed")
    folder = captures(at, CAPTURES)
    ray, local = best_of(
        1, lambda: _sweep(at, folder, "--jobs", "2", "--engine", "ray"), lambda: _sweep(at, folder, "--jobs", "2")
    )
    return Comparison.of(ray, local, f"{CAPTURES / ray.wall:,.0f} a second", clock="wall")

"""Write and run suites in tests."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cli.running import document_of, run

if TYPE_CHECKING:
    import subprocess

SERVERS = Path(__file__).resolve().parents[2] / "servers"
SMALL = [sys.executable, "-I", "-S", str(SERVERS / "small.py")]

SEARCH: dict[str, Any] = {
    "name": "search",
    "description": "Search the library for books by words of the title; returns a list of titles.",
    "inputSchema": {
        "type": "object",
        "properties": {"query": {"type": "string", "description": "Words of the title.", "maxLength": 50}},
        "required": ["query"],
        "additionalProperties": False,
    },
}


def small(*habits: str, tools: list[Any] | None = None) -> list[str]:
    """The command of a small server."""
    return [*SMALL, json.dumps([SEARCH] if tools is None else tools), *habits]


def write_suite(
    folder: Path, servers: dict[str, Any], rest: str = "", name: str = "mcproof.yaml", **blocks: Any
) -> Path:
    """Save a suite, of which JSON is a part as it is of YAML."""
    lines = [f"{key}: {json.dumps(value)}" for key, value in {"servers": servers, **blocks}.items()]
    (folder / name).write_text("\n".join(lines) + f"\n{rest}", encoding="utf-8")
    return folder / name


def outcomes_of(done: subprocess.CompletedProcess[str]) -> dict[str, tuple[str, str]]:
    """What came of each test: outcome and message, by its name and block."""
    document = document_of(done, "tests")
    return {f"{each['block']}/{each['name']}": (each["outcome"], each["message"]) for each in document["tests"]}


def run_json(folder: Path, *words: str, **others: Any) -> subprocess.CompletedProcess[str]:
    return run("run", "--format", "json", *words, cwd=folder, **others)

"""Memory stays bounded, whatever the schemas of a server."""

from __future__ import annotations

import json
import subprocess
from typing import TYPE_CHECKING, Any

import pytest

from cli.running import COMMAND, environment
from limits import HANG

from .running import SMALL

if TYPE_CHECKING:
    from pathlib import Path

MIB = 1 << 20


def knot(count: int) -> dict[str, Any]:
    """A schema whose definitions all refer to each other."""
    refs = {f"p{number}": {"$ref": f"#/$defs/d{number}"} for number in range(count)}
    definition = {"type": "object", "properties": refs}
    start = {"type": "object", "properties": {"x": {"$ref": "#/$defs/d0"}}}
    return {**start, "$defs": {f"d{number}": definition for number in range(count)}}


def limited(limit: int, command: str, tools: list[Any], folder: Path, *options: str) -> Any:
    """The JSON document of a run whose processes may each use this many bytes of address space."""
    catalog = folder / "tools.json"
    catalog.write_text(json.dumps(tools))
    run = [*COMMAND, command, "--format", "json", *options, "--", *SMALL, f"@{catalog}"]
    done = subprocess.run(
        ["/bin/sh", "-c", 'ulimit -v "$0" && exec "$@"', str(limit // 1024), *run],
        cwd=folder,
        env=environment(),
        capture_output=True,
        timeout=HANG,
        check=False,
    )
    assert done.returncode in (0, 1), done.stdout[-2_000:] + done.stderr[-2_000:]
    return json.loads(done.stdout)


@pytest.mark.slow
@pytest.mark.parametrize("count", [40, 100])
def test_definitions_that_refer_to_each_other_take_little_memory(count: int, tmp_path: Path) -> None:
    tools = [{"name": "read_knot", "description": "Read.", "inputSchema": knot(count)}]
    proved = limited(600 * MIB, "prove", tools, tmp_path)
    assert any(each["tool"] == "read_knot" and each["outcome"] == "accepted" for each in proved["probes"])
    fuzzed = limited(600 * MIB, "fuzz", tools, tmp_path, "--cases", "60", "--processes", "1")
    assert fuzzed["cases"] == 60

"""Made-up suites of any number of tests."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pathlib

SUITE_TOOL = "find_station"
EXPECT = """\
    expect:
      - {target: result.isError, matcher: {exact: false}}
      - {target: "result.content[0].text", matcher: {contains: find_station}}
"""


def suite_arguments(number: int) -> dict[str, Any]:
    """The arguments of one of the tests."""
    return {"near": {"name": f"Oslo {number}"}}


def write_suite(file: pathlib.Path, command: tuple[str, ...], tests: int) -> pathlib.Path:
    """Save a suite for a server with the tools of the example server."""
    with file.open("w", encoding="utf-8") as suite:
        suite.write(f"servers:\n  local: {{command: {json.dumps(command)}}}\ntools:\n")
        for number in range(tests):
            suite.write(f"  - name: station {number}\n    server: local\n    tool: {SUITE_TOOL}\n")
            suite.write(f"    args: {json.dumps(suite_arguments(number))}\n{EXPECT}")
    return file

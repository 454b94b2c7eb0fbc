"""Text that a server over stdio prints where the protocol is; nothing is reported where that is not certain."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from mcproof.source.python.pipeline import discover, flows_of

if TYPE_CHECKING:
    from pathlib import Path

    from mcproof.core.observations.source import SourceFlows

OLD = "from mcp.server.fastmcp import FastMCP\n"
ANY = "from fastmcp import FastMCP\n"
TOOL = "mcp = FastMCP('demo')\n@mcp.tool()\ndef one(x: str) -> str:\n    'One.'\n    return helper(x)\n"
QUIET = "def helper(x):\n    return x\n"
LOUD = "def helper(x):\n    print(x)\n    return x\n"
RUN = "mcp.run()\n"


def flows(folder: Path, *parts: str, **files: str) -> SourceFlows:
    (folder / "server.py").write_text("".join(parts))
    for name, text in files.items():
        (folder / f"{name}.py").write_text(text)
    return flows_of(discover(str(folder)))


@pytest.mark.parametrize(
    ("parts", "line"),
    [
        ((OLD, TOOL, LOUD, RUN), 8),
        ((OLD, TOOL, "def helper(x):\n    try:\n        return x\n    finally:\n        print(x)\n", RUN), 11),
        ((OLD, "import sys\n", TOOL, "def helper(x):\n    print(x, file=sys.stdout)\n", RUN), 9),
        ((ANY, "print('loaded')\n", TOOL, QUIET, RUN), 2),
        ((ANY, TOOL, QUIET, "def main():\n    print('starting')\n    mcp.run(transport='stdio')\n"), 10),
        ((ANY, TOOL, QUIET, "async def main():\n    print('starting')\n    await mcp.run_stdio_async()\n"), 10),
    ],
)
def test_text_that_reaches_the_protocol(tmp_path: Path, parts: tuple[str, ...], line: int) -> None:
    assert [place.line for place in flows(tmp_path, *parts).prints] == [line]


def test_text_of_a_module_that_the_server_imports(tmp_path: Path) -> None:
    helper = "print('loaded')\ndef helper(x):\n    return x\n"
    found = flows(tmp_path, ANY, "from helpers import helper\n", TOOL, RUN, helpers=helper, other="print('a script')\n")
    assert [(place.file[-10:], place.line) for place in found.prints] == [("helpers.py", 1)]


@pytest.mark.parametrize(
    "parts",
    [
        (ANY, TOOL, LOUD, RUN),  # the framework leads it to stderr, if it is new
        (OLD, "import sys\n", TOOL, "def helper(x):\n    print(x, file=sys.stderr)\n", RUN),
        (OLD, TOOL, "DEBUG = False\ndef helper(x):\n    if DEBUG:\n        print(x)\n", RUN),
        (OLD, TOOL, QUIET, "def usage():\n    print('usage')\n", RUN),
        (OLD, TOOL, QUIET, "if __name__ == '__main__':\n    print(one('x'))\n", "def main():\n    mcp.run()\n"),
        (OLD, TOOL, QUIET, "def main():\n    mcp.run()\n    print('done')\n"),
    ],
)
def test_text_that_does_not(tmp_path: Path, parts: tuple[str, ...]) -> None:
    found = flows(tmp_path, *parts)
    assert found.prints == ()
    assert "TRU-312" not in found.unobserved


@pytest.mark.parametrize("run", ["mcp.run(transport='http')\n", "mcp.run(transport=choose())\n", ""])
def test_a_server_that_may_serve_http_is_not_judged(tmp_path: Path, run: str) -> None:
    found = flows(tmp_path, OLD, TOOL, LOUD, run)
    assert found.prints == ()
    assert found.unobserved["TRU-312"] == "the source does not show that it serves over stdio only"


def test_handlers_of_a_framework_in_a_known_version(tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").write_text('[project]\nname = "d"\ndependencies = ["fastmcp==2.14.0"]\n')
    assert [place.line for place in flows(tmp_path, ANY, TOOL, LOUD, RUN).prints] == [8]

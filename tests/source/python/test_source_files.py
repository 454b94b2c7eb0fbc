"""Which files of a target are read."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from mcproof.source.python.files import may_register
from mcproof.source.python.pipeline import discover

from .sources import names, write

if TYPE_CHECKING:
    from pathlib import Path

GOOD = 'from fastmcp import FastMCP\nmcp = FastMCP("x")\n@mcp.tool\ndef a(): ...\n'


@pytest.mark.parametrize(
    "folder",
    [".git", ".venv", "venv", "env", "__pycache__", "node_modules", "site-packages", "dist", "build", ".tox", "tests"],
)
def test_foreign_folders_are_skipped_below_the_target_only(folder: str, tmp_path: Path) -> None:
    write(tmp_path, {f"{folder}/server.py": GOOD})
    assert names(discover(str(tmp_path))) == []
    assert names(discover(str(tmp_path / folder))) == ["a"]


def test_a_virtual_environment_is_recognized_by_its_configuration(tmp_path: Path) -> None:
    write(tmp_path, {"py312/pyvenv.cfg": "", "py312/lib/server.py": GOOD})
    assert names(discover(str(tmp_path))) == []


def test_tests_are_recognized_by_their_imports(tmp_path: Path) -> None:
    write(tmp_path, {"test_one.py": f"import pytest\n{GOOD}", "test_two.py": GOOD.replace("def a", "def b")})
    assert names(discover(str(tmp_path))) == ["b"]


def test_a_target_file_is_read_whatever_its_name(tmp_path: Path) -> None:
    write(tmp_path, {"tests/test_one.py": f"import helpers\n{GOOD}"})
    assert names(discover(str(tmp_path / "tests" / "test_one.py"))) == ["a"]


def test_a_package_folder_can_be_the_target(tmp_path: Path) -> None:
    write(
        tmp_path,
        {
            "src/pkg/__init__.py": "",
            "src/pkg/server.py": "from fastmcp import FastMCP\nfrom pkg.names import NAME\nmcp = FastMCP('x')\n"
            "@mcp.tool(name=NAME)\ndef f(): ...\n",
            "src/pkg/names.py": 'NAME = "a"\n',
        },
    )
    for target in ("src/pkg", "src", "", "src/pkg/server.py"):
        assert names(discover(str(tmp_path / target))) == ["a"]


def test_a_project_that_never_mentions_mcp_is_empty(tmp_path: Path) -> None:
    write(tmp_path, {"agent.py": "from agents import tool\n@tool()\ndef a(): ...\n"})
    result = discover(str(tmp_path))
    assert not any(result.document.values())
    assert result.files == []


@pytest.mark.parametrize(
    "text",
    [
        "from fastmcp import FastMCP\n",
        "import fastmcp\nx = fastmcp.FastMCP()\n",
        "class Mine(FastMCP):\n    pass\n",
        "class Mine(Base, fastmcp.FastMCP):\n    pass\n",
        "from mcp.server.lowlevel import Server as S\n",
        "import mcp.server\nx = mcp.server.Server('x')\n",
        "@app.tool\ndef f(): ...\n",
        "@app.tool()\ndef f(): ...\n",
        "@tool\ndef f(): ...\n",
        "@my_tool('x')\ndef f(): ...\n",
        "tool(f)\n",
        "app.add_tool(f)\n",
        "register_tool('x', f)\n",
        "x = Tool(name='x')\n",
        "x = types.Tool(name='x')\n",
        "x = Tool.from_function(f)\n",
        "x = FunctionTool(f)\n",
        "@app.list_tools()\ndef f(): ...\n",
        "@app.resource('x://y')\ndef f(): ...\n",
        "@app.prompt\ndef f(): ...\n",
        "app.add_prompt(x)\n",
        "app.import_server(x)\n",
    ],
)
def test_a_file_that_makes_or_fills_a_server_is_looked_at(text: str) -> None:
    assert may_register(text.encode(), "any.py")


@pytest.mark.parametrize(
    "text",
    [
        "from mcp_weather import units\n",
        "from mcp.server.fastmcp import Context\n",
        "from fastmcp import Context\n",
        "def f(server: FastMCP) -> None: ...\n",
        "# works with FastMCP and as an MCPServer\n",
        "from .tools import names\nx = self.tool_name\n",
        "x = self.get_tool('x')\n",
        "class SearchTool(Base): ...\n",
        "def handle_tool(x): ...\n",
    ],
)
def test_a_file_that_only_speaks_of_servers_and_tools_is_not_parsed(text: str) -> None:
    assert not may_register(text.encode(), "any.py")

"""Which files are looked at."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from mcproof.targets.python_source import discover

from .sources import names, write

if TYPE_CHECKING:
    from pathlib import Path

GOOD = 'from fastmcp import FastMCP\nmcp = FastMCP("x")\n@mcp.tool\ndef a(): ...\n'


@pytest.mark.parametrize(
    "folder",
    [".git", ".venv", "venv", "env", "__pycache__", "node_modules", "site-packages", "dist", "build", ".tox", "tests"],
)
def test_folders_that_are_not_the_projects_own_are_skipped_below_the_target_only(folder: str, tmp_path: Path) -> None:
    write(tmp_path, {f"{folder}/server.py": GOOD})
    assert names(discover(str(tmp_path))) == []
    assert names(discover(str(tmp_path / folder))) == ["a"]


def test_a_virtual_environment_is_known_by_its_configuration(tmp_path: Path) -> None:
    write(tmp_path, {"py312/pyvenv.cfg": "", "py312/lib/server.py": GOOD})
    assert names(discover(str(tmp_path))) == []


def test_tests_are_known_by_what_they_import(tmp_path: Path) -> None:
    write(tmp_path, {"test_one.py": f"import pytest\n{GOOD}", "test_two.py": GOOD.replace("def a", "def b")})
    assert names(discover(str(tmp_path))) == ["b"]


def test_a_file_that_is_named_is_read_whatever_it_is_called(tmp_path: Path) -> None:
    write(tmp_path, {"tests/test_one.py": f"import helpers\n{GOOD}"})
    assert names(discover(str(tmp_path / "tests" / "test_one.py"))) == ["a"]


def test_a_package_can_be_named_by_its_own_folder(tmp_path: Path) -> None:
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


def test_a_project_without_a_word_of_mcp_has_nothing(tmp_path: Path) -> None:
    write(tmp_path, {"agent.py": "from agents import tool\n@tool()\ndef a(): ...\n"})
    result = discover(str(tmp_path))
    assert not any(result.document.values())
    assert result.files == []

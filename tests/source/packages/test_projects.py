"""What a project declares: versions of its frameworks, and the scripts that start its servers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from packaging.version import Version

from mcproof.source.packages.versions import newest_allowed
from mcproof.source.python.pipeline import discover
from source.python.sources import is_conditional, names, tool, write

if TYPE_CHECKING:
    from pathlib import Path

SITE = "venv/lib/python3.12/site-packages"


@pytest.mark.parametrize(
    ("specifier", "newest"),
    [
        ("", None),
        (">=2.3", None),
        ("!=2.3", None),
        ("==2.14.1", "2.14.1"),
        ("===2.14.1", "2.14.1"),
        ("==2.14.*", "2.15.dev0"),
        (">=2.3,<3", "3.dev0"),
        ("(>=2.3,<3.0.0)", "3.dev0"),
        ("<3.2", "3.2.dev0"),
        ("<=3.2", "3.2"),
        ("~=2.3", "3.dev0"),
        ("~=2.3.1", "2.4.dev0"),
        ("^2.3", "3.dev0"),
        ("^0.4.1", "0.5.dev0"),
        ("~2.3", "2.4.dev0"),
        ("<4,<3", "3.dev0"),
        (">=3; python_version < '3.12'", None),
        ("nonsense", None),
        (f"=={'9' * 5000}", "9" * 98),
    ],
)
def test_the_newest_allowed_version(specifier: str, newest: str | None) -> None:
    assert newest_allowed(specifier) == (None if newest is None else Version(newest))


SERVER = '''
    from fastmcp import FastMCP

    mcp = FastMCP("x")

    @mcp.tool
    def plain(x: int) -> str:
        """Plain.

        Returns:
            Text.
        """

    @mcp.tool
    def with_args(x: int) -> str:
        """With arguments.

        Args:
            x: A number.

        Returns:
            Text.
        """
    '''
WHOLE = "Plain.\n\nReturns:\n    Text."
DECLARED = [
    ("pyproject.toml", '[project]\ndependencies = ["fastmcp{}"]\n'),
    ("pyproject.toml", '[project]\ndependencies = ["httpx", "FastMCP[apps] {} ; python_version > \'3\'"]\n'),
    ("pyproject.toml", '[project.optional-dependencies]\nserver = ["fastmcp{}"]\n'),
    ("pyproject.toml", '[tool.poetry.dependencies]\nfastmcp = "{}"\n'),
    ("pyproject.toml", '[tool.poetry.dependencies]\nfastmcp = {{version = "{}", extras = ["apps"]}}\n'),
    ("requirements.txt", "httpx\nfastmcp{}  # the server\n"),
    ("setup.cfg", "[options]\ninstall_requires =\n    httpx\n    fastmcp{}\n"),
    ("setup.py", 'from setuptools import setup\nsetup(install_requires=["fastmcp{}"])\n'),
]
LOCKED = [
    ("uv.lock", '[[package]]\nname = "fastmcp"\nversion = "{}"\n'),
    ("poetry.lock", '[[package]]\nname = "fastmcp"\nversion = "{}"\ndescription = ""\n'),
    ("Pipfile.lock", '{{"default": {{"fastmcp": {{"hashes": [], "version": "=={}"}}}}}}\n'),
]


def described(folder: Path) -> tuple[Any, Any, Any, Any]:
    """What the versions of fastmcp do differently with the server above."""
    result = discover(str(folder))
    plain, with_args = tool(result, "plain"), tool(result, "with_args")
    schema = with_args["inputSchema"]
    return (
        plain["description"] == "Plain.",
        "Args" not in with_args["description"],
        schema["properties"]["x"].get("description"),
        schema.get("additionalProperties"),
    )


@pytest.mark.parametrize(("file", "text"), DECLARED)
@pytest.mark.parametrize(
    ("specifier", "expected"),
    [
        (">=2.0", (True, True, "A number.", False)),
        ("==3.4.2", (False, True, "A number.", False)),
        (">=3,<4", (False, True, "A number.", False)),
        ("<3.2", (False, False, None, False)),
        ("~=2.14.0", (False, False, None, None)),
    ],
)
def test_the_version_of_the_framework_is_the_newest_that_is_allowed(
    file: str, text: str, specifier: str, expected: Any, tmp_path: Path
) -> None:
    write(tmp_path, {"src/pkg/__init__.py": "", "src/pkg/server.py": SERVER, file: text.format(specifier)})
    for target in (tmp_path, tmp_path / "src", tmp_path / "src" / "pkg" / "server.py"):
        assert described(target) == expected


@pytest.mark.parametrize(("file", "text"), LOCKED)
def test_a_locked_version_is_exact(file: str, text: str, tmp_path: Path) -> None:
    write(tmp_path, {"server.py": SERVER, file: text.format("3.4.1"), "pyproject.toml": DECLARED[0][1].format(">=2")})
    assert described(tmp_path)[:2] == (False, True)


def test_each_project_of_a_folder_has_its_own_version(tmp_path: Path) -> None:
    old = SERVER.replace("plain", "old_plain").replace("with_args", "old_with_args")
    write(tmp_path, {"new/server.py": SERVER, "old/server.py": old, "old/requirements.txt": "fastmcp<3\n"})
    result = discover(str(tmp_path))
    assert tool(result, "plain")["description"] == "Plain."
    assert tool(result, "old_plain")["description"] == WHOLE


def test_the_installed_version_is_exact(tmp_path: Path) -> None:
    files = {
        "pkg/__init__.py": "",
        "pkg/server.py": SERVER,
        "pkg-1.0.dist-info/RECORD": "pkg/__init__.py,,\npkg/server.py,,\n",
        "pkg-1.0.dist-info/METADATA": "Name: pkg\nRequires-Dist: fastmcp<3\n",
    }
    write(tmp_path, {f"{SITE}/{name}": text for name, text in files.items()})
    assert described(tmp_path / SITE / "pkg")[:2] == (False, False)
    write(tmp_path, {f"{SITE}/fastmcp-3.4.2.dist-info/METADATA": ""})
    assert described(tmp_path / SITE / "pkg")[:2] == (False, True)


def test_old_versions_of_the_sdk_derive_no_output_schema(tmp_path: Path) -> None:
    server = 'from mcp.server.fastmcp import FastMCP\nmcp = FastMCP("x")\n@mcp.tool()\ndef a() -> int: ...\n'
    write(tmp_path, {"server.py": server, "requirements.txt": "mcp==1.6.0\n"})
    assert "outputSchema" not in tool(discover(str(tmp_path)))
    write(tmp_path, {"requirements.txt": "mcp==1.12.0\n"})
    assert "outputSchema" in tool(discover(str(tmp_path)))


@pytest.mark.parametrize(
    "text", ["[project", "project = 3\n", "[project]\ndependencies = 3\nscripts = 4\n", "\x00", "[" * 5000]
)
def test_broken_project_files_are_ignored(text: str, tmp_path: Path) -> None:
    write(tmp_path, {"server.py": SERVER, "pyproject.toml": text, "uv.lock": text, "setup.cfg": text})
    assert described(tmp_path)[0] is True


# --- second servers

MAIN = 'from fastmcp import FastMCP\nmcp = FastMCP("main")\n@mcp.tool\ndef first(): ...\n'
OTHER = 'from fastmcp import FastMCP\nmcp = FastMCP("other")\n@mcp.tool\ndef second(): ...\n'
GUARD = 'if __name__ == "__main__":\n    mcp.run()\n'
PACKAGE = {
    "pkg/__init__.py": "",
    "pkg/main.py": f"{MAIN}\ndef run():\n    mcp.run()\n",
    "pkg/other.py": f"{OTHER}\n{GUARD}",
}


@pytest.mark.parametrize(
    ("file", "text"),
    [
        ("pyproject.toml", '[project.scripts]\nx = "pkg.main:run"\n'),
        ("pyproject.toml", '[tool.poetry.scripts]\nx = "pkg.main:run"\n'),
        ("pyproject.toml", '[tool.poetry.scripts]\nx = {reference = "pkg.main:run", type = "console"}\n'),
        ("setup.cfg", "[options.entry_points]\nconsole_scripts =\n    x = pkg.main:run\n"),
        ("setup.py", 'setup(entry_points={"console_scripts": ["x=pkg.main:run"]})\n'),
        ("pkg/__main__.py", "from pkg.cli import go\ngo()\n"),
    ],
)
def test_a_server_that_no_entry_point_starts_is_conditional(file: str, text: str, tmp_path: Path) -> None:
    write(tmp_path, {**PACKAGE, "pkg/cli.py": "from pkg.main import run as go\n", file: text})
    result = discover(str(tmp_path))
    assert sorted(names(result)) == ["first", "second"]
    assert not is_conditional(result, "first")
    assert is_conditional(result, "second")


def test_the_scripts_of_an_installed_distribution_decide(tmp_path: Path) -> None:
    files = {
        **PACKAGE,
        "pkg-1.0.dist-info/RECORD": "".join(f"{name},,\n" for name in PACKAGE),
        "pkg-1.0.dist-info/entry_points.txt": "[console_scripts]\nx = pkg.main:run\n\n[plugins]\ny = pkg.other:mcp\n",
    }
    write(tmp_path, {f"{SITE}/{name}": text for name, text in files.items()})
    result = discover(str(tmp_path / SITE / "pkg"))
    assert [is_conditional(result, name) for name in ("first", "second")] == [False, True]


def test_without_declarations_the_file_that_is_run_decides(tmp_path: Path) -> None:
    write(tmp_path, {"main.py": f"{MAIN}\n{GUARD}", "other.py": OTHER})
    result = discover(str(tmp_path))
    assert [is_conditional(result, name) for name in ("first", "second")] == [False, True]


@pytest.mark.parametrize(
    "files",
    [
        {"main.py": MAIN, "other.py": OTHER},  # nothing is known
        {"main.py": f"{MAIN}\n{GUARD}", "other.py": f"{OTHER}\n{GUARD}"},  # each is run
        {**PACKAGE, "pyproject.toml": '[project.scripts]\nx = "pkg.main:run"\ny = "pkg.other:mcp"\n'},
        {**PACKAGE, "pyproject.toml": '[project.scripts]\nx = "missing.main:run"\n', "pkg/main.py": f"{MAIN}\n{GUARD}"},
        {"main.py": f"import importlib\nimportlib.import_module(x)\n{MAIN}\n{GUARD}", "other.py": OTHER},
    ],
)
def test_servers_that_may_be_started_are_certain(files: dict[str, str], tmp_path: Path) -> None:
    result = discover(str(write(tmp_path, files)))
    assert [is_conditional(result, name) for name in ("first", "second")] == [False, False]


def test_of_servers_between_which_a_variable_chooses_the_one_of_its_default_is_certain(tmp_path: Path) -> None:
    main = """
        import os

        def run():
            if os.getenv("SIMPLE", "false") == "true":
                from pkg.simple import mcp
            else:
                from pkg.full import mcp
            mcp.run()
        """
    lowlevel = """
        from mcp.server import Server
        from mcp.types import Tool
        from pkg import VERSION

        mcp = Server("full")

        @mcp.list_tools()
        async def list_tools():
            return [Tool(name="second", inputSchema={"type": "object"})]
        """
    files = {
        "pkg/__init__.py": f"VERSION = 1\n{''.join(line[8:] + chr(10) for line in main.split(chr(10)))}",
        "pkg/simple.py": f"from pkg import VERSION\n{MAIN}",
        "pkg/full.py": lowlevel,
        "pyproject.toml": '[project.scripts]\nx = "pkg:run"\n',
    }
    result = discover(str(write(tmp_path, files)))
    assert [is_conditional(result, name) for name in ("first", "second")] == [True, False]

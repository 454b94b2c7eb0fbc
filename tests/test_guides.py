"""The guides show what mcproof really prints: every console block is run, in order, in a project of its own.

A command line of mcproof alone runs in this process, and every other in a shell.
A block ```` ```toml NAME ```` is written to that file. A line of dots stands for anything, and a time
that pytest took for any other.
"""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import sys
import tomllib
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from cli.running import run_bytes
from mcproof.cli.help import parser_of
from testing.installed import python_path

if TYPE_CHECKING:
    from collections.abc import Iterator

DOCS = Path(__file__).resolve().parent.parent / "docs"
GUIDES = [
    path.relative_to(DOCS).as_posix()
    for path in sorted(DOCS.rglob("*.md"))
    if "```console\n$ " in path.read_text(encoding="utf-8")
]
_BLOCK = re.compile(r"^```(\w+)(?: (\S+))?\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_OF_THE_SHELL = re.compile(r"[|<>$&;*~`]")


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with the catalog of the embedded example, and `mcproof` and `pytest`, with the plugin, on the path."""
    for name in [name for name in os.environ if name.startswith(("GITHUB_", "CI"))]:
        monkeypatch.delenv(name)
    commands = tmp_path / "bin"
    commands.mkdir()
    plugin = f"PYTHONPATH={shlex.quote(python_path(tmp_path / 'site'))}"
    shims = {
        "mcproof": ("", "-m mcproof"),
        "python": ("", ""),
        "pytest": (plugin, "-m pytest -p no:cacheprovider -p no:schemathesis"),
    }
    for name, (setting, words) in shims.items():
        shim = commands / name
        shim.write_text(f'#!/bin/sh\n{setting} exec "{sys.executable}" {words} "$@"\n')
        shim.chmod(0o755)
    project = tmp_path / "project"
    (project / "catalogs").mkdir(parents=True)
    demo = (files("mcproof") / "demo" / "weather.json").read_bytes()
    (project / "catalogs" / "weather.json").write_bytes(demo)
    return project


def run_block(block: str, project: Path) -> Iterator[tuple[str, str]]:
    """What each command of a console block prints, errors among the rest, as on a terminal."""
    path = f"{project.parent / 'bin'}{os.pathsep}{os.environ['PATH']}"
    code = 0
    for command in [line.removeprefix("$ ") for line in block.splitlines() if line.startswith("$ ")]:
        if command.startswith("mcproof ") and not _OF_THE_SHELL.search(command):
            _, *words = shlex.split(command)
            done = run_bytes(*words, cwd=project, env={"PATH": path}, has_one_output=True)
        else:
            done = subprocess.run(
                [shutil.which("bash") or "bash", "-c", f"(exit {code})\n{command}\n"],
                cwd=project,
                env={**os.environ, "PATH": path, "PYTHONUTF8": "1", "PYTHONUNBUFFERED": "1"},
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                timeout=60,
                check=False,
            )
        code = done.returncode
        yield command, done.stdout.decode()


def shown_outputs(block: str) -> list[str]:
    """What the guide says that each command prints."""
    return [part.partition("\n")[2] for part in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]]


def is_as_shown(printed: str, shown: str) -> bool:
    pattern = re.escape(shown).replace(re.escape("...\n"), "(?:.*\n)*?")
    pattern = re.sub(r" in \d+\\\.\d\ds", r" in \\d+\\.\\d\\ds", pattern.replace("\\ ", " "))  # what pytest took
    return re.fullmatch(pattern, printed) is not None


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("bash") is None, reason="the guides are written for bash")
@pytest.mark.skipif(sys.platform != "linux", reason="the guides use GNU sed")
@pytest.mark.parametrize("guide", GUIDES)
def test_a_guide_shows_what_its_commands_print(guide: str, project: Path) -> None:
    blocks = _BLOCK.findall((DOCS / guide).read_text(encoding="utf-8"))
    ran = 0
    for language, name, text in blocks:
        if name:
            (project / name).write_text(text, encoding="utf-8")
        elif language == "console":
            for (command, printed), shown in zip(run_block(text, project), shown_outputs(text), strict=True):
                ran += 1
                assert is_as_shown(printed, shown), f"$ {command}\n{printed}"
    assert ran


ROOT = DOCS.parent
_SHELL = re.compile(r"^```sh\n(.*?)^```$", re.MULTILINE | re.DOTALL)
COMMAND_LINES = [
    pytest.param(line, id=f"{page.name}: {line}")
    for page in (ROOT / "README.md", *sorted(DOCS.rglob("*.md")))
    for block in _SHELL.findall(page.read_text(encoding="utf-8"))
    for line in block.replace("\\\n", " ").splitlines()
    if line.startswith("mcproof ")
]


@pytest.mark.parametrize("line", COMMAND_LINES)
def test_a_command_line_of_the_documentation_is_understood(line: str) -> None:
    """Lines without output: what they print depends on the server of the reader."""
    _, name, *words = shlex.split(re.split(r" [|>] ", line)[0], comments=True)
    parser_of(name).parse_args(words)


def test_the_readme_installs_what_is_there() -> None:
    """`uvx --from . mcproof` and `pip install .` need the name of the project and its script, and nothing else."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert project["scripts"] == {"mcproof": "mcproof.cli.main:run"}
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    install = readme.partition("## Install")[2].partition("\n## ")[0]
    assert "uvx --from . mcproof demo" in install
    assert "pip install ." in install
    assert "make" not in install.replace("makes", "")

"""Which source a command starts: a script, a module, or the package behind a console script, and never more."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest

from mcproof.source.packages.installed import source_of_command

if TYPE_CHECKING:
    from pathlib import Path


def written(folder: Path, **files: str) -> None:
    """Write files; `__` in a name stands for `/`, and `_dot_` for a dot."""
    for name, text in files.items():
        path = folder / name.replace("__", "/").replace("_dot_", ".")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")


@pytest.fixture
def project(tmp_path: Path) -> Path:
    written(
        tmp_path,
        server_dot_py="",
        dist__index_dot_js="",
        src__weather__main_dot_py="",
        other__main_dot_py="",
        pyproject_dot_toml='[project]\nname = "weather"\nscripts = {weather-server = "weather.main:run"}\n',
    )
    return tmp_path


@pytest.mark.parametrize(
    ("command", "source"),
    [
        ("python server.py --port 1", "server.py"),
        ("python3.12 -u server.py", "server.py"),
        ("env MODE=test python server.py", "server.py"),
        ("uv run server.py", "server.py"),
        ("uv run weather-server", "src/weather"),
        ("python -m weather", "src/weather"),
        ("python -m weather.main", "src/weather"),
        ("python -m server", "server.py"),
        ("node dist/index.js", "dist/index.js"),
        ("npx -y some-server", None),
        ("uvx some-server", None),
        ("python -m nothing_like_this", None),
        ("python -c pass", None),
        ("docker run image", None),
    ],
)
def test_a_command_of_a_project_leads_to_its_source(project: Path, command: str, source: str | None) -> None:
    found = source_of_command(command.split(), str(project))
    assert found == (None if source is None else os.path.join(project, source))


@pytest.mark.parametrize(
    ("command", "is_read"),
    [
        ("npx -y @scope/notes", True),
        ("npx @scope/notes --stdio", True),
        ("npm exec @scope/notes", True),
        ("npx -y @scope/notes@1.2.0", True),
        ("npx -y @scope/notes@1.3.0", False),
        ("npx -y @scope/notes@latest", False),
        ("pnpm dlx @scope/notes", False),
        ("npx -y @scope/others", False),
        ("npx -y @scope/../notes", False),
    ],
)
@pytest.mark.parametrize("directory", [".", "other"])
def test_npx_starts_the_package_that_is_installed(project: Path, command: str, is_read: bool, directory: str) -> None:
    package = project / "node_modules" / "@scope" / "notes"
    written(package, **{"package.json": '{"name": "@scope/notes", "version": "1.2.0", "main": "index.js"}'})
    written(project / "node_modules" / "notes", **{"package.json": '{"name": "notes", "version": "1.2.0"}'})
    found = source_of_command(command.split(), os.path.normpath(project / directory))
    assert found == (str(package) if is_read else None)


def test_a_console_script_leads_to_its_package_and_no_other(project: Path) -> None:
    site = project / "venv" / "lib" / "python3.12" / "site-packages"
    written(
        site,
        **{
            "weather-1.0.dist-info__entry_points.txt": "[console_scripts]\nweather = weather_server.main:run\n",
            "weather-1.0.dist-info__METADATA": "Name: weather\nVersion: 1.0\n",
            "weather_server__main.py": "",
            "unrelated__main.py": "",
        },
    )
    script = project / "venv" / "bin" / "weather"
    script.parent.mkdir()
    script.write_text(f"#!{project}/venv/bin/python\n")
    assert source_of_command([str(script)], None) == str(site / "weather_server")
    assert source_of_command(["venv/bin/weather"], str(project)) == str(site / "weather_server")


def test_a_bin_of_npm_leads_to_its_script(project: Path) -> None:
    written(project, **{"node_modules__some__dist__index.js": ""})
    folder = project / "node_modules" / ".bin"
    folder.mkdir()
    (folder / "some").symlink_to("../some/dist/index.js")
    found = source_of_command(["node_modules/.bin/some"], str(project))
    assert found == os.path.realpath(project / "node_modules/some/dist/index.js")

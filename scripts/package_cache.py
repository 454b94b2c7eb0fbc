"""Install npm and PyPI packages into a cache folder, for scripts that run other projects' code."""

from __future__ import annotations

import os
import pathlib
import shutil
import subprocess
import sys
import venv
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

TIMEOUT = 600
"""Seconds that an installation may take."""


class InstallError(Exception):
    """A package cannot be installed."""


def cache_folder(name: str) -> pathlib.Path:
    """The cache folder of this name; it may not exist yet."""
    cache = pathlib.Path(os.environ.get("XDG_CACHE_HOME") or pathlib.Path.home() / ".cache")
    return cache / "mcproof" / name


def install_npm(folder: pathlib.Path, packages: Iterable[str]) -> None:
    """Install npm packages below a folder. Raises InstallError."""
    npm = shutil.which("npm")
    if npm is None:
        raise InstallError(f"no npm to install {', '.join(packages)}")
    folder.mkdir(parents=True, exist_ok=True)
    _run([npm, "install", "--silent", "--no-audit", "--no-fund", "--prefix", str(folder), *packages])


def install_pypi(folder: pathlib.Path, packages: Iterable[str]) -> pathlib.Path:
    """Install PyPI packages into a virtual environment; return its interpreter. Raises InstallError."""
    python = folder / ("Scripts" if sys.platform == "win32" else "bin") / "python"
    if not python.exists():
        venv.create(folder, with_pip=True)
    _run([str(python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check", *packages])
    return python


def _run(words: list[str]) -> None:
    done = subprocess.run(words, capture_output=True, text=True, check=False, timeout=TIMEOUT)
    if done.returncode:
        raise InstallError(f"`{' '.join(words[:4])} …` failed: {(done.stderr or done.stdout)[-500:].strip()}")

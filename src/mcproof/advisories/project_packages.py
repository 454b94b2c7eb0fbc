"""The packages of a project: its own name and version, and the frameworks that its files pin."""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING

from mcproof.advisories.command_packages import pypi_package
from mcproof.advisories.node_packages import node_project
from mcproof.core.observations.source import KnownPackage
from mcproof.discovery.project.distributions import distributions_in, normalized, text_of
from mcproof.discovery.project.project_metadata import nested_table, read_toml

if TYPE_CHECKING:
    from collections.abc import Iterator

PYTHON_FRAMEWORKS = ("mcp", "fastmcp")
_PYTHON_MARKERS = ("pyproject.toml", "setup.cfg", "requirements.txt", "uv.lock", "poetry.lock", "pdm.lock", "Pipfile")
_LOCKS = ("uv.lock", "poetry.lock", "pdm.lock")
_LOCKED = r'(?m)^name = "{}"\s+version = "([^"]+)"'
_PIPFILE_LOCKED = r'"{}": \{{[^{{}}]*"version": "==([^"]+)"'
_PINNED = r"(?im)(?:^|[\"'])[ \t]*{}[ \t]*(?:\[[^\]\n]*\])?[ \t]*===?[ \t]*([\w.!+-]+)(?=[ \t]*(?:[\"'\n#;\\]|$))"
_REQUIREMENTS = re.compile(r"requirements[\w.-]*\.(?:txt|in|lock)")
_HIGHEST_CLIMB = 4
_MOST_REQUIREMENT_FILES = 20


def project_packages(path: str) -> list[KnownPackage]:
    """Return the packages of the project that a file or folder belongs to; nothing is run."""
    folder = os.path.abspath(path if os.path.isdir(path) else os.path.dirname(path) or os.curdir)
    found = [*_python(_root(folder, _PYTHON_MARKERS)), *node_project(_root(folder, ("package.json",)))]
    found += [
        KnownPackage(each.name, "pypi", each.version, os.path.basename(each.folder))
        for each in distributions_in(folder)
    ]
    return list(dict.fromkeys(found))


def _root(folder: str, markers: tuple[str, ...]) -> str | None:
    """Return the nearest folder with one of these files, at or above a folder, inside its repository."""
    for _ in range(_HIGHEST_CLIMB):
        if any(os.path.isfile(os.path.join(folder, name)) for name in markers):
            return folder
        parent = os.path.dirname(folder)
        if parent == folder or os.path.exists(os.path.join(folder, ".git")):
            return None
        folder = parent
    return None


def _python(folder: str | None) -> Iterator[KnownPackage]:
    """Yield the packages of a Python project: itself, and pinned frameworks."""
    if folder is None:
        return
    declared = read_toml(os.path.join(folder, "pyproject.toml"))
    for table in (nested_table(declared, "project"), nested_table(declared, "tool", "poetry")):
        name, version = table.get("name"), table.get("version")
        if isinstance(name, str) and name:
            pinned = version if isinstance(version, str) else None
            yield KnownPackage(normalized(name), "pypi", pinned, "pyproject.toml")
            break
    for name in PYTHON_FRAMEWORKS:
        package = _pinned(folder, name)
        if package is not None:
            yield package


def _pinned(folder: str, name: str) -> KnownPackage | None:
    """Return a framework that the files of a project pin: locks first, then requirements, then what is installed."""
    for file, pattern in (*((lock, _LOCKED) for lock in _LOCKS), ("Pipfile.lock", _PIPFILE_LOCKED)):
        found = re.search(pattern.format(re.escape(name)), text_of(os.path.join(folder, file)))
        if found is not None:
            return KnownPackage(name, "pypi", found[1], file)
    for file in (*_requirement_files(folder), "pyproject.toml", "setup.cfg", "setup.py"):
        found = re.search(_PINNED.format(re.escape(name)), text_of(os.path.join(folder, file)))
        if found is not None:
            return pypi_package(f"{name}=={found[1]}", file)
    return None


def _requirement_files(folder: str) -> list[str]:
    try:
        names = sorted(os.listdir(folder))
    except OSError:
        return []
    return [name for name in names if _REQUIREMENTS.fullmatch(name)][:_MOST_REQUIREMENT_FILES]

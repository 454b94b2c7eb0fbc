"""Find the project file that an import refers to."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING

from mcproof.core.text.files import LIBRARY_FOLDERS

if TYPE_CHECKING:
    from collections.abc import Container, Iterator

    from mcproof.discovery.project.boundary import Boundary

_HIGHEST_CLIMB = 12


class ImportPaths:
    """Finds modules in folders. Each folder is listed once, which is faster than many checks for single files."""

    def __init__(self, files: Container[str], top: str, boundary: Boundary, installed: frozenset[str]) -> None:
        self._files = files
        self._boundary = boundary
        self._installed = installed
        """External packages that are always installed and never part of the project."""
        self._top = top if os.path.isdir(top) else os.path.dirname(top)
        self._found: dict[tuple[str, str, int], str | None] = {}
        self._listed: dict[str, frozenset[str]] = {}

    def find(self, importer: str, name: str, level: int) -> str | None:
        """The file or folder that an import refers to; None if it is not in the project."""
        folder = os.path.dirname(importer)
        key = folder, name, level
        if key not in self._found:
            self._found[key] = self._search(folder, name, level)
        return self._found[key]

    def is_certain(self, importer: str, name: str) -> bool:
        """Whether an import always works: from the project, the standard library or an installed package."""
        first = name.partition(".")[0]
        is_there = first in self._installed or first in sys.stdlib_module_names
        return is_there or self.find(importer, name, 0) is not None

    def in_folder(self, folder: str, name: str) -> str | None:
        """The project's module or package of this name in a folder; the folder itself if the name is empty."""
        found = self._located(folder, name)
        return found if found is not None and self._boundary.owns(found) else None

    def _located(self, folder: str, name: str) -> str | None:
        if not name:
            folder, name = os.path.split(folder)
        *packages, last = name.split(".")
        for package in packages:
            if package not in self._names_in(folder):
                return None
            folder = os.path.join(folder, package)
        names, path = self._names_in(folder), os.path.join(folder, last)
        if f"{last}.py" in names and self._is_file(f"{path}.py"):
            return f"{path}.py"
        if last not in names:
            return None
        if self.is_package(path):
            return os.path.join(path, "__init__.py")
        return path if self._holds_python(path) else None

    def below(self, path: str, name: str) -> str | None:
        """The submodule of this name, if `path` is a package."""
        if path.endswith("__init__.py"):
            return self.in_folder(os.path.dirname(path), name)
        return None if path.endswith(".py") else self.in_folder(path, name)

    def is_package(self, folder: str) -> bool:
        """Whether a folder has an `__init__.py`."""
        return "__init__.py" in self._names_in(folder) and self._is_file(os.path.join(folder, "__init__.py"))

    def packages_of(self, path: str) -> Iterator[str]:
        """The `__init__.py` files of the packages that contain a file, which run first when it is imported."""
        folder = os.path.dirname(path)
        for _ in range(_HIGHEST_CLIMB):
            if not self.is_package(folder):
                break
            yield os.path.join(folder, "__init__.py")
            folder = os.path.dirname(folder)

    def dotted_name(self, path: str) -> str:
        """The dotted name of a file within the project."""
        folder, base = os.path.split(path)
        parts = [] if base == "__init__.py" else [base.removesuffix(".py")]
        for _ in range(_HIGHEST_CLIMB):
            if not self.is_package(folder):
                break
            folder, base = os.path.split(folder)
            parts.insert(0, base)
        return ".".join(parts)

    def _search(self, folder: str, name: str, level: int) -> str | None:
        if level:
            for _ in range(level - 1):
                folder = os.path.dirname(folder)
            return self.in_folder(folder, name)
        first = name.partition(".")[0]
        if first in self._installed or first in sys.stdlib_module_names:
            return None
        own = folder
        for _ in range(_HIGHEST_CLIMB):
            is_root = not self.is_package(folder)
            if is_root:
                for root in (folder, os.path.join(folder, "src")):
                    if (found := self.in_folder(root, name)) is not None:
                        return found
            parent = os.path.dirname(folder)
            if os.path.basename(folder) == first and (found := self.in_folder(parent, name)) is not None:
                return found
            if parent == folder or (is_root and (folder == self._top or not folder.startswith(self._top + os.sep))):
                break
            folder = parent
        return self.in_folder(own, name)

    def _names_in(self, folder: str) -> frozenset[str]:
        """The names in a folder; empty if it does not exist."""
        if folder not in self._listed:
            try:
                self._listed[folder] = frozenset(os.listdir(folder))
            except (OSError, ValueError):
                self._listed[folder] = frozenset()
        return self._listed[folder]

    def _is_file(self, path: str) -> bool:
        return path in self._files or os.path.isfile(path)

    def _holds_python(self, folder: str) -> bool:
        """Whether a folder without `__init__.py` can be a package: it contains Python files or folders."""
        names = list(self._names_in(folder))[:200]
        return any(name.endswith(".py") for name in names) or any(
            os.path.isdir(os.path.join(folder, name)) for name in names
        )


def library_name(name: str) -> str:
    """The name that a vendored module has when it is installed: `app._vendor.fastmcp` is `fastmcp`."""
    parts = name.split(".")
    inside = next((index for index in range(len(parts) - 1, -1, -1) if parts[index] in LIBRARY_FOLDERS), -1)
    return ".".join(parts[inside + 1 :]) or name

"""The boundary of a project: what is its own source, and what is a library that lies beside it."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from mcproof.core.text.files import INSTALL_FOLDERS, LIBRARY_FOLDERS
from mcproof.discovery.project.distributions import Distribution, distribution_of, distributions_in, roots_of

if TYPE_CHECKING:
    from collections.abc import Iterable

_HIGHEST_CLIMB = 12


class Boundary:
    """Decides which files and folders belong to the project of a target.

    The source of an installed package is that of its distribution, which lists its files, or else the folder at the
    top. Everywhere else, all source is the project's own, except in folders for libraries.
    """

    def __init__(self, target: str) -> None:
        self._target = os.path.abspath(target)
        self._home: str | None = None
        """The only folder or file that is the project's own, in an installation that does not list its files."""
        self._own: frozenset[str] | None = None
        """The files of the project's distribution, and their folders."""
        self._foreign: frozenset[str] = frozenset()
        """The files of other distributions in the same folder, and their folders."""
        self.distribution: Distribution | None = None
        """The installed distribution that the target is a part of."""
        self._site = _site_above(self._target)
        if self._site is None:
            self._note_installed(_container(self._target))
            return
        self.distribution = distribution_of(self._target, self._site)
        if self.distribution is None:
            self._home = os.path.join(self._site, os.path.relpath(self._target, self._site).split(os.sep)[0])
        else:
            self._own = _with_folders(self.distribution.python_files(), self._site)

    def owns(self, path: str) -> bool:
        """Whether a file or a folder is part of the project."""
        if path in self._foreign:
            return False
        base = self._target
        if not _is_below(path, base):
            if self._own is not None and path not in self._own:
                return False
            if self._home is not None and not _is_below(path, self._home):
                return False
            base = self._site or os.path.commonpath((path, base))
        folders = os.path.relpath(path, base).split(os.sep)
        return LIBRARY_FOLDERS.isdisjoint(folders[:-1] if path.endswith(".py") else folders)

    def is_foreign(self, path: str) -> bool:
        """Whether a file or folder of the target itself belongs to another distribution."""
        return bool(self._foreign) and os.path.abspath(path) in self._foreign

    def _note_installed(self, folder: str) -> None:
        """Note the distributions in a folder that also holds the target, as `pip install --target` leaves them."""
        every = distributions_in(folder)
        if not every:
            return
        files = {each: each.python_files() for each in every}
        own: list[Distribution] = []
        if self._target != folder:
            self.distribution = distribution_of(self._target, folder)
            own = [self.distribution] if self.distribution is not None else []
        elif os.path.basename(folder) in INSTALL_FOLDERS or not _holds_more(folder, files.values()):
            own = roots_of(every)
            self.distribution = own[0] if len(own) == 1 else None
        others = [paths for each, paths in files.items() if each not in own]
        ours = _with_folders((path for each in own for path in files[each]), folder)
        self._foreign = _with_folders((path for paths in others for path in paths), folder) - ours


def _site_above(target: str) -> str | None:
    """The nearest folder for libraries that contains a target; None if there is none."""
    folder = os.path.dirname(target)
    while os.path.dirname(folder) != folder:
        if os.path.basename(folder) in LIBRARY_FOLDERS:
            return folder
        folder = os.path.dirname(folder)
    return None


def _container(target: str) -> str:
    """The folder from which the modules of a target are imported."""
    folder = target if os.path.isdir(target) else os.path.dirname(target)
    for _ in range(_HIGHEST_CLIMB):
        if not os.path.isfile(os.path.join(folder, "__init__.py")):
            break
        folder = os.path.dirname(folder)
    return folder


def _with_folders(files: Iterable[str], top: str) -> frozenset[str]:
    """Some files together with the folders that contain them, below `top`."""
    found: set[str] = set()
    for file in files:
        path = os.path.normpath(file)
        while path not in found and path != top and _is_below(path, top):
            found.add(path)
            path = os.path.dirname(path)
    return frozenset(found)


def _holds_more(folder: str, recorded: Iterable[frozenset[str]]) -> bool:
    """Whether a folder holds Python files or packages that no distribution recorded."""
    known = _with_folders((path for paths in recorded for path in paths), folder)
    with os.scandir(folder) as entries:
        names = [each.name for each in entries if each.path not in known and not each.name.startswith((".", "_"))]
    return any(
        name.endswith(".py") or os.path.isfile(os.path.join(folder, name, "__init__.py")) or name == "src"
        for name in names
    )


def _is_below(path: str, folder: str) -> bool:
    """Whether a path is a folder or something in it."""
    return path == folder or path.startswith(folder.rstrip(os.sep) + os.sep)

"""Which files calls leave behind: the files where a local server runs, before the calls and after them.

Only names, sizes and times are read, of a limited number of files. What programs write anyway is left out: caches,
logs, hidden folders, installed packages. So are the files that this process has open, such as a trace, and folders
that everybody writes to.
"""

from __future__ import annotations

import os
import tempfile
from typing import TYPE_CHECKING

from mcproof.core.named_tuple import NamedTuple
from mcproof.core.observations.probes import LeftFiles

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from mcproof.client.endpoints import CommandEndpoint

_MOST_FILES, _DEEPEST = 10_000, 6
_MOST_OPEN = 256
_SCRIPTS = (".py", ".js", ".mjs", ".cjs", ".ts")
_INSTALLED = frozenset(("node_modules", "site-packages"))
_PASSED_OVER = _INSTALLED | {"__pycache__", "log", "logs", "cache", "caches", "tmp", "temp", "coverage"}
"""Folders for what programs write anyway, and for what is installed; so are all hidden ones."""
_ENVIRONMENT = "pyvenv.cfg"
_PASSED_ENDINGS = (".pyc", ".log", ".pid", ".lock", ".tmp", ".swp", "-wal", "-shm", "-journal", "~")


ELSEWHERE = LeftFiles(why_none="the server runs elsewhere")


class Stamp(NamedTuple):
    """What changes when a file is written."""

    size: int
    written: int


class FilesBefore:
    """The files around a server before it is called."""

    def __init__(self, server: CommandEndpoint) -> None:
        self._folders = list(_folders_of(server))
        self._files = dict(_stamps(self._folders))

    def left(self, allowed: Iterable[str]) -> LeftFiles:
        """Return what calls have left behind since then; `allowed` are the called tools that may change something."""
        if not self._folders:
            return LeftFiles(why_none="it runs in a folder that everybody writes to")
        open_now = set(_open_files())
        after = {
            path: stamp
            for path, stamp in _stamps(self._folders)
            if stamp != self._files.get(path) and not _is(path, open_now)
        }
        # Before the calls, a file beyond the limit was not seen.
        is_complete = len(self._files) < _MOST_FILES
        created = [_shown(path) for path in after if path not in self._files] if is_complete else []
        changed = [_shown(path) for path in after if path in self._files]
        return LeftFiles(tuple(sorted(created)), tuple(sorted(changed)), tuple(sorted(allowed)))


def _folders_of(server: CommandEndpoint) -> Iterator[str]:
    """Yield where a server runs, and the folder of its script if that is elsewhere."""
    crowded = {os.path.realpath(place) for place in (os.sep, os.path.expanduser("~"), tempfile.gettempdir())}
    place = os.path.realpath(server.directory or os.curdir)
    scripts = (os.path.join(place, word) for word in server.words if word.endswith(_SCRIPTS))
    folders = [place, *(os.path.dirname(os.path.realpath(script)) for script in scripts if os.path.isfile(script))]
    for number, folder in enumerate(folders):
        is_inside = any(folder == other or folder.startswith(other + os.sep) for other in folders[:number])
        is_installed = number > 0 and not _INSTALLED.isdisjoint(folder.split(os.sep))
        if folder not in crowded and not is_inside and not is_installed:
            yield folder


def _stamps(folders: Sequence[str]) -> Iterator[tuple[str, Stamp]]:
    """Yield the files in folders and below them, the nearest first."""
    waiting, left = [(folder, 0) for folder in folders], _MOST_FILES
    for (
        folder,
        depth,
    ) in waiting:  # read while it grows: the nearest folders first, since the number of files is limited
        try:
            with os.scandir(folder) as scanned:
                entries = sorted(scanned, key=lambda entry: entry.name)
        except OSError:
            continue
        if depth and any(entry.name == _ENVIRONMENT for entry in entries):
            continue
        for entry in entries:
            try:
                if entry.is_dir(follow_symlinks=False):
                    if depth < _DEEPEST and entry.name not in _PASSED_OVER and not entry.name.startswith("."):
                        waiting.append((entry.path, depth + 1))
                    continue
                if entry.name.endswith(_PASSED_ENDINGS) or ".log." in entry.name:
                    continue
                status = entry.stat(follow_symlinks=False)
            except OSError:  # deleted meanwhile: the server that is observed goes on
                continue
            if not left:
                return
            left -= 1
            yield entry.path, Stamp(status.st_size, status.st_mtime_ns)


def _open_files() -> Iterator[tuple[int, int]]:
    for descriptor in range(_MOST_OPEN):
        try:
            status = os.fstat(descriptor)
        except OSError:
            continue
        yield status.st_dev, status.st_ino


def _is(path: str, files: set[tuple[int, int]]) -> bool:
    try:
        status = os.stat(path, follow_symlinks=False)
    except OSError:
        return False
    return (status.st_dev, status.st_ino) in files


def _shown(path: str) -> str:
    """The path as a reader here would type it."""
    way = os.path.relpath(path)
    return path if way.startswith(os.pardir) else way

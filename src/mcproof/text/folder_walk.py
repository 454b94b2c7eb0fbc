"""Find files below a folder, except in hidden folders, environments and folders of libraries."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

INSTALL_FOLDERS = frozenset(("site-packages", "dist-packages", "node_modules"))
"""Folders that a package manager fills."""
VENDOR_FOLDERS = frozenset(("vendor", "_vendor", "vendored", "_vendored", "third_party", "thirdparty", "third-party"))
"""Folders with copies of libraries."""
LIBRARY_FOLDERS = INSTALL_FOLDERS | VENDOR_FOLDERS
_ENVIRONMENTS = frozenset(("venv", "env", "__pycache__"))
DEEPEST_FOLDER = 40
MOST_FOLDERS = 20_000


def files_below(folder: str) -> Iterator[str]:
    """The files below a folder in a stable order, those of a folder before those of the folders in it.

    Hidden folders, virtual environments, installed and vendored packages are left out. Linked folders are not
    followed: in a stranger's checkout they may lead anywhere.
    """
    waiting = [(folder, 0)]
    seen = 0
    while waiting and seen < MOST_FOLDERS:
        here, depth = waiting.pop()
        seen += 1
        try:
            with os.scandir(here) as listing:
                entries = sorted(listing, key=lambda entry: entry.name)
        except OSError:
            continue
        if here != folder and any(entry.name == "pyvenv.cfg" for entry in entries):
            continue
        folders = []
        for entry in entries:
            path = entry.name if here == os.curdir else entry.path
            if _is_folder(entry):
                if depth < DEEPEST_FOLDER and not is_left_out(entry.name):
                    folders.append((path, depth + 1))
            elif is_file(entry):
                yield path
        waiting.extend(reversed(folders))


def start_of_file(file: str, size: int) -> bytes:
    """Read up to this many bytes of a file; empty if it cannot be read."""
    try:
        with open(file, "rb") as opened:
            return opened.read(size)
    except OSError:
        return b""


def is_left_out(name: str) -> bool:
    """Whether a folder of this name is hidden, an environment, or contains libraries."""
    return name.startswith(".") or name in LIBRARY_FOLDERS or name in _ENVIRONMENTS


def _is_folder(entry: os.DirEntry[str]) -> bool:
    try:
        return entry.is_dir(follow_symlinks=False)
    except OSError:
        return False


def is_file(entry: os.DirEntry[str]) -> bool:
    """Whether an entry is a regular file, or a link to one."""
    try:
        return entry.is_file()
    except OSError:
        return False

"""Confine the checker process: it reads files below the allowed roots, and nothing else leaves or enters it.

An audit hook enforces this for all of mcproof's own code, including links and imports that lead out of a root. It is
not a boundary against foreign code, of which none runs in the checker.
"""

from __future__ import annotations

import errno
import os
import sys
from typing import Any

from mcproof.mcp_server.allowed_roots import is_below

_WRITING = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND
_READS = ("open", "os.listdir", "os.scandir")
_REFUSED = ("subprocess.", "os.exec", "os.fork", "os.posix_spawn", "os.spawn", "os.system", "os.startfile", "pty.",
            "socket.", "ctypes.", "os.chmod", "os.chown", "os.link", "os.mkdir", "os.remove", "os.rename", "os.rmdir",
            "os.symlink", "os.truncate", "os.utime", "os.setxattr", "shutil.", "webbrowser.")  # fmt: skip
"""Prefixes of the events that start processes, open connections or change files."""


class Confinement:
    """The audit hook; `roots` are the folders that may be read, besides Python and mcproof themselves."""

    def __init__(self) -> None:
        self.roots: tuple[str, ...] = ()
        self._own = _program_folders()

    def apply(self) -> None:
        """Install the hook; it stays until the process ends."""
        sys.addaudithook(self._check)

    def _check(self, event: str, arguments: tuple[Any, ...]) -> None:
        if event in _READS:
            path = arguments[0]
            if event == "open" and arguments[2] & _WRITING:
                raise PermissionError(errno.EACCES, "this server does not write files", _shown(path))
            if not isinstance(path, int) and not self._may_read(path):
                raise PermissionError(errno.EACCES, "outside the allowed folders", _shown(path))
        elif event.startswith(_REFUSED):
            raise PermissionError(errno.EACCES, f"this server only reads files, refused: {event}")

    def _may_read(self, path: Any) -> bool:
        real = os.path.realpath(os.curdir if path is None else os.fsdecode(path))
        return any(is_below(real, folder) for folder in (*self.roots, *self._own))


def _program_folders() -> tuple[str, ...]:
    """The folders that Python imports from, and that of mcproof with its data."""
    import mcproof

    named = (sys.prefix, sys.base_prefix, sys.exec_prefix, *sys.path, *mcproof.__path__)
    return tuple(dict.fromkeys(os.path.realpath(each) for each in named if each))


def _shown(path: Any) -> str | None:
    return os.fsdecode(path) if isinstance(path, str | bytes) else None

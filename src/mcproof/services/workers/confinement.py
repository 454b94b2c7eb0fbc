"""The walls around the code that reads the input of strangers: files, writes, processes and connections.

The first wall opens files: below an allowed folder, one part of the path after the other, so that no link leads out of
it, whenever it was made. The second is an audit hook, which sees what the first does not. Neither is a boundary
against foreign code, of which none runs in a worker.
Why there is one kind of worker: docs/decisions/0065-one-worker-process.md.
"""

from __future__ import annotations

import builtins
import errno
import io
import os
import socket
import sys
import threading
from ipaddress import ip_address, ip_network
from typing import TYPE_CHECKING, Any

from mcproof.core.text.files import is_inside, open_inside
from mcproof.services.workers.messages import ANYWHERE

if TYPE_CHECKING:
    from mcproof.services.workers.messages import WorkerLimits

_WRITING = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND
_READS = ("open", "os.listdir", "os.scandir")
_CHANGES = ("os.chmod", "os.mkdir", "os.remove", "os.rename", "os.rmdir", "os.utime")
"""The events of changes that are allowed in the folders for them: what writing a file atomically needs."""
_REFUSED = ("subprocess.", "os.exec", "os.fork", "os.posix_spawn", "os.spawn", "os.system", "os.startfile", "pty.",
            "ctypes.", "os.chmod", "os.chown", "os.link", "os.mkdir", "os.remove", "os.rename", "os.rmdir",
            "os.symlink", "os.truncate", "os.utime", "os.setxattr", "shutil.", "webbrowser.")  # fmt: skip
"""Prefixes of the events that start processes or change files."""
_SERVING = ("socket.bind", "socket.sendto", "socket.sendmsg")


class Confinement:
    """What a process may do from now on."""

    def __init__(self, limits: WorkerLimits) -> None:
        self._writes = tuple(map(os.path.realpath, limits.writes))
        self._readable = (*map(os.path.realpath, limits.roots or ()), *self._writes, *_program_folders())
        self._networks = None if limits.network is None else tuple(map(ip_network, limits.network))
        self._is_anywhere = limits.network == ANYWHERE
        self._reads_all = os.sep in self._readable
        self._opening = threading.local()

    def apply(self) -> None:
        """Confine this process until it ends."""
        if os.open in os.supports_dir_fd and not self._reads_all:
            self._replace_open()
        if self._networks is not None:
            import mcproof.client.http.policy  # noqa: F401 (before the hook, which asks it)
        sys.addaudithook(self._check)

    def _replace_open(self) -> None:
        """Have `open` open files below the allowed folders part by part.

        Replaced for the whole process, so that the rooms that read files, and the libraries that they use, need no
        second way to open them for strangers.
        """
        original: Any = io.open

        def opened(file: Any, *arguments: Any, **named: Any) -> Any:
            # Instead of another opener, such as that of checkouts: what the user allows here decides.
            named["opener"] = None if isinstance(file, int) else self._opened
            return original(file, *arguments, **named)

        builtins.open = io.open = opened

    def _opened(self, path: Any, flags: int) -> int:
        self._opening.is_checked = True
        try:
            if flags & _WRITING:
                return os.open(path, flags | getattr(os, "O_CLOEXEC", 0), 0o666)
            # Resolved again: since the hook has seen this path, a part of it may have become a link.
            real = _real(path)
            for folder in self._readable:
                if is_below(real, folder):
                    return open_inside(real, folder, flags)
        finally:
            self._opening.is_checked = False
        raise PermissionError(errno.EACCES, "outside the allowed folders", _shown(path))

    def _check(self, event: str, arguments: tuple[Any, ...]) -> None:
        if event in _READS:
            # The parts of a path are relative to an open folder, which an event does not tell.
            if not getattr(self._opening, "is_checked", False):
                self._check_file(event, arguments)
        elif event.startswith("socket."):
            self._check_socket(event, arguments)
        elif event.startswith(_REFUSED) and not (event in _CHANGES and self._may_change(event, arguments)):
            raise PermissionError(errno.EACCES, f"this server only reads files, refused: {event}")

    def _check_file(self, event: str, arguments: tuple[Any, ...]) -> None:
        path = arguments[0]
        if isinstance(path, int):
            return
        if event == "open" and arguments[2] & _WRITING:
            if not self._may_change(event, (path,)):
                raise PermissionError(errno.EACCES, "this server does not write files", _shown(path))
        elif not self._reads_all:
            real = _real(path)
            if not any(is_below(real, folder) for folder in self._readable):
                raise PermissionError(errno.EACCES, "outside the allowed folders", _shown(path))

    def _may_change(self, event: str, arguments: tuple[Any, ...]) -> bool:
        """Whether all paths of a change are in the folders for it, or folders above that do not exist yet."""
        # What renames or removes a link does not follow it, so of these paths only the folders are resolved.
        resolved = _real if event in ("open", "os.chmod", "os.utime") else _real_entry
        paths = [resolved(path) for path in arguments if isinstance(path, str | bytes | os.PathLike)]
        return bool(paths) and all(
            any(is_below(path, folder) or (event == "os.mkdir" and is_inside(folder, path)) for folder in self._writes)
            for path in paths
        )

    def _check_socket(self, event: str, arguments: tuple[Any, ...]) -> None:
        """Refuse all sockets, or connections to what the network guard would not have let through."""
        if self._networks is None or event in _SERVING:
            raise PermissionError(errno.EACCES, f"this server only reads files, refused: {event}")
        # Connecting a UDP socket sends nothing; the network guard does so to learn the addresses of this machine.
        if event != "socket.connect" or self._is_anywhere or arguments[0].type == socket.SOCK_DGRAM:
            return
        from mcproof.client.http.policy import NetworkPolicy

        try:
            why = NetworkPolicy("public", allowed=self._networks).refuses(ip_address(arguments[1][0]))
        except (ValueError, TypeError):  # a name, or a path of this machine
            why = "not an address"
        if why is not None:
            raise PermissionError(errno.EACCES, f"not connected: {why}")


def is_below(path: str, folder: str) -> bool:
    """Whether a path is a folder or below it."""
    return path == folder or is_inside(path, folder)


def _real(path: Any) -> str:
    return os.path.realpath(os.curdir if path is None else os.fsdecode(path))


def _real_entry(path: Any) -> str:
    folder, name = os.path.split(os.fsdecode(path))
    return os.path.join(_real(folder or os.curdir), name)


def _program_folders() -> tuple[str, ...]:
    """The folders that Python imports from, and that of mcproof with its data."""
    import mcproof

    named = (sys.prefix, sys.base_prefix, sys.exec_prefix, *sys.path, *mcproof.__path__)
    return tuple(dict.fromkeys(os.path.realpath(folder) for folder in named if folder))


def _shown(path: Any) -> str | None:
    return os.fsdecode(path) if isinstance(path, str | bytes) else None

"""What a worker process may read, how it is confined, and how messages to it are framed.

An audit hook refuses files outside the allowed roots, writes, processes and connections. It is not a boundary
against foreign code, of which none runs in a worker. Which worker is started is decided in each service.
Why a child process reads catalogs: docs/decisions/0057-agents-check-in-a-child.md.
"""

from __future__ import annotations

import errno
import os
import pickle
import stat
import struct
import sys
from typing import IO, TYPE_CHECKING, Any, NamedTuple

from mcproof.core.errors import InputError, reason_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence


LARGEST_FILE = 16 * 1024 * 1024
"""The most bytes of a file that is named as a target."""


class AllowedPath(NamedTuple):
    """A path that may be read."""

    path: str
    """As a user would write it: relative if it is below the working directory."""
    root: str
    """The root above it."""


def is_below(path: str, folder: str) -> bool:
    """Whether a path is a folder or below it; both are absolute, without links."""
    return path == folder or path.startswith(folder.rstrip(os.sep) + os.sep)


def given_roots(folders: Iterable[str]) -> tuple[str, ...]:
    """The real paths of folders that the user names. Raises an InputError if one is not a folder."""
    found = []
    for folder in folders:
        real = os.path.realpath(folder)
        if not os.path.isdir(real):
            raise InputError("not a folder; --root names a folder that may be read", file=folder)
        found.append(real)
    return tuple(dict.fromkeys(found))


def default_roots() -> tuple[str, ...]:
    """The working directory; none if that is the home directory or the root of the file system.

    Some clients start servers there, where a project is not what they mean.
    """
    try:
        here = os.path.realpath(os.getcwd())
    except OSError:  # it was deleted
        return ()
    if here in (os.path.realpath(os.path.expanduser("~")), os.path.dirname(here)):
        return ()
    return (here,)


def client_roots(uris: Iterable[str]) -> tuple[str, ...]:
    """The folders that a client offers as `file://` URIs; others are left out."""
    from urllib.parse import urlsplit
    from urllib.request import url2pathname

    found = []
    for uri in uris:
        parts = urlsplit(uri)
        path = os.path.realpath(url2pathname(parts.path))
        if parts.scheme == "file" and parts.netloc in ("", "localhost") and os.path.isdir(path):
            found.append(path)
    return tuple(dict.fromkeys(found))


def allowed_path(name: str, roots: Sequence[str]) -> AllowedPath:
    """The file or folder behind a name, with links resolved. Raises an InputError if it may not be read.

    A relative name is looked up in each root. The message for a path outside the roots does not depend on what is
    there.
    """
    if "\0" in name or "\n" in name:
        raise InputError("neither a path nor the JSON text of a catalog")
    if "://" in name:
        raise InputError("this server opens no URLs; save the catalog with `mcproof capture URL`, and name the file")
    if not roots:
        raise InputError("no folder may be read; start the server with `--root FOLDER`, or pass the text of a catalog")
    within = [(real, root) for root in roots if is_below(real := os.path.realpath(os.path.join(root, name)), root)]
    if not within:
        raise InputError(f"outside the allowed folders ({', '.join(roots)})", file=name)
    real, root = next((each for each in within if os.path.exists(each[0])), within[0])
    try:
        status = os.stat(real)
    except OSError as error:
        raise InputError(f"cannot be read: {reason_of(error)}{_hint(name)}", file=name) from None
    if stat.S_ISREG(status.st_mode):
        if status.st_size > LARGEST_FILE:
            raise InputError(f"larger than {LARGEST_FILE:,} bytes", file=name)
    elif not stat.S_ISDIR(status.st_mode):
        raise InputError("neither a file nor a folder", file=name)
    return AllowedPath(_as_named(real), root)


def _hint(name: str) -> str:
    if "#" in name:
        return "; this server starts no servers, so `FILE.json#NAME` is not a target"
    return ""


def _as_named(real: str) -> str:
    try:
        here = os.path.realpath(os.getcwd())
    except OSError:
        return real
    return os.path.relpath(real, here) if is_below(real, here) else real


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


_HEAD = struct.Struct(">I")


def write_frame(stream: IO[bytes], message: Any) -> None:
    """Write a message at once, so that it is there even if the process dies next."""
    data = pickle.dumps(message, pickle.HIGHEST_PROTOCOL)
    stream.write(_HEAD.pack(len(data)) + data)
    stream.flush()


def read_frame(stream: IO[bytes]) -> Any:
    """Read a message; None at the end, or if the writer died within one."""
    head = stream.read(_HEAD.size)
    if len(head) < _HEAD.size:
        return None
    (size,) = _HEAD.unpack(head)
    data = stream.read(size)
    return pickle.loads(data) if len(data) == size else None  # noqa: S301 (from our own process)

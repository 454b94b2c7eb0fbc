"""Files and folders: find, decode and write them, atomically and inside the bounds of a folder.

A checkout may come from a stranger, who decides its links and the paths in its configuration, so writes check where
they lead. `state_folder` is where mcproof keeps tokens and keys for one user.
"""

from __future__ import annotations

import errno
import os
import signal
import stat
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import lru_cache
from typing import Any

from mcproof.core.errors import WriteError, reason_of


def user_folder(kind: str) -> str:
    """`mcproof` below `$XDG_STATE_HOME` or `$XDG_DATA_HOME`, or where the platform keeps such files of programs."""
    named = os.environ.get(f"XDG_{kind.upper()}_HOME", "")
    # The XDG specification tells programs to ignore relative paths.
    if os.path.isabs(named):
        return os.path.join(named, "mcproof")
    home = os.path.expanduser("~")
    if sys.platform == "win32":
        return os.path.join(os.environ.get("LOCALAPPDATA") or os.path.join(home, "AppData", "Local"), "mcproof")
    if sys.platform == "darwin":
        return os.path.join(home, "Library", "Application Support", "mcproof")
    return os.path.join(home, ".local", "share" if kind == "data" else kind, "mcproof")


def state_folder() -> str:
    """The folder for tokens, keys and what else belongs to the user alone."""
    return user_folder("state")


_STREAMS = {"/dev/stdout": 1, "/dev/stderr": 2}
"""Named streams and their file descriptors."""


def replace_file(name: str, before: bytes, after: bytes) -> None:
    """Replace a file's content atomically.

    Raises a WriteError, with the original unchanged, if the file is read-only, is gone, or no longer contains `before`.
    """
    try:
        old = _replaceable(name, before)
        _put(os.path.realpath(name), after, old.st_mode & 0o7777, old, is_durable=True)
    except OSError as error:
        raise _unwritable(name, error) from None


def replace_files(changes: Sequence[tuple[str, bytes, bytes]]) -> None:
    """Replace several files, each atomically; none if one of them cannot be replaced."""
    for name, before, _ in changes:
        try:
            _replaceable(name, before)
        except OSError as error:
            raise _unwritable(name, error) from None
    for name, before, after in changes:
        replace_file(name, before, after)


def _replaceable(name: str, before: bytes) -> os.stat_result:
    """Return the status of a replaceable file; raise if it is read-only or was changed since it was read."""
    target = os.path.realpath(name)
    status = os.stat(target)
    _refuse_read_only(name, status.st_mode)
    with open(target, "rb") as file:
        if file.read() != before:
            raise WriteError("changed since it was read; nothing was written", file=name)
    return status


def write_file(name: str, data: bytes, *, is_durable: bool = True) -> None:
    """Write a file atomically; write devices, pipes and open streams directly.

    Without `is_durable` the file may be lost if the machine stops: many small files are written much faster.
    """
    try:
        if name in _STREAMS:
            _write_stream(_STREAMS[name], data)
            return
        # Test the name itself: a pipe behind `/dev/fd` resolves to no path.
        old = os.stat(name) if os.path.exists(name) else None
        if old is not None and not stat.S_ISREG(old.st_mode):
            with open(name, "wb") as file:
                file.write(data)
            return
        target = os.path.realpath(name)
        if old is not None:
            _refuse_read_only(name, old.st_mode)
        mode = 0o666 & ~_umask() if old is None else old.st_mode
        _put(target, data, mode & 0o7777, old, is_durable=is_durable)
    except OSError as error:
        raise _unwritable(name, error) from None


def write_private_file(name: str, data: bytes) -> None:
    """Write a file atomically that only its owner can read; a link is replaced, not followed."""
    try:
        _put(os.path.abspath(name), data, 0o600, None, is_durable=True)
    except OSError as error:
        raise _unwritable(name, error) from None


def append_file(name: str, data: bytes) -> None:
    """Append to a file that other processes may write to as well."""
    try:
        with open(name, "ab") as file:
            file.write(data)
    except OSError as error:
        raise _unwritable(name, error) from None


def _write_stream(number: int, data: bytes) -> None:
    """Write to an open stream at its current position; opening its path again would truncate it."""
    for stream in (sys.stdout, sys.stderr):
        stream.flush()
    with open(number, "wb", closefd=False) as file:
        file.write(data)


def _put(target: str, data: bytes, mode: int, old: os.stat_result | None, *, is_durable: bool) -> None:
    """Replace a file by a new one, with the owner of the old one."""
    import tempfile

    with _signals_deferred():
        descriptor, temporary = tempfile.mkstemp(prefix=".mcproof-", dir=os.path.dirname(target))
        try:
            with open(descriptor, "wb") as file:
                if old is not None:
                    _keep_owner(file.fileno(), old)
                file.write(data)
                file.flush()
                if is_durable:
                    os.fsync(file.fileno())
            os.chmod(temporary, mode)
            os.replace(temporary, target)
        except BaseException:
            os.unlink(temporary)
            raise


def _keep_owner(descriptor: int, old: os.stat_result) -> None:
    """Give a new file the owner and the group of the old one; only root may give a file away."""
    new = os.fstat(descriptor)
    if hasattr(os, "fchown") and (new.st_uid, new.st_gid) != (old.st_uid, old.st_gid):
        with suppress(PermissionError):
            os.fchown(descriptor, old.st_uid, old.st_gid)


@contextmanager
def _signals_deferred() -> Iterator[None]:
    """Defer signals that end the process, so that no temporary file is left behind."""
    arrived: list[int] = []
    before: dict[int, Any] = {}
    try:
        for name in ("SIGINT", "SIGTERM", "SIGHUP", "SIGQUIT"):
            number = getattr(signal, name, None)
            if number is not None and signal.getsignal(number) not in (None, signal.SIG_IGN):
                before[number] = signal.signal(number, lambda number, _: arrived.append(number))
    except ValueError:  # not the main thread, the only one that can set handlers
        pass
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
        for number in arrived:
            signal.raise_signal(number)


def _umask() -> int:
    """The process's umask, which can only be read by setting it."""
    mask = os.umask(0)
    os.umask(mask)
    return mask


def _refuse_read_only(name: str, mode: int) -> None:
    if not mode & 0o222:
        raise WriteError("is read-only; nothing was written", file=name)


def _unwritable(name: str, error: OSError) -> WriteError:
    return WriteError(f"cannot be written: {reason_of(error)}", file=name)


def leaves_folder(path: str, folder: str) -> str | None:
    """Why a file must not be written because something in `folder` names it; None if it may."""
    here = os.path.realpath(folder or os.curdir)
    there = os.path.join(os.path.realpath(os.path.dirname(path) or os.curdir), os.path.basename(path))
    if os.path.islink(path):
        return f"is a symbolic link to {os.path.realpath(path)}"
    if not is_inside(there, here):
        return f"is outside the folder {here}"
    if ".git" in os.path.relpath(there, here).lower().split(os.sep):
        return "is inside `.git`"
    return None


def leads_out(path: str) -> str | None:
    """The file behind a path in the working directory, if a link leads out of that directory; else None."""
    try:
        here = os.getcwd()
    except OSError:  # the working directory was deleted
        return None
    there = os.path.realpath(path)
    return there if is_inside(os.path.abspath(path), here) and not is_inside(there, os.path.realpath(here)) else None


def is_inside(path: str, folder: str) -> bool:
    """Whether a path is below a folder; both are absolute."""
    return path.startswith(folder.rstrip(os.sep) + os.sep)


def open_inside(path: str, folder: str, flags: int = os.O_RDONLY) -> int:
    """Open a file below a folder without following a link, and return its descriptor; both paths are real.

    A path that was checked may become a link before it is opened, by whoever can write in the folder. Therefore each
    part is opened relative to the one before it, and a part that is a link by now is an error.
    """
    if os.open not in os.supports_dir_fd:
        return os.open(path, flags)
    flags |= os.O_NOFOLLOW | os.O_CLOEXEC
    here = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
    *folders, name = os.path.relpath(path, folder).split(os.sep)
    try:
        for part in folders:
            inner = os.open(part, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=here)
            os.close(here)
            here = inner
        return os.open(name, flags, dir_fd=here)
    finally:
        os.close(here)


@lru_cache(maxsize=4096)
def _checkout_of(folder: str) -> str | None:
    """The checkout that a folder is in: the nearest one with `.git`, which in a worktree is a file."""
    while not os.path.lexists(os.path.join(folder, ".git")):
        if (above := os.path.dirname(folder)) == folder:
            return None
        folder = above
    return os.path.realpath(folder)


def open_in_checkout(path: str, flags: int) -> int:
    """Open a file for `open`, as its `opener`. Raises an OSError for a pipe, or if links lead out of its checkout.

    A stranger's checkout has links to whatever its author likes, and reports quote what is read. Elsewhere, links are
    the user's own, and are followed.
    """
    folder = _checkout_of(os.path.dirname(os.path.abspath(path)))
    if folder is None:
        return open_regular(path, flags)
    if not is_inside(there := os.path.realpath(path), folder):
        raise PermissionError(errno.EACCES, "a link leads out of its checkout", path)
    return _regular(open_inside(there, folder, flags | _NO_WAIT), path)


_NO_WAIT = getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_NOCTTY", 0)


def open_regular(path: str, flags: int) -> int:
    """Open a file for `open`, as its `opener`. Raises an OSError for a pipe or device, which could block the reader."""
    return _regular(os.open(path, flags | _NO_WAIT), path)


def _regular(opened: int, path: str) -> int:
    """Return the descriptor of a regular file. It is tested open, since by now its name may stand for another."""
    if stat.S_ISREG(os.fstat(opened).st_mode):
        return opened
    os.close(opened)
    raise OSError(errno.EINVAL, "not a regular file", path)


INSTALL_FOLDERS = frozenset(("site-packages", "dist-packages", "node_modules"))
"""Folders that a package manager fills."""
VENDOR_FOLDERS = frozenset(("vendor", "_vendor", "vendored", "_vendored", "third_party", "thirdparty", "third-party"))
"""Folders with copies of libraries."""
LIBRARY_FOLDERS = INSTALL_FOLDERS | VENDOR_FOLDERS
_ENVIRONMENTS = frozenset(("venv", "env", "__pycache__"))
# Somebody may name a whole disk by mistake, and the search has to end.
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
        except OSError:  # another user's folder is left out, and no error
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
    except OSError:  # deleted meanwhile, or a circular link
        return False


def is_file(entry: os.DirEntry[str]) -> bool:
    """Whether an entry is a regular file, or a link to one."""
    try:
        return entry.is_file()
    except OSError:
        return False


BYTE_ORDER_MARK = b"\xef\xbb\xbf"
_UTF_16_MARKS = (b"\xff\xfe", b"\xfe\xff")


class NotUtf8Error(ValueError):
    """Bytes that are not UTF-8, with the line and column of the first invalid one."""

    def __init__(self, message: str, line: int, column: int) -> None:
        super().__init__(message)
        self.message = message
        self.line = line
        self.column = column


def decode_utf8(data: bytes) -> str:
    """Decode a file; a byte order mark is accepted and removed. Raises NotUtf8Error."""
    if data.startswith(_UTF_16_MARKS):
        raise NotUtf8Error("not UTF-8: this is UTF-16; save it as UTF-8", 1, 1)
    data = data.removeprefix(BYTE_ORDER_MARK)
    try:
        return data.decode()
    except UnicodeDecodeError as error:
        before = data[: error.start].decode()
        line, column = before.count("\n") + 1, len(before) - before.rfind("\n")
        message = f"not UTF-8: invalid byte 0x{data[error.start]:02x} (a binary file?)"
        raise NotUtf8Error(message, line, column) from None

"""Atomic file writes: a file has its old content or its new content, never a part of it.

A write replaces the file by a new one with the same mode and owner. Hard links keep the old content, and extended
attributes are lost.
"""

from __future__ import annotations

import os
import signal
import stat
import sys
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any

from mcproof.errors import WriteError, reason_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

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

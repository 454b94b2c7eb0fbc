"""Atomic file writes: a file has its old content or its new content, never a part of it."""

from __future__ import annotations

import os
import stat
import sys
from typing import TYPE_CHECKING

from mcproof.errors import WriteError, reason_of

if TYPE_CHECKING:
    from collections.abc import Sequence

_STREAMS = {"/dev/stdout": 1, "/dev/stderr": 2}
"""Named streams and their file descriptors."""


def replace_file(name: str, before: bytes, after: bytes) -> None:
    """Replace a file's content atomically.

    Raises a WriteError, with the original unchanged, if the file is read-only, is gone, or no longer contains `before`.
    """
    try:
        mode = _replaceable(name, before)
        _put(os.path.realpath(name), after, mode & 0o7777, is_durable=True)
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


def _replaceable(name: str, before: bytes) -> int:
    """Return the mode of a replaceable file; raise if it is read-only or was changed since it was read."""
    target = os.path.realpath(name)
    mode = os.stat(target).st_mode
    _refuse_read_only(name, mode)
    with open(target, "rb") as file:
        if file.read() != before:
            raise WriteError("changed since it was read; nothing was written", file=name)
    return mode


def write_file(name: str, data: bytes, *, is_durable: bool = True) -> None:
    """Write a file atomically; write devices, pipes and open streams directly.

    Without `is_durable` the file may be lost if the machine stops: many small files are written much faster.
    """
    try:
        if name in _STREAMS:
            _write_stream(_STREAMS[name], data)
            return
        # Test the name itself: a pipe behind `/dev/fd` resolves to no path.
        mode = os.stat(name).st_mode if os.path.exists(name) else None
        if mode is not None and not stat.S_ISREG(mode):
            with open(name, "wb") as file:
                file.write(data)
            return
        target = os.path.realpath(name)
        if mode is None:
            mode = 0o666 & ~_umask()
        else:
            _refuse_read_only(name, mode)
        _put(target, data, mode & 0o7777, is_durable=is_durable)
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


def _put(target: str, data: bytes, mode: int, *, is_durable: bool) -> None:
    import tempfile

    descriptor, temporary = tempfile.mkstemp(prefix=".mcproof-", dir=os.path.dirname(target))
    try:
        with open(descriptor, "wb") as file:
            file.write(data)
            file.flush()
            if is_durable:
                os.fsync(file.fileno())
        os.chmod(temporary, mode)
        os.replace(temporary, target)
    except BaseException:
        os.unlink(temporary)
        raise


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

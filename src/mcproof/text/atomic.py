"""Writing files so that whatever happens, each is the old one or the new one."""

from __future__ import annotations

import os
import stat
import sys
from typing import TYPE_CHECKING

from mcproof.errors import WriteError, reason_of

if TYPE_CHECKING:
    from collections.abc import Sequence

_STREAMS = {"/dev/stdout": 1, "/dev/stderr": 2}
"""The streams that have a name, and their file descriptors."""


def replace_file(name: str, before: bytes, after: bytes) -> None:
    """Put `after` in the place of `before`, in one step.

    Refuses, with the original untouched, where the file is read-only, is gone, or is no longer what was read.
    """
    try:
        mode = _replaceable(name, before)
        _put(os.path.realpath(name), after, mode & 0o7777)
    except OSError as error:
        raise _unwritable(name, error) from None


def replace_files(changes: Sequence[tuple[str, bytes, bytes]]) -> None:
    """Replace several files, each in one step; none where one of them would be refused."""
    for name, before, _ in changes:
        try:
            _replaceable(name, before)
        except OSError as error:
            raise _unwritable(name, error) from None
    for name, before, after in changes:
        replace_file(name, before, after)


def _replaceable(name: str, before: bytes) -> int:
    """The mode of a file that is still what was read; raises what replacing it would raise."""
    target = os.path.realpath(name)
    mode = os.stat(target).st_mode
    _refuse_read_only(name, mode)
    with open(target, "rb") as file:
        if file.read() != before:
            raise WriteError("was changed by somebody else meanwhile; nothing was written", file=name)
    return mode


def write_file(name: str, data: bytes) -> None:
    """Write a file of ours, in one step; into a device, a pipe or an open stream, as one does."""
    try:
        if name in _STREAMS:
            _write_stream(_STREAMS[name], data)
            return
        # Of the name, not of what it resolves to: a pipe behind `/dev/fd` resolves to nothing.
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
        _put(target, data, mode & 0o7777)
    except OSError as error:
        raise _unwritable(name, error) from None


def append_file(name: str, data: bytes) -> None:
    """Add to a file that others write to as well."""
    try:
        with open(name, "ab") as file:
            file.write(data)
    except OSError as error:
        raise _unwritable(name, error) from None


def _write_stream(number: int, data: bytes) -> None:
    """Write where a stream of ours stands: to open what is behind it would start at its beginning, or replace it."""
    for stream in (sys.stdout, sys.stderr):
        stream.flush()
    with open(number, "wb", closefd=False) as file:
        file.write(data)


def _put(target: str, data: bytes, mode: int) -> None:
    import tempfile

    descriptor, temporary = tempfile.mkstemp(prefix=".mcproof-", dir=os.path.dirname(target))
    try:
        with open(descriptor, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        os.chmod(temporary, mode)
        os.replace(temporary, target)
    except BaseException:
        os.unlink(temporary)
        raise


def _umask() -> int:
    """The permissions that new files do not get; it can only be read by setting it."""
    mask = os.umask(0)
    os.umask(mask)
    return mask


def _refuse_read_only(name: str, mode: int) -> None:
    if not mode & 0o222:
        raise WriteError("is read-only; nothing was written", file=name)


def _unwritable(name: str, error: OSError) -> WriteError:
    return WriteError(f"cannot be written: {reason_of(error)}", file=name)

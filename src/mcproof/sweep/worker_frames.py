"""Messages between a sweep and its worker processes: pickled, each after its length."""

from __future__ import annotations

import pickle
import struct
from typing import IO, Any

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

"""What a worker and its process tell each other: the limits, then jobs and what became of them, as frames of JSON.

A frame is a length of four bytes and a document. JSON, and not pickle: a process that a stranger's input has taken
over must not be able to run code in the service that reads its answer.
Why there is one kind of worker: docs/decisions/0065-one-worker-process.md.
"""

from __future__ import annotations

import json
import struct
from typing import IO, Any

from mcproof.core.named_tuple import NamedTuple
from mcproof.core.stored_form import record

ANYWHERE = ("0.0.0.0/0", "::/0")
"""The networks of a worker whose requests the user asked for."""
READY, EVENT, OUTCOME, ERROR = "ready", "event", "outcome", "error"
"""The kinds of messages of a process: `[number, kind, value]`."""
# A process that reads the input of strangers may be made to announce any length.
LARGEST_FRAME = 256 << 20
_HEAD = struct.Struct(">I")


@record()
class WorkerLimits(NamedTuple):
    """What a process may use for a job, and what it may reach."""

    seconds: float
    """Seconds for a job, after which the process is killed."""
    memory: int | None = None
    """Bytes of memory of the process."""
    roots: tuple[str, ...] | None = None
    """The folders that may be read, besides Python and mcproof; None if servers are started, which nothing confines."""
    network: tuple[str, ...] | None = None
    """The networks that may be reached besides public addresses; None if no connection may be opened."""
    writes: tuple[str, ...] = ()
    """The folders in which files may be written."""
    forgets: bool = False
    """Whether each job has a fork of the process, so that nothing of it is left when it is done."""


def frame(message: Any) -> bytes:
    """Return a message as it is sent."""
    data = json.dumps(message, separators=(",", ":")).encode()
    return _HEAD.pack(len(data)) + data


def read_frame(stream: IO[bytes]) -> Any:
    """Read a message; None at the end, or if the writer died within one or wrote too much."""
    head = _read(stream, _HEAD.size)
    if len(head) < _HEAD.size:
        return None
    (size,) = _HEAD.unpack(head)
    data = _read(stream, size) if size <= LARGEST_FRAME else b""
    return json.loads(data) if data and len(data) == size else None


def _read(stream: IO[bytes], size: int) -> bytes:
    """Read some bytes, fewer only at the end: a stream without a buffer returns what is there."""
    parts = []
    while size and (part := stream.read(size)):
        parts.append(part)
        size -= len(part)
    return b"".join(parts)

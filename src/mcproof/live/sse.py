"""Server-sent events, read from bytes as they come."""

from __future__ import annotations

from typing import NamedTuple

LONGEST_EVENT = 64 * 1024 * 1024


class Event(NamedTuple):
    """One event: its type and its data."""

    type: str
    data: bytes


class EventParser:
    """Bytes in, events out. A line ends at LF, CR LF or CR; what is not finished is not an event."""

    def __init__(self) -> None:
        self._pieces: list[bytes] = []
        self._length = 0
        self._data: list[bytes] = []
        self._type = ""
        self._after_return = False
        self.is_too_long = False

    @property
    def is_incomplete(self) -> bool:
        """Whether the stream ended inside an event."""
        return bool(self._data) or any(piece.strip() for piece in self._pieces)

    def feed(self, chunk: bytes) -> list[Event]:
        """The events that these bytes complete."""
        if self._after_return and chunk.startswith(b"\n"):
            chunk = chunk[1:]
        self._after_return = chunk.endswith(b"\r")
        *lines, rest = chunk.replace(b"\r\n", b"\n").replace(b"\r", b"\n").split(b"\n")
        events = []
        for line in lines:
            event = self._line(b"".join([*self._pieces, line]))
            self._pieces = []
            if event is not None:
                events.append(event)
        if rest:
            self._length += len(rest)
            if self._length > LONGEST_EVENT:
                self.is_too_long = True
                self._pieces, self._data = [], []
            else:
                self._pieces.append(rest)
        return events

    def _line(self, line: bytes) -> Event | None:
        self._length += len(line)
        if not line:
            event = Event(self._type or "message", b"\n".join(self._data)) if self._data else None
            self._data, self._type, self._length = [], "", 0
            return event
        name, _, value = line.partition(b":")
        value = value.removeprefix(b" ")
        if name == b"data":
            self._data.append(value)
        elif name == b"event":
            self._type = value.decode(errors="replace")
        return None

"""An incremental parser for server-sent events."""

from __future__ import annotations

from typing import NamedTuple

LONGEST_EVENT = 64 * 1024 * 1024
LONGEST_ID = 1024
"""Longer event ids are not kept: no server could use them in a header."""
MOST_DIGITS = 12
"""How many digits of a `retry` field are read; the rest cannot matter."""
_BYTE_ORDER_MARK = b"\xef\xbb\xbf"


class Event(NamedTuple):
    """One event: its type and its data."""

    type: str
    data: bytes


class EventParser:
    """Parses chunks of bytes into events. A line ends with LF, CR LF or CR; an unfinished event is not returned."""

    def __init__(self, longest: int | None = None) -> None:
        self._longest = LONGEST_EVENT if longest is None else longest
        self._line = bytearray()
        self._data: list[bytes] = []
        self._type = ""
        self._length = 0
        self._after_return = False
        self._is_first_line = True
        self._is_blank = True
        self._is_dropped = False
        self._id = ""
        self.last_id = ""
        """The id of the last complete event that has one; empty if there is none."""
        self.retry: int | None = None
        """The milliseconds to wait before reconnecting, if the server has sent any."""
        self.dropped = 0
        """How many events exceeded the size limit."""

    @property
    def is_incomplete(self) -> bool:
        """Whether the stream so far ends inside an event."""
        return bool(self._data) or self._line.startswith(b"data") or self._is_dropped

    def feed(self, chunk: bytes) -> list[Event]:
        """The events that these bytes complete."""
        if not chunk:
            return []
        if self._after_return and chunk.startswith(b"\n"):
            chunk = chunk[1:]
            self._after_return = False
            if not chunk:
                return []
        self._after_return = chunk.endswith(b"\r")
        *lines, rest = chunk.replace(b"\r\n", b"\n").replace(b"\r", b"\n").split(b"\n")
        events = []
        for line in lines:
            self._add(line)
            event = self._end_line()
            if event is not None:
                events.append(event)
        self._add(rest)
        return events

    def _add(self, piece: bytes) -> None:
        self._length += len(piece)
        self._is_blank = self._is_blank and not piece
        if self._length <= self._longest:
            self._line += piece
        elif not self._is_dropped:
            self._is_dropped = True
            self.dropped += 1
            self._line.clear()
            self._data.clear()

    def _end_line(self) -> Event | None:
        line, is_blank = bytes(self._line), self._is_blank
        self._line.clear()
        self._is_blank = True
        if self._is_first_line:
            line = line.removeprefix(_BYTE_ORDER_MARK)
            self._is_first_line = False
        if is_blank:
            event = Event(self._type or "message", b"\n".join(self._data)) if self._data else None
            self._data, self._type, self._length, self._is_dropped = [], "", 0, False
            self.last_id = self._id
            return event
        self._length += 1  # so that many empty lines reach the limit, too
        name, _, value = line.partition(b":")
        value = value.removeprefix(b" ")
        if name == b"data" and not self._is_dropped:
            self._data.append(value)
        elif name == b"event":
            self._type = value.decode(errors="replace")
        elif name == b"id" and b"\0" not in value:
            self._id = value.decode(errors="replace") if len(value) <= LONGEST_ID else ""
        elif name == b"retry" and value.isdigit():
            self.retry = int(value[:MOST_DIGITS])
        return None

"""Server-sent events: an incremental parser, and the older transport that uses them (revision 2024-11-05)."""

from __future__ import annotations

import asyncio
import contextlib
from typing import TYPE_CHECKING

from mcproof.client.errors import ConnectError, HttpStatusError, LostError
from mcproof.client.http.fetch import (
    HttpTransport,
    body_of,
    chunks,
    content_type,
    new_client,
    refusal,
    refuse_redirect,
    sent,
)
from mcproof.client.redaction import redacted_url
from mcproof.core.named_tuple import NamedTuple
from mcproof.core.observations.connection import ProcessEnd, cropped

if TYPE_CHECKING:
    import httpx2

    from mcproof.client.http.fetch import Sign


# A server that sends without end must not fill the memory.
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
        # CR LF may be divided between two chunks.
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


class LegacySse(HttpTransport):
    """HTTP with SSE: one stream carries all events, and its first event names the URL to post messages to."""

    name = "sse"

    def __init__(self, url: str, headers: dict[str, str], connect: float, sign: Sign | None = None) -> None:
        super().__init__(url, headers, connect, sign)
        self._endpoint: asyncio.Future[str] | None = None
        self._task: asyncio.Task[None] | None = None

    async def open(self) -> None:
        """Open the stream and wait for the `endpoint` event."""
        self._client = new_client(self._headers, self._connect, self._sign)
        self._endpoint = asyncio.get_running_loop().create_future()
        self._task = asyncio.create_task(self._listen())
        # Whoever gives up waiting must not cancel what `_listen` is about to set.
        await asyncio.shield(self._endpoint)

    async def _listen(self) -> None:
        assert self._client is not None and self._endpoint is not None  # noqa: S101, PT018
        try:
            async with sent(self._client, "GET", self._url, {"Accept": "text/event-stream"}) as response:
                refuse_redirect(response)
                if not response.is_success or content_type(response) != "text/event-stream":
                    raise refusal(response, await body_of(response))
                await self._take_events(response)
        except (ConnectError, LostError) as error:
            if not self._endpoint.done():
                self._endpoint.set_exception(error)
            self.peer.fail(error)

    async def _take_events(self, response: httpx2.Response) -> None:
        assert self._endpoint is not None  # noqa: S101
        parser = EventParser()
        async for chunk in chunks(response, limited=False):
            for event in parser.feed(chunk):
                if event.type == "message":
                    self.peer.receive(event.data)
                elif event.type == "endpoint" and not self._endpoint.done():
                    self._endpoint.set_result(self._resolved(event.data.decode(errors="replace").strip()))
            if parser.dropped:
                raise LostError(f"an event is larger than {LONGEST_EVENT:,} bytes")
        if parser.is_incomplete:
            self.peer.note("truncated", "the event stream ended inside an event")
        raise LostError("the server closed its event stream")

    def _resolved(self, endpoint: str) -> str:
        import httpx2

        base = httpx2.URL(self._url)
        try:
            url = base.join(endpoint)
        except (httpx2.InvalidURL, ValueError):
            raise ConnectError(f"the server's `endpoint` event is not a URL: {cropped(endpoint)}") from None
        # Messages, with the user's credentials, go to no other host than the one that the user names.
        if (url.scheme, url.host, url.port) != (base.scheme, base.host, base.port):
            raise ConnectError(f"the server redirects messages to another host, {redacted_url(str(url))}; not followed")
        return str(url)

    async def send_bytes(self, data: bytes) -> None:
        """Send data that need not be a message, and ignore an error status."""
        self.peer.trace.sent(data)
        with contextlib.suppress(HttpStatusError):
            await self._post(data)

    async def _post(self, message: bytes) -> None:
        assert self._client is not None and self._endpoint is not None  # noqa: S101, PT018
        headers = {"Content-Type": "application/json", **self.protocol_headers({})}
        async with sent(self._client, "POST", await self._endpoint, headers, message) as response:
            refuse_redirect(response)
            if not response.is_success:
                raise refusal(response, await body_of(response))

    async def close(self, _grace: float | None = None) -> ProcessEnd | None:
        await self.peer.close()
        try:
            if self._task is not None:
                self._task.cancel()
                await asyncio.gather(self._task, return_exceptions=True)
            if self._endpoint is not None and self._endpoint.done():
                # retrieved, or asyncio reports it
                self._endpoint.exception()
        finally:
            if self._client is not None:
                await self._client.aclose()
        return None

"""Streamable HTTP, in both protocol eras: every message is a POST, and streams are resumed where they ended.

Up to revision 2025-11-25 there are sessions, resumable streams, and a stream for server-initiated messages; later
revisions have none of these.
Why streams are resumed below a request: docs/decisions/0041-recovery-below-a-request.md.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
from typing import TYPE_CHECKING, Any

from mcproof.client.errors import UNAUTHORIZED, ConnectError, ExpiredSessionError, LostError, NoMessageError
from mcproof.client.http.fetch import (
    HttpTransport,
    body_of,
    chunks,
    content_type,
    error_code,
    new_client,
    refusal,
    refuse_redirect,
    sent,
)
from mcproof.client.transports.sse import EventParser
from mcproof.core.observations.connection import ProcessEnd, cropped

if TYPE_CHECKING:
    import httpx2

    from mcproof.client.http.fetch import Sign


MOST_RESUMPTIONS = 100
"""How often one stream is resumed; the time limit of a request usually ends it first."""
DEFAULT_WAIT = 1.0
"""Seconds to wait if the server sends no `retry`."""
# A server may ask for no pause at all, which would be a loop of requests.
SHORTEST_WAIT = 0.1
LONGEST_WAIT = 300.0
"""Limits of what a server may ask for, in seconds."""


class StreamPosition:
    """The last event of a stream, and the server's time to reconnect."""

    def __init__(self) -> None:
        self.last_id = ""
        self._retry: int | None = None

    def update(self, parser: EventParser) -> None:
        """Take over the last event id and the `retry` time of a parser."""
        self.last_id = parser.last_id or self.last_id
        self._retry = self._retry if parser.retry is None else parser.retry

    @property
    def is_known(self) -> bool:
        """Whether there is an event to resume after, with an id that a header can carry."""
        return bool(self.last_id) and self.last_id.isprintable() and self.last_id == self.last_id.strip()

    async def wait(self, why: str) -> None:
        """Wait for the `retry` time of the server. Raises LostError if it is too long."""
        seconds = DEFAULT_WAIT if self._retry is None else self._retry / 1000
        if seconds > LONGEST_WAIT:
            raise LostError(f"{why}, and the server wants {seconds:,.0f} seconds before it is resumed")
        await asyncio.sleep(max(seconds, SHORTEST_WAIT))


EVENTS = "text/event-stream"
OPENING = 1.0
"""Seconds to wait for the stream of server-initiated messages before the first call."""
_ACCEPT = f"application/json, {EVENTS}"
_NOT_FOUND = 404
_UNKNOWN_METHOD = -32601
_LISTENED_FOR = frozenset({"tools/call", "prompts/get", "resources/read"})
"""Requests during which a server may ask something on a stream of its own."""


class StreamableHttp(HttpTransport):
    """Streamable HTTP: every message is a POST; the response is JSON or a stream of events."""

    name = "http"

    def __init__(self, url: str, headers: dict[str, str], connect: float, sign: Sign | None = None) -> None:
        super().__init__(url, headers, connect, sign)
        self.session: str | None = None
        self.offered_session: str | None = None
        """The session id of the last handshake as the server sent it, even one that no header may carry."""
        self.is_stateless = False
        """Whether the messages are of the stateless era, which has no sessions and no streams to resume."""
        self.is_initialized = False
        """Whether the handshake is done, so that the server may initiate messages."""
        self._listener: asyncio.Task[None] | None = None

    async def open(self) -> None:
        self._client = new_client(self._headers, self._connect, self._sign)

    async def _post(self, message: bytes) -> None:
        envelope = json.loads(message)
        if self.is_initialized and envelope.get("method") in _LISTENED_FOR and self._listener is None:
            # Not after the handshake, since listing a catalog needs no such stream:
            # docs/decisions/0041-recovery-below-a-request.md.
            await self._listen()
        headers = {"Content-Type": "application/json", "Accept": _ACCEPT, **self._headers_of(envelope)}
        position = StreamPosition()
        try:
            async with sent(self._opened, "POST", self._url, headers, message) as response:
                if envelope.get("method") == "initialize":
                    self._keep_session(response)
                await self._take(response, envelope, position)
        except NoMessageError:  # a response has arrived, so there is nothing to resume
            raise
        except LostError as error:
            if self.is_stateless or not position.is_known:
                raise
            await self._resume(envelope["id"], position, error)

    @property
    def _opened(self) -> httpx2.AsyncClient:
        assert self._client is not None  # noqa: S101
        return self._client

    def _headers_of(self, envelope: dict[str, Any]) -> dict[str, str]:
        session = {} if self.session is None or self.is_stateless else {"Mcp-Session-Id": self.session}
        return {**session, **self.protocol_headers(envelope)}

    def _keep_session(self, response: httpx2.Response) -> None:
        session = self.offered_session = response.headers.get("mcp-session-id")
        if session is not None and session.isascii() and session.isprintable():
            self.session = session

    async def send_bytes(self, data: bytes) -> None:
        """Send data that need not be a message, and ignore the response."""
        self.peer.trace.sent(data)
        headers = {"Content-Type": "application/json", "Accept": _ACCEPT, **self._headers_of({})}
        async with sent(self._opened, "POST", self._url, headers, data):
            pass

    async def _take(self, response: httpx2.Response, message: dict[str, Any], position: StreamPosition) -> None:
        """Pass the messages of a response to the peer; only a request needs one."""
        refuse_redirect(response)
        if not ("id" in message and "method" in message):
            return
        kind = content_type(response)
        if kind == EVENTS and response.is_success:
            await self._take_events(response, message["id"], position)
            return
        body = await body_of(response)
        if not response.is_success:
            await self._take_refusal(response, message, body)
            return
        if not body.strip():
            raise NoMessageError(f"HTTP {response.status_code} without a body")
        if kind != "application/json":
            self.peer.note("content-type", kind or "none", message["method"])
        self.peer.receive(body, responds_to=message["id"])
        if self.peer.awaits(message["id"]):
            raise NoMessageError(f"the response is not JSON-RPC: {cropped(body.decode(errors='replace'))}")

    async def _take_refusal(self, response: httpx2.Response, message: dict[str, Any], body: bytes) -> None:
        """Pass the JSON-RPC error of an HTTP error to the peer. Raises HttpStatusError if there is none."""
        code = error_code(body)
        session = response.request.headers.get("mcp-session-id")
        if (
            response.status_code == _NOT_FOUND
            and session is not None
            and code != _UNKNOWN_METHOD
            and message["method"] not in ("initialize", "ping")
            and await self._is_expired(session)
        ):
            self.peer.trace.received(body)
            raise ExpiredSessionError(session)
        if response.status_code in UNAUTHORIZED or code is None:
            self.peer.trace.received(body)
            raise refusal(response, body)
        if not self.peer.refuse(message["id"], body):
            raise refusal(response, body)

    async def _is_expired(self, session: str) -> bool:
        """Whether the server does not know the session any more, rather than what a request names."""
        # Another request has noticed it first, and the handshake has begun another session.
        if session != self.session:
            return True
        # A 404 may also mean what the request names: docs/decisions/0041-recovery-below-a-request.md.
        ping = b'{"jsonrpc":"2.0","id":"is-the-session-alive","method":"ping"}'
        headers = {"Content-Type": "application/json", "Accept": _ACCEPT, **self._headers_of({})}
        self.peer.trace.sent(ping)
        async with sent(self._opened, "POST", self._url, headers, ping) as response:
            return response.status_code == _NOT_FOUND

    async def _take_events(self, response: httpx2.Response, number: Any, position: StreamPosition) -> None:
        """Pass events to the peer until the response to a request has arrived. Raises LostError if it does not."""
        parser = EventParser()
        async for chunk in chunks(response):
            for event in parser.feed(chunk):
                if event.type == "message":
                    self.peer.receive(event.data)
                if not self.peer.awaits(number):
                    return
            position.update(parser)
        if parser.is_incomplete and not position.is_known:
            self.peer.note("truncated", "the event stream ended inside an event")
        raise LostError("the event stream ended without the response")

    async def _resume(self, number: Any, position: StreamPosition, error: LostError) -> None:
        """Resume a stream until the response to its request has arrived. Raises LostError if it does not."""
        for _ in range(MOST_RESUMPTIONS):
            await position.wait(error.message)
            if not self.peer.awaits(number):
                return
            try:
                async with sent(self._opened, "GET", self._url, self._stream_headers(position)) as response:
                    if _is_stream(response):
                        await self._take_events(response, number, position)
                        return
            except NoMessageError:
                raise
            except LostError as failure:
                error = failure
            else:
                status = f"HTTP {response.status_code} ({content_type(response) or 'no content type'})"
                raise LostError(f"{error.message}, and the server does not resume it: {status}")
        raise LostError(f"the event stream was resumed {MOST_RESUMPTIONS} times without the response")

    def _stream_headers(self, position: StreamPosition) -> dict[str, str]:
        last = {"Last-Event-ID": position.last_id} if position.is_known else {}
        return {"Accept": EVENTS, **last, **self._headers_of({})}

    async def _listen(self) -> None:
        """Open the stream for server-initiated messages, and wait up to a second for its response headers."""
        opened = asyncio.Event()
        self._listener = asyncio.create_task(self._receive(opened))
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(OPENING):
                await opened.wait()

    async def _receive(self, opened: asyncio.Event) -> None:
        """Receive server-initiated messages until the server offers no stream; `opened` is set in any case."""
        position = StreamPosition()
        try:
            for _ in range(MOST_RESUMPTIONS):
                if not await self._receive_once(position, opened):
                    return
                await position.wait("")
        except (ConnectError, LostError):  # the next request shows it
            pass
        finally:
            opened.set()

    async def _receive_once(self, position: StreamPosition, opened: asyncio.Event) -> bool:
        """Read one stream to its end; whether the server may offer another."""
        async with sent(self._opened, "GET", self._url, self._stream_headers(position)) as response:
            if not _is_stream(response):
                return False
            opened.set()
            parser = EventParser()
            async for chunk in chunks(response):
                for event in parser.feed(chunk):
                    if event.type == "message":
                        self.peer.receive(event.data)
                position.update(parser)
        return True

    async def forget_session(self) -> None:
        """Stop using the session and its stream; the next handshake begins another."""
        self.session = None
        await self._stop_listening()

    async def _stop_listening(self) -> None:
        listener, self._listener = self._listener, None
        if listener is not None:
            listener.cancel()
            await asyncio.gather(listener, return_exceptions=True)

    async def close(self, _grace: float | None = None) -> ProcessEnd | None:
        await self.peer.close()
        if self._client is not None:
            try:
                await self._stop_listening()
                if self.session is not None and not self.is_stateless:
                    await self._end_session()
            finally:
                await self._client.aclose()
        return None

    async def _end_session(self) -> None:
        """End the session on the server, and ignore errors."""
        with contextlib.suppress(ConnectError, LostError, TimeoutError):
            async with asyncio.timeout(2), sent(self._opened, "DELETE", self._url, self._headers_of({})):
                pass


def _is_stream(response: httpx2.Response) -> bool:
    return response.is_success and content_type(response) == EVENTS

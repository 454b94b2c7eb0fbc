"""What protects every route: the check of the host, limits of each request, security headers.

Bodies and forms are read up to a limit, HEAD is served as GET, and connections that are too slow end.
"""

from __future__ import annotations

import re
import time
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

import h11
from fastapi import HTTPException
from starlette.requests import ClientDisconnect, Request
from uvicorn.protocols.http.h11_impl import H11Protocol

from mcproof.services.web.access import BusyError, problem
from mcproof.services.web.clients import Share, client_of, is_within

if TYPE_CHECKING:
    import asyncio
    from collections.abc import AsyncIterator, Hashable, Sequence
    from ipaddress import IPv4Network, IPv6Network

    from starlette.types import ASGIApp, Message, Receive, Scope, Send

    from mcproof.services.web.clients import Shares
    from mcproof.services.web.health import Metrics


_MOST_FIELDS = 20


def form_fields(content_type: str, body: bytes) -> dict[str, bytes]:
    """Return the fields of a form, files among them; of fields with the same name the last one.

    Raises an HTTPException if the body is not a form.
    """
    kind = content_type.partition(";")[0].strip().lower()
    try:
        if kind == "application/x-www-form-urlencoded":
            return dict(_pairs(body))
        if kind == "multipart/form-data":
            return dict(_parts(content_type, body))
    except ValueError:
        pass
    raise HTTPException(400, "the form cannot be read")


# By hand: the parser of the standard library takes eighty times the memory of a body that is full of escapes.
_PIECE = re.compile(rb"(?:[^%]|%(?:[0-9A-Fa-f]{2})?){1,4096}")
_ESCAPE = re.compile(rb"%([0-9A-Fa-f]{2})")


def _pairs(body: bytes) -> list[tuple[str, bytes]]:
    """Return the names and values of a form in the coding of URLs. Raises ValueError."""
    fields = body.split(b"&", _MOST_FIELDS)
    if len(fields) > _MOST_FIELDS:
        raise ValueError
    pairs = (field.partition(b"=") for field in fields)
    return [(_unquoted(name).decode(), _unquoted(value)) for name, _, value in pairs if name]


def _unquoted(text: bytes) -> bytes:
    pieces = (piece[0].replace(b"+", b" ") for piece in _PIECE.finditer(text))
    return b"".join(_ESCAPE.sub(lambda escape: bytes.fromhex(escape[1].decode()), piece) for piece in pieces)


# By hand, since the parser of the standard library takes quadratic time for a hostile head.
_LONGEST_HEAD = 1024
_BOUNDARY = re.compile(r';\s*boundary=(?:"([^"\r\n]{1,70})"|([^\s;"]{1,70}))', re.IGNORECASE)
_NAME = re.compile(
    rb'^content-disposition:\s*form-data\s*;(?:[^"\r\n]*;)?\s*name="([^"\r\n]*)"', re.IGNORECASE | re.MULTILINE
)


def _parts(content_type: str, body: bytes) -> list[tuple[str, bytes]]:
    """Return the names and contents of the parts of `multipart/form-data`. Raises ValueError."""
    boundary = _BOUNDARY.search(content_type[:_LONGEST_HEAD])
    if boundary is None:
        raise ValueError
    delimiter = b"\r\n--" + (boundary[1] or boundary[2]).encode("latin-1")
    fields: list[tuple[str, bytes]] = []
    for part in (b"\r\n" + body).split(delimiter, _MOST_FIELDS + 1)[1:]:
        if part.startswith(b"--"):
            return fields
        start = part.find(b"\r\n\r\n", 0, _LONGEST_HEAD)
        name = _NAME.search(part[:start]) if start >= 0 else None
        if name is None or len(fields) == _MOST_FIELDS:
            raise ValueError
        fields.append((name[1].decode(), part[start + 4 :]))
    raise ValueError


class HeadRequests:
    """Passes HEAD on as GET, and drops the body of the response."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or scope["method"] != "HEAD":
            await self._app(scope, receive, send)
            return

        async def send_head(message: Message) -> None:
            if message["type"] == "http.response.start":
                await send(message)
                await send({"type": "http.response.body"})

        await self._app({**scope, "method": "GET"}, receive, send_head)


POLICY = (
    "default-src 'none'; style-src 'self'; script-src 'self'; img-src 'self' data:; connect-src 'self'; "
    "form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)
HEADERS = {
    "content-security-policy": POLICY,
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "referrer-policy": "no-referrer",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "permissions-policy": "camera=(), geolocation=(), microphone=()",
}
PUBLIC = ("/badge/",)
"""Paths that pages elsewhere may embed."""


class ResponseHeaders:
    """Adds security headers to every response, and counts it."""

    def __init__(self, app: ASGIApp, metrics: Metrics) -> None:
        self._app = app
        self._metrics = metrics

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        started = time.perf_counter()

        async def add_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                present = {name.lower() for name, _ in message["headers"]}
                for name, value in HEADERS.items():
                    is_left_out = name == "cross-origin-resource-policy" and scope["path"].startswith(PUBLIC)
                    if name.encode() not in present and not is_left_out:
                        message["headers"].append((name.encode(), value.encode()))
                self._metrics.count(message["status"], time.perf_counter() - started)
            await send(message)

        await self._app(scope, receive, add_headers)


class OriginCheck:
    """Serves only requests for a known host, so that no foreign name can be pointed at a local server.

    Requests that change or start something are refused if a page of another site sends them. Browsers declare where
    such a request comes from; other clients declare nothing, and act for nobody else.
    """

    def __init__(self, app: ASGIApp, hosts: Sequence[str]) -> None:
        self._app = app
        self._hosts = frozenset(host.lower() for host in hosts)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        app = self._app
        if scope["type"] == "http":
            request = Request(scope)
            host = request.headers.get("host", "").lower()
            # Without the port; an IPv6 address is in brackets.
            name = host.partition("]")[0] + "]" if host.startswith("[") else host.partition(":")[0]
            is_whole = re.fullmatch(r"(?::[0-9]{1,5})?", host[len(name) :]) is not None
            if not is_whole or ("*" not in self._hosts and name not in self._hosts):
                app = problem(request, 421, "this host is not served")
            elif scope["method"] not in ("GET", "HEAD", "OPTIONS") and not _is_same_origin(request, host):
                app = problem(request, 403, "the request comes from a page of another site")
        await app(scope, receive, send)


def _is_same_origin(request: Request, host: str) -> bool:
    site = request.headers.get("sec-fetch-site")
    if site is not None:
        return site in ("same-origin", "none")
    origin = request.headers.get("origin")
    return origin is None or origin.partition("://")[2].lower() == host


@asynccontextmanager
async def whole_body(request: Request, most: int, what: str) -> AsyncIterator[bytes]:
    """Read the body, which counts as its client's until the end of the block.

    Raises an HTTPException: 413 once it has more than `most` bytes, 400 if it ends early; and BusyError if its client,
    or all clients, send too much at once.
    """
    body = bytearray()
    unread: Shares = request.app.state.unread_bodies
    with unread.share(client_of(request.scope)) as share:
        try:
            async for part in request.stream():
                if len(body) + len(part) > most:
                    raise HTTPException(413, f"{what} may have {most:,} bytes")
                share.add(len(part))
                body += part
        except ClientDisconnect:  # the response reaches nobody, but it is logged as what it is
            raise HTTPException(400, "the body of the request is not complete") from None
        yield bytes(body)


HEAD, BODY, READING = "head", "body", "reading"
SECONDS = {HEAD: 15.0, BODY: 120.0, READING: 30.0}
"""How long a client may take to send the head of a request, to send its body, and to read nothing of a response."""
LOOK_SECONDS = 1.0
"""The time between two checks of a connection."""


MOST_CHUNKS, BYTES_OF_CHUNK = 1000, 100
"""How many chunks a body may have, and for how many bytes one more: each costs the service more than its sender."""


class TimedConnection(H11Protocol):
    """HTTP/1.1 of uvicorn, which by itself limits only the time between two requests."""

    places: Shares | None = None
    """The connections of all clients."""
    proxies: Sequence[IPv4Network | IPv6Network] = ()
    _place: Share | None = None
    _look: asyncio.TimerHandle | None = None
    _phase: tuple[str, Hashable] | None = None
    _began = 0.0
    _chunks = 0.0
    """How many chunks the body has so far, beyond those that its bytes allow."""

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        next_event = self.conn.next_event

        def counted() -> Any:
            event = next_event()
            if isinstance(event, h11.Request):
                self._chunks = 0.0
            elif isinstance(event, h11.Data):
                self._chunks += event.chunk_start - len(event.data) / BYTES_OF_CHUNK
                if self._chunks > MOST_CHUNKS:
                    transport.abort()
                    return h11.NEED_DATA
            return event

        self.conn.next_event = counted  # type: ignore[method-assign]
        if self.places is not None:
            peer = transport.get_extra_info("peername") or ("",)
            # Connections of a proxy are those of many clients: the service has a limit for all of them.
            client = f"proxy {id(self)}" if is_within(peer[0], self.proxies) else client_of({"client": peer})
            self._place = Share(self.places, client)
            try:
                self._place.add(1)
            except BusyError:  # closed without a response, which would cost what the limit saves
                transport.abort()
                return
        self._examine()

    def connection_lost(self, exc: Exception | None) -> None:
        if self._look is not None:
            self._look.cancel()
        if self._place is not None:
            self._place.release()
        super().connection_lost(exc)

    def _examine(self) -> None:
        """Abort the connection if it is in the same phase for too long; look again later."""
        now, phase = self.loop.time(), self._current_phase()
        if phase != self._phase:
            self._phase, self._began = phase, now
        elif phase is not None and now - self._began >= SECONDS[phase[0]]:
            self.transport.abort()
            return
        self._look = self.loop.call_later(LOOK_SECONDS, self._examine)

    def _current_phase(self) -> tuple[str, Hashable] | None:
        """Return what the client has to do, and what tells it from the same phase of another request.

        None while the service is at work.
        """
        unsent = self.transport.get_write_buffer_size()
        if unsent:
            return READING, unsent
        if self.conn.their_state is h11.IDLE:
            return HEAD, self.cycle
        return (BODY, self.cycle) if self.conn.their_state is h11.SEND_BODY else None

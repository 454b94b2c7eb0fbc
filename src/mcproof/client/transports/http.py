"""The transports of a server at a URL: Streamable HTTP, and the older HTTP with SSE.

Requests go only to the origin that the user named, and no response is read beyond a size limit.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
from typing import TYPE_CHECKING, Any

from mcproof.client.failures import (
    UNAUTHORIZED,
    ConnectError,
    HttpStatusError,
    LostError,
    NoMessageError,
    UnauthorizedError,
)
from mcproof.client.peer import Peer
from mcproof.client.secrets import redacted_url
from mcproof.client.transports.sse import LONGEST_EVENT, EventParser
from mcproof.exchange.connection_facts import cropped

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable

    import httpx2

    from mcproof.exchange.connection_facts import ProcessEnd

    Sign = Callable[[httpx2.Request], httpx2.Request]
    """Adds the current authorization to a request."""

LARGEST_BODY = 64 * 1024 * 1024
_ACCEPT = "application/json, text/event-stream"
_REDIRECTS = range(300, 400)
_HOW = "send it with `--header 'Authorization: Bearer ${TOKEN}'`, or `headers` in a suite"
_BAD_HEADER = "a header has characters that HTTP does not allow"


class _HttpTransport:
    """What both transports share."""

    def __init__(self, url: str, headers: dict[str, str], connect: float, sign: Sign | None = None) -> None:
        self._url = url
        self._sign = sign
        self._headers = headers
        self._connect = connect
        self._client: httpx2.AsyncClient | None = None
        self.protocol_headers: Callable[[dict[str, Any]], dict[str, str]] = lambda _: {}
        """The headers that the protocol revision requires for a message."""
        self.peer = Peer(self._post)

    async def _post(self, message: bytes) -> None:
        raise NotImplementedError

    def last_words(self) -> str:
        return ""

    def last_lines(self) -> str:
        return ""

    def cpu_usage(self) -> None:
        return None

    def kill(self) -> None:
        """Do nothing: the process is not ours."""


class StreamableHttp(_HttpTransport):
    """Streamable HTTP: every message is a POST; the response is JSON or a stream of events."""

    name = "http"

    def __init__(self, url: str, headers: dict[str, str], connect: float, sign: Sign | None = None) -> None:
        super().__init__(url, headers, connect, sign)
        self.session: str | None = None

    async def open(self) -> None:
        self._client = _client(self._headers, self._connect, self._sign)

    async def _post(self, message: bytes) -> None:
        assert self._client is not None  # noqa: S101
        envelope = json.loads(message)
        headers = {
            "Content-Type": "application/json",
            "Accept": _ACCEPT,
            **({"Mcp-Session-Id": self.session} if self.session is not None else {}),
            **self.protocol_headers(envelope),
        }
        async with _sent(self._client, "POST", self._url, headers, message) as response:
            session = response.headers.get("mcp-session-id")
            if session is not None and session.isascii() and session.isprintable():
                self.session = session
            await self._take(response, envelope)

    async def send_bytes(self, data: bytes) -> None:
        """Send data that need not be a message, and ignore the response."""
        assert self._client is not None  # noqa: S101
        self.peer.trace.sent(data)
        headers = {"Content-Type": "application/json", "Accept": _ACCEPT, **self.protocol_headers({})}
        if self.session is not None:
            headers["Mcp-Session-Id"] = self.session
        async with _sent(self._client, "POST", self._url, headers, data):
            pass

    async def _take(self, response: httpx2.Response, sent: dict[str, Any]) -> None:
        """Pass the messages of a response to the peer; only a request needs one."""
        _refuse_redirect(response)
        if not ("id" in sent and "method" in sent):
            return
        kind = _content_type(response)
        if kind == "text/event-stream" and response.is_success:
            await self._take_events(response, sent["id"])
            return
        body = await _body(response)
        if not response.is_success:
            if response.status_code in UNAUTHORIZED or not _is_error(body):
                self.peer.trace.received(body)
                raise _refusal(response, body)
            if not self.peer.refuse(sent["id"], body):
                raise _refusal(response, body)
            return
        if not body.strip():
            raise NoMessageError(f"HTTP {response.status_code} without a body")
        if kind != "application/json":
            self.peer.note("content-type", kind or "none", sent["method"])
        self.peer.receive(body, responds_to=sent["id"])
        if self.peer.awaits(sent["id"]):
            raise NoMessageError(f"the response is not JSON-RPC: {cropped(body.decode(errors='replace'))}")

    async def _take_events(self, response: httpx2.Response, number: Any) -> None:
        parser = EventParser()
        async for chunk in _chunks(response):
            for event in parser.feed(chunk):
                if event.type == "message":
                    self.peer.receive(event.data)
                if not self.peer.awaits(number):
                    return
        if parser.is_incomplete:
            self.peer.note("truncated", "the event stream ended inside an event")
        raise LostError("the event stream ended without the response")

    async def close(self, _grace: float | None = None) -> ProcessEnd | None:
        await self.peer.close()
        if self._client is not None:
            try:
                if self.session is not None:
                    await self._end_session(self._client, {"Mcp-Session-Id": self.session, **self.protocol_headers({})})
            finally:
                await self._client.aclose()
        return None

    async def _end_session(self, client: httpx2.AsyncClient, headers: dict[str, str]) -> None:
        """End the session on the server, and ignore errors."""
        with contextlib.suppress(ConnectError, LostError, TimeoutError):
            async with asyncio.timeout(2), _sent(client, "DELETE", self._url, headers):
                pass


class LegacySse(_HttpTransport):
    """HTTP with SSE: one stream carries all events, and its first event names the URL to post messages to."""

    name = "sse"

    def __init__(self, url: str, headers: dict[str, str], connect: float, sign: Sign | None = None) -> None:
        super().__init__(url, headers, connect, sign)
        self._endpoint: asyncio.Future[str] | None = None
        self._task: asyncio.Task[None] | None = None

    async def open(self) -> None:
        """Open the stream and wait for the `endpoint` event."""
        self._client = _client(self._headers, self._connect, self._sign)
        self._endpoint = asyncio.get_running_loop().create_future()
        self._task = asyncio.create_task(self._listen())
        await asyncio.shield(self._endpoint)

    async def _listen(self) -> None:
        assert self._client is not None and self._endpoint is not None  # noqa: S101, PT018
        try:
            async with _sent(self._client, "GET", self._url, {"Accept": "text/event-stream"}) as response:
                _refuse_redirect(response)
                if not response.is_success or _content_type(response) != "text/event-stream":
                    raise _refusal(response, await _body(response))
                await self._take_events(response)
        except (ConnectError, LostError) as error:
            if not self._endpoint.done():
                self._endpoint.set_exception(error)
            self.peer.fail(error)

    async def _take_events(self, response: httpx2.Response) -> None:
        assert self._endpoint is not None  # noqa: S101
        parser = EventParser()
        async for chunk in _chunks(response, limited=False):
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
        async with _sent(self._client, "POST", await self._endpoint, headers, message) as response:
            _refuse_redirect(response)
            if not response.is_success:
                raise _refusal(response, await _body(response))

    async def close(self, _grace: float | None = None) -> ProcessEnd | None:
        await self.peer.close()
        try:
            if self._task is not None:
                self._task.cancel()
                await asyncio.gather(self._task, return_exceptions=True)
            if self._endpoint is not None and self._endpoint.done():
                self._endpoint.exception()
        finally:
            if self._client is not None:
                await self._client.aclose()
        return None


def _client(headers: dict[str, str], connect: float, sign: Sign | None) -> httpx2.AsyncClient:
    import httpx2

    try:
        # The caller limits the time of a whole request; only connecting has its own limit.
        return httpx2.AsyncClient(
            auth=sign,
            headers={"User-Agent": "mcproof", **headers},
            timeout=httpx2.Timeout(None, connect=connect),
            follow_redirects=False,
            trust_env=False,
        )
    except ValueError:
        raise ConnectError(_BAD_HEADER) from None


@contextlib.asynccontextmanager
async def _sent(
    client: httpx2.AsyncClient, method: str, url: str, headers: dict[str, str], content: bytes | None = None
) -> AsyncIterator[httpx2.Response]:
    """The response to a request; HTTP errors are raised as ConnectError and LostError."""
    import httpx2

    try:
        request = client.build_request(method, url, content=content, headers=headers)
        response = await client.send(request, stream=True)
    except (httpx2.InvalidURL, httpx2.UnsupportedProtocol, UnicodeError):
        raise ConnectError("the server cannot be reached: not an HTTP URL") from None
    except httpx2.ConnectTimeout:
        raise ConnectError("the server cannot be reached: connecting timed out") from None
    except httpx2.ConnectError as error:
        raise ConnectError(f"the server cannot be reached: {str(error) or 'connecting failed'}".rstrip(".")) from None
    except httpx2.LocalProtocolError:
        raise ConnectError(_BAD_HEADER) from None
    except httpx2.HTTPError as error:
        raise LostError(f"the connection broke: {str(error) or type(error).__name__}".rstrip(".")) from None
    except (OSError, OverflowError, ExceptionGroup):  # such as a port out of range
        raise ConnectError("the server cannot be reached: invalid address") from None
    try:
        yield response
    except httpx2.HTTPError as error:
        raise LostError(f"the connection broke: {str(error) or type(error).__name__}".rstrip(".")) from None
    finally:
        await response.aclose()


def _content_type(response: httpx2.Response) -> str:
    kind: str = response.headers.get("content-type", "").partition(";")[0].strip().lower()
    return kind


async def _chunks(response: httpx2.Response, *, limited: bool = True) -> AsyncIterator[bytes]:
    """The decoded body, up to the size limit."""
    read = 0
    async for chunk in response.aiter_bytes():
        read += len(chunk)
        if limited and read > LARGEST_BODY:
            raise NoMessageError(f"the response is larger than {LARGEST_BODY:,} bytes")
        yield chunk


async def _body(response: httpx2.Response) -> bytes:
    return b"".join([chunk async for chunk in _chunks(response)])


def _is_error(body: bytes) -> bool:
    """Whether the body of an HTTP error is a JSON-RPC error."""
    try:
        value = json.loads(body)
    except (ValueError, RecursionError):
        return False
    return isinstance(value, dict) and "error" in value and "jsonrpc" in value


def _refuse_redirect(response: httpx2.Response) -> None:
    if response.status_code in _REDIRECTS:
        target = redacted_url(response.headers.get("location", ""))
        raise HttpStatusError(
            response.status_code,
            f"the server redirects ({response.status_code}) to {target or 'nowhere'}; name that URL if you trust it",
        )


def _refusal(response: httpx2.Response, body: bytes) -> HttpStatusError:
    status = response.status_code
    if status in UNAUTHORIZED:
        challenge = ", ".join(response.headers.get_list("www-authenticate"))
        sent = response.request.headers.get("authorization", "")
        shown = f"WWW-Authenticate: {cropped(challenge)}" if challenge else f"HTTP {status}"
        if sent:
            message = f"the server refuses the authorization ({shown})"
        else:
            message = f"needs authorization ({shown}): {_HOW}"
        return UnauthorizedError(status, message, challenge, sent)
    kind = response.headers.get("content-type", "no content type").partition(";")[0]
    text = " ".join(body[:2000].decode(errors="replace").split())
    excerpt = f": {cropped(text)}" if text else ""
    return HttpStatusError(status, f"the server returns HTTP {status} ({kind}){excerpt}")

"""The loopback address that an authorization server redirects the browser to.

It listens on 127.0.0.1 for one authorization response. Whatever else arrives, such as a request of another page or of
a name that resolves to this machine, is refused and changes nothing.
"""

from __future__ import annotations

import asyncio
import hmac
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, NamedTuple

from mcproof.client.failures import AuthorizationError
from mcproof.core.errors import reason_of

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

HOST = "127.0.0.1"
PATH = "/callback"
LARGEST_REQUEST = 16_384
READ_SECONDS = 10.0
MOST_CONNECTIONS = 32
_SINGLE = ("code", "state", "iss", "error")
_PAGE = """\
<!doctype html><meta charset="utf-8"><title>mcproof</title>
<p style="font: 1.2em sans-serif; margin: 3em">{text}</p>
"""
_HEADERS = (
    "Content-Type: text/html; charset=utf-8",
    "Content-Security-Policy: default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'",
    "Cache-Control: no-store",
    "Referrer-Policy: no-referrer",
    "X-Content-Type-Options: nosniff",
    "Connection: close",
)
_REASONS = {200: "OK", 400: "Bad Request", 403: "Forbidden", 404: "Not Found", 405: "Method Not Allowed"}


class _Refused(Exception):  # noqa: N818 (a response, not an error)
    """A request that is not the authorization response."""

    def __init__(self, status: int, text: str) -> None:
        super().__init__(text)
        self.status = status


class _Head(NamedTuple):
    """The request line and the headers of a request."""

    method: str
    target: str
    headers: dict[str, str]


class LoopbackCallback:
    """Waits for the authorization response with this `state`."""

    def __init__(self, state: str) -> None:
        self._state = state
        self._response: asyncio.Future[dict[str, str]] = asyncio.get_running_loop().create_future()
        self._connections: set[asyncio.Task[None]] = set()
        self.port = 0

    @property
    def redirect_uri(self) -> str:
        return f"http://{HOST}:{self.port}{PATH}"

    async def response(self, seconds: float) -> dict[str, str]:
        """The parameters of the authorization response. Raises AuthorizationError if none arrives."""
        try:
            async with asyncio.timeout(seconds):
                return await self._response
        except TimeoutError:
            raise AuthorizationError(f"nobody logged in within {seconds:g} seconds") from None

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Respond to one request."""
        task = asyncio.current_task()
        assert task is not None  # noqa: S101
        if len(self._connections) >= MOST_CONNECTIONS:
            writer.transport.abort()
            return
        self._connections.add(task)
        try:
            async with asyncio.timeout(READ_SECONDS):
                status, text = self._judged(await reader.readuntil(b"\r\n\r\n"))
                writer.write(_rendered(status, text))
                await writer.drain()
                writer.close()
                await writer.wait_closed()
        except (OSError, TimeoutError, asyncio.IncompleteReadError, asyncio.LimitOverrunError):
            pass
        finally:
            writer.transport.abort()
            self._connections.discard(task)

    async def close(self) -> None:
        """Finish the response that is being written, then end all connections."""
        if self._connections:
            await asyncio.wait(self._connections, timeout=0.5)
        for task in self._connections:
            task.cancel()
        await asyncio.gather(*self._connections, return_exceptions=True)
        self._response.cancel()

    def _judged(self, head: bytes) -> tuple[int, str]:
        """The status and the text of the response to a request; the authorization response ends the wait."""
        try:
            parameters = self._parameters(_parsed(head))
        except _Refused as refused:
            return refused.status, str(refused)
        if self._response.done():
            return 400, "This login has ended."
        if not hmac.compare_digest(parameters["state"].encode(), self._state.encode()):
            self._response.set_exception(
                AuthorizationError("the authorization response has a wrong `state`: it is not for this login")
            )
            return 400, "This response is not for the current login."
        self._response.set_result(parameters)
        return 200, "mcproof has the response. You can close this page."

    def _parameters(self, head: _Head) -> dict[str, str]:
        """The query of the authorization response; raises for any other request."""
        from urllib.parse import parse_qsl, urlsplit

        if head.headers.get("host") != f"{HOST}:{self.port}":
            raise _Refused(400, "Wrong host.")
        if head.method != "GET":
            raise _Refused(405, "Only GET is allowed.")
        if not _is_navigation(head.headers):
            raise _Refused(403, "Only the browser's own navigation is allowed.")
        try:
            parts = urlsplit(head.target)
            pairs = parse_qsl(parts.query, keep_blank_values=True, max_num_fields=50)
        except ValueError:
            raise _Refused(400, "Invalid address.") from None
        if parts.scheme or parts.netloc or parts.path != PATH:
            raise _Refused(404, "There is nothing here.")
        names = [name for name, _ in pairs]
        if "state" not in names or any(names.count(name) > 1 for name in _SINGLE):
            raise _Refused(400, "This is not an authorization response.")
        return dict(pairs)


def _is_navigation(headers: dict[str, str]) -> bool:
    """Whether a browser follows a redirect, as opposed to a page that sends a request; old browsers do not tell."""
    mode, destination = headers.get("sec-fetch-mode", "navigate"), headers.get("sec-fetch-dest", "document")
    return mode == "navigate" and destination == "document" and "origin" not in headers


def _parsed(head: bytes) -> _Head:
    first, *lines = head.decode("latin-1").split("\r\n")
    words = first.split(" ")
    if len(words) != 3 or not words[2].startswith("HTTP/1."):
        raise _Refused(400, "Not an HTTP request.")
    headers: dict[str, str] = {}
    for line in filter(None, lines):
        name, _, value = line.partition(":")
        if name.lower() in headers and name.lower() == "host":
            raise _Refused(400, "Two hosts.")
        headers[name.lower()] = value.strip()
    return _Head(words[0], words[1], headers)


def _rendered(status: int, text: str) -> bytes:
    body = _PAGE.format(text=text).encode()
    head = (f"HTTP/1.1 {status} {_REASONS[status]}", *_HEADERS, f"Content-Length: {len(body)}", "", "")
    return "\r\n".join(head).encode() + body


@asynccontextmanager
async def listening(state: str, port: int, *, is_required: bool) -> AsyncIterator[LoopbackCallback]:
    """A callback that listens on this port, or on any if it is 0, or taken and not required; nothing listens after."""
    callback = LoopbackCallback(state)
    try:
        server = await asyncio.start_server(callback.serve, HOST, port, limit=LARGEST_REQUEST)
    except OSError as error:
        if is_required:
            raise AuthorizationError(f"cannot listen on {HOST}:{port} for the login: {reason_of(error)}") from None
        server = await asyncio.start_server(callback.serve, HOST, 0, limit=LARGEST_REQUEST)
    try:
        callback.port = server.sockets[0].getsockname()[1]
        yield callback
    finally:
        server.close()
        await callback.close()
        await server.wait_closed()

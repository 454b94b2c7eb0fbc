"""Log in with a browser: authorization code with PKCE, and the loopback address that the browser returns to.

The callback listens on 127.0.0.1 for one authorization response. Whatever else arrives, such as a request of
another page or of a name that resolves to this machine, is refused and changes nothing.
"""

from __future__ import annotations

import asyncio
import hmac
import os
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

from mcproof.client.auth.registration import (
    AuthorizationServer,
    OAuthClient,
    configured_client,
    joined_scopes,
    oauth_error,
    register,
)
from mcproof.client.auth.tokens import AccessToken, Grant, exchange_code
from mcproof.client.errors import WITHOUT_BROWSER, AuthorizationError
from mcproof.client.redaction import learn_secret, redacted_url
from mcproof.core.console import print_message
from mcproof.core.errors import reason_of
from mcproof.core.named_tuple import NamedTuple
from mcproof.core.observations.connection import cropped

if TYPE_CHECKING:
    from mcproof.client.endpoints import AccessOptions


HOST = "127.0.0.1"
PATH = "/callback"
# Every page in the user's browser can reach this port, so a request gets little memory and time.
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
            # Whoever connects and says nothing must not end the wait for the browser.
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

        # A page whose name resolves to this machine (DNS rebinding) sends that name.
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
        # `wait_closed` waits for all connections, so these end first.
        server.close()
        await callback.close()
        await server.wait_closed()


LOGIN_SECONDS = 300.0
"""How long a user may take to log in."""
OFFLINE = "offline_access"
"""The scope of refresh tokens, where the authorization server has one."""


class LoginRequest(NamedTuple):
    """What a user is asked to grant."""

    server: AuthorizationServer
    resource: str
    scope: str
    options: AccessOptions
    registered: OAuthClient | None = None
    """The client of an earlier registration with this authorization server."""


async def log_in(request: LoginRequest) -> AccessToken:
    """Open the browser, wait for the authorization response, and get the token."""
    from secrets import token_urlsafe

    server = request.server
    _refuse_impossible(server)
    state, verifier = token_urlsafe(32), token_urlsafe(48)
    scope = (
        joined_scopes(request.scope, OFFLINE) if OFFLINE in server.scope.split() and request.scope else request.scope
    )
    registered_port = 0 if request.registered is None else request.registered.port
    wanted = request.options.callback_port
    # The redirect URI of a registered client has the port.
    async with listening(state, wanted or registered_port, is_required=bool(wanted)) as callback:
        client = await _client(request, callback.redirect_uri, callback.port)
        parameters = {
            "response_type": "code",
            "client_id": client.id,
            "redirect_uri": callback.redirect_uri,
            "state": state,
            "code_challenge": _challenge(verifier),
            "code_challenge_method": "S256",
            "resource": request.resource,
            **({"scope": scope} if scope else {}),
        }
        url = _with_query(server.authorization_endpoint, parameters)
        print_message(f"log in with your browser: {url}")
        _open(url)
        response = await callback.response(LOGIN_SECONDS)
        redirect_uri = callback.redirect_uri
    # Only now: the user needs to see the address, which has the state in it.
    for secret in (state, response.get("code", "")):
        learn_secret(secret)
    code = _code(response, server)
    return await exchange_code(Grant(server, client, request.resource, scope), code, verifier, redirect_uri)


def _refuse_impossible(server: AuthorizationServer) -> None:
    if not server.authorization_endpoint:
        raise AuthorizationError(
            f"the authorization server {redacted_url(server.issuer)} has no `authorization_endpoint`; "
            "use `--client-id ID --client-secret-env NAME`"
        )
    if not server.supports_s256:
        raise AuthorizationError(f"the authorization server {redacted_url(server.issuer)} does not support PKCE (S256)")
    if not can_log_in():
        raise AuthorizationError(
            f"no terminal to log in from, and no BROWSER that opens the address; use {WITHOUT_BROWSER}"
        )


def can_log_in() -> bool:
    """Whether a user can see the address to log in at, or a program is named that opens it."""
    return bool(os.environ.get("BROWSER")) or (sys.stderr is not None and sys.stderr.isatty())


async def _client(request: LoginRequest, redirect_uri: str, port: int) -> OAuthClient:
    """The client to log in with: one that the user names, one registered for this port, or a new one."""
    configured = configured_client(request.server, request.options)
    if configured is not None:
        return configured
    if request.registered is not None and request.registered.port == port:
        return request.registered
    return await register(request.server, redirect_uri, port)


def _challenge(verifier: str) -> str:
    from base64 import urlsafe_b64encode
    from hashlib import sha256

    return urlsafe_b64encode(sha256(verifier.encode()).digest()).decode().rstrip("=")


def _with_query(endpoint: str, parameters: dict[str, str]) -> str:
    from urllib.parse import urlencode

    return f"{endpoint}{'&' if '?' in endpoint else '?'}{urlencode(parameters)}"


def _open(url: str) -> None:
    """Open a URL in the browser, in a thread of its own: some browsers return only when they are closed."""
    import threading
    import webbrowser

    threading.Thread(target=webbrowser.open, args=(url,), daemon=True).start()


def _code(response: dict[str, str], server: AuthorizationServer) -> str:
    """The code in an authorization response, after the checks of its issuer (RFC 9207)."""
    issuer = response.get("iss")
    if issuer is None and server.sends_issuer:
        raise AuthorizationError("the authorization response has no `iss`, which the authorization server declares")
    if issuer is not None and issuer != server.issuer:
        raise AuthorizationError(
            f"the authorization response is from another issuer: {cropped(redacted_url(issuer))}, "
            f"not {redacted_url(server.issuer)}"
        )
    if "error" in response:
        raise AuthorizationError(f"the authorization server refuses: {oauth_error(400, dict(response))}")
    if not response.get("code"):
        raise AuthorizationError("the authorization response has no `code`")
    return response["code"]

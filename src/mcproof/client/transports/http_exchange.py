"""HTTP for both transports: clients, requests, bounded responses, and errors in words.

Requests go only to the origin that the user named, and no response is read beyond a size limit.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from mcproof.client.auth.advice import login_advice
from mcproof.client.egress.network_guard import current_guard
from mcproof.client.failures import (
    UNAUTHORIZED,
    ConnectError,
    HttpStatusError,
    LostError,
    NoMessageError,
    UnauthorizedError,
    UnreachableError,
    transient,
)
from mcproof.client.peer import Peer
from mcproof.client.secrets import redacted_url
from mcproof.core.observations.connection import cropped

if TYPE_CHECKING:
    import ssl
    from collections.abc import AsyncIterator, Callable

    import httpx2

    Sign = Callable[[httpx2.Request], httpx2.Request]
    """Adds the current authorization to a request."""

LARGEST_BODY = 64 * 1024 * 1024
_REDIRECT_STATUSES = range(300, 400)
_BAD_HEADER = "a header has characters that HTTP does not allow"


class HttpTransport:
    """The part that Streamable HTTP and HTTP with SSE share; subclasses post messages."""

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


def default_tls() -> ssl.SSLContext:
    """The TLS settings of every request: the certificate authorities of the system, or of `SSL_CERT_FILE`."""
    return _tls_with(os.environ.get("SSL_CERT_FILE"), os.environ.get("SSL_CERT_DIR"))


@lru_cache(maxsize=4)  # reading the authorities takes longer than most exchanges
def _tls_with(_file: str | None, _folder: str | None) -> ssl.SSLContext:
    """The settings with these authorities, which httpx2 reads from the environment."""
    import httpx2

    return httpx2.create_ssl_context()


def connection_settings() -> dict[str, Any]:
    """The settings of every client: no redirects, no proxy, and only connections that the current guard allows."""
    guard = current_guard()
    settings: dict[str, Any] = {"follow_redirects": False, "trust_env": False}
    if guard is None:
        return {**settings, "verify": default_tls()}
    from mcproof.client.egress.guarded_http import GuardedTransport

    return {**settings, "transport": GuardedTransport(guard, default_tls())}


def new_client(headers: dict[str, str], connect: float, sign: Sign | None) -> httpx2.AsyncClient:
    """A client for one server, which follows no redirects and uses no proxy. Raises ConnectError for bad headers."""
    import httpx2

    try:
        # The caller limits the time of a whole request; only connecting has its own limit.
        return httpx2.AsyncClient(
            auth=sign,
            headers={"User-Agent": "mcproof", **headers},
            timeout=httpx2.Timeout(None, connect=connect),
            **connection_settings(),
        )
    except ValueError:
        raise ConnectError(_BAD_HEADER) from None


def network_reason(error: Exception) -> str:
    """The text of a network error, without the number of the operating system."""
    return re.sub(r"^\[Errno -?\d+\] ", "", str(error)).rstrip(".")


@contextlib.asynccontextmanager
async def sent(
    client: httpx2.AsyncClient,
    method: str,
    url: str,
    headers: dict[str, str],
    content: bytes | None = None,
    extensions: dict[str, Any] | None = None,
) -> AsyncIterator[httpx2.Response]:
    """The response to a request; HTTP errors are raised as ConnectError and LostError."""
    import httpx2

    try:
        encoded = [(name.encode("ascii"), value.encode()) for name, value in headers.items()]
        request = client.build_request(method, url, content=content, headers=encoded, extensions=extensions)
        response = await client.send(request, stream=True)
    except (httpx2.InvalidURL, httpx2.UnsupportedProtocol, UnicodeError):
        raise UnreachableError("the server cannot be reached: not an HTTP URL") from None
    except httpx2.ConnectTimeout:
        raise transient(UnreachableError("the server cannot be reached: connecting timed out")) from None
    except httpx2.ConnectError as error:
        why = network_reason(error) or "connecting failed"
        raise transient(UnreachableError(f"the server cannot be reached: {why}")) from None
    except httpx2.LocalProtocolError:
        raise ConnectError(_BAD_HEADER) from None
    except httpx2.HTTPError as error:
        raise _broken(error) from None
    except (OSError, OverflowError, ExceptionGroup):  # such as a port out of range
        raise UnreachableError("the server cannot be reached: invalid address") from None
    try:
        yield response
    except httpx2.HTTPError as error:
        raise _broken(error) from None
    finally:
        await response.aclose()


def _broken(error: httpx2.HTTPError) -> LostError:
    return transient(LostError(f"the connection broke: {str(error) or type(error).__name__}".rstrip(".")))


def content_type(response: httpx2.Response) -> str:
    """The media type of a response, in lower case and without parameters; empty if it has none."""
    kind: str = response.headers.get("content-type", "").partition(";")[0].strip().lower()
    return kind


async def chunks(response: httpx2.Response, *, limited: bool = True) -> AsyncIterator[bytes]:
    """The decoded body in chunks. Raises NoMessageError beyond the size limit."""
    read = 0
    async for chunk in response.aiter_bytes():
        read += len(chunk)
        if limited and read > LARGEST_BODY:
            raise NoMessageError(f"the response is larger than {LARGEST_BODY:,} bytes")
        yield chunk


async def body_of(response: httpx2.Response) -> bytes:
    """The whole decoded body. Raises NoMessageError if it is too large."""
    return b"".join([chunk async for chunk in chunks(response)])


def error_code(body: bytes) -> int | None:
    """The code of the JSON-RPC error in the body of an HTTP error; None if it is not one, 0 if it has no code."""
    try:
        value = json.loads(body)
    except (ValueError, RecursionError):
        return None
    if not isinstance(value, dict) or "error" not in value or "jsonrpc" not in value:
        return None
    code = value["error"].get("code") if isinstance(value["error"], dict) else 0
    return code if isinstance(code, int) else 0


def refuse_redirect(response: httpx2.Response) -> None:
    """Raise an HttpStatusError with the new URL if a response is a redirect."""
    if response.status_code in _REDIRECT_STATUSES:
        target = redacted_url(response.headers.get("location", ""))
        raise HttpStatusError(
            response.status_code,
            f"the server redirects ({response.status_code}) to {target or 'nowhere'}; name that URL if you trust it",
        )


def refusal(response: httpx2.Response, body: bytes) -> HttpStatusError:
    """The error for a response with an error status: what the server requires, or an excerpt of the body."""
    status = response.status_code
    if status in UNAUTHORIZED:
        challenge = ", ".join(response.headers.get_list("www-authenticate"))
        authorization = response.request.headers.get("authorization", "")
        shown = f"WWW-Authenticate: {cropped(challenge)}" if challenge else f"HTTP {status}"
        if authorization:
            message = f"the server refuses the authorization ({shown})"
        else:
            message = f"needs authorization ({shown}): {login_advice(str(response.request.url))}"
        return UnauthorizedError(status, message, shown, challenge, authorization)
    kind = response.headers.get("content-type", "no content type").partition(";")[0]
    text = " ".join(body[:2000].decode(errors="replace").split())
    excerpt = f": {cropped(text)}" if text else ""
    return HttpStatusError(
        status,
        f"the server returns HTTP {status} ({kind}){excerpt}",
        _seconds_until(response.headers.get("retry-after", "")),
    )


def _seconds_until(text: str) -> float | None:
    """Parse `Retry-After`: seconds, or a date; None if it is neither."""
    if text.strip().isdecimal() and len(text) < 10:
        return float(text)
    from email.utils import parsedate_to_datetime
    from time import time

    try:
        return max(0.0, parsedate_to_datetime(text).timestamp() - time())
    except (ValueError, OverflowError):
        return None

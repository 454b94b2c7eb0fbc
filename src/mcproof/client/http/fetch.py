"""HTTP requests within limits: of time, size and redirects, for transports, authorization, probes and webhooks.

`fetch` sends one bounded request and follows redirects; transports, whose responses are streams, use `sent` below it.
Where a URL may lead is decided in `policy`.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import re
from collections.abc import AsyncIterator, Callable, Mapping
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from mcproof.client.errors import (
    UNAUTHORIZED,
    AuthorizationError,
    ConnectError,
    HttpStatusError,
    LostError,
    NoMessageError,
    UnauthorizedError,
    UnreachableError,
    login_advice,
    transient,
)
from mcproof.client.http.policy import (
    GuardedTransport,
    NetworkGuard,
    RefusedAddressError,
    current_guard,
    origin_of,
)
from mcproof.client.peer import Peer
from mcproof.client.redaction import redacted_url
from mcproof.core.named_tuple import NamedTuple
from mcproof.core.observations.connection import cropped
from mcproof.core.observations.perimeter import REDIRECT_CAP, SIZE_CAP

if TYPE_CHECKING:
    import ssl

    import httpx2

    Sign = Callable[[httpx2.Request], httpx2.Request]
    """Adds the current authorization to a request."""


LARGEST_BODY = 64 * 1024 * 1024
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


def new_client(
    headers: Mapping[str, str], connect: float, sign: Sign | None = None, guard: NetworkGuard | None = None
) -> httpx2.AsyncClient:
    """A client that follows no redirects and uses no proxy. Raises ConnectError for bad headers.

    It connects to what a guard allows, that of the run if none is given.
    """
    import httpx2

    guard = guard or current_guard()
    is_free = guard.policy.reach == "anywhere"
    try:
        # The caller limits the time of a whole request; only connecting has its own limit.
        return httpx2.AsyncClient(
            auth=sign,
            headers={"User-Agent": "mcproof", **headers},
            timeout=httpx2.Timeout(None, connect=connect),
            follow_redirects=False,
            trust_env=False,
            verify=default_tls(),
            transport=None if is_free else GuardedTransport(guard, default_tls()),
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
    headers: Mapping[str, str],
    content: bytes | None = None,
) -> AsyncIterator[httpx2.Response]:
    """The response to a request; HTTP errors are raised as ConnectError and LostError, with their cause."""
    import httpx2

    try:
        encoded = [(name.encode("ascii"), value.encode()) for name, value in headers.items()]
        request = client.build_request(method, url, content=content, headers=encoded)
        response = await client.send(request, stream=True)
    except (httpx2.InvalidURL, httpx2.UnsupportedProtocol, UnicodeError) as error:
        raise UnreachableError("the server cannot be reached: not an HTTP URL") from error
    except httpx2.ConnectTimeout as error:
        raise transient(UnreachableError("the server cannot be reached: connecting timed out")) from error
    except httpx2.ConnectError as error:
        why = network_reason(error) or "connecting failed"
        raise transient(UnreachableError(f"the server cannot be reached: {why}")) from error
    except httpx2.LocalProtocolError as error:
        raise ConnectError(_BAD_HEADER) from error
    except httpx2.HTTPError as error:
        raise _broken(error) from error
    except (OSError, OverflowError, ExceptionGroup) as error:  # such as a port out of range
        raise UnreachableError("the server cannot be reached: invalid address") from error
    try:
        yield response
    except httpx2.HTTPError as error:
        raise _broken(error) from error
    finally:
        await response.aclose()


def _broken(error: httpx2.HTTPError) -> LostError:
    return transient(LostError(f"the connection broke: {str(error) or type(error).__name__}".rstrip(".")))


def content_type(response: httpx2.Response | FetchedResponse) -> str:
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
    if response.status_code in range(300, 400):
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
    except (ValueError, OverflowError):  # neither a number nor a date
        return None


PROBE_SECONDS = 10.0
REDIRECTS = (301, 302, 303, 307, 308)


class FetchLimits(NamedTuple):
    """The limits of one request, with its redirects."""

    seconds: float = PROBE_SECONDS
    size: int = SIZE_CAP
    """Bytes of a body; 0 if none is read."""
    redirects: int = REDIRECT_CAP


LIMITS = FetchLimits()


class Identity(NamedTuple):
    """The headers and the token of the user."""

    headers: Mapping[str, str]
    """Those of a request replace them."""
    sign: Sign | None = None


ANONYMOUS = Identity({})


class FetchedResponse(NamedTuple):
    """A response, with its body if the limit allows it."""

    url: str
    status: int
    headers: httpx2.Headers
    body: bytes = b""
    is_too_large: bool = False

    @property
    def location(self) -> str | None:
        """Where it redirects to; None if it does not."""
        return self.headers.get("location") if self.status in REDIRECTS else None

    @property
    def kind(self) -> str:
        """The media type."""
        return content_type(self)


class Exchange(NamedTuple):
    """The responses of a chain of redirects."""

    responses: list[FetchedResponse]
    has_too_many: bool = False
    refused: str = ""
    """Why the last redirect was not followed."""

    @property
    def last(self) -> FetchedResponse:
        return self.responses[-1]


async def fetch(
    url: str,
    *,
    method: str = "GET",
    headers: Mapping[str, str],
    body: bytes | None = None,
    identity: Identity = ANONYMOUS,
    limits: FetchLimits = LIMITS,
    guard: NetworkGuard,
    typed_by_user: bool = False,
    same_origin: bool = False,
) -> Exchange:
    """Send one bounded request, and follow redirects that the guard lets through; with `same_origin`, only within it.

    A URL that is `typed_by_user` is asked of the guard of the run instead. Redirects get no body and no identity.
    Raises TimeoutError, ConnectError and LostError.
    """
    from urllib.parse import urljoin

    async with asyncio.timeout(limits.seconds):
        first = current_guard() if typed_by_user else guard
        responses = [await _exchange(method, url, headers, body, identity, limits, first)]
        while limits.redirects and (location := responses[-1].location) is not None:
            if len(responses) > limits.redirects:
                return Exchange(responses, has_too_many=True)
            try:
                following = urljoin(responses[-1].url, location)
            except ValueError:
                following = location
            if same_origin and not _has_same_origin(following, url):
                return Exchange(
                    responses, refused=f"redirects to another origin, {redacted_url(following)}; not followed"
                )
            try:
                responses.append(await _exchange("GET", following, headers, None, ANONYMOUS, limits, guard))
            except RefusedAddressError as error:  # what was received before the refusal is an observation, too
                return Exchange(responses, refused=error.message)
    return Exchange(responses)


def _has_same_origin(one: str, other: str) -> bool:
    try:
        return origin_of(one) == origin_of(other)
    except RefusedAddressError:
        return False


async def _exchange(
    method: str,
    url: str,
    headers: Mapping[str, str],
    body: bytes | None,
    identity: Identity,
    limits: FetchLimits,
    guard: NetworkGuard,
) -> FetchedResponse:
    guard.check_url(url)
    async with (
        new_client(identity.headers, limits.seconds, identity.sign, guard) as client,
        sent(client, method, url, headers, body) as response,
    ):
        seen = FetchedResponse(url, response.status_code, response.headers)
        if not limits.size or content_type(response) == "text/event-stream":
            return seen
        read = bytearray()
        async for chunk in response.aiter_bytes():
            read += chunk
            if len(read) > limits.size:
                return seen._replace(is_too_large=True)
        return seen._replace(body=bytes(read))


LARGEST_DOCUMENT = 1024 * 1024
METADATA_SECONDS = 20.0
"""The time limit of one request, including its redirects."""
MOST_REDIRECTS = 3


class JsonReply(NamedTuple):
    """The status of an HTTP response and its JSON value."""

    status: int
    value: Any
    """None if the body is not JSON."""

    @property
    def members(self) -> dict[str, Any]:
        """The value if it is an object; else empty."""
        return self.value if isinstance(self.value, dict) else {}


async def get_json(url: str, what: str) -> JsonReply:
    """Get a document. A few redirects within its origin are followed."""
    return await _json(url, what, MOST_REDIRECTS)


async def first_document(places: list[str], what: str) -> dict[str, Any] | None:
    """The first JSON object at some places; None if there is none. A server error ends the search."""
    for place in places:
        reply = await get_json(place, what)
        if reply.status == 200 and isinstance(reply.value, dict):
            return reply.value
        if reply.status >= 500:
            raise AuthorizationError(f"{_named(what, place)} cannot be read: HTTP {reply.status}")
    return None


async def post_json(url: str, what: str, document: Mapping[str, Any]) -> JsonReply:
    """Post a JSON document; no redirect is followed."""
    return await _json(url, what, 0, json.dumps(document).encode(), {"Content-Type": "application/json"})


async def post_form(url: str, what: str, form: Mapping[str, str], headers: Mapping[str, str]) -> JsonReply:
    """Post a form; no redirect is followed."""
    from urllib.parse import urlencode

    kind = {"Content-Type": "application/x-www-form-urlencoded"}
    return await _json(url, what, 0, urlencode(form).encode(), {**kind, **headers})


async def _json(
    url: str, what: str, redirects: int, body: bytes | None = None, headers: Mapping[str, str] | None = None
) -> JsonReply:
    """The response to a request of authorization, by the guard that applies. Raises AuthorizationError."""
    guard, named = current_guard(), _named(what, url)
    try:
        exchange = await fetch(
            url,
            method="GET" if body is None else "POST",
            headers={"Accept": "application/json", **(headers or {})},
            body=body,
            limits=FetchLimits(METADATA_SECONDS, LARGEST_DOCUMENT, redirects),
            guard=guard,
            same_origin=True,
        )
    except TimeoutError:
        raise AuthorizationError(f"{named} does not respond within {METADATA_SECONDS:g} seconds") from None
    except RefusedAddressError as error:
        if guard.policy.reach == "public":
            raise
        raise AuthorizationError(f"{named} is refused: {error.message}") from None
    except (ConnectError, LostError) as error:
        cause = error.__cause__
        why = network_reason(cause) or type(cause).__name__ if isinstance(cause, Exception) else error.message
        raise AuthorizationError(f"{named} cannot be reached: {why}") from None
    last = exchange.last
    named = _named(what, last.url)
    if exchange.refused:
        raise AuthorizationError(f"{what} {exchange.refused}")
    if exchange.has_too_many:
        raise AuthorizationError(f"{named} redirects more than {redirects} times")
    if body is not None and last.status in REDIRECTS:
        target = redacted_url(last.headers.get("location", ""))
        raise AuthorizationError(f"{named} redirects to {target or 'nowhere'}; not followed")
    if last.is_too_large:
        raise AuthorizationError(f"{named} returns more than {LARGEST_DOCUMENT:,} bytes")
    try:
        return JsonReply(last.status, json.loads(last.body))
    except (ValueError, RecursionError):
        return JsonReply(last.status, None)


def _named(what: str, url: str) -> str:
    return f"{what} ({redacted_url(url)})"

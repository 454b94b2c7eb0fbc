"""HTTP requests within limits: of time, size and redirects, for transports, authorization and probes.

The limit on redirects is here: none for transports, `MOST_REDIRECTS` within one origin for metadata, `ProbeLimits`
for probes, whose default is in `core.observations.perimeter`. Where a URL may lead is decided in `policy`.
Why URLs of a server lead no further inside: docs/decisions/0047-server-supplied-urls.md.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import re
from contextlib import asynccontextmanager
from functools import lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple

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
from mcproof.client.http.policy import RefusedAddressError, current_guard, origin_of
from mcproof.client.peer import Peer
from mcproof.client.redaction import redacted_url
from mcproof.core.addresses import address_of, internal_address
from mcproof.core.observations.connection import cropped
from mcproof.core.observations.perimeter import REDIRECT_CAP, SIZE_CAP

if TYPE_CHECKING:
    import ssl
    from collections.abc import AsyncIterator, Callable, Mapping

    import httpx2


LARGEST_DOCUMENT = 1024 * 1024
METADATA_SECONDS = 20.0
"""The time limit of one request, including its redirects."""
MOST_REDIRECTS = 3
_REDIRECTS = (301, 302, 303, 307, 308)


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
    return await _limited(what, url, _get(url, what))


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
    return await _limited(what, url, _send("POST", url, what, json=dict(document)))


async def post_form(url: str, what: str, form: Mapping[str, str], headers: Mapping[str, str]) -> JsonReply:
    """Post a form; no redirect is followed."""
    return await _limited(what, url, _send("POST", url, what, data=dict(form), headers=dict(headers)))


async def _limited(what: str, url: str, work: Any) -> JsonReply:
    try:
        async with asyncio.timeout(METADATA_SECONDS):
            reply: JsonReply = await work
            return reply
    except TimeoutError:
        raise AuthorizationError(f"{_named(what, url)} does not respond within {METADATA_SECONDS:g} seconds") from None


async def _get(url: str, what: str) -> JsonReply:
    start = origin_of(url)
    for _ in range(MOST_REDIRECTS + 1):
        reply = await _send("GET", url, what)
        if reply.status not in _REDIRECTS:
            return reply
        url = _joined(url, str(reply.value))
        try:
            is_same = origin_of(url) == start
        except ValueError:
            is_same = False
        if not is_same:
            raise AuthorizationError(f"{what} redirects to another origin, {redacted_url(url)}; not followed")
    raise AuthorizationError(f"{_named(what, url)} redirects more than {MOST_REDIRECTS} times")


def _joined(base: str, location: str) -> str:
    from urllib.parse import urljoin

    try:
        return urljoin(base, location)
    except ValueError:
        return location


async def _send(method: str, url: str, what: str, **content: Any) -> JsonReply:
    import httpx2

    headers = {"User-Agent": "mcproof", "Accept": "application/json", **content.pop("headers", {})}
    try:
        async with (
            httpx2.AsyncClient(timeout=httpx2.Timeout(METADATA_SECONDS), **connection_settings()) as client,
            client.stream(method, url, headers=headers, **content) as response,
        ):
            if response.status_code in _REDIRECTS:
                if method != "GET":
                    target = redacted_url(response.headers.get("location", ""))
                    raise AuthorizationError(f"{_named(what, url)} redirects to {target or 'nowhere'}; not followed")
                return JsonReply(response.status_code, response.headers.get("location", ""))
            return JsonReply(response.status_code, _parsed(await _body(response, what, url)))
    except (httpx2.HTTPError, httpx2.InvalidURL, OSError, OverflowError, UnicodeError, ExceptionGroup) as error:
        why = network_reason(error) or type(error).__name__
        raise AuthorizationError(f"{_named(what, url)} cannot be reached: {why}") from None


async def _body(response: httpx2.Response, what: str, url: str) -> bytes:
    body = bytearray()
    async for chunk in response.aiter_bytes():
        body += chunk
        if len(body) > LARGEST_DOCUMENT:
            raise AuthorizationError(f"{_named(what, url)} returns more than {LARGEST_DOCUMENT:,} bytes")
    return bytes(body)


def _parsed(body: bytes) -> Any:
    try:
        return json.loads(body)
    except (ValueError, RecursionError):
        return None


def _named(what: str, url: str) -> str:
    return f"{what} ({redacted_url(url)})"


if TYPE_CHECKING:
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
    from mcproof.client.http.policy import GuardedTransport

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


PROBE_SECONDS = 10.0
"""The limit of one probe, with its redirects."""
MOST_ADDRESSES = 3
"""How many addresses of a host are tried."""
_RANKS = {None: 0, "private-address": 1, "loopback": 2}
_NEVER = 3
"""The rank of link-local, metadata and reserved addresses."""


class ProbeLimits(NamedTuple):
    """The limits of every probe."""

    seconds: float = PROBE_SECONDS
    size: int = SIZE_CAP
    redirects: int = REDIRECT_CAP


LIMITS = ProbeLimits()


class UnobservedError(Exception):
    """A probe without a response; its text is the reason."""


class RefusedUrlError(UnobservedError):
    """A URL from a server that is not fetched."""


class ProbeResponse(NamedTuple):
    """A response, with as much of its body as the limit allows."""

    url: str
    status: int
    headers: httpx2.Headers
    body: bytes = b""
    is_too_large: bool = False

    @property
    def location(self) -> str | None:
        """Where it redirects to; None if it does not."""
        return self.headers.get("location") if self.status in _REDIRECTS else None

    @property
    def kind(self) -> str:
        """The media type."""
        return str(self.headers.get("content-type", "")).partition(";")[0].strip().lower()


class FollowedResponse(NamedTuple):
    """The responses of a chain of redirects."""

    responses: list[ProbeResponse]
    has_too_many: bool = False
    refused: str = ""
    """Why the last redirect was not followed."""

    @property
    def last(self) -> ProbeResponse:
        return self.responses[-1]


class AddressGuard:
    """Which addresses the URLs of a server may lead to."""

    def __init__(self, host: str, rank: int) -> None:
        self._host = host
        self._rank = rank

    @classmethod
    async def of(cls, host: str, port: int) -> AddressGuard:
        """The guard for the URLs that the server at a host supplies; a host that cannot be resolved is public."""
        try:
            ranks = [_rank_of(each) for each in await _addresses(host, port)]
        except UnobservedError:
            ranks = []
        return cls(host, min(ranks, default=0))

    async def allowed_addresses(self, host: str, port: int) -> list[str]:
        """The addresses of a host, all checked. Raises RefusedUrlError."""
        addresses = await _addresses(host, port)
        for address in addresses:
            rank = _rank_of(address)
            if rank > self._rank or (rank == _NEVER and host != self._host):
                kind = _kind_of(address)
                raise RefusedUrlError(f"`{host}` is {_ARTICLES.get(kind, 'not a public address')}; not fetched")
        return addresses[:MOST_ADDRESSES]


_ARTICLES = {
    "loopback": "a loopback address",
    "private-address": "a private address",
    "link-local": "a link-local address",
    "cloud-metadata": "a cloud metadata address",
}


def _kind_of(address: str) -> str:
    parsed = address_of(address)
    return (None if parsed is None else internal_address(parsed)) or ""


def _rank_of(address: str) -> int:
    return _RANKS.get(_kind_of(address) or None, _NEVER)


async def _addresses(host: str, port: int) -> list[str]:
    """The addresses of a host. Raises UnobservedError."""
    import socket

    try:
        if (guard := current_guard()) is not None:
            return await guard.addresses(host)
        found = await asyncio.get_running_loop().getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except RefusedAddressError as error:
        raise RefusedUrlError(error.message) from None
    except (OSError, UnicodeError, ValueError, OverflowError):
        raise UnobservedError(f"`{host}` cannot be resolved") from None
    return list(dict.fromkeys(str(each[4][0]) for each in found))


class ProbeClient:
    """Sends bounded requests."""

    def __init__(self, client: httpx2.AsyncClient, guard: AddressGuard, limits: ProbeLimits) -> None:
        self._client = client
        self._guard = guard
        self.limits = limits

    async def send(self, method: str, url: str, headers: dict[str, str], content: bytes | None = None) -> ProbeResponse:
        """The response to one request to the target, without its body. Raises UnobservedError."""
        async with self._limited():
            return await self._exchange(method, url, headers, content)

    async def follow(self, url: str, headers: dict[str, str], *, is_target: bool = False) -> FollowedResponse:
        """The response to a GET, after a few redirects. Raises UnobservedError.

        The URL comes from a server unless it `is_target`; redirects always do.
        """
        from urllib.parse import urljoin

        async with self._limited():
            first = self._exchange("GET", url, headers, reads=True) if is_target else self._fetch(url, headers)
            responses = [await first]
            while (location := responses[-1].location) is not None:
                if len(responses) > self.limits.redirects:
                    return FollowedResponse(responses, has_too_many=True)
                try:
                    responses.append(await self._fetch(urljoin(responses[-1].url, location), headers))
                except ValueError:
                    return FollowedResponse(responses, refused="the redirect is not a valid URL")
                except RefusedUrlError as error:
                    return FollowedResponse(responses, refused=str(error))
        return FollowedResponse(responses)

    @asynccontextmanager
    async def _limited(self) -> AsyncIterator[None]:
        try:
            async with asyncio.timeout(self.limits.seconds):
                yield
        except TimeoutError:
            raise UnobservedError(f"no response within {self.limits.seconds:g} seconds") from None

    async def _exchange(
        self,
        method: str,
        url: str,
        headers: dict[str, str],
        content: bytes | None = None,
        *,
        reads: bool = False,
        name: str | None = None,
    ) -> ProbeResponse:
        """One exchange; `name` is the host for TLS if the URL has an address instead."""
        extensions = None if name is None else {"sni_hostname": name}
        try:
            async with sent(self._client, method, url, headers, content, extensions) as response:
                seen = ProbeResponse(url, response.status_code, response.headers)
                if not reads or content_type(response) == "text/event-stream":
                    return seen
                return await self._with_body(seen, response)
        except (ConnectError, LostError) as error:
            raise UnobservedError(error.message) from None

    async def _with_body(self, seen: ProbeResponse, response: httpx2.Response) -> ProbeResponse:
        body = bytearray()
        async for chunk in response.aiter_bytes():
            body += chunk
            if len(body) > self.limits.size:
                return seen._replace(is_too_large=True)
        return seen._replace(body=bytes(body))

    async def _fetch(self, url: str, headers: dict[str, str]) -> ProbeResponse:
        """The response to a GET of a URL that a server supplied. Raises UnobservedError; follows no redirect."""
        from urllib.parse import urlsplit, urlunsplit

        try:
            parts = urlsplit(url)
            host, port = parts.hostname, parts.port
        except ValueError:
            raise RefusedUrlError("not a valid URL") from None
        if parts.scheme not in ("http", "https") or not host:
            raise RefusedUrlError("neither an http nor an https URL; not fetched")
        port = port or (443 if parts.scheme == "https" else 80)
        shown = f"[{host}]" if ":" in host else host
        named = {**headers, "Connection": "close", "Host": shown if parts.port is None else f"{shown}:{port}"}
        last = UnobservedError("no address")
        for address in await self._guard.allowed_addresses(host, port):
            literal = f"[{address}]" if ":" in address else address
            pinned = urlunsplit((parts.scheme, f"{literal}:{port}", parts.path or "/", parts.query, ""))
            try:
                seen = await self._exchange("GET", pinned, named, reads=True, name=host)
                return seen._replace(url=url)
            except UnobservedError as error:
                last = error
        raise last

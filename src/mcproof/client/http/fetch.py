"""Bounded HTTP for probes: limited in time, size and redirects, and never to a network behind the target's own.

The user names the target, so it may be anywhere. Every other URL comes from the server: it is fetched only over http or
https, without credentials, and not if it leads to a more internal network than the target.
"""

from __future__ import annotations

import asyncio
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, NamedTuple

from mcproof.client.egress.network_guard import current_guard
from mcproof.client.egress.plain_urls import RefusedAddressError
from mcproof.client.failures import ConnectError, LostError
from mcproof.client.transports.http_exchange import content_type, sent
from mcproof.core.addresses import address_of, internal_address
from mcproof.core.observations.perimeter import REDIRECT_CAP, SIZE_CAP

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    import httpx2

PROBE_SECONDS = 10.0
"""The limit of one probe, with its redirects."""
MOST_ADDRESSES = 3
"""How many addresses of a host are tried."""
_REDIRECTS = (301, 302, 303, 307, 308)
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

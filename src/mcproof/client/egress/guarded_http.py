"""HTTP through a network guard: every URL is checked before it is requested, every connection goes to a pinned address.

The name stays in `Host` and in TLS, so certificates are checked as usual.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

import httpcore2
import httpx2

from mcproof.client.egress.plain_urls import RefusedAddressError

if TYPE_CHECKING:
    import ssl
    from collections.abc import Iterable

    from mcproof.client.egress.network_guard import NetworkGuard

MOST_CONNECTIONS = 20
KEEP_ALIVE = 5.0
"""Seconds for which an idle connection is kept."""


class PinnedBackend(httpcore2.AsyncNetworkBackend):
    """Opens connections to the addresses that a guard returns for a host."""

    def __init__(self, guard: NetworkGuard) -> None:
        self._guard = guard
        self._backend = httpcore2.AnyIOBackend()

    async def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,
        local_address: str | None = None,
        socket_options: Iterable[Any] | None = None,
    ) -> httpcore2.AsyncNetworkStream:
        try:
            async with asyncio.timeout(timeout):
                addresses = await self._guard.addresses(host)
        except TimeoutError:
            raise httpcore2.ConnectTimeout from None
        failure: Exception | None = None
        for address in addresses:
            try:
                return await self._backend.connect_tcp(address, port, timeout, local_address, socket_options)
            except (httpcore2.ConnectError, httpcore2.ConnectTimeout) as error:
                failure = failure or error
        raise failure or httpcore2.ConnectError("no address")

    async def connect_unix_socket(self, *_: Any, **__: Any) -> httpcore2.AsyncNetworkStream:
        raise RefusedAddressError("a socket of this machine")

    async def sleep(self, seconds: float) -> None:
        await asyncio.sleep(seconds)


class GuardedTransport(httpx2.AsyncHTTPTransport):
    """The usual transport of httpx2, with connections that a guard allows."""

    def __init__(self, guard: NetworkGuard, tls: ssl.SSLContext) -> None:
        super().__init__(verify=tls, trust_env=False)
        self._guard = guard
        self._pool = httpcore2.AsyncConnectionPool(
            ssl_context=tls,
            network_backend=PinnedBackend(guard),
            max_connections=MOST_CONNECTIONS,
            keepalive_expiry=KEEP_ALIVE,
        )

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        """Send a request; redirects that a client follows are checked here, too."""
        self._guard.check_url(str(request.url))
        return await super().handle_async_request(request)


def guarded_client(guard: NetworkGuard, *, seconds: float = 10.0) -> httpx2.AsyncClient:
    """Return a client that reaches only what a guard allows; it follows no redirects and uses no proxy.

    Requests raise RefusedAddressError besides the errors of httpx2. `seconds` limits connecting and every read.
    """
    from mcproof.client.transports.http_exchange import default_tls

    return httpx2.AsyncClient(
        transport=GuardedTransport(guard, default_tls()),
        headers={"User-Agent": "mcproof"},
        timeout=seconds,
        follow_redirects=False,
        trust_env=False,
    )

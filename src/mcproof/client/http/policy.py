"""The network guard: requests go only to public addresses, each host resolved once and pinned.

Make one `NetworkGuard(policy)` for each run. All requests of `mcproof.client` inside `guard.applied()` go through it:
the transports, authorization metadata, and the probes of a scan. Other HTTP uses `guarded_client(guard)`.
"""

from __future__ import annotations

import asyncio
import contextlib
import socket
from contextvars import ContextVar
from ipaddress import ip_address
from typing import TYPE_CHECKING, NamedTuple

from mcproof.client.egress.plain_urls import RefusedAddressError, plain_address, plain_url
from mcproof.core.addresses import special_kind

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterator

    from mcproof.client.egress.plain_urls import PlainUrl
    from mcproof.core.addresses import Address, Network

    Resolver = Callable[[str], Awaitable[list[str]]]
    """Returns the addresses of a name. Raises OSError."""

MOST_ADDRESSES = 3
"""How many addresses of a host are tried."""


async def resolve(name: str) -> list[str]:
    """Return the addresses of a name, by the resolver of the system. Raises OSError."""
    found = await asyncio.get_running_loop().getaddrinfo(name, None, type=socket.SOCK_STREAM)
    return list(dict.fromkeys(str(each[4][0]) for each in found))


class NetworkPolicy(NamedTuple):
    """Where requests may go."""

    allowed: tuple[Network, ...] = ()
    """Networks that may be reached although they are not public."""
    resolver: Resolver = resolve


class NetworkGuard:
    """Checks URLs and addresses, and remembers the addresses of each host for as long as it is used."""

    def __init__(self, policy: NetworkPolicy) -> None:
        self._policy = policy
        self._pinned: dict[str, list[str]] = {}

    def check_url(self, url: str) -> PlainUrl:
        """Parse a URL; check its scheme, port and host, but resolve nothing. Raises RefusedAddressError."""
        plain = plain_url(url)
        if plain.address is not None:
            self._check_literal(plain.address)
        return plain

    async def addresses(self, host: str) -> list[str]:
        """Return the addresses to connect to, the same ones each time. Raises RefusedAddressError.

        A name of which any address is not allowed is refused, with the message for a name that does not exist: else
        strangers could ask which internal names there are.
        """
        literal = plain_address(host)
        if literal is not None:
            self._check_literal(literal)
            return [str(literal)]
        if host not in self._pinned:
            self._pinned.setdefault(host, await self._resolved(host))
        return self._pinned[host]

    async def _resolved(self, name: str) -> list[str]:
        try:
            found = [ip_address(each) for each in await self._policy.resolver(name)]
        except (OSError, ValueError):  # ValueError: a name that cannot be encoded, an address with a zone
            found = []
        if not found or any(self._obstacle(each) for each in found):
            raise RefusedAddressError(f"`{name}` does not resolve, or not only to public addresses")
        return [str(each) for each in found[:MOST_ADDRESSES]]

    def _check_literal(self, address: Address) -> None:
        kind = self._obstacle(address)
        if kind is not None:
            raise RefusedAddressError(f"`{address}` is {kind}; only public addresses are allowed")

    def _obstacle(self, address: Address) -> str | None:
        """Return what an address is if it may not be reached."""
        if any(address in network for network in self._policy.allowed):
            return None
        return special_kind(address) or ("an address of this machine" if is_own_address(address) else None)

    @contextlib.contextmanager
    def applied(self) -> Iterator[None]:
        """Apply the guard to all requests of `mcproof.client` in this context, including tasks started in it."""
        token = _CURRENT.set(self)
        try:
            yield
        finally:
            _CURRENT.reset(token)


_CURRENT: ContextVar[NetworkGuard | None] = ContextVar("network_guard", default=None)


def current_guard() -> NetworkGuard | None:
    """Return the guard that applies; None if requests may go anywhere, as on the command line."""
    return _CURRENT.get()


async def connection_host(host: str) -> str:
    """Return what to connect to for a host: its pinned address if a guard applies. Raises RefusedAddressError."""
    guard = current_guard()
    return host if guard is None else (await guard.addresses(host))[0]


def is_own_address(address: Address) -> bool:
    """Whether an address is assigned to this machine, so that a request would pass no firewall.

    The system uses such an address as the source of packets to itself; connecting a UDP socket sends none.
    """
    family = socket.AF_INET if address.version == 4 else socket.AF_INET6
    try:
        with socket.socket(family, socket.SOCK_DGRAM) as probe:
            probe.connect((str(address), 9))
            return bool(ip_address(probe.getsockname()[0]) == address)
    except (OSError, ValueError):
        return False

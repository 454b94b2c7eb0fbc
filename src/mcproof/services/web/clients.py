"""Who sends a request, and how much each client may use: requests a minute, connections, bodies that are not read yet.

Behind a proxy that the operator trusts, a client is who the proxy says it is; from anybody else, the headers of proxies
are only text.
"""

from __future__ import annotations

import re
import time
from collections import Counter, OrderedDict
from contextlib import contextmanager
from ipaddress import IPv6Address, IPv6Network, ip_address
from typing import TYPE_CHECKING

from starlette.requests import Request

from mcproof.services.web.access import BusyError, problem

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from ipaddress import IPv4Address, IPv4Network

    from starlette.datastructures import Headers
    from starlette.types import ASGIApp, Message, Receive, Scope, Send


_MINUTE = 60.0
_MOST_CLIENTS = 10_000
"""How many clients are remembered; the one seen longest ago is forgotten first."""


COSTS = {"/servers.csv": 30, "/servers.json": 30}
"""How many requests a request for much counts as."""


BYTES_OF_REQUEST = 100_000
"""How many bytes of bodies count as one request: they are read and parsed before it is known what they ask for."""


def client_of(scope: Scope) -> str:
    """Return what limits count a client by: its address, or of IPv6 the network of 64 bits that one client has."""
    address = scope["client"][0] if scope.get("client") else ""
    if ":" not in address:
        return str(address)
    try:
        parsed = IPv6Address(address.partition("%")[0])
        # So a proxy that listens for both kinds of address writes IPv4: all of it is in one network of 64 bits.
        return str(parsed.ipv4_mapped or IPv6Network((parsed, 64), strict=False))
    except ValueError:
        return str(address)


class RateLimit:
    """Lets every client send a number of requests a minute, and says in headers how many are left."""

    def __init__(self, app: ASGIApp, a_minute: int) -> None:
        self._app = app
        self._limit = a_minute
        self._left: OrderedDict[str, tuple[float, float]] = OrderedDict()
        """For each client the requests it may send, and when that was known."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        client = client_of(scope)
        left = self._take(client, time.monotonic(), COSTS.get(scope["path"], 1))
        headers = {"ratelimit-limit": str(self._limit), "ratelimit-remaining": str(max(0, int(left)))}
        if left < 0:
            wait = max(1, round(_MINUTE / self._limit * -left))
            refused = problem(Request(scope), 429, "too many requests", {**headers, "retry-after": str(wait)})
            await refused(scope, receive, send)
            return

        async def add_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                message["headers"] += [(name.encode(), value.encode()) for name, value in headers.items()]
            await send(message)

        async def charged() -> Message:
            message = await receive()
            if body := message.get("body"):
                self._charge(client, len(body) / BYTES_OF_REQUEST)
            return message

        await self._app(scope, charged, add_headers)

    def _charge(self, client: str, amount: float) -> None:
        """Take something else from what a client has left, which may leave it nothing."""
        # Not refused in the middle of a body: the next request of this client will be.
        if client in self._left:
            left, since = self._left[client]
            self._left[client] = (max(0.0, left - amount), since)

    def _take(self, client: str, now: float, cost: int = 1) -> float:
        """Take a request from what a client has left; negative if that is not enough."""
        left, since = self._left.pop(client, (float(self._limit), now))
        left = min(self._limit, left + (now - since) * self._limit / _MINUTE)
        taken = left - cost
        self._left[client] = (max(taken, 0.0) if taken >= 0 else left, now)
        if len(self._left) > _MOST_CLIENTS:
            self._left.popitem(last=False)
        return taken


class TrustedProxies:
    """Gives requests that come through a trusted proxy the address of the client behind it."""

    def __init__(self, app: ASGIApp, networks: Sequence[IPv4Network | IPv6Network]) -> None:
        self._app = app
        self._networks = networks

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        client = scope.get("client")
        if self._networks and scope["type"] == "http" and client and is_within(client[0], self._networks):
            address = self._client_behind(Request(scope).headers)
            if address is not None:
                scope = {**scope, "client": (address, 0)}
        await self._app(scope, receive, send)

    def _client_behind(self, headers: Headers) -> str | None:
        """Return the last address that is no trusted proxy; None if there is none that can be trusted.

        A proxy that writes only one of the headers passes the other one on as the client sent it. So if there are both,
        they must agree.
        """
        listed = [
            [element for line in headers.getlist("forwarded") for element in _forwarded_for(line)],
            [address.strip() for line in headers.getlist("x-forwarded-for") for address in line.split(",")],
        ]
        clients = {self._last_outside(addresses) for addresses in listed if addresses}
        return clients.pop() if len(clients) == 1 else None

    def _last_outside(self, addresses: list[str]) -> str | None:
        for text in reversed(addresses):
            address = _address(text)
            if address is None:  # `unknown`, a name that hides the address, or nonsense
                return None
            if not is_within(str(address), self._networks):
                return str(address)
        return None


_FOR = re.compile(r"(?:^|;)\s*for\s*=\s*(?:\"([^\"]*)\"|([^;\s]*))", re.IGNORECASE)


def _forwarded_for(line: str) -> list[str]:
    """Return the `for` of each element of a `Forwarded` header (RFC 7239); empty where an element has none."""
    matches = (_FOR.search(element) for element in line.split(","))
    return [(match[1] or match[2] or "") if match is not None else "" for match in matches]


def _address(text: str) -> IPv4Address | IPv6Address | None:
    """Return the address in the text of a proxy, which may have a port: `1.2.3.4:5`, `[2001:db8::1]:5`."""
    if text.startswith("["):
        text = text[1:].partition("]")[0]
    elif text.count(":") == 1:
        text = text.partition(":")[0]
    try:
        return ip_address(text)
    except ValueError:
        return None


def is_within(address: str, networks: Sequence[IPv4Network | IPv6Network]) -> bool:
    """Whether an address, such as that of a connection, is in one of these networks."""
    try:
        parsed = ip_address(address.partition("%")[0])
    except ValueError:
        return False
    mapped = getattr(parsed, "ipv4_mapped", None)
    return any((mapped or parsed) in network for network in networks)


class Shares:
    """How much of something clients use at once: each of them, and all together."""

    def __init__(self, most_of_client: int, most: int) -> None:
        self._most_of_client = most_of_client
        self._most = most
        self._used: Counter[str] = Counter()

    @contextmanager
    def share(self, client: str) -> Iterator[Share]:
        """What a client uses until the end of the block."""
        share = Share(self, client)
        try:
            yield share
        finally:
            share.release()

    def take(self, client: str, amount: int) -> None:
        """Count what a client uses. Raises BusyError if that is too much."""
        if self._used[client] + amount > self._most_of_client:
            raise BusyError(is_client=True)
        if self._used.total() + amount > self._most:
            raise BusyError(is_client=False)
        self._used[client] += amount

    def release(self, client: str, amount: int) -> None:
        self._used[client] -= amount
        if self._used[client] <= 0:
            del self._used[client]


class Share:
    """What one request or connection uses."""

    def __init__(self, shares: Shares, client: str) -> None:
        self._shares = shares
        self._client = client
        self._amount = 0

    def add(self, amount: int) -> None:
        """Use more. Raises BusyError."""
        self._shares.take(self._client, amount)
        self._amount += amount

    def release(self) -> None:
        self._shares.release(self._client, self._amount)
        self._amount = 0

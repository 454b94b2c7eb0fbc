"""Which URLs and addresses a request may go to: strict URLs, addresses that are resolved once, and origins.

Make one `NetworkGuard` for each run: all requests inside `guard.applied()` go through it, to pinned addresses.
Without a guard, as on the command line, requests may go anywhere. URLs of authorization metadata are checked here,
too.
Why requests for strangers go to public addresses only: docs/decisions/0054-requests-for-strangers.md.
"""

from __future__ import annotations

import asyncio
import contextlib
import re
import socket
from contextvars import ContextVar
from ipaddress import AddressValueError, IPv4Address, IPv6Address, ip_address
from typing import TYPE_CHECKING, Any, NamedTuple

import httpcore2
import httpx2

from mcproof.client.errors import AuthorizationError, ConnectError
from mcproof.client.redaction import redacted_url
from mcproof.core.addresses import Address, Network, special_kind
from mcproof.core.observations.connection import cropped

if TYPE_CHECKING:
    import ssl
    from collections.abc import Awaitable, Callable, Iterable, Iterator
    from urllib.parse import SplitResult


LONGEST_URL = 2_000
_DEFAULT_PORTS = {"https": 443, "http": 80}


class SiteOrigin(NamedTuple):
    """The scheme, host and port of a URL."""

    scheme: str
    host: str
    port: int | None

    @property
    def is_secure(self) -> bool:
        """Whether requests to it cannot be read on the network: HTTPS, or this machine."""
        return self.scheme == "https" or (self.scheme == "http" and is_loopback(self.host))

    def __str__(self) -> str:
        host = f"[{self.host}]" if ":" in self.host else self.host
        is_default = self.port == _DEFAULT_PORTS.get(self.scheme)
        return f"{self.scheme}://{host}" if is_default else f"{self.scheme}://{host}:{self.port}"


def is_loopback(host: str) -> bool:
    """Whether a host is this machine."""
    from ipaddress import ip_address

    from mcproof.core.addresses import LOOPBACK, special_kind

    name = host.lower().rstrip(".")
    if name == "localhost" or name.endswith(".localhost"):
        return True
    try:
        return special_kind(ip_address(name)) == LOOPBACK
    except ValueError:
        return False


def origin_of(url: str) -> SiteOrigin:
    """The origin of a URL. Raises ValueError if it has none."""
    parts = _split(url)
    port = parts.port if parts.port is not None else _DEFAULT_PORTS.get(parts.scheme)
    return SiteOrigin(parts.scheme, (parts.hostname or "").lower(), port)


def _split(url: str) -> SplitResult:
    from urllib.parse import urlsplit

    if (
        not url.isascii()
        or not url.isprintable()
        or any(each in url for each in " \"<>\\^`{|}'")
        or len(url) > LONGEST_URL
    ):
        raise ValueError
    parts = urlsplit(url)
    if not parts.hostname or parts.scheme not in _DEFAULT_PORTS or parts.username is not None or parts.fragment:
        raise ValueError
    return parts


def checked_url(value: Any, what: str) -> str:
    """A URL from metadata that is safe to send to or to open. Raises an AuthorizationError that names it `what`."""
    try:
        if isinstance(value, str) and origin_of(value).is_secure:
            return value
    except ValueError:
        pass
    shown = cropped(redacted_url(value)) if isinstance(value, str) else type(value).__name__
    raise AuthorizationError(f"{what} is not an https URL: {shown}")


def is_same_issuer(one: str, other: str) -> bool:
    """Whether two issuers are the same.

    `https://host` and `https://host/` are the same URL, and many servers publish one for the other. Nothing else is
    normalized.
    """
    return _without_root(one) == _without_root(other)


def _without_root(url: str) -> str:
    return url[:-1] if url.endswith("/") and url.count("/") == 3 else url


def is_within(url: str, resource: str) -> bool:
    """Whether a URL is a resource or is below it: the same origin, and the path of the resource or one below."""
    try:
        if origin_of(url) != origin_of(resource):
            return False
        path, root = _split(url).path or "/", _split(resource).path or "/"
    except ValueError:
        return False
    return path == root or path.startswith(root if root.endswith("/") else f"{root}/")


def canonical_url(url: str) -> str:
    """A URL that the user names, with a lower-case origin, without login, default port and fragment."""
    from urllib.parse import urlsplit

    try:
        parts = urlsplit(url)
        port = parts.port if parts.port is not None else _DEFAULT_PORTS.get(parts.scheme)
    except ValueError:
        return url
    origin = SiteOrigin(parts.scheme, (parts.hostname or "").lower(), port)
    query = f"?{parts.query}" if parts.query else ""
    return f"{origin}{parts.path}{query}"


LONGEST = 2_000
PORTS = {"http": 80, "https": 443}
FIRST_FREE_PORT = 1024
"""Ports below it are for well-known services; of those only 80 and 443 are used."""
BLOCKED_PORTS = frozenset(
    (1719, 1720, 1723, 2049, 3659, 4045, 4190, 5060, 5061, 6000, 6566, 6665, 6666, 6667, 6668, 6669, 6679, 6697, 10080)
)
"""The higher ports that browsers block, too: services that could take an HTTP request for commands."""
_URL = re.compile(r"(?P<scheme>[A-Za-z][A-Za-z0-9+.-]*)://(?P<authority>[^/?#]*)(?P<rest>.*)")
_AUTHORITY = re.compile(r"(?:\[(?P<v6>[0-9A-Fa-f:.]+)\]|(?P<name>[^\[\]:]+))(?::(?P<port>[0-9]{1,5}))?")
_LABEL = re.compile(r"[A-Za-z0-9_](?:[A-Za-z0-9_-]{0,61}[A-Za-z0-9_])?")
_NUMBER = re.compile(r"[0-9]+|0[xX][0-9A-Fa-f]*")
_UNSAFE = frozenset(' "<>\\^`{|}')


class RefusedAddressError(ConnectError):
    """A URL or an address that requests may not go to; the message is the reason."""


class PlainUrl(NamedTuple):
    """A URL with its parts."""

    url: str
    scheme: str
    host: str
    """In lower case; an IPv6 address is without brackets."""
    port: int
    address: Address | None
    """The address that the host is written as; None for a name."""


def plain_url(text: str) -> PlainUrl:
    """Parse a URL. Raises RefusedAddressError if it is not a plain http or https URL, or its port is not allowed."""
    if len(text) > LONGEST:
        raise RefusedAddressError(f"the URL is longer than {LONGEST:,} characters")
    if not text.isascii():
        raise RefusedAddressError("the URL has characters beyond ASCII; write the host as `xn--…`, escape the rest")
    if not text.isprintable() or not _UNSAFE.isdisjoint(text):
        raise RefusedAddressError("the URL has characters that must be escaped")
    parts = _URL.fullmatch(text)
    scheme = parts["scheme"].lower() if parts is not None else ""
    if parts is None or scheme not in PORTS:
        raise RefusedAddressError("not a URL that starts with https:// or http://")
    host, port = _host_and_port(parts["authority"])
    number = PORTS[scheme] if port is None else int(port)
    _check_port(number)
    return PlainUrl(f"{scheme}://{parts['authority']}{parts['rest']}", scheme, host, number, plain_address(host))


def _host_and_port(authority: str) -> tuple[str, str | None]:
    if not authority:
        raise RefusedAddressError("the URL has no host")
    if "@" in authority:
        raise RefusedAddressError("the URL has a login; send credentials as a header")
    if "%" in authority:
        raise RefusedAddressError("the host of the URL has percent-escapes or a zone")
    parts = _AUTHORITY.fullmatch(authority)
    if parts is None:
        raise RefusedAddressError("the host of the URL is not valid")
    if parts["v6"] is not None:
        return parts["v6"].lower(), parts["port"]
    return parts["name"].lower(), parts["port"]


def plain_address(host: str) -> Address | None:
    """Return the address that a host is written as; None for a name. Raises RefusedAddressError for unusual forms."""
    try:
        if ":" in host:
            if "%" in host:
                raise RefusedAddressError("the host of the URL has a zone")
            return IPv6Address(host)
        labels = host.split(".")
        if _NUMBER.fullmatch(labels[-1]):  # then every parser takes it for an IPv4 address, or for an error
            return IPv4Address(host)
    except AddressValueError:
        raise RefusedAddressError("the host of the URL is not an IP address in its usual form") from None
    if len(host) > 253 or not all(map(_LABEL.fullmatch, labels)):
        raise RefusedAddressError("the host of the URL is not a valid name")
    return None


def _check_port(port: int) -> None:
    is_usual = port in PORTS.values() or FIRST_FREE_PORT <= port <= 65_535
    if not is_usual or port in BLOCKED_PORTS:
        raise RefusedAddressError(f"port {port} is not allowed: use 80, 443, or one from {FIRST_FREE_PORT}")


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
    from mcproof.client.http.fetch import default_tls

    return httpx2.AsyncClient(
        transport=GuardedTransport(guard, default_tls()),
        headers={"User-Agent": "mcproof"},
        timeout=seconds,
        follow_redirects=False,
        trust_env=False,
    )


if TYPE_CHECKING:
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

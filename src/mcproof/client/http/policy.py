"""Which URLs and addresses a request may go to: one policy, one parser of strict URLs, addresses resolved once.

A `NetworkGuard` applies a policy: all requests inside `guard.applied()` go through it, to pinned addresses. URLs that
the user typed are asked of the guard of the run, which lets everything through on the command line; URLs that a server
names are asked of `like_target`.
Why requests for strangers go to public addresses only: docs/decisions/0054-requests-for-strangers.md.
Why URLs of a server lead no further inside: docs/decisions/0047-server-supplied-urls.md.
"""

from __future__ import annotations

import asyncio
import contextlib
import re
import socket
from collections.abc import Awaitable, Callable, Iterable, Iterator
from contextvars import ContextVar
from ipaddress import AddressValueError, IPv4Address, IPv6Address, ip_address
from typing import TYPE_CHECKING, Any, Literal

import httpcore2
import httpx2

from mcproof.client.errors import AuthorizationError, ConnectError, UnreachableError
from mcproof.client.redaction import redacted_url
from mcproof.core.addresses import LOOPBACK, Address, Network, internal_address, special_kind
from mcproof.core.named_tuple import NamedTuple
from mcproof.core.observations.connection import cropped

if TYPE_CHECKING:
    import ssl

    Resolver = Callable[[str], Awaitable[list[str]]]
    """Returns the addresses of a name. Raises OSError."""


LONGEST = 2_000
PORTS = {"http": 80, "https": 443}
FIRST_FREE_PORT, LAST_PORT = 1024, 65_535
"""Ports below the first are for well-known services; of those strangers may use only 80 and 443."""
BLOCKED_PORTS = frozenset(
    (1719, 1720, 1723, 2049, 3659, 4045, 4190, 5060, 5061, 6000, 6566, 6665, 6666, 6667, 6668, 6669, 6679, 6697, 10080)
)
"""The higher ports that browsers block, too: services that could take an HTTP request for commands."""
_URL = re.compile(r"(?P<scheme>[A-Za-z][A-Za-z0-9+.-]*)://(?P<authority>[^/?#]*)(?P<path>[^?#]*)(?P<rest>.*)")
_AUTHORITY = re.compile(r"(?:\[(?P<v6>[0-9A-Fa-f:.]+)\]|(?P<name>[^\[\]:]+))(?::(?P<port>[0-9]{1,5}))?")
_LABEL = re.compile(r"[A-Za-z0-9_](?:[A-Za-z0-9_-]{0,61}[A-Za-z0-9_])?")
_NUMBER = re.compile(r"[0-9]+|0[xX][0-9A-Fa-f]*")
_UNSAFE = frozenset(' "<>\\^`{|}')


class RefusedAddressError(ConnectError):
    """A URL or an address that requests may not go to; the message is the reason."""


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
        is_default = self.port == PORTS.get(self.scheme)
        return f"{self.scheme}://{host}" if is_default else f"{self.scheme}://{host}:{self.port}"


class StrictUrl(NamedTuple):
    """A URL with its parts."""

    url: str
    origin: SiteOrigin
    """Scheme and host are in lower case; an IPv6 address is without brackets."""
    path: str


def parse_strict_url(text: str) -> StrictUrl:
    """Parse a URL. Raises RefusedAddressError if it is not a plain http or https URL that all parsers read alike."""
    if len(text) > LONGEST:
        raise RefusedAddressError(f"the URL is longer than {LONGEST:,} characters")
    if not text.isascii():
        raise RefusedAddressError("the URL has characters beyond ASCII; write the host as `xn--…`, escape the rest")
    # Parsers disagree about such characters, and the host that is checked must be the one that is connected to.
    if not text.isprintable() or not _UNSAFE.isdisjoint(text):
        raise RefusedAddressError("the URL has characters that must be escaped")
    parts = _URL.fullmatch(text)
    scheme = parts["scheme"].lower() if parts is not None else ""
    if parts is None or scheme not in PORTS:
        raise RefusedAddressError("not a URL that starts with https:// or http://")
    authority = parts["authority"]
    if not authority:
        raise RefusedAddressError("the URL has no host")
    if "@" in authority:
        raise RefusedAddressError("the URL has a login; send credentials as a header")
    if "%" in authority:
        raise RefusedAddressError("the host of the URL has percent-escapes or a zone")
    site = _AUTHORITY.fullmatch(authority)
    if site is None:
        raise RefusedAddressError("the host of the URL is not valid")
    port = PORTS[scheme] if site["port"] is None else int(site["port"])
    if port > LAST_PORT:
        raise _refused_port(port)
    origin = SiteOrigin(scheme, (site["v6"] or site["name"]).lower(), port)
    return StrictUrl(f"{scheme}{text[len(scheme) :]}", origin, parts["path"])


def _refused_port(port: int) -> RefusedAddressError:
    return RefusedAddressError(f"port {port} is not allowed: use 80, 443, or one from {FIRST_FREE_PORT}")


def strict_address(host: str) -> Address | None:
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


def is_loopback(host: str) -> bool:
    """Whether a host is this machine for every parser."""
    name = host.lower().rstrip(".")
    if name == "localhost" or name.endswith(".localhost"):
        return True
    try:
        return special_kind(ip_address(name)) == LOOPBACK
    except ValueError:  # a name, which may resolve to anything
        return False


def published_url(url: str) -> StrictUrl:
    """A URL of metadata, or one that it is compared with: without a fragment and what shells take for a quote.

    Raises RefusedAddressError.
    """
    if not {"#", "'"}.isdisjoint(url):
        raise RefusedAddressError("the URL has characters that must be escaped")
    return parse_strict_url(url)


def origin_of(url: str) -> SiteOrigin:
    """The origin of a URL of metadata. Raises RefusedAddressError if it has none."""
    return published_url(url).origin


def checked_url(value: Any, what: str) -> str:
    """A URL from metadata that is safe to send to or to open. Raises an AuthorizationError that names it `what`."""
    with contextlib.suppress(RefusedAddressError):
        if isinstance(value, str) and origin_of(value).is_secure:
            return value
    shown = cropped(redacted_url(value)) if isinstance(value, str) else type(value).__name__
    raise AuthorizationError(f"{what} is not an https URL: {shown}")


def is_same_issuer(one: str, other: str) -> bool:
    """Whether two issuers are the same.

    `https://host` and `https://host/` are the same URL, and many servers publish one for the other. Nothing else is
    normalized.
    """
    one, other = (url[:-1] if url.endswith("/") and url.count("/") == 3 else url for url in (one, other))
    return one == other


def is_within(url: str, resource: str) -> bool:
    """Whether a URL is a resource or is below it: the same origin, and the path of the resource or one below."""
    try:
        inner, outer = published_url(url), published_url(resource)
    except RefusedAddressError:
        return False
    path, root = inner.path or "/", outer.path or "/"
    return inner.origin == outer.origin and (
        path == root or path.startswith(root if root.endswith("/") else f"{root}/")
    )


def canonical_url(url: str) -> str:
    """A URL that the user names, with a lower-case origin, without login, default port and fragment."""
    from urllib.parse import urlsplit

    try:
        parts = urlsplit(url)
        port = parts.port if parts.port is not None else PORTS.get(parts.scheme)
    except ValueError:
        return url
    origin = SiteOrigin(parts.scheme, (parts.hostname or "").lower(), port)
    query = f"?{parts.query}" if parts.query else ""
    return f"{origin}{parts.path}{query}"


MOST_ADDRESSES = 3
"""How many addresses of a host are tried."""
_DEPTHS = {None: 0, "private-address": 1, "loopback": 2}
"""How far inside an address is, by the kind that `internal_address` names."""
_NEVER = 3
"""The depth of link-local, metadata and reserved addresses."""
_WORDS = {
    "loopback": "a loopback address",
    "private-address": "a private address",
    "link-local": "a link-local address",
    "cloud-metadata": "a cloud metadata address",
}


async def resolve(name: str) -> list[str]:
    """Return the addresses of a name, by the resolver of the system. Raises OSError."""
    infos = await asyncio.get_running_loop().getaddrinfo(name, None, type=socket.SOCK_STREAM)
    return list(dict.fromkeys(str(info[4][0]) for info in infos))


class NetworkPolicy(NamedTuple):
    """Where requests may go."""

    reach: Literal["anywhere", "public", "like-target"] = "anywhere"
    """`public` is for URLs of strangers, `like-target` for those that a server names: no further inside than it is."""
    target: tuple[Address, ...] = ()
    """The addresses of that server; one without any counts as public."""
    allowed: tuple[Network, ...] = ()
    """Networks that may be reached although they are not public."""
    resolver: Resolver = resolve

    def refuses(self, address: Address) -> str | None:
        """Why an address may not be reached, in words; None if it may."""
        if self.reach == "anywhere" or any(address in network for network in self.allowed):
            return None
        if self.reach == "public":
            kind = special_kind(address) or ("an address of this machine" if is_own_address(address) else None)
            return None if kind is None else f"{kind}; only public addresses are allowed"
        depth = _depth(address)
        if depth <= _nearest_depth(self.target) and (depth < _NEVER or address in self.target):
            return None
        return f"{_WORDS.get(internal_address(address) or '', 'not a public address')}; not fetched"


def _depth(address: Address) -> int:
    return _DEPTHS.get(internal_address(address), _NEVER)


def _nearest_depth(addresses: tuple[Address, ...]) -> int:
    return min(map(_depth, addresses), default=0)


def is_own_address(address: Address) -> bool:
    """Whether an address is assigned to this machine, so that a request would pass no firewall.

    The system uses such an address as the source of packets to itself; connecting a UDP socket sends none.
    """
    family = socket.AF_INET if address.version == 4 else socket.AF_INET6
    try:
        with socket.socket(family, socket.SOCK_DGRAM) as probe:
            probe.connect((str(address), 9))
            return bool(ip_address(probe.getsockname()[0]) == address)
    except (OSError, ValueError):  # no route leads there, so it is no address of this machine
        return False


class NetworkGuard:
    """Applies a policy to URLs and hosts, and remembers the addresses of each host for as long as it is used."""

    def __init__(self, policy: NetworkPolicy) -> None:
        self.policy = policy
        self._pinned: dict[str, list[str]] = {}

    def check_url(self, url: str) -> str:
        """Check the text of a URL, but resolve nothing; return it as it is sent. Raises RefusedAddressError."""
        from urllib.parse import urlsplit

        if self.policy.reach == "public":
            strict = parse_strict_url(url)
            host, port = strict.origin.host, strict.origin.port or 0
            if (port < FIRST_FREE_PORT and port not in PORTS.values()) or port in BLOCKED_PORTS:
                raise _refused_port(port)
            if (address := strict_address(host)) is not None and (why := self.policy.refuses(address)) is not None:
                raise RefusedAddressError(f"`{address}` is {why}")
            return strict.url
        if self.policy.reach == "like-target":
            try:
                parts = urlsplit(url)
                _ = parts.port
            except ValueError:
                raise RefusedAddressError("not a valid URL") from None
            if parts.scheme not in PORTS or not parts.hostname:
                raise RefusedAddressError("neither an http nor an https URL; not fetched")
        return url

    async def addresses(self, host: str) -> list[str]:
        """Return what to connect to for a host, the same each time. Raises RefusedAddressError and UnreachableError.

        That is the host itself if it may be anywhere, else its addresses.
        """
        if self.policy.reach == "anywhere":
            return [host]
        if host not in self._pinned:
            find = self._public_addresses if self.policy.reach == "public" else self._near_addresses
            self._pinned.setdefault(host, (await find(host))[:MOST_ADDRESSES])
        return self._pinned[host]

    async def _public_addresses(self, host: str) -> list[str]:
        """The addresses of a host, all of them public.

        A name of which any address is not allowed is refused, with the message for a name that does not exist: else
        strangers could ask which internal names there are.
        """
        if (literal := strict_address(host)) is not None:
            if (why := self.policy.refuses(literal)) is not None:
                raise RefusedAddressError(f"`{literal}` is {why}")
            return [str(literal)]
        with contextlib.suppress(OSError, ValueError):
            addresses = await _resolved(host, self.policy)
            if not any(map(self.policy.refuses, addresses)):
                return [str(address) for address in addresses]
        raise RefusedAddressError(f"`{host}` does not resolve, or not only to public addresses")

    async def _near_addresses(self, host: str) -> list[str]:
        """The addresses of a host, without those that are refused."""
        try:
            addresses = await _resolved(host, self.policy)
        except (OSError, ValueError) as error:
            raise UnreachableError(f"`{host}` cannot be resolved") from error
        reasons = list(map(self.policy.refuses, addresses))
        if None not in reasons:
            raise RefusedAddressError(f"`{host}` is {reasons[0]}")
        return [str(address) for address, why in zip(addresses, reasons, strict=True) if why is None]

    @contextlib.contextmanager
    def applied(self) -> Iterator[None]:
        """Apply the guard to all requests of `mcproof.client` in this context, including tasks started in it."""
        token = _CURRENT.set(self)
        try:
            yield
        finally:
            _CURRENT.reset(token)


async def _resolved(host: str, policy: NetworkPolicy) -> tuple[Address, ...]:
    """The addresses of a host. Raises OSError if there are none, and ValueError for a name that cannot be encoded."""
    addresses = tuple(map(ip_address, await policy.resolver(host)))
    if not addresses:
        raise OSError
    return addresses


_ANYWHERE = NetworkGuard(NetworkPolicy())
_CURRENT: ContextVar[NetworkGuard] = ContextVar("network_guard", default=_ANYWHERE)


def current_guard() -> NetworkGuard:
    """Return the guard of the run; on the command line one that lets everything through."""
    return _CURRENT.get()


async def like_target(*urls: str) -> NetworkGuard:
    """Return the guard for what the server at a URL names; that of the run if it lets only public addresses through.

    Of several URLs that the user typed, the one furthest inside counts.
    """
    from urllib.parse import urlsplit

    policy = current_guard().policy
    if policy.reach == "public":
        return current_guard()
    targets = []
    for url in urls:
        with contextlib.suppress(OSError, ValueError):
            targets.append(await _resolved(urlsplit(url).hostname or "", policy))
    target = max(targets, key=_nearest_depth, default=())
    return NetworkGuard(policy._replace(reach="like-target", target=target))


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
        # An address that does not answer, often the one of IPv6, must leave time for the others.
        share = None if timeout is None else timeout / len(addresses)
        failure: Exception | None = None
        for address in addresses:
            try:
                return await self._backend.connect_tcp(address, port, share, local_address, socket_options)
            except (httpcore2.ConnectError, httpcore2.ConnectTimeout) as error:  # the next address may answer
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

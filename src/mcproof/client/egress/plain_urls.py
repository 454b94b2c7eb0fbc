"""URLs from strangers: accepted only in a form that every parser reads alike.

A host in an unusual form (`0x7f.1`, `①.example`, `user@host`) is refused even if it is a public address, because two
parsers that disagree about a URL let a request pass a check for another host.
"""

from __future__ import annotations

import re
from ipaddress import AddressValueError, IPv4Address, IPv6Address
from typing import TYPE_CHECKING, NamedTuple

from mcproof.client.failures import ConnectError

if TYPE_CHECKING:
    from mcproof.core.addresses import Address

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

"""Network addresses and URIs: public, private, this machine, the metadata service of a cloud, or a local file.

Names are read from text alone; nothing here resolves or connects. Which addresses a request may go to is decided in
`client.http.policy`.
Why servers lead requests no further inside: docs/decisions/0047-server-supplied-urls.md.
"""

from __future__ import annotations

import re
from functools import cache
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address, ip_network

from mcproof.core.named_tuple import NamedTuple
from mcproof.core.text.english import word_set

Address = IPv4Address | IPv6Address
Network = IPv4Network | IPv6Network

PRIVATE_SUFFIXES = (
    ".local",
    ".internal",
    ".intranet",
    ".lan",
    ".home",
    ".home.arpa",
    ".corp",
    ".private",
    ".localdomain",
)
"""The ends of names that only a private network knows."""
METADATA_HOSTS = (
    "metadata",
    "metadata.google.internal",
    "metadata.goog",
    "instance-data",
    "metadata.azure.internal",
    "metadata.tencentyun.com",
)
"""The names of the services where cloud providers serve the credentials of a machine."""
METADATA_ADDRESSES = (
    "169.254.169.254",
    "169.254.170.2",
    "169.254.170.23",
    "100.100.100.200",
    "168.63.129.16",
    "192.0.0.192",
    "fd00:ec2::254",
    "fd00:ec2::23",
    "fd20:ce::254",
)
"""Their addresses; that of Azure is in no range for special purposes."""

LOOPBACK = "a loopback address"
METADATA = "a cloud metadata address"
PRIVATE = "a private address"
LINK_LOCAL = "a link-local address"
SHARED = "an address of a shared network"
DOCUMENTATION = "an address for documentation"
BENCHMARKS = "an address for benchmarks"
_KINDS = {
    "an unspecified address": ("0.0.0.0/8", "::/128"),
    LOOPBACK: ("127.0.0.0/8", "::1/128"),
    METADATA: METADATA_ADDRESSES,
    PRIVATE: ("10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16", "fc00::/7", "fec0::/10"),
    LINK_LOCAL: ("169.254.0.0/16", "fe80::/10"),
    SHARED: ("100.64.0.0/10",),
    "a multicast address": ("224.0.0.0/4", "ff00::/8"),
    DOCUMENTATION: ("192.0.2.0/24", "198.51.100.0/24", "203.0.113.0/24", "2001:db8::/32", "3fff::/20"),
    BENCHMARKS: ("198.18.0.0/15", "2001:2::/48"),
    "an IPv4-mapped address": ("::ffff:0:0/96",),
    "an IPv4-compatible address": ("::/96",),
    "an IPv4-translated address": ("::ffff:0:0:0/96",),
    "a NAT64 address": ("64:ff9b::/96", "64:ff9b:1::/48"),
    "a Teredo address": ("2001::/32",),
    "a 6to4 address": ("2002::/16", "192.88.99.0/24"),
    "a reserved address": ("192.0.0.0/24", "240.0.0.0/4", "2001::/23"),
}
"""The networks of each kind of address that is not public; the first that has an address tells its kind."""
_INTERNAL_KINDS = {
    LOOPBACK: "loopback",
    METADATA: "cloud-metadata",
    LINK_LOCAL: "link-local",
    **dict.fromkeys((PRIVATE, SHARED, DOCUMENTATION, BENCHMARKS), "private-address"),
}
"""The kinds as `internal_kind` names them; all others are `reserved-address`."""
_GLOBAL_UNICAST = IPv6Network("2000::/3")
"""The only part of IPv6 from which public addresses are assigned."""
_ISATAP = (0x0000_5EFE, 0x0200_5EFE)
"""The first half of an interface identifier that ends with an IPv4 address."""
_NAT64 = IPv6Network("64:ff9b::/96")
_NUMERIC = re.compile(r"(?:0x[0-9a-f]*|[0-9]+)(?:\.(?:0x[0-9a-f]*|[0-9]+)){0,3}")
"""An IPv4 address in any form that C libraries and URL parsers read: `127.1`, `0x7f000001`, `2130706433`."""


class _SpecialNetwork(NamedTuple):
    network: Network
    kind: str


@cache
def _special_networks() -> list[_SpecialNetwork]:
    return [_SpecialNetwork(ip_network(network), kind) for kind, networks in _KINDS.items() for network in networks]


def special_kind(address: Address) -> str | None:
    """Return what an address is instead of public, such as `a private address`; None if it is public."""
    for special in _special_networks():
        if address.version == special.network.version and address in special.network:
            return special.kind
    if isinstance(address, IPv6Address):
        if address not in _GLOBAL_UNICAST:
            return "a reserved address"
        if (int(address) >> 32) & 0xFFFF_FFFF in _ISATAP:
            return "an ISATAP address"
    return None


def internal_kind(host: str) -> str | None:
    """Why a host is not on the public internet; None if it is, or if it is a name that may be.

    The kinds are `loopback`, `cloud-metadata`, `link-local`, `private-address`, `reserved-address`, `private-suffix`
    and `single-label`. Names are not resolved.
    """
    name = host.lower().rstrip(".")
    if name == "localhost" or name.endswith(".localhost"):
        return "loopback"
    if name in METADATA_HOSTS:
        return "cloud-metadata"
    address = address_of(name)
    if address is not None:
        return internal_address(address)
    if name.endswith(PRIVATE_SUFFIXES):
        return "private-suffix"
    return "single-label" if name and "." not in name else None


def internal_address(address: Address) -> str | None:
    """Why an address is not on the public internet; None if it is.

    An IPv4 address in an IPv6 one counts as itself: networks without IPv4 reach all of the internet in that form.
    """
    kind = special_kind(carried_address(address))
    return None if kind is None else _INTERNAL_KINDS.get(kind, "reserved-address")


def carried_address(address: Address) -> Address:
    """The IPv4 address inside an IPv6 one, if it is mapped or translated; else the address itself."""
    if isinstance(address, IPv4Address):
        return address
    if address in _NAT64:
        return IPv4Address(address.packed[-4:])
    return address.ipv4_mapped or address.sixtofour or address


def address_of(host: str) -> Address | None:
    """The address that a host is written as, in any form that C libraries and URL parsers read; None for a name."""
    name = host.strip("[]").partition("%")[0]
    try:
        return ip_address(name)
    except ValueError:  # browsers take `2130706433` and `0x7f.1` for addresses, too
        return _numeric_address(name.lower())


def _numeric_address(text: str) -> IPv4Address | None:
    """An IPv4 address of one to four numbers, each decimal, octal or hexadecimal; the last fills the rest."""
    if _NUMERIC.fullmatch(text) is None:
        return None
    try:
        *first, last = map(_number, text.split("."))
    except ValueError:  # such as `08`: there is no 8 in an octal number
        return None
    if any(byte > 0xFF for byte in first) or last >= 0x100 ** (4 - len(first)):
        return None
    return IPv4Address(sum(byte << (24 - 8 * position) for position, byte in enumerate(first)) + last)


def _number(text: str) -> int:
    if text.startswith("0x"):
        return int(text[2:] or "0", 16)
    return int(text, 8 if len(text) > 1 and text[0] == "0" else 10)


def is_this_machine(host: str) -> bool:
    """Whether a host is written as a loopback address, or as a name of one."""
    return internal_kind(host) == "loopback"


LONGEST_SHOWN = 200
_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]{0,30}:")
_SCHEMES = word_set(
    "about blob chrome data dict filesystem ftp ftps gopher imap jar javascript ldap ldaps mailto netdoc nfs php phar "
    "rmi sftp smb ssh telnet tftp vbscript view-source vscode ws"
)
"""Schemes that run or carry code, or reach other protocols. A server's own schemes are not among them."""
_HOST_KINDS = {
    "cloud-metadata": ("cloud_metadata_host", "serves the credentials of a cloud machine"),
    "loopback": ("loopback_host", "is the machine that opens it"),
    "private-suffix": ("private_tld", "is a name of a private network"),
    "link-local": ("link_local_address", "is a link-local address"),
    "private-address": ("private_address", "is an address of a private network"),
    "reserved-address": ("reserved_address", "is a reserved address"),
}
"""The kind and the reason for each kind of host that is not public. A single label may be a name of the server's own.
"""
_SECRET_PARTS = re.compile(r"(?<=//)[^/@\s]{1,200}@|(?<=[?&])([^=&\s]{1,100})=[^&\s#]{1,2000}")


class AddressDanger(NamedTuple):
    """Why an address is dangerous."""

    kind: str
    reason: str
    shown: str
    """The address, without a login and without values of its query."""


def danger_of(uri: str) -> AddressDanger | None:
    """Return what is dangerous about the address of a resource; None if nothing is."""
    text = "".join(character for character in uri.strip() if character not in "\t\r\n")  # as URL parsers do
    match = _SCHEME.match(text)
    if match is None:
        return None
    scheme = match[0][:-1].lower()
    danger = _of_scheme(scheme)
    if danger is None or danger[0] == "http_scheme":
        danger = _of_host(_host(text[match.end() :])) or danger
    if danger is None:
        return None
    shown = _SECRET_PARTS.sub(lambda part: f"{part[1]}=***" if part[1] else "***@", text[:LONGEST_SHOWN])
    return AddressDanger(*danger, shown)


def _of_scheme(scheme: str) -> tuple[str, str] | None:
    if scheme == "file":
        return "file_scheme", "`file:` names a file of the machine that opens it"
    if scheme == "http":
        return "http_scheme", "`http:` is not encrypted"
    if scheme in _SCHEMES:
        return "uncommon_scheme", f"`{scheme}:` runs or carries code, or reaches another protocol"
    return None


def _host(rest: str) -> str:
    """The host of an address, in lower case, without a login and a port."""
    if not rest.startswith(("//", "\\\\", "/\\", "\\/")):
        return ""
    authority = re.split(r"[/\\?#]", rest[2:502], maxsplit=1)[0].rpartition("@")[2].lower()
    if authority.startswith("["):
        return authority[1:].partition("]")[0]
    return authority.partition(":")[0].rstrip(".")


def _of_host(host: str) -> tuple[str, str] | None:
    if not host or "{" in host:
        return None
    danger = _HOST_KINDS.get(internal_kind(host) or "")
    if danger is None:
        return None
    address = address_of(host)
    if address is not None:
        address = carried_address(address)
        if address.is_unspecified:  # connects to the machine itself
            danger = _HOST_KINDS["loopback"]
        elif danger[0] == "private_address" and address.version == 6:
            danger = ("ipv6_unique_local", danger[1])
    kind, reason = danger
    return kind, f"`{host}` {reason}"

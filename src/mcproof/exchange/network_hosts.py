"""What a host name or an address reveals about its network: public, private, or this machine."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ipaddress import IPv4Address, IPv6Address

PRIVATE_SUFFIXES = (".local", ".internal", ".intranet", ".lan", ".home.arpa", ".corp", ".localdomain")
METADATA_HOSTS = frozenset({"metadata.google.internal", "metadata.goog", "metadata", "instance-data"})
METADATA_ADDRESSES = frozenset({"169.254.169.254", "169.254.170.2", "100.100.100.200", "fd00:ec2::254"})
"""Where cloud providers serve the credentials of a machine."""
_NUMERIC = re.compile(r"(?:0x[0-9a-f]*|[0-9]+)(?:\.(?:0x[0-9a-f]*|[0-9]+)){0,3}")
"""An IPv4 address in any form that C libraries read: `127.1`, `0x7f000001`, `2130706433`."""


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


def address_of(host: str) -> IPv4Address | IPv6Address | None:
    """The address that a host is written as, in any form that C libraries read; None if it is a name."""
    from ipaddress import IPv4Address, ip_address

    name = host.strip("[]").partition("%")[0]
    try:
        return ip_address(name)
    except ValueError:
        pass
    if _NUMERIC.fullmatch(name.lower()) is None:
        return None
    import socket

    try:
        return IPv4Address(socket.inet_aton(name))
    except OSError:
        return None


def internal_address(address: IPv4Address | IPv6Address) -> str | None:
    """Why an address is not on the public internet; None if it is."""
    inner = _inner(address)
    if str(inner) in METADATA_ADDRESSES:
        return "cloud-metadata"
    if inner.is_loopback:
        return "loopback"
    if inner.is_link_local:
        return "link-local"
    if inner.is_unspecified or inner.is_multicast or inner.is_reserved:
        return "reserved-address"
    if inner.is_private or not inner.is_global:
        return "private-address"
    return None


def _inner(address: IPv4Address | IPv6Address) -> IPv4Address | IPv6Address:
    """The IPv4 address inside an IPv6 one, if it is mapped or translated; else the address itself."""
    from ipaddress import IPv4Address

    if address.version == 4:
        return address
    embedded = address.ipv4_mapped or address.sixtofour
    if embedded is None and address.packed.startswith(bytes.fromhex("0064ff9b0000000000000000")):
        embedded = IPv4Address(address.packed[-4:])
    return embedded or address


def is_this_machine(host: str) -> bool:
    """Whether a host is written as a loopback address, or as a name of one."""
    return internal_kind(host) == "loopback"

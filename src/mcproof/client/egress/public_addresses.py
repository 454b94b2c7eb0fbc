"""Which IP addresses are public: a table of our own, because `ipaddress.is_global` differs between Python versions.

The table is the IANA registries of special-purpose addresses, with two differences: IPv6 forms that carry an IPv4
address are never public, whatever they carry, and neither are the metadata services of clouds.
"""

from __future__ import annotations

from functools import cache
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_network
from typing import NamedTuple

Address = IPv4Address | IPv6Address
Network = IPv4Network | IPv6Network

_KINDS = {
    "an unspecified address": ("0.0.0.0/8", "::/128"),
    "a loopback address": ("127.0.0.0/8", "::1/128"),
    "a cloud metadata address": ("169.254.169.254/32", "100.100.100.200/32", "168.63.129.16/32", "192.0.0.192/32"),
    "a private address": ("10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16", "fc00::/7", "fec0::/10"),
    "a link-local address": ("169.254.0.0/16", "fe80::/10"),
    "an address of a shared network": ("100.64.0.0/10",),
    "a multicast address": ("224.0.0.0/4", "ff00::/8"),
    "an address for documentation": ("192.0.2.0/24", "198.51.100.0/24", "203.0.113.0/24", "2001:db8::/32", "3fff::/20"),
    "an address for benchmarks": ("198.18.0.0/15", "2001:2::/48"),
    "an IPv4-mapped address": ("::ffff:0:0/96",),
    "an IPv4-compatible address": ("::/96",),
    "an IPv4-translated address": ("::ffff:0:0:0/96",),
    "a NAT64 address": ("64:ff9b::/96", "64:ff9b:1::/48"),
    "a Teredo address": ("2001::/32",),
    "a 6to4 address": ("2002::/16", "192.88.99.0/24"),
    "a reserved address": ("192.0.0.0/24", "240.0.0.0/4", "2001::/23"),
}
_GLOBAL_UNICAST = IPv6Network("2000::/3")
"""The only part of IPv6 from which public addresses are assigned."""
_ISATAP = (0x0000_5EFE, 0x0200_5EFE)
"""The first half of an interface identifier that ends with an IPv4 address."""


class _SpecialNetwork(NamedTuple):
    network: Network
    kind: str


@cache
def _special_networks() -> list[_SpecialNetwork]:
    return [_SpecialNetwork(ip_network(each), kind) for kind, networks in _KINDS.items() for each in networks]


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

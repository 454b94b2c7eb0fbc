"""Every check of an address agrees with the others about every address, or the table here says why not."""

from __future__ import annotations

import asyncio
import contextlib
import socket
from ipaddress import IPv4Address, IPv6Address, ip_address
from typing import TYPE_CHECKING

import pytest

from mcproof.client.errors import AuthorizationError, ConnectError
from mcproof.client.http.policy import NetworkGuard, NetworkPolicy, checked_url
from mcproof.core.addresses import METADATA_ADDRESSES, METADATA_HOSTS, danger_of, internal_kind, is_this_machine

if TYPE_CHECKING:
    from collections.abc import Callable

METADATA, LOOPBACK, PRIVATE, NEVER, PUBLIC = "metadata", "loopback", "private", "never", "public"

PLAIN = {
    **dict.fromkeys(METADATA_ADDRESSES, METADATA),
    # Written out, so that nobody takes one out of the table unseen.
    "169.254.169.254": METADATA,
    "169.254.170.2": METADATA,
    "100.100.100.200": METADATA,
    "168.63.129.16": METADATA,
    "192.0.0.192": METADATA,
    "fd00:ec2::254": METADATA,
    "127.0.0.1": LOOPBACK,
    "127.8.8.8": LOOPBACK,
    "::1": LOOPBACK,
    "10.0.0.1": PRIVATE,
    "172.16.0.1": PRIVATE,
    "192.168.1.1": PRIVATE,
    "100.64.0.1": PRIVATE,
    "192.0.2.1": PRIVATE,
    "198.18.0.1": PRIVATE,
    "fd12::1": PRIVATE,
    "fec0::1": PRIVATE,
    "2001:db8::1": PRIVATE,
    "169.254.1.1": NEVER,
    "fe80::1": NEVER,
    "0.0.0.0": NEVER,  # noqa: S104
    "0.1.2.3": NEVER,
    "::": NEVER,
    "192.0.0.8": NEVER,
    "192.88.99.1": NEVER,
    "224.0.0.1": NEVER,
    "ff02::1": NEVER,
    "240.0.0.1": NEVER,
    "255.255.255.255": NEVER,
    "100::1": NEVER,
    "4000::1": NEVER,
    "5f00::1": NEVER,
    "2001:0:7f00:1::": NEVER,
    "2620:0:ccc::5efe:127.0.0.1": NEVER,
    "::127.0.0.1": NEVER,
    "::ffff:0:127.0.0.1": NEVER,
    "64:ff9b:1::7f00:1": NEVER,
    "93.184.216.34": PUBLIC,
    "8.8.8.8": PUBLIC,
    "168.63.129.17": PUBLIC,
    "2606:4700::1111": PUBLIC,
}
"""Addresses in the form in which they are usually written, with what they are."""

NAMES = {
    **dict.fromkeys(METADATA_HOSTS, METADATA),
    "metadata.google.internal": METADATA,
    "localhost": LOOPBACK,
    "app.localhost": LOOPBACK,
    "public.test": PUBLIC,
}
RESOLVED = {METADATA: "169.254.169.254", LOOPBACK: "127.0.0.1", PUBLIC: "93.184.216.34"}


def carrying(address: IPv4Address) -> list[str]:
    """The IPv6 forms of an IPv4 address that lead to it."""
    number = int(address)
    return [
        str(IPv6Address((0xFFFF << 32) | number)),
        str(IPv6Address((0x64_FF9B << 96) | number)),
        str(IPv6Address((0x2002 << 112) | (number << 80))),
    ]


def numeric(address: IPv4Address) -> list[str]:
    """Other notations of an IPv4 address that resolvers and URL parsers read."""
    first, second, third, fourth = address.packed
    return [
        str(int(address)),
        hex(int(address)),
        f"0{int(address):o}",
        f"0X{int(address):08X}",
        f"0x{int(address):016x}",
        f"{first}.{(second << 16) | (third << 8) | fourth}",
        f"{first}.{second}.{(third << 8) | fourth}",
        f"0{first:o}.0{second:o}.0{third:o}.0{fourth:o}",
        f"{first:#x}.{second:#x}.{third:#x}.{fourth:#x}",
        f"{first}.0{second:o}.{third:#x}.{fourth}",
    ]


def spellings() -> list[tuple[str, str, str]]:
    """Each host in each form: the host, what it is, and the name of the form."""
    found = []
    for text, kind in PLAIN.items():
        found.append((text, kind, "plain"))
        address = ip_address(text)
        if isinstance(address, IPv4Address):
            found += [(each, kind, "numeric") for each in numeric(address)]
            found += [(each, kind, "carried") for each in carrying(address)]
            found.append((f"{text}.", kind, "trailing dot"))
        else:
            found += [(text.upper(), kind, "plain"), (address.exploded, kind, "plain")]
    for name, kind in NAMES.items():
        found += [(name, kind, "name"), (name.upper(), kind, "name"), (f"{name}.", kind, "trailing dot")]
    return found


def in_url(host: str) -> str:
    return f"[{host}]" if ":" in host else host


async def resolved(host: str) -> list[str]:
    """The addresses of a host, as a C library finds them, with the names of this test."""
    with contextlib.suppress(ValueError):
        return [str(ip_address(host.rstrip(".")))]
    with contextlib.suppress(OSError):
        return [socket.inet_ntoa(socket.inet_aton(host.rstrip(".")))]
    return [RESOLVED[NAMES[host.lower().rstrip(".")]]]


def may(policy: NetworkPolicy) -> Callable[[str], bool]:
    """Whether a URL may lead to a host by a policy."""

    def ask(host: str) -> bool:
        guard = NetworkGuard(policy._replace(resolver=resolved))
        try:
            guard.check_url(f"https://{in_url(host)}/")
            return bool(asyncio.run(guard.addresses(host.lower())))
        except ConnectError:
            return False

    return ask


def like(target: str) -> NetworkPolicy:
    """The policy for redirects of a server, for metadata that it names, and for endpoints in that metadata."""
    return NetworkPolicy("like-target", (ip_address(target),))


def has_no_danger(host: str) -> bool:
    """Whether the address of a resource may lead there."""
    return danger_of(f"https://{in_url(host)}/") is None


def is_public(host: str) -> bool:
    """Whether the rule about the host of an endpoint takes it for one of the public internet."""
    return internal_kind(host) is None


def may_be_plain_http(host: str) -> bool:
    """Whether tokens may go there without TLS."""
    try:
        checked_url(f"http://{in_url(host)}/", "the issuer")
    except AuthorizationError:
        return False
    return True


ENTRIES: dict[str, tuple[Callable[[str], bool], frozenset[str]]] = {
    "command line": (may(NetworkPolicy()), frozenset({PUBLIC, PRIVATE, LOOPBACK, METADATA, NEVER})),
    # A visitor of `serve`, a redirect of one, a webhook.
    "strangers": (may(NetworkPolicy("public")), frozenset({PUBLIC})),
    "named by a public server": (may(like("93.184.216.34")), frozenset({PUBLIC})),
    "named by a server of unknown address": (may(NetworkPolicy("like-target")), frozenset({PUBLIC})),
    # The user named the target: what it supplies may stay in its network, and lead out of it.
    "named by a private server": (may(like("10.0.0.7")), frozenset({PUBLIC, PRIVATE})),
    "named by this machine": (may(like("127.0.0.1")), frozenset({PUBLIC, PRIVATE, LOOPBACK})),
    "named by a link-local server": (may(like("169.254.7.7")), frozenset({PUBLIC, PRIVATE, LOOPBACK})),
    "resource": (has_no_danger, frozenset({PUBLIC})),
    "endpoint": (is_public, frozenset({PUBLIC})),
    # What can be read on the way may only be sent to this machine.
    "plain http": (may_be_plain_http, frozenset({LOOPBACK})),
    "this machine": (is_this_machine, frozenset({LOOPBACK})),
}
"""Each check, and the kinds of address that it lets through."""

STRICTER = {
    ("strangers", "numeric"): "parsers disagree about these forms, and no good URL has them",
    ("strangers", "carried"): "a stranger has no reason for them, not even with a public address inside",
    ("strangers", "trailing dot"): "parsers disagree about these forms, and no good URL has them",
    ("plain http", "numeric"): "only the forms that lead to this machine for every parser",
    ("plain http", "carried"): "a gateway may take the packets elsewhere",
}
"""Where a check refuses a form whatever the address is, and why."""


@pytest.mark.parametrize("entry", ENTRIES)
def test_every_check_gives_the_same_answer(entry: str) -> None:
    may, kinds = ENTRIES[entry]
    wrong = {}
    for host, kind, form in spellings():
        expected = kind in kinds and (entry, form) not in STRICTER
        if may(host) != expected:
            wrong[host] = f"{kind}, {form}: {'refused' if expected else 'let through'}"
    assert wrong == {}


def test_the_metadata_of_a_cloud_is_named_as_such() -> None:
    hosts = [host for host, kind, _ in spellings() if kind == METADATA]
    assert len(hosts) > 100
    assert {internal_kind(host) for host in hosts} == {"cloud-metadata"}
    kinds = {danger.kind for host in hosts if (danger := danger_of(f"https://{in_url(host)}/")) is not None}
    assert kinds == {"cloud_metadata_host"}

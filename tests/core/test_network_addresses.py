"""Hosts that are not on the public internet, in every form that a resolver reads."""

from __future__ import annotations

import pytest

from mcproof.core.addresses import internal_kind, is_this_machine


@pytest.mark.parametrize(
    ("host", "kind"),
    [
        ("localhost", "loopback"),
        ("LOCALHOST.", "loopback"),
        ("app.localhost", "loopback"),
        ("127.0.0.1", "loopback"),
        ("127.8.8.8", "loopback"),
        ("127.1", "loopback"),
        ("2130706433", "loopback"),
        ("0x7f.1", "loopback"),
        ("017700000001", "loopback"),
        ("::1", "loopback"),
        ("[::1]", "loopback"),
        ("::ffff:127.0.0.1", "loopback"),
        ("64:ff9b::7f00:1", "loopback"),
        ("10.1.2.3", "private-address"),
        ("172.31.0.1", "private-address"),
        ("192.168.0.1", "private-address"),
        ("100.64.0.1", "private-address"),
        ("fd12::1", "private-address"),
        ("169.254.7.7", "link-local"),
        ("fe80::1%eth0", "link-local"),
        ("169.254.169.254", "cloud-metadata"),
        ("::ffff:169.254.169.254", "cloud-metadata"),
        ("metadata.google.internal", "cloud-metadata"),
        ("0.0.0.0", "reserved-address"),  # noqa: S104
        ("224.0.0.1", "reserved-address"),
        ("printer.local", "private-suffix"),
        ("mcp.corp.internal", "private-suffix"),
        ("wiki.intranet", "private-suffix"),
        ("nas.lan", "private-suffix"),
        ("devbox", "single-label"),
    ],
)
def test_internal_hosts_have_a_kind(host: str, kind: str) -> None:
    assert internal_kind(host) == kind
    assert is_this_machine(host) == (kind == "loopback")


@pytest.mark.parametrize(
    "host", ["mcp.example.com", "8.8.8.8", "2606:4700::1111", "localhost.example.com", "10.0.0.1.example.com", "lan.io"]
)
def test_public_hosts_have_none(host: str) -> None:
    assert internal_kind(host) is None

"""Addresses of resources: which are dangerous, in every notation that URL parsers read."""

from __future__ import annotations

import pytest

from mcproof.core.addresses import danger_of


@pytest.mark.parametrize(
    ("uri", "kind"),
    [
        ("file:///etc/passwd", "file_scheme"),
        ("FILE:///c:/users", "file_scheme"),
        ("  file:///etc/passwd", "file_scheme"),
        ("fi\nle:///etc/passwd", "file_scheme"),
        ("http://example.com/a", "http_scheme"),
        ("javascript:alert(1)", "uncommon_scheme"),
        ("data:text/html,hello", "uncommon_scheme"),
        ("gopher://example.com/1", "uncommon_scheme"),
        ("https://localhost/a", "loopback_host"),
        ("https://app.localhost:8443/a", "loopback_host"),
        ("https://127.0.0.1/", "loopback_host"),
        ("https://127.1/", "loopback_host"),
        ("https://0x7f000001/", "loopback_host"),
        ("https://2130706433/", "loopback_host"),
        ("https://0177.0.0.1/", "loopback_host"),
        ("https://[::1]:8080/", "loopback_host"),
        ("https://[::ffff:127.0.0.1]/", "loopback_host"),
        ("https://0.0.0.0/", "loopback_host"),
        ("https://10.1.2.3/", "private_address"),
        ("https://172.16.0.1/", "private_address"),
        ("https://192.168.1.1./", "private_address"),
        ("https://169.254.1.1/", "link_local_address"),
        ("https://[fe80::1%25eth0]/", "link_local_address"),
        ("https://[fd12:3456::1]/", "ipv6_unique_local"),
        ("https://wiki.corp/", "private_tld"),
        ("https://printer.local/", "private_tld"),
        ("https://169.254.169.254/latest/meta-data", "cloud_metadata_host"),
        ("http://169.254.169.254/latest/meta-data", "cloud_metadata_host"),
        ("https://2852039166/latest", "cloud_metadata_host"),
        ("https://example.com@169.254.169.254/", "cloud_metadata_host"),
        ("https://metadata.google.internal/", "cloud_metadata_host"),
        ("https:\\\\localhost\\a", "loopback_host"),
    ],
)
def test_a_dangerous_address(uri: str, kind: str) -> None:
    danger = danger_of(uri)
    assert danger is not None
    assert danger.kind == kind


@pytest.mark.parametrize(
    "uri",
    [
        "https://example.com/a",
        "https://example.com:8443/local",
        "https://8.8.8.8/",
        "https://localhost.example.com/",
        "https://{host}/a",
        "docs://guide",
        "git://working-directory",
        "ui://widget/map.html",
        "memo://insights",
        "postgres://tables/users",
        "relative/path",
        "",
        "https://999.1.1.1/",
    ],
)
def test_an_address_without_danger(uri: str) -> None:
    assert danger_of(uri) is None


def test_a_long_address_is_cropped() -> None:
    danger = danger_of("file:///" + "a" * 5000)
    assert danger is not None
    assert len(danger.shown) == 200

from __future__ import annotations

from typing import Any

import pytest

from mcproof.client.errors import AuthorizationError
from mcproof.client.http.policy import canonical_url, checked_url, is_loopback, is_within


@pytest.mark.parametrize(
    "url",
    [
        "https://host/token",
        "https://host:8443/a?b=c",
        "http://localhost:8080/token",
        "http://127.0.0.2/token",
        "http://[::1]:80/token",
        "http://auth.localhost/token",
    ],
)
def test_https_and_loopback_are_safe(url: str) -> None:
    assert checked_url(url, "it") == url


@pytest.mark.parametrize(
    "url",
    [
        "http://host/token",
        "http://localhost.evil.example/token",
        "http://127.0.0.1.evil.example/token",
        "http://10.0.0.1/token",
        "javascript:alert(1)",
        "file:///etc/passwd",
        "data:text/html,x",
        "https:///token",
        "https://user:password@host/token",
        "https://host/token#fragment",
        "https://host/to ken",
        'https://host/"; open -a Calculator',
        "https://host/\nx",
        "https://hö.st/token",
        "https://host:99999/token",
        "https://[::1/token",
        "-https://host",
        "https://host/" + "x" * 3000,
        "",
        None,
        7,
        ["https://host"],
    ],
)
def test_everything_else_is_refused(url: Any) -> None:
    with pytest.raises(AuthorizationError, match=r"^the endpoint is not an https URL: ") as raised:
        checked_url(url, "the endpoint")
    assert "password" not in raised.value.message
    assert len(raised.value.message) < 1000


@pytest.mark.parametrize(
    ("url", "resource", "expected"),
    [
        ("https://h/mcp", "https://h/mcp", True),
        ("https://h/mcp", "https://h", True),
        ("https://h/mcp", "https://h/", True),
        ("https://h/a/mcp", "https://h/a", True),
        ("https://h/a/mcp", "https://h/a/", True),
        ("https://h:443/mcp", "https://H/mcp", True),
        ("https://h/mcp", "https://h/mcp/", False),
        ("https://h/mcp2", "https://h/mcp", False),
        ("https://h/mcp", "https://h/other", False),
        ("https://h/mcp", "http://h/mcp", False),
        ("https://h/mcp", "https://h.evil.example/mcp", False),
        ("https://h/mcp", "https://h:8443/mcp", False),
        ("https://h/mcp", "mcp", False),
    ],
)
def test_a_resource_covers_its_path_and_those_below(url: str, resource: str, *, expected: bool) -> None:
    assert is_within(url, resource) is expected


@pytest.mark.parametrize(
    ("host", "expected"),
    [("localhost", True), ("LOCALHOST.", True), ("127.9.9.9", True), ("::1", True), ("0.0.0.0", False), ("h", False)],  # noqa: S104
)
def test_loopback_hosts(host: str, *, expected: bool) -> None:
    assert is_loopback(host) is expected


@pytest.mark.parametrize(
    ("url", "canonical"),
    [
        ("HTTPS://me:secret@Host:443/MCP?b=1#x", "https://host/MCP?b=1"),
        ("http://[::1]:8080/mcp", "http://[::1]:8080/mcp"),
        ("https://host:99999/mcp", "https://host:99999/mcp"),
    ],
)
def test_the_canonical_form_of_a_url(url: str, canonical: str) -> None:
    assert canonical_url(url) == canonical

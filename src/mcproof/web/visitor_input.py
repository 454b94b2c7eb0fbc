"""What visitors send: a URL with headers, or a catalog, as jobs."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

from mcproof.core.errors import UsageError
from mcproof.web.visit_jobs import VisitJob

if TYPE_CHECKING:
    from collections.abc import Iterable

    from mcproof.client.http.policy import NetworkGuard

MOST_HEADERS = 20
LONGEST_HEADERS = 8_192
_NAME = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
_OWN_HEADERS = frozenset(
    ("host", "connection", "content-length", "content-type", "accept", "transfer-encoding", "te", "trailer", "upgrade",
     "expect", "proxy-authorization", "proxy-connection", "keep-alive", "mcp-session-id", "mcp-protocol-version")
)  # fmt: skip
"""Headers that belong to the connection or the protocol."""
_LONGEST_REQUEST = 32_768
"""The most bytes of a body with a URL and headers, every character escaped."""
_URL_KEYS = frozenset(("url", "headers"))


def form_job(fields: dict[str, bytes], guard: NetworkGuard) -> VisitJob:
    """Return what a form asks for. Raises UsageError and RefusedAddressError, both with a message for its page."""
    url = text_field(fields, "url").strip()
    catalog = fields.get("file", b"").strip() or fields.get("catalog", b"").strip()
    if url and catalog:
        raise UsageError("there are both a URL and a catalog; leave out one of them")
    if catalog:
        return VisitJob("lint", catalog=catalog, is_whole=True)
    if not url:
        raise UsageError("there is nothing to check; enter a URL, or a catalog")
    return url_job("lint", url, header_lines(text_field(fields, "headers")), guard)


def text_field(fields: dict[str, bytes], name: str) -> str:
    """Return a field of a form as text."""
    return fields.get(name, b"").decode(errors="replace")


def url_job(command: str, url: str, headers: Iterable[tuple[str, str]], guard: NetworkGuard) -> VisitJob:
    """Return the check of the server at a URL; its name is not resolved yet. Raises UsageError, RefusedAddressError."""
    plain = guard.check_url(url)
    return VisitJob(command, url=plain.url, headers=_checked(list(headers)), is_whole=True)


def header_lines(text: str) -> list[tuple[str, str]]:
    """Return the headers in lines such as `Authorization: Bearer …`. Raises UsageError, which quotes no value."""
    found = []
    for number, line in enumerate(text.splitlines(), 1):
        if not line.strip():
            continue
        name, colon, value = line.partition(":")
        if not colon:
            raise UsageError(f"line {number} of the headers is not `Name: value`")
        found.append((name.strip(), value.strip()))
    return found


def _checked(headers: list[tuple[str, str]]) -> tuple[tuple[str, str], ...]:
    if len(headers) > MOST_HEADERS or sum(len(name) + len(value) for name, value in headers) > LONGEST_HEADERS:
        raise UsageError(f"there are more than {MOST_HEADERS} headers or {LONGEST_HEADERS:,} characters of them")
    for name, value in headers:
        if not _NAME.fullmatch(name) or not value.isascii() or not (value.isprintable() or not value):
            raise UsageError("a header has characters that HTTP does not allow")
        if name.lower() in _OWN_HEADERS:
            raise UsageError(f"the header `{name}` cannot be set")
    return tuple(headers)


def api_job(command: str, body: bytes, guard: NetworkGuard) -> VisitJob:
    """Return what the body of an API request asks for: a URL, a catalog, or two catalogs.

    Raises UsageError and RefusedAddressError.
    """
    members = None if command == "diff" else _url_members(body)
    if members is None:
        return VisitJob(command, catalog=body)
    url, headers = members["url"], members.get("headers", {})
    if not isinstance(url, str):
        raise UsageError("`url` is not a string")
    if not isinstance(headers, dict) or not all(isinstance(each, str) for each in headers.values()):
        raise UsageError("`headers` is not an object of strings")
    return url_job(command, url, headers.items(), guard)


def _url_members(body: bytes) -> dict[str, Any] | None:
    """Return the object of a body that names a URL; None for a catalog, or for what is not JSON."""
    if len(body) > _LONGEST_REQUEST or b'"url"' not in body:
        return None
    try:
        members = json.loads(body)
    except (ValueError, RecursionError):
        return None
    return members if isinstance(members, dict) and "url" in members and members.keys() <= _URL_KEYS else None

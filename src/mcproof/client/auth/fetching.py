"""Bounded HTTP requests for metadata, registration and tokens."""

from __future__ import annotations

import asyncio
import json
from typing import TYPE_CHECKING, Any, NamedTuple

from mcproof.client.auth.safe_urls import origin_of
from mcproof.client.failures import AuthorizationError
from mcproof.client.secrets import redacted_url

if TYPE_CHECKING:
    from collections.abc import Mapping

    import httpx2

LARGEST_DOCUMENT = 1024 * 1024
METADATA_SECONDS = 20.0
"""The time limit of one request, including its redirects."""
MOST_REDIRECTS = 3
_REDIRECTS = (301, 302, 303, 307, 308)


class JsonReply(NamedTuple):
    """The status of an HTTP response and its JSON value."""

    status: int
    value: Any
    """None if the body is not JSON."""

    @property
    def members(self) -> dict[str, Any]:
        """The value if it is an object; else empty."""
        return self.value if isinstance(self.value, dict) else {}


async def get_json(url: str, what: str) -> JsonReply:
    """Get a document. A few redirects within its origin are followed."""
    return await _limited(what, url, _get(url, what))


async def first_document(places: list[str], what: str) -> dict[str, Any] | None:
    """The first JSON object at some places; None if there is none. A server error ends the search."""
    for place in places:
        reply = await get_json(place, what)
        if reply.status == 200 and isinstance(reply.value, dict):
            return reply.value
        if reply.status >= 500:
            raise AuthorizationError(f"{_named(what, place)} cannot be read: HTTP {reply.status}")
    return None


async def post_json(url: str, what: str, document: Mapping[str, Any]) -> JsonReply:
    """Post a JSON document; no redirect is followed."""
    return await _limited(what, url, _send("POST", url, what, json=dict(document)))


async def post_form(url: str, what: str, form: Mapping[str, str], headers: Mapping[str, str]) -> JsonReply:
    """Post a form; no redirect is followed."""
    return await _limited(what, url, _send("POST", url, what, data=dict(form), headers=dict(headers)))


async def _limited(what: str, url: str, work: Any) -> JsonReply:
    try:
        async with asyncio.timeout(METADATA_SECONDS):
            reply: JsonReply = await work
            return reply
    except TimeoutError:
        raise AuthorizationError(f"{_named(what, url)} does not respond within {METADATA_SECONDS:g} seconds") from None


async def _get(url: str, what: str) -> JsonReply:
    start = origin_of(url)
    for _ in range(MOST_REDIRECTS + 1):
        reply = await _send("GET", url, what)
        if reply.status not in _REDIRECTS:
            return reply
        url = _joined(url, str(reply.value))
        try:
            is_same = origin_of(url) == start
        except ValueError:
            is_same = False
        if not is_same:
            raise AuthorizationError(f"{what} redirects to another origin, {redacted_url(url)}; not followed")
    raise AuthorizationError(f"{_named(what, url)} redirects more than {MOST_REDIRECTS} times")


def _joined(base: str, location: str) -> str:
    from urllib.parse import urljoin

    try:
        return urljoin(base, location)
    except ValueError:
        return location


async def _send(method: str, url: str, what: str, **content: Any) -> JsonReply:
    import httpx2

    from mcproof.client.transports.http_exchange import connection_settings, network_reason

    headers = {"User-Agent": "mcproof", "Accept": "application/json", **content.pop("headers", {})}
    try:
        async with (
            httpx2.AsyncClient(timeout=httpx2.Timeout(METADATA_SECONDS), **connection_settings()) as client,
            client.stream(method, url, headers=headers, **content) as response,
        ):
            if response.status_code in _REDIRECTS:
                if method != "GET":
                    target = redacted_url(response.headers.get("location", ""))
                    raise AuthorizationError(f"{_named(what, url)} redirects to {target or 'nowhere'}; not followed")
                return JsonReply(response.status_code, response.headers.get("location", ""))
            return JsonReply(response.status_code, _parsed(await _body(response, what, url)))
    except (httpx2.HTTPError, httpx2.InvalidURL, OSError, OverflowError, UnicodeError, ExceptionGroup) as error:
        why = network_reason(error) or type(error).__name__
        raise AuthorizationError(f"{_named(what, url)} cannot be reached: {why}") from None


async def _body(response: httpx2.Response, what: str, url: str) -> bytes:
    body = bytearray()
    async for chunk in response.aiter_bytes():
        body += chunk
        if len(body) > LARGEST_DOCUMENT:
            raise AuthorizationError(f"{_named(what, url)} returns more than {LARGEST_DOCUMENT:,} bytes")
    return bytes(body)


def _parsed(body: bytes) -> Any:
    try:
        return json.loads(body)
    except (ValueError, RecursionError):
        return None


def _named(what: str, url: str) -> str:
    return f"{what} ({redacted_url(url)})"

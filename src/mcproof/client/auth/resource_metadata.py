"""Protected-resource metadata (RFC 9728): the resource identifier of a server, and its authorization servers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from mcproof.client.auth.challenges import is_scope
from mcproof.client.auth.fetching import first_document, get_json
from mcproof.client.auth.safe_urls import checked_url, is_within, origin_of
from mcproof.client.failures import AuthorizationError
from mcproof.client.secrets import redacted_url
from mcproof.core.observations.connection import cropped

if TYPE_CHECKING:
    from mcproof.client.auth.challenges import Challenge

WELL_KNOWN = "/.well-known/oauth-protected-resource"
MOST_SERVERS = 5
"""How many authorization servers of a resource are tried."""
_RESOURCE_METADATA = "the resource metadata"


class ProtectedResource(NamedTuple):
    """What a server publishes about its authorization."""

    identifier: str
    """The value of `resource` in every request, exactly as published."""
    issuers: tuple[str, ...]
    scope: str = ""
    """All scopes that it supports, separated by spaces."""
    is_published: bool = True
    """Whether there is metadata. Servers of revision 2025-03-26 have none and are their own authorization server."""


async def find_resource(url: str, challenge: Challenge) -> ProtectedResource:
    """The metadata of the server at a URL, at the place that the challenge names or the well-known ones."""
    if challenge.resource_metadata:
        place = checked_url(challenge.resource_metadata, "`resource_metadata` of the challenge")
        if origin_of(place) != origin_of(url):
            # A server publishes its metadata itself; other hosts get no request because it names them.
            raise AuthorizationError(
                f"`resource_metadata` of the challenge is at another origin, {redacted_url(place)}; not fetched"
            )
        reply = await get_json(place, _RESOURCE_METADATA)
        if reply.status != 200:
            raise AuthorizationError(
                f"{_RESOURCE_METADATA} ({redacted_url(place)}) cannot be read: HTTP {reply.status}"
            )
        return _parsed_resource(reply.value, url)
    document = await first_document(well_known_places(url), _RESOURCE_METADATA)
    if document is not None:
        return _parsed_resource(document, url)
    return ProtectedResource(url, (str(origin_of(url)),), is_published=False)


def well_known_places(url: str) -> list[str]:
    """Where the metadata of a URL may be: for its path, then for its origin."""
    from urllib.parse import urlsplit

    root = f"{origin_of(url)}{WELL_KNOWN}"
    path = urlsplit(url).path.rstrip("/")
    return [f"{root}{path}", root] if path else [root]


def _parsed_resource(document: Any, url: str) -> ProtectedResource:
    members = document if isinstance(document, dict) else {}
    identifier, issuers = members.get("resource"), members.get("authorization_servers")
    if not isinstance(identifier, str) or not is_within(url, identifier):
        shown = cropped(redacted_url(identifier)) if isinstance(identifier, str) else "nothing"
        raise AuthorizationError(f"{_RESOURCE_METADATA} is for another resource: {shown}")
    if not isinstance(issuers, list) or not issuers:
        raise AuthorizationError(f"{_RESOURCE_METADATA} names no authorization server")
    checked = [checked_url(each, f"an authorization server in {_RESOURCE_METADATA}") for each in issuers[:MOST_SERVERS]]
    return ProtectedResource(identifier, tuple(checked), scopes_of(members.get("scopes_supported")))


def scopes_of(value: Any) -> str:
    """A list of scopes from metadata as one text, without values that are not scopes."""
    if not isinstance(value, list):
        return ""
    return " ".join(each for each in value if isinstance(each, str) and is_scope(each))

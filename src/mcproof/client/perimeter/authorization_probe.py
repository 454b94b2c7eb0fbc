"""Observe what a server that refuses access publishes about authorization."""

from __future__ import annotations

import asyncio
import json
from typing import TYPE_CHECKING, Any, NamedTuple

from mcproof.client.auth.challenges import LONGEST_CHALLENGE, bearer_challenge
from mcproof.client.auth.issuer_metadata import metadata_places
from mcproof.client.auth.resource_metadata import MOST_SERVERS, well_known_places
from mcproof.client.auth.safe_urls import canonical_url, is_same_issuer, is_within, origin_of
from mcproof.client.perimeter.probe_http import UnobservedError
from mcproof.client.secrets import redacted_text, redacted_url
from mcproof.core.addresses import is_this_machine
from mcproof.core.observations.connection import cropped
from mcproof.core.observations.perimeter import (
    AuthorizationFacts,
    MetadataFetch,
    NamedIssuer,
    PublishedIssuer,
    PublishedResource,
)

if TYPE_CHECKING:
    from mcproof.client.perimeter.probe_http import ProbeClient

MOST_WORDS = 50
"""How many values of a list in a metadata document are kept."""
_JSON = {"Accept": "application/json", "Accept-Encoding": "identity"}


class Refusal(NamedTuple):
    """A response with HTTP 401 or 403 to a request without credentials."""

    status: int
    challenge: str
    """The value of `WWW-Authenticate`; empty without the header."""


class _Document(NamedTuple):
    """A metadata document, and the requests that it took to find it."""

    members: dict[str, Any] | None
    fetches: list[MetadataFetch]


async def observe_authorization(
    client: ProbeClient, url: str, refusal: Refusal, *, is_loopback: bool
) -> AuthorizationFacts:
    """The metadata of a protected server and of its authorization servers."""
    bare = canonical_url(url).partition("?")[0]
    hint = bearer_challenge(refusal.challenge).resource_metadata
    found = await _first_document(client, [*([hint] if hint else []), *_resource_places(bare)])
    resource = None if found.members is None else _resource(found.members, bare)
    named = _named_issuers(found.members)
    issuers = named or _own_origin(bare)
    documents = await asyncio.gather(*(_issuer_document(client, each) for each in issuers))
    return AuthorizationFacts(
        status=refusal.status,
        challenge=cropped(redacted_text(refusal.challenge[:LONGEST_CHALLENGE])),
        resource_metadata_hint=cropped(redacted_url(hint)),
        is_loopback=is_loopback,
        resource=resource,
        issuers=tuple(map(_named_issuer, issuers)),
        are_issuers_named=bool(named),
        servers=tuple(_issuer(each.members) for each in documents if each.members is not None),
        fetches=(*found.fetches, *(fetch for each in documents for fetch in each.fetches)),
    )


def _resource_places(url: str) -> list[str]:
    try:
        return well_known_places(url)
    except ValueError:
        return []


def _own_origin(url: str) -> list[str]:
    """The origin of a server, which is its own authorization server if it names none (revision 2025-03-26)."""
    try:
        return [str(origin_of(url))]
    except ValueError:
        return []


async def _issuer_document(client: ProbeClient, issuer: str) -> _Document:
    """The metadata of an issuer; a document for another issuer does not count."""
    try:
        places = metadata_places(issuer)
    except ValueError:
        return _Document(None, [MetadataFetch(cropped(redacted_url(issuer)), error="not a URL of an issuer")])
    return await _first_document(client, places, issuer)


async def _first_document(client: ProbeClient, places: list[str], issuer: str | None = None) -> _Document:
    """The first JSON object at some places."""
    fetches: list[MetadataFetch] = []
    for place in places:
        members, fetch = await _fetched(client, place)
        if members is not None and issuer is not None:
            named = members.get("issuer")
            if not isinstance(named, str) or not is_same_issuer(named, issuer):
                members, fetch = None, fetch._replace(error="the document is for another issuer")
        fetches.append(fetch)
        if members is not None:
            return _Document(members, fetches)
    return _Document(None, fetches)


async def _fetched(client: ProbeClient, place: str) -> tuple[dict[str, Any] | None, MetadataFetch]:
    shown = cropped(redacted_url(place))
    try:
        followed = await client.follow(place, _JSON)
    except UnobservedError as failure:
        return None, MetadataFetch(shown, error=cropped(str(failure)))
    response = followed.last
    fetch = MetadataFetch(shown, response.status, cropped(response.kind))
    if followed.refused or followed.has_too_many:
        return None, fetch._replace(error=followed.refused or "too many redirects")
    if response.status != 200:
        return None, fetch._replace(error=f"HTTP {response.status}")
    if response.is_too_large:
        return None, fetch._replace(error="too large")
    try:
        members = json.loads(response.body)
    except (ValueError, RecursionError):
        return None, fetch._replace(error="not JSON")
    return (members, fetch) if isinstance(members, dict) else (None, fetch._replace(error="not a JSON object"))


def _resource(members: dict[str, Any], url: str) -> PublishedResource:
    identifier = members.get("resource")
    if not isinstance(identifier, str):
        return PublishedResource(is_matching=False)
    return PublishedResource(cropped(redacted_url(identifier)), is_within(url, identifier))


def _named_issuers(members: dict[str, Any] | None) -> list[str]:
    """The authorization servers that resource metadata names."""
    listed = (members or {}).get("authorization_servers")
    return [each for each in listed if isinstance(each, str)][:MOST_SERVERS] if isinstance(listed, list) else []


def _named_issuer(issuer: str) -> NamedIssuer:
    from urllib.parse import urlsplit

    try:
        parts = urlsplit(issuer)
        host = parts.hostname or ""
    except ValueError:
        return NamedIssuer(cropped(redacted_text(issuer)), scheme="")
    odd = {"userinfo": parts.username is not None, "query": parts.query, "fragment": parts.fragment}
    return NamedIssuer(
        url=cropped(redacted_url(issuer)),
        scheme=parts.scheme,
        is_loopback=is_this_machine(host),
        odd_parts=tuple(part for part, is_there in odd.items() if is_there),
    )


def _issuer(members: dict[str, Any]) -> PublishedIssuer:
    def place(key: str) -> str:
        value = members.get(key)
        return cropped(redacted_url(value)) if isinstance(value, str) else ""

    return PublishedIssuer(
        issuer=place("issuer"),
        token_endpoint=place("token_endpoint"),
        jwks_uri=place("jwks_uri"),
        code_challenge_methods=_words(members.get("code_challenge_methods_supported")),
        grant_types=_words(members.get("grant_types_supported")),
    )


def _words(value: Any) -> tuple[str, ...]:
    """The strings of a list."""
    listed = value if isinstance(value, list) else []
    return tuple(cropped(each) for each in listed[:MOST_WORDS] if isinstance(each, str))

"""Authorization facts: what a server that refuses access publishes about how to get it."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Mapping


class MetadataFetch(NamedTuple):
    """One request for a metadata document."""

    url: str
    """Without secrets."""
    status: int | None = None
    """None without a response."""
    content_type: str = ""
    error: str = ""
    """Why there is no document; empty if there is one."""


class PublishedResource(NamedTuple):
    """The parts of protected-resource metadata (RFC 9728) that rules judge."""

    resource: str = ""
    """The resource identifier; empty if it has none."""
    is_matching: bool = True
    """Whether the identifier is that of the server, or of a path above it."""


class NamedIssuer(NamedTuple):
    """The URL of an authorization server, as a server names it."""

    url: str
    """Without secrets."""
    scheme: str = "https"
    is_loopback: bool = False
    odd_parts: tuple[str, ...] = ()
    """Parts that no issuer may have: `userinfo`, `query`, `fragment`."""


class PublishedIssuer(NamedTuple):
    """The parts of authorization-server metadata (RFC 8414, OpenID Connect Discovery) that rules judge."""

    issuer: str
    token_endpoint: str = ""
    jwks_uri: str = ""
    code_challenge_methods: tuple[str, ...] = ()
    grant_types: tuple[str, ...] = ()


class AuthorizationFacts(NamedTuple):
    """What a server that responded with HTTP 401 or 403 publishes about authorization."""

    status: int = 401
    challenge: str = ""
    """The value of `WWW-Authenticate`, without secrets; empty without the header."""
    resource_metadata_hint: str = ""
    """The URL of the metadata that the challenge names."""
    is_loopback: bool = False
    """Whether the server is on this machine, where http is allowed."""
    resource: PublishedResource | None = None
    issuers: tuple[NamedIssuer, ...] = ()
    """The authorization servers whose metadata was requested."""
    are_issuers_named: bool = True
    """Whether the resource metadata names them; else the server itself is asked, as in revision 2025-03-26."""
    servers: tuple[PublishedIssuer, ...] = ()
    """The metadata documents that were found and belong to their issuer."""
    fetches: tuple[MetadataFetch, ...] = ()

    @property
    def unobserved(self) -> Mapping[str, str]:
        """The rules that could not be judged, with the reason."""
        reasons = {}
        if not self.servers:
            for rule in DOCUMENT_RULES:
                reasons[rule] = "no metadata of an authorization server was found"
        if not (self.issuers and self.are_issuers_named):
            reasons["auth_issuer_uses_https"] = "no authorization server is named"
        if self.resource is None:
            reasons["TRU-504"] = "no resource metadata was found"
        return reasons


DOCUMENT_RULES = (
    "auth_supports_pkce_s256",
    "auth_no_insecure_grant_types",
    "auth_advertises_token_endpoint",
    "auth_advertises_jwks_uri",
)
"""Rules about the metadata documents of authorization servers."""

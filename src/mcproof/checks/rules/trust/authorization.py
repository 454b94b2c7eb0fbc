"""Rules about the authorization of a server that refuses access without credentials (HTTP 401 or 403)."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

from mcproof.checks.findings import Problem
from mcproof.checks.rules.trust.rule import trust_rule
from mcproof.core.observations.perimeter import AuthorizationFacts

INSECURE_GRANTS = ("password", "implicit")
_authorization_rule = partial(
    trust_rule,
    AuthorizationFacts,
    category="authorization",
    dimension="Auth discovery posture",
    phase="auth-required",
)


@_authorization_rule("auth_supports_pkce_s256", "no-pkce", "high", weight=6)
def auth_supports_pkce_s256(facts: AuthorizationFacts) -> Iterator[Problem]:
    """The metadata of an authorization server does not list PKCE with S256.

    Why: MCP clients must refuse to log in without it; a stolen code could be exchanged for a token (RFC 7636).
    Fix: add `S256` to `code_challenge_methods_supported`.
    """
    missing = [server.issuer for server in facts.servers if "S256" not in server.code_challenge_methods]
    if missing:
        advertised = {server.issuer: list(server.code_challenge_methods) for server in facts.servers}
        yield Problem(
            f"PKCE with S256 is not advertised by {_listed(missing)}",
            evidence={"missing": missing, "advertised": advertised},
        )


@_authorization_rule("auth_no_insecure_grant_types", "insecure-grant-type", "high", weight=6)
def auth_no_insecure_grant_types(facts: AuthorizationFacts) -> Iterator[Problem]:
    """An authorization server offers the grant type `password` or `implicit`.

    Why: both hand tokens or passwords to places where others can read them; OAuth 2.1 has removed them.
    Fix: offer `authorization_code` with PKCE and `refresh_token` only.

    Metadata without `grant_types_supported` passes, although RFC 8414 then assumes `implicit`.
    """
    grants = list(
        dict.fromkeys(grant for server in facts.servers for grant in server.grant_types if grant in INSECURE_GRANTS)
    )
    if grants:
        yield Problem(f"offers the grant type {_listed(grants)}", evidence={"insecureGrantTypes": grants})


@_authorization_rule("auth_issuer_uses_https", "insecure-issuer", "high", weight=6)
def auth_issuer_uses_https(facts: AuthorizationFacts) -> Iterator[Problem]:
    """An authorization server is not an https URL, or has a login, a query or a fragment.

    Why: whoever can change the metadata on the way gets the tokens; RFC 8414 allows only a plain https URL.
    Fix: name the issuer as an https URL without a login, a query and a fragment.

    On this machine, http is allowed for an issuer on this machine.
    """
    if not facts.are_issuers_named:
        return
    invalid = []
    for issuer in facts.issuers:
        is_local = issuer.scheme == "http" and issuer.is_loopback and facts.is_loopback
        if issuer.odd_parts or not (issuer.scheme == "https" or is_local):
            invalid.append(issuer.url)
    if invalid:
        yield Problem(f"the issuer is not a plain https URL: {_listed(invalid)}", evidence={"invalidIssuers": invalid})


@_authorization_rule("auth_discovery_advertised_when_required", "no-auth-discovery", "medium", weight=5)
def auth_discovery_advertised_when_required(facts: AuthorizationFacts) -> Iterator[Problem]:
    """The server refuses access, but does not tell clients how to get it.

    Why: a client that finds neither `WWW-Authenticate` nor resource metadata cannot log in.
    Fix: respond with HTTP 401 and `WWW-Authenticate: Bearer resource_metadata="…"` (RFC 9728).
    """
    if not facts.challenge and facts.resource is None:
        yield Problem(
            f"responds with HTTP {facts.status}, without `WWW-Authenticate` and without resource metadata",
            evidence={"authRequired": True, "wwwAuthenticate": None, "prmDiscovered": False},
        )


@_authorization_rule(
    "auth_advertises_protected_resource_metadata",
    "no-resource-metadata",
    "medium",
    weight=4,
    chosen=("severity", "weight"),
)
def auth_advertises_protected_resource_metadata(facts: AuthorizationFacts) -> Iterator[Problem]:
    """The server publishes no protected-resource metadata.

    Why: MCP requires it since 2025-06-18; without it, clients guess the authorization server.
    Fix: serve `/.well-known/oauth-protected-resource` (RFC 9728), and name its URL in `WWW-Authenticate`.
    """
    if not facts.resource_metadata_hint and facts.resource is None:
        yield Problem(
            "no `resource_metadata` in the challenge, and no document at the well-known places",
            evidence={"authRequired": True, "resourceMetadataHint": None, "prmDiscovered": False},
        )


@_authorization_rule("auth_authorization_server_metadata_present", "no-authorization-server-metadata", "low", weight=3)
def auth_authorization_server_metadata_present(facts: AuthorizationFacts) -> Iterator[Problem]:
    """No authorization server of the server publishes metadata.

    Why: clients do not find its endpoints, and cannot log in.
    Fix: serve `/.well-known/oauth-authorization-server` (RFC 8414) or `/.well-known/openid-configuration`.

    A document that names another issuer does not count (RFC 8414, section 3.3). A server that names no authorization
    server is asked itself, as in revision 2025-03-26.
    """
    if not facts.servers:
        issuers = [issuer.url for issuer in facts.issuers]
        reasons = {fetch.url: fetch.error for fetch in facts.fetches if fetch.error}
        evidence: dict[str, Any] = {"issuers": issuers, "parsedAny": False, "errors": reasons}
        yield Problem(f"no metadata of {_listed(issuers) or 'an authorization server'}", evidence=evidence)


@_authorization_rule("auth_advertises_token_endpoint", "no-token-endpoint", "low", weight=2)
def auth_advertises_token_endpoint(facts: AuthorizationFacts) -> Iterator[Problem]:
    """No authorization server names its token endpoint.

    Why: clients cannot get a token.
    Fix: add `token_endpoint` to the metadata of the authorization server.
    """
    if facts.servers and not any(server.token_endpoint for server in facts.servers):
        yield Problem("no authorization server names a `token_endpoint`", evidence={"tokenEndpoints": []})


@_authorization_rule("auth_advertises_jwks_uri", "no-jwks-uri", "low", weight=2)
def auth_advertises_jwks_uri(facts: AuthorizationFacts) -> Iterator[Problem]:
    """No authorization server names its keys.

    Why: without its keys, every check of a token is a request to it.
    Fix: add `jwks_uri` to the metadata of the authorization server.
    """
    if facts.servers and not any(server.jwks_uri for server in facts.servers):
        yield Problem("no authorization server names a `jwks_uri`", evidence={"jwksUris": []})


@_authorization_rule("TRU-504", "foreign-resource", "high", chosen=("severity", "weight"))
def foreign_resource(facts: AuthorizationFacts) -> Iterator[Problem]:
    """The resource metadata of the server is for another resource.

    Why: a client that uses it requests tokens for another server and sends them to this one; RFC 9728 forbids it.
    Fix: set `resource` to the URL of the MCP endpoint, exactly as clients use it.

    The origin of the server, or a path above the endpoint, is accepted. An id and severity of mcproof's own.
    """
    if facts.resource is not None and not facts.resource.is_matching:
        named = f"`{facts.resource.resource}`" if facts.resource.resource else "nothing"
        yield Problem(f"`resource` in the metadata is {named}", evidence={"resource": facts.resource.resource or None})


def _listed(values: list[str]) -> str:
    """The first few values."""
    more = f" and {len(values) - 3} more" if len(values) > 3 else ""
    return ", ".join(f"`{value}`" for value in values[:3]) + more

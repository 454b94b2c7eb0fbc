"""Authorization-server metadata (RFC 8414, OpenID Connect Discovery)."""

from __future__ import annotations

from typing import Any, NamedTuple

from mcproof.client.auth.fetching import first_document
from mcproof.client.auth.resource_metadata import scopes_of
from mcproof.client.auth.safe_urls import checked_url, is_same_issuer, origin_of
from mcproof.client.failures import AuthorizationError
from mcproof.client.secrets import redacted_url
from mcproof.core.observations.connection import cropped

_OAUTH = "/.well-known/oauth-authorization-server"
_OPENID = "/.well-known/openid-configuration"
_ISSUER_METADATA = "the metadata of the authorization server"


class AuthorizationServer(NamedTuple):
    """The endpoints and the abilities of an authorization server."""

    issuer: str
    token_endpoint: str
    authorization_endpoint: str = ""
    registration_endpoint: str = ""
    """Empty if clients cannot register themselves."""
    revocation_endpoint: str = ""
    """Where tokens are revoked (RFC 7009), not checked yet; empty if they cannot be."""
    authentication_methods: tuple[str, ...] = ("client_secret_basic",)
    """How clients authenticate at the token endpoint."""
    signing_algorithms: tuple[str, ...] = ()
    """The algorithms of signed assertions; empty if unknown."""
    scope: str = ""
    """All scopes that it supports, separated by spaces."""
    reads_client_documents: bool = False
    """Whether the URL of a client metadata document is a client id."""
    sends_issuer: bool = False
    """Whether every authorization response has `iss` (RFC 9207)."""
    supports_s256: bool = True
    """Whether it supports PKCE with S256."""


async def find_server(issuer: str) -> AuthorizationServer | None:
    """The metadata of an authorization server; None if there is none. Raises AuthorizationError if it is invalid."""
    document = await first_document(metadata_places(issuer), _ISSUER_METADATA)
    return None if document is None else _parsed_issuer(document, issuer)


def server_without_metadata(origin: str) -> AuthorizationServer:
    """The authorization server of an MCP server of revision 2025-03-26 that publishes no metadata."""
    return AuthorizationServer(
        issuer=origin,
        token_endpoint=f"{origin}/token",
        authorization_endpoint=f"{origin}/authorize",
        registration_endpoint=f"{origin}/register",
        authentication_methods=("none", "client_secret_basic", "client_secret_post"),
    )


def metadata_places(issuer: str) -> list[str]:
    """Where the metadata of an issuer may be, in the order of the MCP specification."""
    from urllib.parse import urlsplit

    origin, path = str(origin_of(issuer)), urlsplit(issuer).path.rstrip("/")
    if not path:
        return [f"{origin}{_OAUTH}", f"{origin}{_OPENID}"]
    return [f"{origin}{_OAUTH}{path}", f"{origin}{_OPENID}{path}", f"{origin}{path}{_OPENID}"]


def _parsed_issuer(document: dict[str, Any], issuer: str) -> AuthorizationServer:
    named = document.get("issuer")
    if not isinstance(named, str) or not is_same_issuer(named, issuer):
        shown = cropped(redacted_url(named)) if isinstance(named, str) else "nothing"
        raise AuthorizationError(f"{_ISSUER_METADATA} is for another issuer: {shown}, not {redacted_url(issuer)}")

    def endpoint(key: str, *, is_required: bool = False) -> str:
        return (
            checked_url(document.get(key), f"`{key}` in {_ISSUER_METADATA}") if is_required or key in document else ""
        )

    return AuthorizationServer(
        issuer=named,
        token_endpoint=endpoint("token_endpoint", is_required=True),
        authorization_endpoint=endpoint("authorization_endpoint"),
        registration_endpoint=endpoint("registration_endpoint"),
        revocation_endpoint=_text(document.get("revocation_endpoint")),
        authentication_methods=_words(document.get("token_endpoint_auth_methods_supported"))
        or AuthorizationServer._field_defaults["authentication_methods"],
        signing_algorithms=_words(document.get("token_endpoint_auth_signing_alg_values_supported")),
        scope=scopes_of(document.get("scopes_supported")),
        reads_client_documents=document.get("client_id_metadata_document_supported") is True,
        sends_issuer=document.get("authorization_response_iss_parameter_supported") is True,
        supports_s256="S256" in _words(document.get("code_challenge_methods_supported")),
    )


def _text(value: Any) -> str:
    return value if isinstance(value, str) else ""


def _words(value: Any) -> tuple[str, ...]:
    return tuple(each for each in value if isinstance(each, str)) if isinstance(value, list) else ()

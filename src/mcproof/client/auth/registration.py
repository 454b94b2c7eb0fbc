"""The OAuth client that mcproof is to an authorization server: registered before, by a document, or dynamically."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any, NamedTuple

from mcproof.client.auth.fetching import post_json
from mcproof.client.failures import AuthorizationError
from mcproof.client.secrets import learn_secret, redacted_url
from mcproof.core.observations.connection import cropped

if TYPE_CHECKING:
    from mcproof.client.auth.access_options import AccessOptions
    from mcproof.client.auth.issuer_metadata import AuthorizationServer

LONGEST_ID = 2_000
_REGISTRATION_ENDPOINT = "the registration endpoint"
_SIGNED = "private_key_jwt"


class OAuthClient(NamedTuple):
    """A client, and how it authenticates at the token endpoint."""

    id: str
    method: str = "none"
    """The value of `token_endpoint_auth_method`."""
    secret: str = ""
    """The secret of a dynamic registration; that of a registered client stays in the environment."""
    variable: str = ""
    """The environment variable with the secret or the private key of a registered client."""
    port: int = 0
    """The port of the redirect URI that a dynamic registration is for; 0 for any."""

    @property
    def credential(self) -> str:
        """The secret or the private key. Raises AuthorizationError if its variable is not set."""
        return environment_value(self.variable) if self.variable else self.secret


def environment_value(name: str) -> str:
    """The value of a variable with a secret, which is hidden from now on."""
    value = os.environ.get(name, "")
    if not value:
        raise AuthorizationError(f"the environment variable {name} is not set")
    learn_secret(value)
    return value


def configured_client(server: AuthorizationServer, options: AccessOptions) -> OAuthClient | None:
    """The client that the user names, if the authorization server can know it."""
    if not options.client_id:
        return None
    if _is_document(options.client_id):
        return OAuthClient(options.client_id) if server.reads_client_documents else None
    if options.key_variable:
        environment_value(options.key_variable)
        return OAuthClient(options.client_id, _SIGNED, variable=options.key_variable)
    if options.secret_variable:
        environment_value(options.secret_variable)
        return OAuthClient(options.client_id, _secret_method(server), variable=options.secret_variable)
    return OAuthClient(options.client_id)


def _is_document(client_id: str) -> bool:
    return client_id.startswith("https://")


def _secret_method(server: AuthorizationServer) -> str:
    """How a client with a secret authenticates."""
    methods = server.authentication_methods
    takes_post_only = "client_secret_post" in methods and "client_secret_basic" not in methods
    return "client_secret_post" if takes_post_only else "client_secret_basic"


async def register(server: AuthorizationServer, redirect_uri: str, port: int) -> OAuthClient:
    """Register a client dynamically (RFC 7591)."""
    if not server.registration_endpoint:
        raise AuthorizationError(
            f"the authorization server {redacted_url(server.issuer)} registers no clients: register mcproof there, "
            "and use `--client-id ID`, with `--client-secret-env NAME` if it has a secret"
        )
    preferred = ("none", "client_secret_basic", "client_secret_post")
    method = next((each for each in preferred if each in server.authentication_methods), "none")
    reply = await post_json(
        server.registration_endpoint,
        _REGISTRATION_ENDPOINT,
        {
            "client_name": "mcproof",
            "redirect_uris": [redirect_uri],
            "grant_types": ["authorization_code", "refresh_token"],
            "response_types": ["code"],
            "token_endpoint_auth_method": method,
            "application_type": "native",
        },
    )
    if reply.status not in (200, 201):
        raise AuthorizationError(
            f"{_REGISTRATION_ENDPOINT} refuses mcproof: {oauth_error(reply.status, reply.members)}"
        )
    return _registered(reply.members, server, method, port)


def _registered(members: dict[str, Any], server: AuthorizationServer, method: str, port: int) -> OAuthClient:
    client_id, secret = members.get("client_id"), members.get("client_secret")
    if not isinstance(client_id, str) or not 0 < len(client_id) <= LONGEST_ID:
        raise AuthorizationError(f"{_REGISTRATION_ENDPOINT} returns no `client_id`")
    granted = members.get("token_endpoint_auth_method")
    if isinstance(granted, str):
        method = granted
    if not isinstance(secret, str) or not secret:
        if method != "none":
            raise AuthorizationError(f"{_REGISTRATION_ENDPOINT} returns no secret for the method {cropped(method)}")
        return OAuthClient(client_id, port=port)
    learn_secret(secret)
    if method not in ("client_secret_basic", "client_secret_post"):
        method = "none" if "none" in server.authentication_methods else _secret_method(server)
    return OAuthClient(client_id, method, secret, port=port)


def oauth_error(status: int, members: dict[str, Any]) -> str:
    """The error of an OAuth response as text: its code and description, or the HTTP status."""
    code, description = members.get("error"), members.get("error_description")
    if not isinstance(code, str):
        return f"HTTP {status}"
    return cropped(f"{code} ({description})" if isinstance(description, str) and description else code)

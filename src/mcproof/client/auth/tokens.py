"""Requests to the token endpoint: a code, a refresh token or the client's own credentials for an access token."""

from __future__ import annotations

from time import time
from typing import Any, NamedTuple

from mcproof.client.auth.fetching import post_form
from mcproof.client.auth.issuer_metadata import AuthorizationServer, find_server
from mcproof.client.auth.oauth_clients import OAuthClient, oauth_error
from mcproof.client.auth.safe_urls import checked_url
from mcproof.client.auth.signed_assertions import signed_assertion
from mcproof.client.failures import AuthorizationError
from mcproof.client.secrets import learn_secret
from mcproof.core.observations.connection import cropped

LONGEST_TOKEN = 65_536
EARLY = 10
"""How many seconds before its end a token counts as expired."""
_WHAT, _REVOCATION = "the token endpoint", "the revocation endpoint"
_ASSERTION = "urn:ietf:params:oauth:client-assertion-type:jwt-bearer"


class AccessToken(NamedTuple):
    """A token, and what it was requested with."""

    value: str
    issuer: str
    token_endpoint: str
    client: OAuthClient
    resource: str
    requested: str
    """The scopes that were requested, separated by spaces."""
    granted: str
    """The scopes that were granted."""
    expires_at: float | None = None
    """In seconds since 1970; None if unknown."""
    refresh_token: str = ""

    @property
    def is_expired(self) -> bool:
        return self.expires_at is not None and time() > self.expires_at - EARLY


class Grant(NamedTuple):
    """What a token is requested with."""

    server: AuthorizationServer
    client: OAuthClient
    resource: str
    scope: str


async def exchange_code(grant: Grant, code: str, verifier: str, redirect_uri: str) -> AccessToken:
    """The token for an authorization code."""
    learn_secret(code)
    form = {
        "grant_type": "authorization_code",
        "code": code,
        "code_verifier": verifier,
        "redirect_uri": redirect_uri,
    }
    return await _requested_token(grant, form)


async def use_client_credentials(grant: Grant) -> AccessToken:
    """A token for the client itself."""
    scope = {"scope": grant.scope} if grant.scope else {}
    return await _requested_token(grant, {"grant_type": "client_credentials", **scope})


async def refresh(token: AccessToken) -> AccessToken:
    """A new token for an expired one, from the authorization server that issued it."""
    server = AuthorizationServer(token.issuer, token.token_endpoint)
    grant = Grant(server, token.client, token.resource, token.requested)
    new = await _requested_token(grant, {"grant_type": "refresh_token", "refresh_token": token.refresh_token})
    return new._replace(refresh_token=new.refresh_token or token.refresh_token, granted=new.granted or token.granted)


async def revoke(token: AccessToken) -> bool:
    """Revoke a token and its refresh token (RFC 7009); whether the authorization server offers that.

    Raises AuthorizationError if it refuses. Revoking a refresh token ends the access token with it, so a refusal of
    the latter, which servers need not support, is not an error then.
    """
    server = await find_server(token.issuer)
    if server is None or not server.revocation_endpoint:
        return False
    endpoint = checked_url(server.revocation_endpoint, f"`revocation_endpoint` of {token.issuer}")
    headers, members = _authentication(Grant(server, token.client, token.resource, token.requested))
    has_refresh_token = bool(token.refresh_token)
    for hint, value in (("refresh_token", token.refresh_token), ("access_token", token.value)):
        if value:
            form = {"token": value, "token_type_hint": hint, **members}
            reply = await post_form(endpoint, _REVOCATION, form, headers)
            is_needed = hint == "refresh_token" or not has_refresh_token
            if reply.status != 200 and is_needed:
                raise AuthorizationError(f"{_REVOCATION} refuses: {oauth_error(reply.status, reply.members)}")
    return True


async def _requested_token(grant: Grant, form: dict[str, str]) -> AccessToken:
    headers, members = _authentication(grant)
    body = {**form, "resource": grant.resource, **members}
    reply = await post_form(grant.server.token_endpoint, _WHAT, body, headers)
    if reply.status != 200:
        raise AuthorizationError(f"{_WHAT} refuses the request: {oauth_error(reply.status, reply.members)}")
    return _parsed(reply.members, grant)


def _authentication(grant: Grant) -> tuple[dict[str, str], dict[str, str]]:
    """The headers and the members of the form with which the client authenticates."""
    from base64 import b64encode
    from urllib.parse import quote_plus

    client = grant.client
    if client.method == "client_secret_basic":
        pair = f"{quote_plus(client.id)}:{quote_plus(client.credential)}"
        learn_secret(coded := b64encode(pair.encode()).decode())
        # The header is enough, but some servers, such as those of the official SDK, look for the id in the form.
        return {"Authorization": f"Basic {coded}"}, {"client_id": client.id}
    if client.method == "client_secret_post":
        return {}, {"client_id": client.id, "client_secret": client.credential}
    if client.method == "private_key_jwt":
        server = grant.server
        assertion = signed_assertion(
            client.id, server.issuer, client.credential, client.variable, server.signing_algorithms
        )
        learn_secret(assertion)
        return {}, {"client_id": client.id, "client_assertion_type": _ASSERTION, "client_assertion": assertion}
    return {}, {"client_id": client.id}


def _parsed(members: dict[str, Any], grant: Grant) -> AccessToken:
    value, kind = members.get("access_token"), members.get("token_type")
    if not isinstance(value, str) or not _is_sendable(value):
        raise AuthorizationError(f"{_WHAT} returns no usable `access_token`")
    learn_secret(value)
    if isinstance(kind, str) and kind.lower() != "bearer":
        raise AuthorizationError(f"{_WHAT} returns a token of the type {cropped(kind)}; mcproof supports Bearer")
    refresh_token = members.get("refresh_token")
    if isinstance(refresh_token, str):
        learn_secret(refresh_token)
    granted = members.get("scope")
    lifetime = members.get("expires_in")
    is_limited = isinstance(lifetime, (int, float)) and not isinstance(lifetime, bool) and 0 <= lifetime < 1e10
    return AccessToken(
        value=value,
        issuer=grant.server.issuer,
        token_endpoint=grant.server.token_endpoint,
        client=grant.client,
        resource=grant.resource,
        requested=grant.scope,
        granted=granted if isinstance(granted, str) else grant.scope,
        expires_at=time() + float(lifetime) if is_limited and lifetime is not None else None,
        refresh_token=refresh_token if isinstance(refresh_token, str) else "",
    )


def _is_sendable(value: str) -> bool:
    """Whether a token fits into a header."""
    return 0 < len(value) <= LONGEST_TOKEN and all("!" <= each <= "~" for each in value)

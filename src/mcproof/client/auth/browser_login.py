"""Authorization code with PKCE: a user logs in with a browser."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING, NamedTuple

from mcproof.client.auth.advice import WITHOUT_BROWSER
from mcproof.client.auth.callback import listening
from mcproof.client.auth.challenges import joined_scopes
from mcproof.client.auth.oauth_clients import configured_client, oauth_error, register
from mcproof.client.auth.token_requests import Grant, exchange_code
from mcproof.client.failures import AuthorizationError
from mcproof.client.secrets import redacted_url
from mcproof.core.console import tell
from mcproof.core.observations.connection import cropped

if TYPE_CHECKING:
    from mcproof.client.auth.access_options import AccessOptions
    from mcproof.client.auth.issuer_metadata import AuthorizationServer
    from mcproof.client.auth.oauth_clients import OAuthClient
    from mcproof.client.auth.token_requests import AccessToken

LOGIN_SECONDS = 300.0
"""How long a user may take to log in."""
OFFLINE = "offline_access"
"""The scope of refresh tokens, where the authorization server has one."""


class LoginRequest(NamedTuple):
    """What a user is asked to grant."""

    server: AuthorizationServer
    resource: str
    scope: str
    options: AccessOptions
    known: OAuthClient | None = None
    """The client of an earlier registration with this authorization server."""


async def log_in(request: LoginRequest) -> AccessToken:
    """Open the browser, wait for the authorization response, and get the token."""
    from secrets import token_urlsafe

    server = request.server
    _refuse_impossible(server)
    state, verifier = token_urlsafe(32), token_urlsafe(48)
    scope = (
        joined_scopes(request.scope, OFFLINE) if OFFLINE in server.scope.split() and request.scope else request.scope
    )
    known = 0 if request.known is None else request.known.port
    wanted = request.options.callback_port
    async with listening(state, wanted or known, is_required=bool(wanted)) as callback:
        client = await _client(request, callback.redirect_uri, callback.port)
        parameters = {
            "response_type": "code",
            "client_id": client.id,
            "redirect_uri": callback.redirect_uri,
            "state": state,
            "code_challenge": _challenge(verifier),
            "code_challenge_method": "S256",
            "resource": request.resource,
            **({"scope": scope} if scope else {}),
        }
        url = _with_query(server.authorization_endpoint, parameters)
        tell(f"log in with your browser: {url}")
        _open(url)
        response = await callback.response(LOGIN_SECONDS)
        redirect_uri = callback.redirect_uri
    code = _code(response, server)
    return await exchange_code(Grant(server, client, request.resource, scope), code, verifier, redirect_uri)


def _refuse_impossible(server: AuthorizationServer) -> None:
    if not server.authorization_endpoint:
        raise AuthorizationError(
            f"the authorization server {redacted_url(server.issuer)} has no `authorization_endpoint`; "
            "use `--client-id ID --client-secret-env NAME`"
        )
    if not server.supports_s256:
        raise AuthorizationError(f"the authorization server {redacted_url(server.issuer)} does not support PKCE (S256)")
    if not can_log_in():
        raise AuthorizationError(
            f"no terminal to log in from, and no BROWSER that opens the address; use {WITHOUT_BROWSER}"
        )


def can_log_in() -> bool:
    """Whether a user can see the address to log in at, or a program is named that opens it."""
    return bool(os.environ.get("BROWSER")) or (sys.stderr is not None and sys.stderr.isatty())


async def _client(request: LoginRequest, redirect_uri: str, port: int) -> OAuthClient:
    """The client to log in with: one that the user names, a known one for this port, or a new one."""
    configured = configured_client(request.server, request.options)
    if configured is not None:
        return configured
    if request.known is not None and request.known.port == port:
        return request.known
    return await register(request.server, redirect_uri, port)


def _challenge(verifier: str) -> str:
    from base64 import urlsafe_b64encode
    from hashlib import sha256

    return urlsafe_b64encode(sha256(verifier.encode()).digest()).decode().rstrip("=")


def _with_query(endpoint: str, parameters: dict[str, str]) -> str:
    from urllib.parse import urlencode

    return f"{endpoint}{'&' if '?' in endpoint else '?'}{urlencode(parameters)}"


def _open(url: str) -> None:
    """Open a URL in the browser, in a thread of its own: some browsers return only when they are closed."""
    import threading
    import webbrowser

    threading.Thread(target=webbrowser.open, args=(url,), daemon=True).start()


def _code(response: dict[str, str], server: AuthorizationServer) -> str:
    """The code in an authorization response, after the checks of its issuer (RFC 9207)."""
    issuer = response.get("iss")
    if issuer is None and server.sends_issuer:
        raise AuthorizationError("the authorization response has no `iss`, which the authorization server declares")
    if issuer is not None and issuer != server.issuer:
        raise AuthorizationError(
            f"the authorization response is from another issuer: {cropped(redacted_url(issuer))}, "
            f"not {redacted_url(server.issuer)}"
        )
    if "error" in response:
        raise AuthorizationError(f"the authorization server refuses: {oauth_error(400, dict(response))}")
    if not response.get("code"):
        raise AuthorizationError("the authorization response has no `code`")
    return response["code"]

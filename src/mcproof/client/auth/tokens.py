"""Access tokens: requested from the token endpoint, refreshed, revoked, and stored for one user.

A stored token is a file that only its user can read, one for each server, in the user's state folder; so is the
authorization server that the user has confirmed for a server.
"""

from __future__ import annotations

import json
import os
import stat
from time import time
from typing import Any

from mcproof.client.auth.registration import (
    AuthorizationServer,
    OAuthClient,
    find_server,
    oauth_error,
    signed_assertion,
)
from mcproof.client.errors import AuthorizationError
from mcproof.client.http.fetch import post_form
from mcproof.client.http.policy import canonical_url, checked_url
from mcproof.client.redaction import learn_secret, redacted_url
from mcproof.core.errors import WriteError, reason_of
from mcproof.core.named_tuple import NamedTuple
from mcproof.core.observations.connection import cropped
from mcproof.core.text.files import state_folder, write_private_file

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
    learn_secret(verifier)
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
        # Both are form-encoded before they are joined (RFC 6749, section 2.3.1).
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
    if not isinstance(refresh_token, str) or not _is_sendable(refresh_token):
        refresh_token = ""
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
        refresh_token=refresh_token,
    )


def _is_sendable(value: str) -> bool:
    """Whether a token consists of the characters of a token, and fits into a header."""
    return 0 < len(value) <= LONGEST_TOKEN and all("!" <= character <= "~" for character in value)


FORMAT = 1
LARGEST_FILE = 1024 * 1024
_PRIVATE = 0o077


def _folder() -> str:
    return os.path.join(state_folder(), "tokens")


def _key(url: str) -> str:
    from hashlib import sha256

    return sha256(canonical_url(url).encode(errors="replace")).hexdigest()[:32]


def token_file(url: str) -> str:
    """The file with the token for a server."""
    return os.path.join(_folder(), f"{_key(url)}.json")


def load_token(url: str) -> AccessToken | None:
    """The stored token for a server; None if there is none. Raises AuthorizationError if others can read its file."""
    document = _read(token_file(url))
    return None if document is None else _stored_token(document, _key(url))


def save_token(url: str, token: AccessToken) -> None:
    """Store the token for a server. Raises WriteError."""
    _write(token_file(url), url, {**token._asdict(), "client": token.client._asdict()})


def _consent_file(url: str) -> str:
    return os.path.join(state_folder(), "consents", f"{_key(url)}.json")


def consented_issuer(url: str) -> str | None:
    """The authorization server that the user has confirmed for a server; None if there is none.

    Raises AuthorizationError if others can write the file.
    """
    document = _read(_consent_file(url)) or {}
    issuer = document.get("issuer")
    return issuer if document.get("key") == _key(url) and isinstance(issuer, str) else None


def save_consent(url: str, issuer: str) -> None:
    """Remember an authorization server that the user has confirmed for a server. Raises WriteError."""
    _write(_consent_file(url), url, {"issuer": issuer})


def _write(name: str, url: str, members: dict[str, Any]) -> None:
    folder = os.path.dirname(name)
    try:
        os.makedirs(folder, mode=0o700, exist_ok=True)
        if os.name == "posix":
            # `makedirs` leaves a folder that exists as it is.
            os.chmod(folder, 0o700)
    except OSError as error:
        raise WriteError(f"cannot be written: {reason_of(error)}", file=folder) from None
    document = {"format": FORMAT, "key": _key(url), "url": redacted_url(canonical_url(url)), **members}
    write_private_file(name, json.dumps(document, indent=2).encode())


def delete_token(url: str) -> bool:
    """Delete the token for a server, and what the user has confirmed for it; whether there was a token."""
    # What was confirmed for a login goes with it, so that the next one asks again.
    _delete(_consent_file(url))
    return _delete(token_file(url))


def _delete(name: str) -> bool:
    try:
        os.unlink(name)
    except FileNotFoundError:
        return False
    except OSError as error:
        raise WriteError(f"cannot be deleted: {reason_of(error)}", file=name) from None
    return True


def stored_tokens() -> list[tuple[str, AccessToken]]:
    """All stored tokens with the URLs of their servers, without secrets, in order."""
    try:
        names = sorted(os.listdir(_folder()))
    except OSError:  # no login has created the folder yet
        return []
    tokens = []
    for name in names:
        document = _read(os.path.join(_folder(), name)) if name.endswith(".json") else None
        token = None if document is None else _stored_token(document, name.removesuffix(".json"))
        if document is not None and token is not None:
            tokens.append((str(document.get("url")), token))
    return sorted(tokens, key=lambda entry: entry[0])


def _read(name: str) -> dict[str, Any] | None:
    try:
        # Not through a link: whoever can place one could have another file sent as a token.
        descriptor = os.open(name, os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0))
    except FileNotFoundError:
        return None
    except OSError as error:
        raise AuthorizationError(f"the stored token cannot be read: {name}: {reason_of(error)}") from None
    with open(descriptor, "rb") as file:
        # Of the open file: by now, the name may stand for another.
        status = os.fstat(file.fileno())
        if os.name == "posix" and (status.st_uid != os.geteuid() or stat.S_IMODE(status.st_mode) & _PRIVATE):
            raise AuthorizationError(f"the stored token is not private: delete {name}, and log in again")
        try:
            document = json.loads(file.read(LARGEST_FILE))
        except (ValueError, RecursionError):  # damaged, which a new login repairs
            return None
    return document if isinstance(document, dict) and document.get("format") == FORMAT else None


def _stored_token(document: dict[str, Any], key: str) -> AccessToken | None:
    """The token in a document, if it belongs to the file with this key."""
    # A file that was copied or renamed must not send its token to another server.
    if document.get("key") != key or not isinstance(document.get("client"), dict):
        return None
    try:
        client = OAuthClient(**document["client"])
        token = AccessToken(**{name: document[name] for name in AccessToken._fields if name != "client"}, client=client)
    except (KeyError, TypeError):  # of another version: a new login replaces it
        return None
    for secret in (token.value, token.refresh_token, client.secret):
        learn_secret(secret)
    return token

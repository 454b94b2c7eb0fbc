"""The authorization that a server requires: a stored token, a refreshed one, or a new login; and logging out.

One authorizer serves all connections of an event loop to a server. Only `auth login` and `--login` ask a user.
Why it works between two attempts of a request: docs/decisions/0037-authorization-between-attempts.md.
"""

from __future__ import annotations

import asyncio
import os
import sys
from datetime import UTC, datetime
from time import monotonic
from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary

from mcproof.client.auth.login import LoginRequest, log_in
from mcproof.client.auth.registration import (
    AuthorizationServer,
    Challenge,
    ProtectedResource,
    bearer_challenge,
    configured_client,
    find_resource,
    find_server,
    joined_scopes,
    server_without_metadata,
)
from mcproof.client.auth.tokens import (
    AccessToken,
    Grant,
    consented_issuer,
    delete_token,
    load_token,
    refresh,
    revoke,
    save_consent,
    save_token,
    stored_tokens,
    token_file,
    use_client_credentials,
)
from mcproof.client.connect import ConnectOptions, connect
from mcproof.client.errors import AuthorizationError, ConnectError, LostError, UnauthorizedError, login_advice
from mcproof.client.http.policy import RefusedAddressError, canonical_url, is_same_issuer, like_target, origin_of
from mcproof.client.redaction import hiding, redacted_url
from mcproof.client.waiting import Interruptible, typed_line
from mcproof.core.console import print_message, safe, shell_word
from mcproof.core.errors import WriteError
from mcproof.core.named_tuple import NamedTuple

if TYPE_CHECKING:
    import httpx2

    from mcproof.client.endpoints import AccessOptions, UrlEndpoint
    from mcproof.client.http.policy import NetworkGuard


YOUNG = 60.0
"""For how many seconds a token is young."""
MOST_REFUSED = 3
"""How many young tokens a server may refuse."""
_YES = ("y", "yes")


class _TokenSource(NamedTuple):
    """Where a token for a server comes from."""

    resource: ProtectedResource
    server: AuthorizationServer


def _bearer(token: AccessToken) -> str:
    return f"Bearer {token.value}"


class OAuthAuthorizer:
    """The authorization for one server at a URL."""

    def __init__(self, url: str, options: AccessOptions, *, is_new: bool = False) -> None:
        """With `is_new`, a stored token is not used."""
        self._url = url
        self._options = options
        self._stored = None if options.uses_client_credentials else load_token(url)
        self.token: AccessToken | None = None if is_new else self._stored
        self._stale = self.token
        """The token of an earlier run."""
        self._uses = 2
        """How many requests had the current token; that of an earlier run was used before."""
        self._since = -YOUNG
        """When the current token was received."""
        self._refused = 0
        """How many young tokens were refused."""
        self._refresh_failure = ""
        """Why the token could not be refreshed."""
        self._lock = asyncio.Lock()

    def sign(self, request: httpx2.Request) -> httpx2.Request:
        """Add the current token to a request."""
        if self._header:
            self._uses += 1
            request.headers["Authorization"] = self._header
        return request

    @property
    def _header(self) -> str:
        """The value of `Authorization`; empty without a token, or if a stored one has expired."""
        if self.token is None or (self.token is self._stale and self.token.is_expired):
            return ""
        return _bearer(self.token)

    async def satisfy(self, refusal: UnauthorizedError) -> None:
        """Get another token. Raises AuthorizationError if there is none that the server did not refuse yet."""
        # Several requests may be refused at once; the first of them gets the token for all. The wait is outside of
        # their time limits: docs/decisions/0037-authorization-between-attempts.md.
        async with self._lock:
            is_refused = self.token is not None and refusal.sent == _bearer(self.token)
            if not is_refused and self._header:
                return  # another request has received it in the meantime
            challenge = bearer_challenge(refusal.challenge)
            if refusal.status == 403 and not (challenge.error == "insufficient_scope" or challenge.scope):
                raise AuthorizationError(refusal.message, refusal.status)
            self._limit(refusal, is_refused=is_refused)
            # A token that was accepted before has probably expired. One that is refused at once would be refused again.
            was_accepted = not is_refused or self._uses > 1
            with (await self._guard()).applied():
                if refusal.status == 401 and was_accepted and await self._is_refreshed():
                    return
                await self._replace(refusal, challenge, is_refused=is_refused, was_accepted=was_accepted)

    async def _guard(self) -> NetworkGuard:
        """The guard of all requests for a token: their URLs lead no further inside than those that the user typed."""
        return await like_target(*filter(None, (self._url, self._options.issuer)))

    def _limit(self, refusal: UnauthorizedError, *, is_refused: bool) -> None:
        """Raise an AuthorizationError if the server refuses one token after another."""
        self._refused += is_refused and monotonic() - self._since < YOUNG
        if self._refused > MOST_REFUSED:
            raise AuthorizationError(f"the server refuses one token after another ({refusal.evidence})", refusal.status)

    async def _is_refreshed(self) -> bool:
        """Whether the token could be refreshed, by this process or another."""
        token = self.token
        if token is None or not token.refresh_token:
            return False
        # Another process may have refreshed it, and a refresh token often works only once.
        latest = load_token(self._url)
        if latest is not None and latest.value != token.value and not latest.is_expired:
            self._keep(latest)
            return True
        try:
            new = await refresh(token)
        except AuthorizationError as error:
            self._refresh_failure = error.message
            return False
        self._store(new)
        self._keep(new)
        return True

    def _keep(self, token: AccessToken) -> None:
        self.token, self._uses, self._since = token, 0, monotonic()

    async def _replace(
        self, refusal: UnauthorizedError, challenge: Challenge, *, is_refused: bool, was_accepted: bool
    ) -> None:
        """Get a new token, unless the server has just refused one with the same scopes."""
        if not (self._options.uses_client_credentials or self._options.may_log_in):
            raise AuthorizationError(self._advice(refusal, challenge), refusal.status)
        source = await self._source(challenge)
        previous = self.token if self.token is not None and self.token.issuer == source.server.issuer else None
        scope = self._scope(source, challenge, previous)
        if is_refused and previous is not None:
            has_more = bool(set(scope.split()) - set(previous.requested.split()))
            if not (has_more or (refusal.status == 401 and was_accepted)):
                what = "a new token" if refusal.status == 401 else "a token with all scopes that it requires"
                raise AuthorizationError(f"the server refuses {what} ({refusal.evidence})", refusal.status)
        self._keep(await self._new_token(source, scope))

    def _advice(self, refusal: UnauthorizedError, challenge: Challenge) -> str:
        """What the user can do if no new token may be requested."""
        if refusal.status == 403 and challenge.scope:
            advice = login_advice(self._url, challenge.scope)
            return f"needs the scope `{challenge.scope}` ({refusal.evidence}): {advice}"
        if self._refresh_failure:
            return f"the stored token cannot be refreshed: {self._refresh_failure}: {login_advice(self._url)}"
        if refusal.sent:
            return f"the server refuses the stored token ({refusal.evidence}): {login_advice(self._url)}"
        return refusal.message

    async def request_token(self) -> AccessToken:
        """Get a token although the server has not required one. Raises AuthorizationError."""
        challenge = bearer_challenge("")
        with (await self._guard()).applied():
            source = await self._source(challenge)
            if not source.resource.is_published:
                raise AuthorizationError("the server requires no authorization and publishes nothing about one")
            token = await self._new_token(source, self._scope(source, challenge, None))
        self._keep(token)
        return token

    def _scope(self, source: _TokenSource, challenge: Challenge, previous: AccessToken | None) -> str:
        """The scopes to request: those that are required, else all that the server supports; and earlier ones."""
        required = joined_scopes(self._options.scope, challenge.scope) or source.resource.scope
        return joined_scopes("" if previous is None else previous.requested, required)

    async def _source(self, challenge: Challenge) -> _TokenSource:
        url = canonical_url(self._url).partition("?")[0]
        try:
            is_secure = origin_of(url).is_secure
        except RefusedAddressError:
            raise AuthorizationError("the URL of the server has characters that no resource identifier has") from None
        if not is_secure:
            raise AuthorizationError("a token would be sent without encryption: use an https URL")
        resource = await find_resource(url, challenge)
        for issuer in self._allowed(resource):
            server = await find_server(issuer)
            if server is not None:
                return _TokenSource(resource, server)
        if not resource.is_published:
            return _TokenSource(resource, server_without_metadata(str(origin_of(url))))
        listed = ", ".join(map(redacted_url, resource.issuers))
        raise AuthorizationError(f"the authorization server publishes no metadata: {listed}")

    def _allowed(self, resource: ProtectedResource) -> tuple[str, ...]:
        """The authorization servers of a resource that the user allows."""
        if not self._options.issuer:
            return resource.issuers
        allowed = tuple(issuer for issuer in resource.issuers if is_same_issuer(issuer, self._options.issuer))
        if not allowed:
            listed = ", ".join(map(redacted_url, resource.issuers))
            raise AuthorizationError(f"the server uses another authorization server than the issuer you name: {listed}")
        return allowed

    async def _new_token(self, source: _TokenSource, scope: str) -> AccessToken:
        server, options = source.server, self._options
        identifier = source.resource.identifier
        if options.has_credential and not options.issuer:
            await require_consent(self._url, server.issuer)
        if options.uses_client_credentials:
            client = configured_client(server, options)
            if client is None:
                raise AuthorizationError("the authorization server does not support client metadata documents")
            return await use_client_credentials(Grant(server, client, identifier, scope))
        stored = self._stored
        registered = stored.client if stored is not None and stored.issuer == server.issuer else None
        token = await log_in(LoginRequest(server, identifier, scope, options, registered))
        self._store(token)
        return token

    def _store(self, token: AccessToken) -> None:
        try:
            save_token(self._url, token)
        except WriteError as error:
            raise AuthorizationError(f"the token cannot be stored: {error}") from None
        self._stored = token


async def require_consent(url: str, issuer: str) -> None:
    """Return if the credential may be sent to this issuer for the server at a URL; raise AuthorizationError if not.

    A server names its authorization server itself, so a hostile one could name its own and receive the secret. At a
    terminal the user is asked, once for each server and issuer.
    Why the server's own origin is no exception: docs/decisions/0071-credentials-need-consent.md.
    """
    consented = consented_issuer(url)
    if consented is not None and is_same_issuer(issuer, consented):
        return
    shown = safe(redacted_url(issuer))
    if not (_is_terminal() and await _confirms(safe(redacted_url(url)), shown)):
        raise AuthorizationError(
            f"the server names {shown} as its authorization server; the secret or key of a client is sent only to one "
            f"that you name: add `--issuer {shell_word(shown)}` if it is yours"
        )
    try:
        save_consent(url, issuer)
    except WriteError as error:
        raise AuthorizationError(f"the confirmed authorization server cannot be stored: {error}") from None


def _is_terminal() -> bool:
    try:
        return os.isatty(sys.stdin.fileno()) and os.isatty(sys.stderr.fileno())
    except (AttributeError, OSError, ValueError):  # a stream that is closed or is no file
        return False


async def _confirms(server: str, issuer: str) -> bool:
    print_message(f"{server} names {issuer} as its authorization server")
    sys.stderr.write("  send the secret or key of your client there? [y/N] ")
    sys.stderr.flush()
    line = await typed_line()
    if not line.endswith("\n"):  # the input has ended, which is no answer
        sys.stderr.write("\n")
    return line.strip().lower() in _YES


# By event loop, since a lock belongs to one; a loop that ends takes its authorizers along.
_authorizers: WeakKeyDictionary[asyncio.AbstractEventLoop, dict[tuple[str, AccessOptions], OAuthAuthorizer]] = (
    WeakKeyDictionary()
)


def authorizer_for(url: str, options: AccessOptions) -> OAuthAuthorizer:
    """The authorizer of a server, one for all connections of an event loop."""
    authorizers = _authorizers.setdefault(asyncio.get_running_loop(), {})
    return authorizers.get((url, options)) or use_authorizer(url, options, OAuthAuthorizer(url, options))


def use_authorizer(url: str, options: AccessOptions, authorizer: OAuthAuthorizer) -> OAuthAuthorizer:
    """Use an authorizer for all connections of this event loop to a server."""
    _authorizers.setdefault(asyncio.get_running_loop(), {})[url, options] = authorizer
    return authorizer


class TokenStatus(NamedTuple):
    """What may be shown of a stored token."""

    url: str
    """The server, without secrets."""
    resource: str
    issuer: str
    client_id: str
    scopes: list[str]
    expires_at: str | None
    state: str
    """`valid`, `refreshable` or `expired`."""

    @classmethod
    def of(cls, url: str, token: AccessToken) -> TokenStatus:
        end, expires = token.expires_at, None
        if end is not None:
            expires = datetime.fromtimestamp(end, UTC).isoformat(timespec="seconds").replace("+00:00", "Z")
        state = "valid" if not token.is_expired else "refreshable" if token.refresh_token else "expired"
        resource, issuer = redacted_url(token.resource), redacted_url(token.issuer)
        return cls(url, resource, issuer, token.client.id, token.granted.split(), expires, state)


def token_states(server: UrlEndpoint | None = None) -> list[TokenStatus]:
    """The stored tokens: of one server, or of all."""
    if server is None:
        return [TokenStatus.of(*stored) for stored in stored_tokens()]
    token = load_token(server.url)
    return [] if token is None else [TokenStatus.of(server.label, token)]


def log_in_to(server: UrlEndpoint, options: ConnectOptions) -> tuple[TokenStatus, str]:
    """Log in, whether or not a token is stored, and store the new one; return it with its file.

    Raises ConnectError and KeyboardInterrupt.
    """
    tokens: list[AccessToken] = []

    async def job() -> None:
        tokens.append(await _log_in(server, options))

    if not Interruptible().run(job):
        raise KeyboardInterrupt
    return TokenStatus.of(server.label, tokens[0]), token_file(server.url)


def log_out_of(url: str) -> LogOut | None:
    """Delete the token for a server, and revoke it where that is possible; None if there is none."""
    try:
        token = load_token(url)
    except AuthorizationError:  # the file is not private, or cannot be read
        token = None
    if not delete_token(url):
        return None
    if token is None:
        return LogOut()
    outcome = LogOut()

    async def job() -> None:
        nonlocal outcome
        try:
            with (await like_target(url)).applied():
                outcome = LogOut(is_revoked=await revoke(token))
        except AuthorizationError as error:
            outcome = LogOut(why=hiding(())(error.message))

    if not Interruptible().run(job):
        raise KeyboardInterrupt
    return outcome


class LogOut(NamedTuple):
    """What became of a token that is deleted."""

    is_revoked: bool = False
    why: str = ""
    """Why it could not be revoked; empty if the server does not offer it."""


async def _log_in(server: UrlEndpoint, options: ConnectOptions) -> AccessToken:
    # Put in place before the connection, which would otherwise send the token that is to be replaced.
    authorizer = OAuthAuthorizer(server.url, server.access, is_new=True)
    use_authorizer(server.url, server.access, authorizer)
    try:
        connection = await connect(server, options)
        try:
            await connection.request("tools/list")  # some servers let everybody connect
        except TimeoutError:
            pass
        finally:
            await connection.transport.close()
        return authorizer.token or await authorizer.request_token()
    except (ConnectError, LostError) as error:
        raise ConnectError(hiding(server.secrets)(error.message), file=server.label) from None

"""Log in to a server for later commands, and out of it."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from mcproof.client.auth.authorizer import OAuthAuthorizer, use_authorizer
from mcproof.client.auth.token_requests import revoke
from mcproof.client.auth.token_store import delete_token, load_token
from mcproof.client.connect import connect
from mcproof.client.failures import AuthorizationError, ConnectError, LostError
from mcproof.client.interrupts import Interruptible
from mcproof.client.secrets import hiding

if TYPE_CHECKING:
    from mcproof.client.auth.token_requests import AccessToken
    from mcproof.client.connect import ConnectOptions
    from mcproof.client.endpoints import UrlEndpoint


def log_in_to(server: UrlEndpoint, options: ConnectOptions) -> AccessToken:
    """Log in, whether or not a token is stored, and store the new one. Raises ConnectError and KeyboardInterrupt."""
    tokens: list[AccessToken] = []

    async def job() -> None:
        tokens.append(await _log_in(server, options))

    if not Interruptible().run(job):
        raise KeyboardInterrupt
    return tokens[0]


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
            outcome = LogOut(is_revoked=await revoke(token))
        except AuthorizationError as error:
            outcome = LogOut(why=error.message)

    if not Interruptible().run(job):
        raise KeyboardInterrupt
    return outcome


class LogOut(NamedTuple):
    """What became of a token that is deleted."""

    is_revoked: bool = False
    why: str = ""
    """Why it could not be revoked; empty if the server does not offer it."""


async def _log_in(server: UrlEndpoint, options: ConnectOptions) -> AccessToken:
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

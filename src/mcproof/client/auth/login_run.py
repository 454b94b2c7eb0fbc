"""Log in to a server for later commands."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mcproof.client.auth.authorizer import OAuthAuthorizer, use_authorizer
from mcproof.client.connect import connect
from mcproof.client.failures import ConnectError, LostError
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

"""Connect to a server: start its command, or open its URL, with the user's options for access."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

from mcproof.client.connection import Limits, authorized
from mcproof.client.endpoints import CommandEndpoint, UrlEndpoint
from mcproof.client.eras import connect_http, connect_stdio
from mcproof.client.tracing import hide_in_trace
from mcproof.core.named_tuple import NamedTuple

if TYPE_CHECKING:
    from mcproof.client.auth.authorizer import OAuthAuthorizer
    from mcproof.client.connection import Connection, Transport
    from mcproof.client.endpoints import Endpoint
    from mcproof.client.questions import AnswerSource

INHERITED = ("HOME", "LANG", "LC_ALL", "LOGNAME", "PATH", "SHELL", "TERM", "TMPDIR", "USER", "USERNAME")
"""The environment variables that a server inherits: what it needs to run, and nothing secret."""


class ConnectOptions(NamedTuple):
    """How to connect."""

    limits: Limits = Limits()
    protocol: str | None = None
    """The only protocol revision to use; None to detect the era."""
    answers: AnswerSource | None = None
    """Answers to the questions of servers; None to decline them all."""
    compares_lists: bool = False
    """Whether to list the tools of a stateless server on a second connection as well, and compare."""


async def connect(server: Endpoint, options: ConnectOptions) -> Connection:
    """Connect to a server. Raises ConnectError or LostError, with no process left running."""
    hide_in_trace(server.secrets)
    if isinstance(server, UrlEndpoint):
        authorizer = authorizer_of(server)

        async def send() -> Connection:
            return await connect_http(
                server.url,
                dict(server.headers),
                options.limits,
                options.protocol,
                answers=options.answers,
                authorizer=authorizer,
            )

        # A refusal ends the attempt, and another one begins from the start:
        # docs/decisions/0037-authorization-between-attempts.md.
        return await authorized(authorizer, send)
    return await connect_stdio(lambda: _process(server), options.limits, options.protocol, options.answers)


def authorizer_of(server: UrlEndpoint) -> OAuthAuthorizer | None:
    """The authorizer of a server; None if the user names the authorization to send, or wants none."""
    if server.has_authorization or server.access.is_anonymous:
        return None
    from mcproof.client.auth.authorizer import authorizer_for

    return authorizer_for(server.url, server.access)


def _process(server: CommandEndpoint) -> Transport:
    from mcproof.client.transports.stdio import Stdio

    inherited = {name: os.environ[name] for name in INHERITED if name in os.environ}
    return Stdio(server.words, {**inherited, **server.environment}, server.directory)


@asynccontextmanager
async def open_transport(
    server: Endpoint, transport: str, revision: str | None, limit: float
) -> AsyncIterator[Transport]:
    """An open transport without any message sent; `revision` adds the HTTP headers of the stateless era."""
    hide_in_trace(server.secrets)
    opened: Any
    if isinstance(server, CommandEndpoint):
        opened = _process(server)
    else:
        from mcproof.client.http.headers import stateless_headers
        from mcproof.client.transports.sse import LegacySse
        from mcproof.client.transports.streamable_http import StreamableHttp

        kind = LegacySse if transport == "sse" else StreamableHttp
        authorizer = authorizer_of(server)
        opened = kind(server.url, dict(server.headers), limit, None if authorizer is None else authorizer.sign)
        if revision is not None:
            opened.is_stateless = True
            opened.protocol_headers = lambda message: stateless_headers(revision, message)
    try:
        await opened.open()
        yield opened
    finally:
        await opened.close()

"""How a server is reached: started or connected to, as patiently and in the revision that was asked for."""

from __future__ import annotations

import os
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any, NamedTuple

from mcproof.client.connection import Limits, connect_http, connect_stdio, stateless_headers
from mcproof.client.endpoints import CommandEndpoint, UrlEndpoint

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from mcproof.client.connection import Connection, Transport
    from mcproof.client.endpoints import Endpoint

INHERITED = ("HOME", "LANG", "LC_ALL", "LOGNAME", "PATH", "SHELL", "TERM", "TMPDIR", "USER", "USERNAME")
"""What a child gets of our environment without being told: what it takes to run, and nothing that is secret."""


class ConnectOptions(NamedTuple):
    """How servers are asked."""

    limits: Limits = Limits()
    protocol: str | None = None


async def connect(server: Endpoint, options: ConnectOptions) -> Connection:
    """A connection to a server. Raises ConnectError or LostError, and leaves nothing running then."""
    if isinstance(server, UrlEndpoint):
        return await connect_http(server.url, dict(server.headers), options.limits, options.protocol)
    return await connect_stdio(lambda: _process(server), options.limits, options.protocol)


def _process(server: CommandEndpoint) -> Transport:
    from mcproof.client.transports.stdio import Stdio

    inherited = {name: os.environ[name] for name in INHERITED if name in os.environ}
    return Stdio(server.words, {**inherited, **server.environment}, server.directory)


@asynccontextmanager
async def open_transport(
    server: Endpoint, transport: str, revision: str | None, limit: float
) -> AsyncIterator[Transport]:
    """A connection on which nothing was said yet; over HTTP with the headers of a revision of the stateless era."""
    opened: Any
    if isinstance(server, CommandEndpoint):
        opened = _process(server)
    else:
        from mcproof.client.transports.http import LegacySse, StreamableHttp

        kind = LegacySse if transport == "sse" else StreamableHttp
        opened = kind(server.url, dict(server.headers), limit)
        if revision is not None:
            opened.protocol_headers = lambda message: stateless_headers(revision, message)
    try:
        await opened.open()
        yield opened
    finally:
        await opened.close()

"""How a server is reached: started or connected to, as patiently and in the revision that was asked for."""

from __future__ import annotations

import os
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any, NamedTuple

from mcproof.client.connection import Limits, connect_http, connect_stdio, stateless_headers
from mcproof.client.endpoints import Command, Endpoint

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from mcproof.client.connection import Connection, Transport
    from mcproof.client.endpoints import Server

INHERITED = ("HOME", "LANG", "LC_ALL", "LOGNAME", "PATH", "SHELL", "TERM", "TMPDIR", "USER", "USERNAME")
"""What a child gets of our environment without being told: what it takes to run, and nothing that is secret."""


class Asking(NamedTuple):
    """How servers are asked."""

    limits: Limits = Limits()
    protocol: str | None = None


async def reach(server: Server, asking: Asking) -> Connection:
    """A connection to a server. Raises ConnectError or LostError, and leaves nothing running then."""
    if isinstance(server, Endpoint):
        return await connect_http(server.url, dict(server.headers), asking.limits, asking.protocol)
    return await connect_stdio(lambda: _process(server), asking.limits, asking.protocol)


def _process(server: Command) -> Transport:
    from mcproof.client.transports.stdio import Stdio

    inherited = {name: os.environ[name] for name in INHERITED if name in os.environ}
    return Stdio(server.words, {**inherited, **server.environment}, server.directory)


@asynccontextmanager
async def unintroduced(server: Server, transport: str, revision: str | None, limit: float) -> AsyncIterator[Transport]:
    """A connection on which nothing was said yet; over HTTP with the headers of a revision of the stateless era."""
    opened: Any
    if isinstance(server, Command):
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

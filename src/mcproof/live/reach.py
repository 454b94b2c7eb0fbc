"""How a server is reached: started or connected to, as patiently and in the revision that was asked for."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, NamedTuple

from mcproof.live.connection import Limits, connect_http, connect_stdio
from mcproof.live.servers import Endpoint

if TYPE_CHECKING:
    from mcproof.live.connection import Connection
    from mcproof.live.servers import Server

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
    from mcproof.live.stdio import Stdio

    inherited = {name: os.environ[name] for name in INHERITED if name in os.environ}
    environment = {**inherited, **server.environment}
    return await connect_stdio(
        lambda: Stdio(server.words, environment, server.directory), asking.limits, asking.protocol
    )

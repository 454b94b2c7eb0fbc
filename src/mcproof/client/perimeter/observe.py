"""Observe a server over MCP without calling a tool: whether its list of tools is stable, and its session ids."""

from __future__ import annotations

import asyncio
import json
from contextlib import suppress
from hashlib import sha256
from typing import TYPE_CHECKING, Any, NamedTuple

from mcproof import __version__
from mcproof.client.captures import clean
from mcproof.client.connect import authorizer_of, open_transport
from mcproof.client.connection import Connection, authorized
from mcproof.client.endpoints import UrlEndpoint
from mcproof.client.failures import ConnectError, LostError
from mcproof.client.introduction import announce, discover, initialize
from mcproof.client.listing import METHODS, list_everything
from mcproof.client.perimeter.session_id_strength import session_ids
from mcproof.client.secrets import hiding_in_catalogs
from mcproof.core.observations.connection import (
    AFTER,
    BEFORE,
    STATELESS,
    ListReading,
    ListStability,
    SessionIds,
    ToolHash,
    cropped,
)

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from mcproof.client.connect import ConnectOptions
    from mcproof.client.endpoints import Endpoint
    from mcproof.core.observations.connection import ConnectionFacts

    Meanwhile = Callable[[Connection], Awaitable[None]]
    """What else to do over a connection."""

CLIENT_NAMES = ("mcproof", "claude-ai")
"""A server that hides something hides it from a scanner, so the second name is that of a common client."""
HANDSHAKES = 5
LONGEST = 120.0
"""Seconds for all connections."""
LONGEST_CONNECTION = 60.0
LONGEST_EARLY = 5.0
"""Seconds for a response before the handshake is complete; a server need not send one."""
MOST_TOOLS = 5_000
"""How many tools are kept for comparison."""
MOST_UNSEEN = 50
_TOOLS = METHODS[0]


class SessionObservation(NamedTuple):
    """What several connections to a server showed."""

    stability: ListStability
    ids: SessionIds


async def observe_sessions(
    server: Endpoint,
    options: ConnectOptions,
    facts: ConnectionFacts,
    meanwhile: Meanwhile | None = None,
) -> SessionObservation:
    """List the tools under two client names, and compare the session ids of five handshakes.

    `facts` are those of an earlier connection. `meanwhile` is run once, over the first connection after its lists. What
    fails or takes too long is left out.
    """
    run = _SessionRun(server, options, facts, meanwhile)
    with suppress(TimeoutError):
        async with asyncio.timeout(LONGEST):
            for name in CLIENT_NAMES:
                await run.list_as(name)
            for _ in range(0 if run.why_no_ids else HANDSHAKES - len(CLIENT_NAMES)):
                await run.connect(CLIENT_NAMES[0])
    ids = SessionIds(why_none=run.why_no_ids) if run.why_no_ids else session_ids(run.ids, run.handshakes)
    return SessionObservation(run.stability, ids)


class _SessionRun:
    """Connections to one server, one after the other."""

    def __init__(
        self, server: Endpoint, options: ConnectOptions, facts: ConnectionFacts, meanwhile: Meanwhile | None
    ) -> None:
        self._server = server
        self._options = options
        self._facts = facts
        self._meanwhile = meanwhile
        self._hide = hiding_in_catalogs(server.named_secrets)
        self.readings: list[ListReading] = []
        self.ids: list[str] = []
        self.handshakes = 0
        self._tools: dict[str, dict[str, Any]] = {}
        """The tools of all readings, by hash."""

    @property
    def stability(self) -> ListStability:
        stability = ListStability(tuple(self.readings))
        seen = {each.hash for each in stability.usual.tools} if stability.usual is not None else set()
        unseen = [tool for number, tool in self._tools.items() if number not in seen]
        return stability._replace(unseen_tools=tuple(unseen[:MOST_UNSEEN]))

    @property
    def why_no_ids(self) -> str:
        """Why the server has no session ids; empty if it may have."""
        if self._facts.transport != "http":
            return f"the transport `{self._facts.transport}` has no session ids"
        return "the stateless era has no sessions" if self._facts.era == "stateless" else ""

    async def list_as(self, name: str) -> None:
        """List the tools under a client name, also before the handshake is complete if the server survives that."""
        before = len(self.readings)
        await self.connect(name, (BEFORE, AFTER))
        moments = [each.moment for each in self.readings[before:]]
        if self._facts.era != "stateless" and AFTER not in moments:
            await self.connect(name, (AFTER,))

    async def connect(self, name: str, moments: tuple[str, ...] = ()) -> None:
        """Connect under a client name and list the tools; an error leaves out the rest of the connection."""
        authorizer = authorizer_of(self._server) if isinstance(self._server, UrlEndpoint) else None
        with suppress(ConnectError, LostError, TimeoutError):
            async with asyncio.timeout(LONGEST_CONNECTION):
                await authorized(authorizer, lambda: self._connect(name, moments))

    async def _connect(self, name: str, moments: tuple[str, ...]) -> None:
        facts, limits = self._facts, self._options.limits
        revision = facts.requested if facts.era == "stateless" else None
        async with open_transport(self._server, facts.transport, revision, limits.start) as transport:
            connection = Connection(transport, limits, self._options.answers)
            connection.client = {"name": name, "version": __version__}
            if facts.era == "stateless":
                await self._discover(connection, name)
            else:
                await self._shake_hands(connection, name, moments)
            meanwhile, self._meanwhile = self._meanwhile, None
            if meanwhile is not None:
                await meanwhile(connection)

    async def _discover(self, connection: Connection, name: str) -> None:
        found = await discover(connection, (self._facts.requested,))
        if isinstance(found, str):
            raise ConnectError(found)
        connection.settle("stateless", *found)
        connection.use_protocol_headers()
        await self._list(connection, name, STATELESS)

    async def _shake_hands(self, connection: Connection, name: str, moments: tuple[str, ...]) -> None:
        connection.settle("handshake", *await initialize(connection, (self._facts.requested,)))
        self._note_session(connection)
        connection.use_protocol_headers()
        if moments[:1] == (BEFORE,):
            limits = connection.limits
            connection.limits = limits._replace(request=min(limits.request, LONGEST_EARLY))
            await self._list(connection, name, moments[0])
            connection.limits = limits
        await announce(connection)
        if moments:
            await self._list(connection, name, moments[-1])

    def _note_session(self, connection: Connection) -> None:
        self.handshakes += 1
        session = getattr(connection.transport, "offered_session", None)
        if session is not None:
            self.ids.append(session)

    async def _list(self, connection: Connection, name: str, moment: str) -> None:
        """Add a reading, if the server serves its tools."""
        listing = await list_everything(connection, (_TOOLS,))
        tools = listing.lists.get(_TOOLS.key)
        if tools is None or listing.unserved:
            return
        lists = {_TOOLS.key: tools}
        clean(lists, self._hide)
        with suppress(RecursionError):  # nested too deep to be compared
            hashed = [(_hashed(tool), tool) for tool in lists[_TOOLS.key]]
            self.readings.append(ListReading(name, moment, tuple(sorted(each for each, _ in hashed))))
            for each, tool in hashed:
                if isinstance(tool, dict) and len(self._tools) < MOST_TOOLS:
                    self._tools.setdefault(each.hash, tool)


def _hashed(tool: Any) -> ToolHash:
    members = {key: value for key, value in tool.items() if key != "_meta"} if isinstance(tool, dict) else tool
    text = json.dumps(members, sort_keys=True, ensure_ascii=True)
    name = tool.get("name") if isinstance(tool, dict) else None
    return ToolHash(cropped(name) if isinstance(name, str) else "", sha256(text.encode()).hexdigest())

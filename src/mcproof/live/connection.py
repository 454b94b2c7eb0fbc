"""A connection in whichever protocol era the server speaks.

Servers up to revision 2025-11-25 want a handshake, later ones are asked what they are and told the revision with
every request. Which it is shows in the first answer; a server that ignores what it does not know costs a moment,
not a timeout.
"""

from __future__ import annotations

import asyncio
import contextlib
from time import perf_counter
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from mcproof import __version__
from mcproof.live.errors import ConnectError, LostError

if TYPE_CHECKING:
    from collections.abc import Callable

    from mcproof.live.peer import Answer, Peer
    from mcproof.wire import Ending

HANDSHAKE = ("2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05")
STATELESS = ("2026-07-28",)
"""The revisions of each era, the newest first."""

REVISIONS = (*STATELESS, *HANDSHAKE)
CLIENT = {"name": "mcproof", "version": __version__}
_META = "io.modelcontextprotocol"
_HEADER_MISMATCH, _UNSUPPORTED_VERSION = -32020, -32022
_NAMED = {"tools/call": "name", "prompts/get": "name", "resources/read": "uri"}


class Limits(NamedTuple):
    """How long things may take, in seconds."""

    start: float = 60.0
    """Until the first answer; real servers take their time."""
    request: float = 30.0
    total: float = 600.0
    grace: float = 1.0
    """How long to wait for an answer in the newer era before the older is tried as well."""


class Transport(Protocol):
    """How messages get to a server and back."""

    name: str
    peer: Peer

    async def open(self) -> None: ...

    async def close(self) -> Ending | None: ...


class Connection:
    """A server that has answered, and what it said of itself."""

    def __init__(self, transport: Transport, limits: Limits) -> None:
        self.transport = transport
        self.limits = limits
        self.era = "handshake"
        self.requested = HANDSHAKE[0]
        self.introduction: dict[str, Any] = {}
        """The raw answer to `initialize` or `server/discover`."""
        self.seconds_to_answer = 0.0

    @property
    def agreed(self) -> str | None:
        """The revision that both sides speak, as the server sees it."""
        if self.era == "stateless":
            return self.requested
        revision = self.introduction.get("protocolVersion")
        return revision if isinstance(revision, str) else None

    async def request(self, method: str, params: dict[str, Any] | None = None) -> Answer:
        """Send a request as the era asks for. Raises TimeoutError where no answer comes in time."""
        async with asyncio.timeout(self.limits.request):
            return await self.transport.peer.request(method, self._parameters(params))

    def _parameters(self, params: dict[str, Any] | None) -> dict[str, Any] | None:
        return {**(params or {}), "_meta": _meta(self.requested)} if self.era == "stateless" else params

    def protocol_headers(self, message: dict[str, Any]) -> dict[str, str]:
        """The headers that go with a message over HTTP."""
        if self.era == "stateless":
            return _stateless_headers(self.requested, message)
        return {"MCP-Protocol-Version": self.agreed} if self.agreed else {}


def _meta(revision: str) -> dict[str, Any]:
    return {
        f"{_META}/protocolVersion": revision,
        f"{_META}/clientInfo": CLIENT,
        f"{_META}/clientCapabilities": {},
    }


def _stateless_headers(revision: str, message: dict[str, Any]) -> dict[str, str]:
    headers = {"MCP-Protocol-Version": revision}
    method = message.get("method")
    if isinstance(method, str):
        headers["Mcp-Method"] = method
        name = message.get("params", {}).get(_NAMED.get(method, ""))
        if isinstance(name, str):
            headers["Mcp-Name"] = name
    return headers


async def connect_stdio(make: Callable[[], Transport], limits: Limits, protocol: str | None) -> Connection:
    """Start a server and find out which era it speaks. Raises ConnectError, and leaves nothing running then."""
    connection = Connection(make(), limits)
    start = perf_counter()
    try:
        await connection.transport.open()
        async with asyncio.timeout(limits.start):
            try:
                await _introduce(connection, protocol)
            except LostError:
                if protocol is not None:
                    raise
                # It may have died of a question that it did not know: once more, in the older era.
                await connection.transport.close()
                connection.transport = make()
                await connection.transport.open()
                await _handshake(connection, HANDSHAKE[0])
    except TimeoutError:
        await connection.transport.close()
        raise ConnectError(f"no answer within {limits.start:g} seconds{_last_words(connection.transport)}") from None
    except BaseException:
        await connection.transport.close()
        raise
    connection.seconds_to_answer = perf_counter() - start
    return connection


def _last_words(transport: Transport) -> str:
    words: str = transport.last_words() if hasattr(transport, "last_words") else ""
    return words


async def _introduce(connection: Connection, protocol: str | None) -> None:
    if protocol in HANDSHAKE:
        await _handshake(connection, protocol)
        return
    revision = protocol or STATELESS[0]
    discovery = asyncio.create_task(_discover(connection, revision))
    handshake: asyncio.Task[None] | None = None
    try:
        if protocol is not None:
            if not await discovery:
                raise ConnectError(f"the server does not speak revision {revision}: {_refused(connection)}")
            return
        await asyncio.wait([discovery], timeout=connection.limits.grace)
        if discovery.done() and discovery.result():
            return
        handshake = asyncio.create_task(_handshake(connection, HANDSHAKE[0]))
        waiting = {handshake} if discovery.done() else {handshake, discovery}
        while waiting:
            done, waiting = await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
            if handshake in done:
                handshake.result()
                return
            if discovery in done and discovery.result():
                return
    finally:
        for task in (discovery, handshake):
            if task is not None:
                task.cancel()
                with contextlib.suppress(BaseException):
                    await task


def _refused(connection: Connection) -> str:
    refusal: str = connection.introduction.get("refusal", "it does not know `server/discover`")
    return refusal


async def _discover(connection: Connection, revision: str) -> bool:
    """Ask a server of the newer era what it is; whether it is one."""
    answer = await connection.transport.peer.request("server/discover", {"_meta": _meta(revision)})
    if answer.error is None and isinstance(answer.result, dict) and "supportedVersions" in answer.result:
        connection.era, connection.requested, connection.introduction = "stateless", revision, answer.result
        return True
    error = answer.error or {}
    if error.get("code") == _UNSUPPORTED_VERSION:
        data = error.get("data")
        supported = data.get("supported") if isinstance(data, dict) else None
        listed = [each for each in supported if isinstance(each, str)] if isinstance(supported, list) else []
        shared = [each for each in STATELESS if each in listed and each != revision]
        if shared:
            return await _discover(connection, shared[0])
        if not any(each in HANDSHAKE for each in listed):
            raise ConnectError(f"no common protocol revision: the server speaks {', '.join(listed) or 'none it names'}")
    return False


async def _handshake(connection: Connection, revision: str) -> None:
    """Introduce ourselves to a server of the older era."""
    params = {"protocolVersion": revision, "capabilities": {}, "clientInfo": CLIENT}
    answer = await connection.transport.peer.request("initialize", params)
    if answer.error is not None:
        raise ConnectError(f"the server refuses `initialize`: {answer.complaint}")
    connection.era, connection.requested = "handshake", revision
    connection.introduction = answer.result if isinstance(answer.result, dict) else {}
    await connection.transport.peer.notify("notifications/initialized")


async def connect_http(url: str, headers: dict[str, str], limits: Limits, protocol: str | None) -> Connection:
    """Reach a server at a URL: in the newer era, else with a handshake, else over the older transport."""
    from mcproof.live.http import LegacySse, StreamableHttp

    start = perf_counter()
    connection = Connection(StreamableHttp(url, headers, limits.start), limits)
    try:
        async with asyncio.timeout(limits.start):
            refusal = await _introduce_http(connection, protocol)
            if refusal is not None:
                await connection.transport.close()
                connection.transport = LegacySse(url, headers, limits.start)
                try:
                    await connection.transport.open()
                except ConnectError:
                    raise refusal from None
                await _handshake(connection, protocol if protocol in HANDSHAKE else HANDSHAKE[-1])
    except TimeoutError:
        await connection.transport.close()
        raise ConnectError(f"no answer within {limits.start:g} seconds") from None
    except BaseException:
        await connection.transport.close()
        raise
    connection.seconds_to_answer = perf_counter() - start
    return connection


async def _introduce_http(connection: Connection, protocol: str | None) -> ConnectError | None:
    """Speak to one endpoint in either era; what it answers where it is no such endpoint."""
    from mcproof.live.http import HttpStatusError, StreamableHttp

    transport = connection.transport
    assert isinstance(transport, StreamableHttp)  # noqa: S101
    await transport.open()
    if protocol is None or protocol in STATELESS:
        revision = protocol or STATELESS[0]
        transport.protocol_headers = lambda message: _stateless_headers(revision, message)
        try:
            async with asyncio.timeout(connection.limits.start if protocol else 2 * connection.limits.grace):
                if await _discover(connection, revision):
                    transport.protocol_headers = connection.protocol_headers
                    return None
        except HttpStatusError as refusal:
            if refusal.status in (401, 403, *range(300, 400)) or protocol is not None:
                raise
        except (LostError, TimeoutError):
            if protocol is not None:
                raise
        if protocol is not None:
            raise ConnectError(f"the server does not speak revision {protocol}: it does not know `server/discover`")
    transport.protocol_headers = lambda _: {}
    try:
        await _handshake(connection, protocol or HANDSHAKE[0])
    except HttpStatusError as refusal:
        if refusal.status in (401, 403, *range(300, 400)) or refusal.status >= 500:
            raise
        return refusal
    transport.protocol_headers = connection.protocol_headers
    return None

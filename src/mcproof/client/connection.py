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
from mcproof.client.failures import ConnectError, LostError
from mcproof.exchange.connection_facts import cropped

if TYPE_CHECKING:
    from collections.abc import Callable

    from mcproof.client.peer import Peer, RpcResponse
    from mcproof.client.transports.http import StreamableHttp
    from mcproof.exchange.connection_facts import ProcessEnd

HANDSHAKE = ("2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05")
STATELESS = ("2026-07-28",)
"""The revisions of each era, the newest first."""

REVISIONS = (*STATELESS, *HANDSHAKE)
CLIENT = {"name": "mcproof", "version": __version__}
_META = "io.modelcontextprotocol"
_UNSUPPORTED_VERSION = -32022
_NAMED = {"tools/call": "name", "prompts/get": "name", "resources/read": "uri"}


PATIENCE = 10
"""How many times the grace a server gets that has refused the handshake, to answer in the newer era after all."""


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

    async def send_bytes(self, data: bytes) -> None: ...

    def kill(self) -> None: ...

    async def close(self) -> ProcessEnd | None: ...


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

    def settle(self, era: str, revision: str, introduction: dict[str, Any]) -> None:
        """Go on in this era."""
        self.era, self.requested, self.introduction = era, revision, introduction

    @property
    def agreed(self) -> str | None:
        """The revision that both sides speak, as the server sees it."""
        if self.era == "stateless":
            return self.requested
        revision = self.introduction.get("protocolVersion")
        return revision if isinstance(revision, str) else None

    async def request(
        self, method: str, params: dict[str, Any] | None = None, *, limit: float | None = None
    ) -> RpcResponse:
        """Send a request as the era asks for. Raises TimeoutError where no answer comes in time."""
        async with asyncio.timeout(limit or self.limits.request):
            return await self.transport.peer.request(method, self._parameters(params))

    def _parameters(self, params: dict[str, Any] | None) -> dict[str, Any] | None:
        return {**(params or {}), "_meta": meta_of(self.requested)} if self.era == "stateless" else params

    def protocol_headers(self, message: dict[str, Any]) -> dict[str, str]:
        """The headers that go with a message over HTTP."""
        if self.era == "stateless":
            return stateless_headers(self.requested, message)
        agreed = self.agreed or ""
        is_sendable = agreed.isascii() and agreed.isprintable() and agreed == agreed.strip() and 0 < len(agreed) < 100
        return {"MCP-Protocol-Version": agreed} if is_sendable else {}


def meta_of(revision: str) -> dict[str, Any]:
    """What the stateless era wants to be told with every request."""
    return {
        f"{_META}/protocolVersion": revision,
        f"{_META}/clientInfo": CLIENT,
        f"{_META}/clientCapabilities": {},
    }


def stateless_headers(revision: str, message: dict[str, Any]) -> dict[str, str]:
    """The headers that the stateless era wants with a message."""
    headers = {"MCP-Protocol-Version": revision}
    method = message.get("method")
    if isinstance(method, str):
        headers["Mcp-Method"] = method
        name = (message.get("params") or {}).get(_NAMED.get(method, ""))
        if isinstance(name, str):
            headers["Mcp-Name"] = _header_value(name)
    return headers


def _header_value(text: str) -> str:
    """A text as the protocol puts it into a header: as it is, or coded where a header could not carry it."""
    is_plain = text.isascii() and text.isprintable() and text == text.strip() and not text.startswith("=?base64?")
    if is_plain:
        return text
    from base64 import b64encode

    return f"=?base64?{b64encode(text.encode('utf-8', 'surrogatepass')).decode()}?="


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
        # Before it has more to say about being ended.
        error = ConnectError(f"no answer within {in_seconds(limits.start)}{_signs(connection.transport)}")
        error.last_lines = _last_lines(connection.transport)
        await connection.transport.close()
        raise error from None
    except (ConnectError, LostError) as error:
        error.last_lines = _last_lines(connection.transport)
        await connection.transport.close()
        raise
    except BaseException:
        await connection.transport.close()
        raise
    connection.seconds_to_answer = perf_counter() - start
    return connection


def _last_lines(transport: Transport) -> str:
    lines: str = transport.last_lines() if hasattr(transport, "last_lines") else ""
    return lines


def in_seconds(limit: float) -> str:
    return "1 second" if limit == 1 else f"{limit:g} seconds"


def _signs(transport: Transport) -> str:
    """What a server that gave no answer did send."""
    first = next(iter(transport.peer.anomalies), None)
    sent = f"; what it sent begins: {first.detail}" if first is not None else ""
    words: str = transport.last_words() if hasattr(transport, "last_words") else ""
    return f"{sent}{words}"


async def _introduce(connection: Connection, protocol: str | None) -> None:
    """Find out which era a server speaks by options it in both, the newer first, and settle it."""
    if protocol in HANDSHAKE:
        await _handshake(connection, protocol)
    elif protocol is not None:
        await _settle_by_discovery(connection, protocol)
    else:
        discovery = asyncio.create_task(_discover(connection, STATELESS[0]))
        handshake: asyncio.Task[dict[str, Any]] | None = None
        try:
            await asyncio.wait([discovery], timeout=connection.limits.grace)
            if not discovery.done() or isinstance(discovery.result(), str):
                handshake = asyncio.create_task(_initialize(connection, HANDSHAKE[0]))
                await _first_success(discovery, handshake, PATIENCE * connection.limits.grace)
            found = discovery.result() if discovery.done() else ""
            if isinstance(found, dict):
                connection.settle("stateless", STATELESS[0], found)
                return
            assert handshake is not None  # noqa: S101
            connection.settle("handshake", HANDSHAKE[0], handshake.result())
        finally:
            tasks = [task for task in (discovery, handshake) if task is not None]
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
        await connection.transport.peer.notify("notifications/initialized")


async def _first_success(
    discovery: asyncio.Task[dict[str, Any] | str], handshake: asyncio.Task[dict[str, Any]], patience: float
) -> None:
    """Wait until one of the two questions is answered, or neither will be.

    A server of the newer era may refuse the handshake before it has answered what came first.
    """
    await asyncio.wait([discovery, handshake], return_when=asyncio.FIRST_COMPLETED)
    if not handshake.done() and isinstance(discovery.result(), str):
        await asyncio.wait([handshake])
    elif handshake.done() and handshake.exception() is not None:
        await asyncio.wait([discovery], timeout=patience)


async def _settle_by_discovery(connection: Connection, revision: str) -> None:
    found = await _discover(connection, revision)
    if isinstance(found, str):
        raise _not_spoken(revision, found)
    connection.settle("stateless", revision, found)


def _not_spoken(revision: str, reason: str) -> ConnectError:
    return ConnectError(f"the server does not speak revision {revision}: {reason}")


async def _discover(connection: Connection, revision: str) -> dict[str, Any] | str:
    """What a server of the newer era says of itself, or why it seems to be none."""
    answer = await connection.transport.peer.request("server/discover", {"_meta": meta_of(revision)})
    if answer.error is None:
        if isinstance(answer.result, dict) and "supportedVersions" in answer.result:
            return answer.result
        return "its answer to `server/discover` has no `supportedVersions`"
    if answer.error.get("code") != _UNSUPPORTED_VERSION:
        return f"it answers `server/discover` with {answer.complaint}"
    data = answer.error.get("data")
    supported = data.get("supported") if isinstance(data, dict) else None
    listed = [each for each in supported if isinstance(each, str)] if isinstance(supported, list) else []
    spoken = cropped(", ".join(listed)) or "none that it names"
    if not any(each in HANDSHAKE for each in listed):
        raise ConnectError(f"no common protocol revision: the server speaks {spoken}")
    return f"it speaks {spoken}"


async def _handshake(connection: Connection, revision: str) -> None:
    """Introduce ourselves to a server of the older era, and settle it."""
    connection.settle("handshake", revision, await _initialize(connection, revision))
    await connection.transport.peer.notify("notifications/initialized")


async def _initialize(connection: Connection, revision: str) -> dict[str, Any]:
    """What a server of the older era says of itself."""
    params = {"protocolVersion": revision, "capabilities": {}, "clientInfo": CLIENT}
    answer = await connection.transport.peer.request("initialize", params)
    if answer.error is not None:
        raise ConnectError(f"the server refuses `initialize`: {answer.complaint}")
    return answer.result if isinstance(answer.result, dict) else {}


async def connect_http(url: str, headers: dict[str, str], limits: Limits, protocol: str | None) -> Connection:
    """Reach a server at a URL: in the newer era, else with a handshake, else over the older transport."""
    from mcproof.client.transports.http import HttpStatusError, LegacySse, StreamableHttp

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
                except HttpStatusError:  # no such transport either
                    raise refusal from None
                await _handshake(connection, protocol if protocol in HANDSHAKE else HANDSHAKE[-1])
    except TimeoutError:
        await connection.transport.close()
        raise ConnectError(f"no answer within {in_seconds(limits.start)}") from None
    except BaseException:
        await connection.transport.close()
        raise
    connection.seconds_to_answer = perf_counter() - start
    return connection


async def _introduce_http(connection: Connection, protocol: str | None) -> ConnectError | None:
    """Speak to one endpoint in either era; what it answers where it is no such endpoint."""
    from mcproof.client.transports.http import HttpStatusError, StreamableHttp

    transport = connection.transport
    assert isinstance(transport, StreamableHttp)  # noqa: S101
    await transport.open()
    if protocol not in HANDSHAKE and await _is_stateless(connection, transport, protocol):
        return None
    transport.protocol_headers = lambda _: {}
    transport.session = None
    revision = protocol or HANDSHAKE[0]
    try:
        connection.settle("handshake", revision, await _initialize(connection, revision))
    except HttpStatusError as refusal:
        if refusal.is_final or refusal.status >= 500:
            raise
        return refusal
    except ConnectError:
        # It may be of the newer era after all, and have taken its time to start.
        patience = PATIENCE * connection.limits.grace
        if protocol is None and await _is_stateless(connection, transport, None, patience):
            return None
        raise
    transport.protocol_headers = connection.protocol_headers
    with contextlib.suppress(TimeoutError):  # nobody needs the answer to a notification
        async with asyncio.timeout(2 * connection.limits.grace):
            await transport.peer.notify("notifications/initialized")
    return None


async def _is_stateless(
    connection: Connection, transport: StreamableHttp, protocol: str | None, patience: float | None = None
) -> bool:
    """Ask in the newer era, and settle it where the answer is one. Raises where no other era is allowed."""
    from mcproof.client.transports.http import HttpStatusError

    revision = protocol or STATELESS[0]
    transport.protocol_headers = lambda message: stateless_headers(revision, message)
    try:
        quick = 2 * connection.limits.grace
        async with asyncio.timeout(patience or (connection.limits.start if protocol else quick)):
            found = await _discover(connection, revision)
    except (HttpStatusError, LostError, TimeoutError) as error:
        if protocol is not None or getattr(error, "is_final", False):
            raise
        return False
    if isinstance(found, str):
        if protocol is not None:
            raise _not_spoken(revision, found)
        return False
    connection.settle("stateless", revision, found)
    transport.protocol_headers = connection.protocol_headers
    return True

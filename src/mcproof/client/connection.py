"""A connection in the protocol era that the server supports.

Revisions up to 2025-11-25 begin with the `initialize` handshake. Later ones are stateless: the client calls
`server/discover` and sends the revision with every request. The era is detected by trying both, the newer first; a
server that ignores unknown methods costs a short delay, not a timeout.
"""

from __future__ import annotations

import asyncio
import contextlib
from time import perf_counter
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, TypeVar

from mcproof import __version__
from mcproof.client import input_rounds
from mcproof.client.failures import ConnectError, HttpStatusError, LostError, UnauthorizedError
from mcproof.client.respondent import Respondent
from mcproof.exchange.connection_facts import cropped
from mcproof.exchange.revisions import HANDSHAKE, STATELESS

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    import httpx2

    from mcproof.client.answers import AnswerSource
    from mcproof.client.peer import Peer, RpcResponse
    from mcproof.client.transports.cpu_usage import CpuUsage
    from mcproof.client.transports.http import StreamableHttp
    from mcproof.exchange.connection_facts import ProcessEnd

CLIENT = {"name": "mcproof", "version": __version__}
T = TypeVar("T")
_META = "io.modelcontextprotocol"
_UNSUPPORTED_VERSION = -32022
_NAMED = {"tools/call": "name", "prompts/get": "name", "resources/read": "uri"}


PATIENCE = 10
"""How many times the grace period to wait for `server/discover` after a server has refused the handshake."""


class Limits(NamedTuple):
    """Time limits, in seconds."""

    start: float = 60.0
    """Until the first response; real servers are slow to start."""
    request: float = 30.0
    total: float = 600.0
    grace: float = 1.0
    """How long to wait for `server/discover` before also trying the handshake."""
    start_setting: str = "--start-timeout"
    """The name of the setting for `start`, for messages."""

    @property
    def missed_start(self) -> str:
        """The message for a server that does not respond in time after its start."""
        return f"no response within {in_seconds(self.start)} of the start ({self.start_setting})"


class Transport(Protocol):
    """Carries messages to a server and back."""

    name: str
    peer: Peer

    async def open(self) -> None: ...

    async def send_bytes(self, data: bytes) -> None:
        """Send data that need not be a message."""

    def last_words(self) -> str:
        """The last line of stderr as the end of an error message; empty if there is none."""

    def last_lines(self) -> str:
        """The last lines of stderr if there is more than one; else empty."""

    def cpu_usage(self) -> CpuUsage | None:
        """What the server has used of the machine; None if it is remote, or if it cannot be seen."""

    def kill(self) -> None:
        """End the process at once, if there is one."""

    async def close(self, grace: float | None = None, /) -> ProcessEnd | None:
        """Close; a process has this many seconds to exit by itself, or a usual number."""


class Authorizer(Protocol):
    """Gets the authorization that a server at a URL requires."""

    def sign(self, request: httpx2.Request) -> httpx2.Request:
        """Add the current authorization to a request."""

    async def satisfy(self, refusal: UnauthorizedError) -> None:
        """Get another authorization. Raises ConnectError if there is none that the server did not refuse yet."""


async def authorized(authorizer: Authorizer | None, send: Callable[[], Awaitable[T]]) -> T:
    """Send a request, and send it again after each new authorization.

    Getting one may take as long as a user needs to log in, so `send` limits its own time.
    """
    while True:
        try:
            return await send()
        except UnauthorizedError as refusal:
            if authorizer is None:
                raise
            await authorizer.satisfy(refusal)


class Connection:
    """An initialized connection to a server."""

    def __init__(
        self,
        transport: Transport,
        limits: Limits,
        answers: AnswerSource | None = None,
        authorizer: Authorizer | None = None,
    ) -> None:
        self.respondent = Respondent(answers)
        self.transport = transport
        self.limits = limits
        self.authorizer = authorizer
        self.era = "handshake"
        self.requested = HANDSHAKE[0]
        self.introduction: dict[str, Any] = {}
        """The result of `initialize` or `server/discover`."""
        self.seconds_to_response = 0.0

    @property
    def transport(self) -> Transport:
        return self._transport

    @transport.setter
    def transport(self, transport: Transport) -> None:
        self._transport = transport
        transport.peer.respondent = self.respondent

    def settle(self, era: str, revision: str, introduction: dict[str, Any]) -> None:
        """Continue in this era."""
        self.era, self.requested, self.introduction = era, revision, introduction
        if era == "stateless":  # questions are part of results
            self.transport.peer.respondent = None

    @property
    def agreed(self) -> str | None:
        """The negotiated revision, as reported by the server."""
        if self.era == "stateless":
            return self.requested
        revision = self.introduction.get("protocolVersion")
        return revision if isinstance(revision, str) else None

    async def request(
        self, method: str, params: dict[str, Any] | None = None, *, limit: float | None = None
    ) -> RpcResponse:
        """Send a request in the form that the era requires. Raises TimeoutError, ConnectError and LostError."""

        async def send() -> RpcResponse:
            async with asyncio.timeout(limit or self.limits.request):
                return await self.unlimited_request(method, params)

        return await authorized(self.authorizer, send)

    async def unlimited_request(self, method: str, params: dict[str, Any] | None) -> RpcResponse:
        """Send a request whose time the caller limits. Raises UnauthorizedError, ConnectError and LostError."""

        async def send(params: dict[str, Any] | None) -> RpcResponse:
            return await self.transport.peer.request(method, self._parameters(params))

        response = await send(params)
        if method not in input_rounds.METHODS:
            return response
        return await input_rounds.completed(response, params, send, self.respondent)

    def _parameters(self, params: dict[str, Any] | None) -> dict[str, Any] | None:
        if self.era != "stateless":
            return params
        return {**(params or {}), "_meta": meta_of(self.requested, self.respondent.capabilities(self.requested))}

    def protocol_headers(self, message: dict[str, Any]) -> dict[str, str]:
        """The HTTP headers for a message."""
        if self.era == "stateless":
            return stateless_headers(self.requested, message)
        agreed = self.agreed or ""
        is_sendable = agreed.isascii() and agreed.isprintable() and agreed == agreed.strip() and 0 < len(agreed) < 100
        return {"MCP-Protocol-Version": agreed} if is_sendable else {}


def meta_of(revision: str, capabilities: dict[str, Any] | None = None) -> dict[str, Any]:
    """The `_meta` of every request in the stateless era."""
    return {
        f"{_META}/protocolVersion": revision,
        f"{_META}/clientInfo": CLIENT,
        f"{_META}/clientCapabilities": capabilities or {},
    }


def stateless_headers(revision: str, message: dict[str, Any]) -> dict[str, str]:
    """The HTTP headers of a message in the stateless era."""
    headers = {"MCP-Protocol-Version": revision}
    method = message.get("method")
    if isinstance(method, str):
        headers["Mcp-Method"] = method
        name = (message.get("params") or {}).get(_NAMED.get(method, ""))
        if isinstance(name, str):
            headers["Mcp-Name"] = _header_value(name)
    return headers


def _header_value(text: str) -> str:
    """A header value as the protocol defines it: plain, or base64 if it has other than visible ASCII characters."""
    is_plain = text.isascii() and text.isprintable() and text == text.strip() and not text.startswith("=?base64?")
    if is_plain:
        return text
    from base64 import b64encode

    return f"=?base64?{b64encode(text.encode('utf-8', 'surrogatepass')).decode()}?="


async def connect_stdio(
    make: Callable[[], Transport], limits: Limits, protocol: str | None, answers: AnswerSource | None = None
) -> Connection:
    """Start a server and detect its era. Raises ConnectError or LostError, with no process left running."""
    connection = Connection(make(), limits, answers)
    start = perf_counter()
    try:
        await connection.transport.open()
        async with asyncio.timeout(limits.start):
            try:
                await _introduce(connection, protocol)
            except LostError:
                if protocol is not None:
                    raise
                # The unknown method may have crashed it: retry with the handshake only.
                await connection.transport.close()
                connection.transport = make()
                await connection.transport.open()
                await _handshake(connection, HANDSHAKE[0])
    except TimeoutError:
        # Read stderr before the process is closed, which may write more to it.
        error = ConnectError(f"{limits.missed_start}{_evidence(connection.transport)}")
        error.last_lines = connection.transport.last_lines()
        await connection.transport.close()
        raise error from None
    except (ConnectError, LostError) as error:
        error.last_lines = connection.transport.last_lines()
        await connection.transport.close()
        raise
    except BaseException:
        await connection.transport.close()
        raise
    connection.seconds_to_response = perf_counter() - start
    return connection


def in_seconds(limit: float) -> str:
    return "1 second" if limit == 1 else f"{limit:g} seconds"


def _evidence(transport: Transport) -> str:
    """What a server that did not respond sent instead."""
    first = next(iter(transport.peer.anomalies), None)
    sent = f"; its output begins: {first.detail}" if first is not None else ""
    return f"{sent}{transport.last_words()}"


async def _introduce(connection: Connection, protocol: str | None) -> None:
    """Detect the era of a server by trying both, the newer first."""
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
    """Wait until one of the two requests succeeds or both have failed.

    A stateless server may refuse the handshake before it has responded to `server/discover`.
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
    return ConnectError(f"the server does not support revision {revision}: {reason}")


async def _discover(connection: Connection, revision: str) -> dict[str, Any] | str:
    """The result of `server/discover`, or why the server does not seem to support it."""
    meta = meta_of(revision, connection.respondent.capabilities(revision))
    response = await connection.transport.peer.request("server/discover", {"_meta": meta})
    if response.error is None:
        if isinstance(response.result, dict) and "supportedVersions" in response.result:
            return response.result
        return "its `server/discover` result has no `supportedVersions`"
    if response.error.get("code") != _UNSUPPORTED_VERSION:
        return f"it responds to `server/discover` with {response.description}"
    data = response.error.get("data")
    supported = data.get("supported") if isinstance(data, dict) else None
    listed = [each for each in supported if isinstance(each, str)] if isinstance(supported, list) else []
    supports = f"supports {cropped(', '.join(listed))}" if listed else "does not list any"
    if not any(each in HANDSHAKE for each in listed):
        raise ConnectError(f"no common protocol revision: the server {supports}")
    return f"it {supports}"


async def _handshake(connection: Connection, revision: str) -> None:
    """Initialize a connection with the handshake."""
    connection.settle("handshake", revision, await _initialize(connection, revision))
    await connection.transport.peer.notify("notifications/initialized")


async def _initialize(connection: Connection, revision: str) -> dict[str, Any]:
    """The result of `initialize`."""
    capabilities = connection.respondent.capabilities(revision)
    params = {"protocolVersion": revision, "capabilities": capabilities, "clientInfo": CLIENT}
    response = await connection.transport.peer.request("initialize", params)
    if response.error is not None:
        raise ConnectError(f"the server refuses `initialize`: {response.description}")
    return response.result if isinstance(response.result, dict) else {}


async def connect_http(
    url: str,
    headers: dict[str, str],
    limits: Limits,
    protocol: str | None,
    *,
    answers: AnswerSource | None = None,
    authorizer: Authorizer | None = None,
) -> Connection:
    """Connect to a URL: stateless, else with the handshake, else over the older SSE transport."""
    from mcproof.client.transports.http import LegacySse, StreamableHttp

    start = perf_counter()
    sign = None if authorizer is None else authorizer.sign
    connection = Connection(StreamableHttp(url, headers, limits.start, sign), limits, answers, authorizer)
    try:
        async with asyncio.timeout(limits.start):
            refusal = await _introduce_http(connection, protocol)
            if refusal is not None:
                await connection.transport.close()
                connection.transport = LegacySse(url, headers, limits.start, sign)
                try:
                    await connection.transport.open()
                except UnauthorizedError:
                    raise
                except HttpStatusError:  # not an SSE endpoint either
                    raise refusal from None
                await _handshake(connection, protocol if protocol in HANDSHAKE else HANDSHAKE[-1])
    except TimeoutError:
        await connection.transport.close()
        raise ConnectError(limits.missed_start) from None
    except BaseException:
        await connection.transport.close()
        raise
    connection.seconds_to_response = perf_counter() - start
    return connection


async def _introduce_http(connection: Connection, protocol: str | None) -> ConnectError | None:
    """Initialize a Streamable HTTP connection in either era; return the error if the URL is not such an endpoint."""
    from mcproof.client.transports.http import StreamableHttp

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
        # It may be a stateless server that was slow to start.
        patience = PATIENCE * connection.limits.grace
        if protocol is None and await _is_stateless(connection, transport, None, patience):
            return None
        raise
    transport.protocol_headers = connection.protocol_headers
    with contextlib.suppress(TimeoutError):  # a notification needs no response
        async with asyncio.timeout(2 * connection.limits.grace):
            await transport.peer.notify("notifications/initialized")
    return None


async def _is_stateless(
    connection: Connection, transport: StreamableHttp, protocol: str | None, patience: float | None = None
) -> bool:
    """Call `server/discover`; whether the server supports it. Raises if no other era is allowed."""
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

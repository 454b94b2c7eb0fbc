"""An initialized connection: its first request, and later ones in the form that the era of the server requires.

`Limits` has the time limits. `ServerMemory` has what outlasts a connection, such as the headers that tools declare
and the sessions that have expired.
Why sessions are recovered below a request: docs/decisions/0041-recovery-below-a-request.md.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from mcproof import __version__
from mcproof.client import questions
from mcproof.client.errors import ConnectError, ExpiredSessionError, UnauthorizedError
from mcproof.client.http.headers import HEADER_MISMATCH, ParameterHeaders, stateless_headers
from mcproof.client.questions import AnswerSource, Respondent
from mcproof.core.named_tuple import NamedTuple
from mcproof.core.observations.connection import ProcessEnd, cropped
from mcproof.core.protocol import HANDSHAKE

if TYPE_CHECKING:
    import httpx2

    from mcproof.client.peer import Peer, RpcResponse
    from mcproof.client.transports.processes import CpuUsage


CLIENT = {"name": "mcproof", "version": __version__}
_META = "io.modelcontextprotocol"
_UNSUPPORTED_VERSION = -32022


def meta_of(
    revision: str, capabilities: dict[str, Any] | None = None, client: dict[str, str] | None = None
) -> dict[str, Any]:
    """The `_meta` of every request in the stateless era."""
    return {
        f"{_META}/protocolVersion": revision,
        f"{_META}/clientInfo": client or CLIENT,
        f"{_META}/clientCapabilities": capabilities or {},
    }


class DiscoverResult(NamedTuple):
    """A successful `server/discover`."""

    revision: str
    """The requested revision."""
    result: dict[str, Any]


class Handshake(NamedTuple):
    """A successful `initialize`."""

    revision: str
    """The requested revision."""
    result: dict[str, Any]


async def discover(connection: Connection, revisions: tuple[str, ...]) -> DiscoverResult | str:
    """The result of `server/discover`, or why the server does not seem to support it.

    The first of the revisions is tried, then one that the server supports.
    """
    connection.requested = revisions[0]
    response = await _send_discover(connection)
    supported = _supported(response) if _is_refused(response) else []
    if (common := next((revision for revision in revisions if revision in supported), None)) is not None:
        connection.requested = common
        response = await _send_discover(connection)
    if response.error is None:
        if isinstance(response.result, dict) and "supportedVersions" in response.result:
            return DiscoverResult(connection.requested, response.result)
        return "its `server/discover` result has no `supportedVersions`"
    if not _is_refused(response):
        return f"it responds to `server/discover` with {response.description}"
    listed = _supported(response)
    supports = f"supports {cropped(', '.join(listed))}" if listed else "does not list any"
    if not any(revision in HANDSHAKE for revision in listed):
        raise ConnectError(f"no common protocol revision: the server {supports}")
    return f"it {supports}"


async def _send_discover(connection: Connection) -> RpcResponse:
    meta = meta_of(connection.requested, connection.respondent.capabilities(connection.requested), connection.client)
    return await connection.transport.peer.request("server/discover", {"_meta": meta})


def _is_refused(response: RpcResponse) -> bool:
    """Whether the server refuses the revision of a request."""
    return response.error is not None and response.error.get("code") == _UNSUPPORTED_VERSION


def _supported(response: RpcResponse) -> list[str]:
    """The revisions that an error lists as supported."""
    data = (response.error or {}).get("data")
    supported = data.get("supported") if isinstance(data, dict) else None
    return [revision for revision in supported if isinstance(revision, str)] if isinstance(supported, list) else []


async def handshake(connection: Connection, revision: str) -> None:
    """Initialize a connection with the handshake, in this revision only."""
    connection.settle("handshake", *await initialize(connection, (revision,)))
    await announce(connection)


async def announce(connection: Connection) -> None:
    """Tell the server that the handshake is done; a notification needs no response, so the wait is short."""
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(2 * connection.limits.grace):
            await connection.transport.peer.notify("notifications/initialized")


async def initialize(connection: Connection, revisions: tuple[str, ...]) -> Handshake:
    """The result of `initialize`; the first of the revisions is tried, then one that the server supports."""
    requested = revisions[0]
    response = await _send_initialize(connection, requested)
    supported = _supported(response)
    if (common := next((revision for revision in revisions[1:] if revision in supported), None)) is not None:
        requested = common
        response = await _send_initialize(connection, requested)
    if response.error is not None:
        raise ConnectError(f"the server refuses `initialize`: {response.description}")
    return Handshake(requested, response.result if isinstance(response.result, dict) else {})


async def _send_initialize(connection: Connection, revision: str) -> RpcResponse:
    capabilities = connection.respondent.capabilities(revision)
    params = {"protocolVersion": revision, "capabilities": capabilities, "clientInfo": connection.client}
    return await connection.transport.peer.request("initialize", params)


class ServerMemory:
    """Facts about a server that outlast a connection."""

    def __init__(self) -> None:
        self.parameter_headers = ParameterHeaders()
        self.expired_sessions = 0
        """How often the server has ended a session that was in use, so that another was started."""
        self.revision: str | None = None
        """The revision in which a command was asked to work: once known, no further start has to detect the era."""
        self.called: set[str] = set()
        """The names of the tools that were called, whether or not a response came in time."""


T = TypeVar("T")


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
        """What a server said before it ended, as the end of an error message; empty if there is nothing."""

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
            # Between two attempts, outside of their time limits: docs/decisions/0037-authorization-between-attempts.md.
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
        self.client = CLIENT
        """The client name and version to report."""
        self.era = "handshake"
        self.requested = HANDSHAKE[0]
        self.introduction: dict[str, Any] = {}
        """The result of `initialize` or `server/discover`."""
        self.seconds_to_response = 0.0
        self.memory = ServerMemory()
        self._renewing = asyncio.Lock()
        self._has_relisted = False

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

    def use_protocol_headers(self) -> None:
        """Send the headers of the settled revision with every message, if the transport has headers."""
        from mcproof.client.transports.streamable_http import StreamableHttp

        if isinstance(self.transport, StreamableHttp):
            self.transport.protocol_headers = self.protocol_headers
            if self.era == "stateless":
                self.transport.peer.notifies_cancellation = False  # closing the stream cancels the request
            else:
                self.transport.is_initialized = True

    @property
    def agreed(self) -> str | None:
        """The negotiated revision, as reported by the server."""
        if self.era == "stateless":
            return self.requested
        revision = self.introduction.get("protocolVersion")
        return revision if isinstance(revision, str) else None

    @property
    def has_parameter_headers(self) -> bool:
        """Whether calls repeat annotated arguments in HTTP headers."""
        return self.era == "stateless" and self.transport.name == "http"

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
            return await self._exchange(method, params)

        response = await send(params)
        if method not in questions.ASKING_METHODS:
            return response
        return await questions.completed(response, params, send, self.respondent)

    async def _exchange(self, method: str, params: dict[str, Any] | None) -> RpcResponse:
        """Send a request in the form that the era requires; a call that lacks headers is repeated with them."""
        response = await self._in_session(method, params)
        if self.has_parameter_headers:
            if method == "tools/list":
                self.memory.parameter_headers.learn(response.result)
            elif (response.error or {}).get("code") == HEADER_MISMATCH and await self._has_new_headers(method, params):
                response = await self._in_session(method, params)
        return response

    async def _has_new_headers(self, method: str, params: dict[str, Any] | None) -> bool:
        """List the tools, once in a connection; whether a refused call has other headers since."""
        if self._has_relisted:
            return False
        self._has_relisted = True
        from mcproof.client.listing import METHODS, list_everything

        message = {"method": method, "params": params}
        before = self.memory.parameter_headers.of(message)
        await list_everything(self, [listed for listed in METHODS if listed.method == "tools/list"])
        return self.memory.parameter_headers.of(message) != before

    async def _in_session(self, method: str, params: dict[str, Any] | None) -> RpcResponse:
        """Send a request, in another session if the server has ended the current one."""
        try:
            return await self.transport.peer.request(method, self._parameters(params))
        except ExpiredSessionError as error:
            # The server has not processed the request, so it is sent again, once:
            # docs/decisions/0041-recovery-below-a-request.md.
            await self._renew(error.session)
            return await self.transport.peer.request(method, self._parameters(params))

    async def _renew(self, expired: str) -> None:
        """Start another session, unless a concurrent request has done so."""
        from mcproof.client.transports.streamable_http import StreamableHttp

        async with self._renewing:
            transport = self.transport
            if isinstance(transport, StreamableHttp) and transport.session in (expired, None):
                self.memory.expired_sessions += 1
                await transport.forget_session()
                await handshake(self, self.requested)

    def _parameters(self, params: dict[str, Any] | None) -> dict[str, Any] | None:
        if self.era != "stateless":
            return params
        meta = meta_of(self.requested, self.respondent.capabilities(self.requested), self.client)
        return {**(params or {}), "_meta": {**(params or {}).get("_meta", {}), **meta}}

    def protocol_headers(self, message: dict[str, Any]) -> dict[str, str]:
        """The HTTP headers for a message."""
        if self.era == "stateless":
            return {**stateless_headers(self.requested, message), **self.memory.parameter_headers.of(message)}
        agreed = self.agreed or ""
        is_sendable = agreed.isascii() and agreed.isprintable() and agreed == agreed.strip() and 0 < len(agreed) < 100
        return {"MCP-Protocol-Version": agreed} if is_sendable else {}


def in_seconds(limit: float) -> str:
    return "1 second" if limit == 1 else f"{limit:g} seconds"

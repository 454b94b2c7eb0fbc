"""An initialized connection: its first request, and later ones in the form that the era of the server requires.

`Limits` has the time limits. `ServerMemory` has what outlasts a connection, such as the headers that tools declare
and the sessions that have expired.
Why sessions are recovered below a request: docs/decisions/0041-recovery-below-a-request.md.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, TypeVar

from mcproof.client import input_rounds
from mcproof.client.failures import ExpiredSessionError, UnauthorizedError
from mcproof.client.introduction import CLIENT, handshake, meta_of
from mcproof.client.protocol_headers import HEADER_MISMATCH, stateless_headers
from mcproof.client.respondent import Respondent
from mcproof.client.server_memory import ServerMemory
from mcproof.core.protocol import HANDSHAKE

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    import httpx2

    from mcproof.client.answers import AnswerSource
    from mcproof.client.peer import Peer, RpcResponse
    from mcproof.client.transports.cpu_usage import CpuUsage
    from mcproof.core.observations.connection import ProcessEnd

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
        from mcproof.client.transports.http import StreamableHttp

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
        if method not in input_rounds.ASKING_METHODS:
            return response
        return await input_rounds.completed(response, params, send, self.respondent)

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
        await list_everything(self, [each for each in METHODS if each.method == "tools/list"])
        return self.memory.parameter_headers.of(message) != before

    async def _in_session(self, method: str, params: dict[str, Any] | None) -> RpcResponse:
        """Send a request, in another session if the server has ended the current one."""
        try:
            return await self.transport.peer.request(method, self._parameters(params))
        except ExpiredSessionError as error:
            await self._renew(error.session)
            return await self.transport.peer.request(method, self._parameters(params))

    async def _renew(self, expired: str) -> None:
        """Start another session, unless a concurrent request has done so."""
        from mcproof.client.transports.http import StreamableHttp

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

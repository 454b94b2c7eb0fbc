"""Connect in the protocol era that the server supports.

Revisions up to 2025-11-25 begin with the `initialize` handshake. Later ones are stateless: the client calls
`server/discover` and sends the revision with every request. The era is detected by trying both, the newer first; a
server that ignores unknown methods costs a short delay, not a timeout.
Why mcproof has a client of its own: docs/decisions/0015-own-mcp-client.md.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from time import perf_counter
from typing import TYPE_CHECKING

from mcproof.client.connection import Connection, DiscoverResult, Handshake, announce, discover, handshake, initialize
from mcproof.client.errors import ConnectError, HttpStatusError, LostError, UnauthorizedError, UnreachableError
from mcproof.client.http.headers import stateless_headers
from mcproof.core.protocol import HANDSHAKE, STATELESS

if TYPE_CHECKING:
    from mcproof.client.connection import Authorizer, Limits, Transport
    from mcproof.client.questions import AnswerSource
    from mcproof.client.transports.streamable_http import StreamableHttp

PATIENCE = 10
"""How many times the grace period to wait for `server/discover` after a server has refused the handshake."""


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
                is_mixed = await _introduce(connection, protocol)
            except LostError:
                if protocol is not None:
                    raise
                # The unknown method may have crashed it: retry with the handshake only.
                await _restart(connection, make)
                await handshake(connection, HANDSHAKE[0])
            else:
                if is_mixed:
                    # A server that was slow to start has got the handshake as well, and may go on in that era.
                    start = perf_counter()
                    await _restart(connection, make)
                    await _settle_by_discovery(connection, connection.requested)
    except TimeoutError:
        # Read stderr before the process is closed, which may write more to it.
        error = ConnectError(f"{limits.missed_start}{connection.transport.last_words()}")
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


async def _restart(connection: Connection, make: Callable[[], Transport]) -> None:
    """Start a server again, so that what was sent to it has no effect."""
    await connection.transport.close()
    connection.transport = make()
    await connection.transport.open()


async def _introduce(connection: Connection, protocol: str | None) -> bool:
    """Detect the era of a server by trying both, the newer first; whether a stateless server got both."""
    if protocol in HANDSHAKE:
        await handshake(connection, protocol)
    elif protocol is not None:
        await _settle_by_discovery(connection, protocol)
    else:
        discovery = asyncio.create_task(discover(connection, STATELESS))
        initialization: asyncio.Task[Handshake] | None = None
        try:
            await asyncio.wait([discovery], timeout=connection.limits.grace)
            if not discovery.done() or isinstance(discovery.result(), str):
                initialization = asyncio.create_task(initialize(connection, HANDSHAKE))
                await _first_success(discovery, initialization, PATIENCE * connection.limits.grace)
            outcome = discovery.result() if discovery.done() else ""
            if isinstance(outcome, DiscoverResult):
                connection.settle("stateless", *outcome)
                return initialization is not None
            assert initialization is not None  # noqa: S101
            connection.settle("handshake", *initialization.result())
        finally:
            tasks = [task for task in (discovery, initialization) if task is not None]
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
        await connection.transport.peer.notify("notifications/initialized")
    return False


async def _first_success(
    discovery: asyncio.Task[DiscoverResult | str], initialization: asyncio.Task[Handshake], patience: float
) -> None:
    """Wait until one of the two requests succeeds or both have failed.

    A stateless server may refuse the handshake before it has responded to `server/discover`.
    """
    await asyncio.wait([discovery, initialization], return_when=asyncio.FIRST_COMPLETED)
    if not initialization.done() and isinstance(discovery.result(), str):
        await asyncio.wait([initialization])
    elif initialization.done() and initialization.exception() is not None:
        await asyncio.wait([discovery], timeout=patience)


async def _settle_by_discovery(connection: Connection, revision: str) -> None:
    outcome = await discover(connection, (revision,))
    if isinstance(outcome, str):
        raise _not_spoken(revision, outcome)
    connection.settle("stateless", *outcome)


def _not_spoken(revision: str, reason: str) -> ConnectError:
    return ConnectError(f"the server does not support revision {revision}: {reason}")


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
    from mcproof.client.transports.sse import LegacySse
    from mcproof.client.transports.streamable_http import StreamableHttp

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
                await handshake(connection, protocol if protocol in HANDSHAKE else HANDSHAKE[-1])
    except TimeoutError:
        await connection.transport.close()
        raise UnreachableError(limits.missed_start) from None
    except BaseException:
        await connection.transport.close()
        raise
    connection.seconds_to_response = perf_counter() - start
    return connection


async def _introduce_http(connection: Connection, protocol: str | None) -> ConnectError | None:
    """Initialize a Streamable HTTP connection in either era; return the error if the URL is not such an endpoint."""
    from mcproof.client.transports.streamable_http import StreamableHttp

    transport = connection.transport
    assert isinstance(transport, StreamableHttp)  # noqa: S101
    await transport.open()
    if protocol not in HANDSHAKE and await _is_stateless(connection, transport, protocol):
        return None
    transport.protocol_headers = lambda _: {}
    transport.is_stateless = False
    try:
        connection.settle("handshake", *await initialize(connection, HANDSHAKE if protocol is None else (protocol,)))
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
    connection.use_protocol_headers()
    await announce(connection)
    return None


async def _is_stateless(
    connection: Connection, transport: StreamableHttp, protocol: str | None, patience: float | None = None
) -> bool:
    """Call `server/discover`; whether the server supports it. Raises if no other era is allowed."""
    revisions = STATELESS if protocol is None else (protocol,)
    transport.is_stateless = True
    transport.protocol_headers = lambda message: stateless_headers(connection.requested, message)
    try:
        quick = 2 * connection.limits.grace
        async with asyncio.timeout(patience or (connection.limits.start if protocol else quick)):
            outcome = await discover(connection, revisions)
    except (HttpStatusError, LostError, TimeoutError) as error:
        if protocol is not None or getattr(error, "is_final", False):
            raise
        return False
    if isinstance(outcome, str):
        if protocol is not None:
            raise _not_spoken(protocol, outcome)
        return False
    connection.settle("stateless", *outcome)
    connection.use_protocol_headers()
    return True

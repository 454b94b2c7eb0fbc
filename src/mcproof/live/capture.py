"""A live server as a capture: the catalog that it serves, and what the connection showed."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
from typing import TYPE_CHECKING, NamedTuple

from mcproof.live.connection import Limits, connect_http, connect_stdio
from mcproof.live.errors import ConnectError, LostError
from mcproof.live.listing import list_everything
from mcproof.live.secrets import without
from mcproof.live.servers import Endpoint
from mcproof.wire import Wire

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from mcproof.live.connection import Connection
    from mcproof.live.listing import Listing
    from mcproof.live.servers import Server

INHERITED = ("HOME", "LANG", "LC_ALL", "LOGNAME", "PATH", "SHELL", "TERM", "TMPDIR", "USER", "USERNAME")
"""What a child gets of our environment without being told: what it takes to run, and nothing that is secret."""

AT_ONCE = 8
"""How many servers are asked at the same time."""


class Capture(NamedTuple):
    """What a server serves, as the text of a snapshot, and what its connection showed."""

    text: str
    wire: Wire


class Asking(NamedTuple):
    """How servers are asked."""

    limits: Limits = Limits()
    protocol: str | None = None


async def capture(server: Server, asking: Asking) -> Capture:
    """Connect, list everything, disconnect. Raises ConnectError, with no secret in it."""
    try:
        async with asyncio.timeout(asking.limits.total):
            return await _capture(server, asking)
    except TimeoutError:
        raise ConnectError(f"not done within {asking.limits.total:g} seconds", file=server.label) from None
    except (ConnectError, LostError) as error:
        raise ConnectError(without(error.message, server.secrets), file=server.label) from None


async def _capture(server: Server, asking: Asking) -> Capture:
    connection = await _connect(server, asking)
    try:
        listing = await list_everything(connection)
    finally:
        ending = await connection.transport.close()
    hide = server.secrets
    anomalies = tuple(each._replace(detail=without(each.detail, hide)) for each in connection.transport.peer.anomalies)
    wire = Wire(
        connection.transport.name,
        connection.era,
        connection.requested,
        connection.agreed,
        connection.seconds_to_answer,
        anomalies,
        tuple((method, without(what, hide)) for method, what in listing.unserved),
        ending,
    )
    return Capture(without(_document(server, connection, listing), [each for each in hide if len(each) >= 8]), wire)


async def _connect(server: Server, asking: Asking) -> Connection:
    if isinstance(server, Endpoint):
        return await connect_http(server.url, dict(server.headers), asking.limits, asking.protocol)
    from mcproof.live.stdio import Stdio

    inherited = {name: os.environ[name] for name in INHERITED if name in os.environ}
    environment = {**inherited, **server.environment}
    return await connect_stdio(
        lambda: Stdio(server.words, environment, server.directory), asking.limits, asking.protocol
    )


def _document(server: Server, connection: Connection, listing: Listing) -> str:
    key = "discover" if connection.era == "stateless" else "initialize"
    document = {"server": server.described, key: connection.introduction, **listing.lists}
    return json.dumps(document, indent=2, ensure_ascii=False) + "\n"


class Captures(NamedTuple):
    """What several servers gave: a capture, the reason why there is none, or nothing where an interrupt came first."""

    results: list[Capture | ConnectError | None]
    interrupted: bool


def capture_all(servers: Iterable[Server], asking: Asking, done: Callable[[Server], None]) -> Captures:
    """Capture several servers at once. An interrupt ends them all, and leaves no process behind."""
    listed = list(servers)
    results: list[Capture | ConnectError | None] = [None] * len(listed)

    async def run() -> None:
        room = asyncio.Semaphore(AT_ONCE)

        async def one(number: int) -> None:
            async with room:
                try:
                    results[number] = await capture(listed[number], asking)
                except ConnectError as error:
                    results[number] = error
                done(listed[number])

        async with asyncio.TaskGroup() as group:
            for number in range(len(listed)):
                group.create_task(one(number))

    try:
        with _ended_by_signals():
            asyncio.run(run())
    except KeyboardInterrupt:
        return Captures(results, interrupted=True)
    return Captures(results, interrupted=False)


@contextlib.contextmanager
def _ended_by_signals() -> Iterator[None]:
    """Let a request to terminate end this as an interrupt does: with nothing left running."""
    import signal

    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    numbers = [getattr(signal, name) for name in ("SIGTERM", "SIGHUP") if hasattr(signal, name)]
    before = {number: signal.signal(number, interrupt) for number in numbers}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)

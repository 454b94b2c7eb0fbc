"""A live server as a capture: the catalog that it serves, and what the connection showed."""

from __future__ import annotations

import asyncio
import json
import re
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

from mcproof.client.connect import connect
from mcproof.client.connection import in_seconds
from mcproof.client.failures import ConnectError, LostError
from mcproof.client.interrupts import Interruptible
from mcproof.client.listing import list_everything
from mcproof.client.secrets import hiding, hiding_in_catalogs
from mcproof.exchange.connection_facts import ConnectionFacts, cropped

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from mcproof.client.connect import ConnectOptions
    from mcproof.client.connection import Connection
    from mcproof.client.endpoints import Endpoint
    from mcproof.client.listing import Listing
    from mcproof.client.session import Session
    from mcproof.exchange.connection_facts import ProcessEnd

AT_ONCE = 8
"""How many servers are asked at the same time."""

_LARGEST_FLOAT = 1.7976931348623157e308
_LONE_SURROGATE = re.compile("[\ud800-\udfff]")


class Capture(NamedTuple):
    """What a server serves, as the text of a snapshot, and what its connection showed."""

    text: str
    connection: ConnectionFacts


async def capture(server: Endpoint, options: ConnectOptions) -> Capture:
    """Connect, list everything, disconnect. Raises ConnectError, with no secret in it."""
    try:
        async with asyncio.timeout(options.limits.total):
            return await _capture(server, options)
    except TimeoutError:
        raise ConnectError(f"not done within {in_seconds(options.limits.total)}", file=server.label) from None
    except (ConnectError, LostError) as error:
        raise ConnectError(hiding(server.secrets)(error.message), file=server.label) from None


async def capture_session(session: Session) -> Capture:
    """List everything and leave the session open for calls. Raises ConnectError, with no secret in it.

    A server that did not answer every request is closed: the next request of the session starts another.
    """
    server, limits = session.server, session.limits
    try:
        async with asyncio.timeout(limits.total):
            connection = await session.connection()
            listing = await list_everything(connection)
            ending = None if listing.is_complete else await session.close()
            return _captured(server, connection, listing, ending)
    except TimeoutError:
        raise ConnectError(f"not done within {in_seconds(limits.total)}", file=server.label) from None
    except (ConnectError, LostError) as error:
        raise ConnectError(hiding(server.secrets)(error.message), file=server.label) from None


async def _capture(server: Endpoint, options: ConnectOptions) -> Capture:
    connection = await connect(server, options)
    try:
        listing = await list_everything(connection)
    finally:
        ending = await connection.transport.close()
    return _captured(server, connection, listing, ending)


async def capture_over(server: Endpoint, connection: Connection) -> Capture:
    """List everything over a connection that stays open. Raises ConnectError or LostError."""
    return _captured(server, connection, await list_everything(connection), None)


def _captured(server: Endpoint, connection: Connection, listing: Listing, ending: ProcessEnd | None) -> Capture:
    hide = hiding(server.secrets)
    wire = ConnectionFacts(
        connection.transport.name,
        connection.era,
        connection.requested,
        None if connection.agreed is None else hide(cropped(connection.agreed)),
        connection.seconds_to_answer,
        tuple(each._replace(detail=hide(each.detail)) for each in connection.transport.peer.anomalies),
        tuple((method, hide(what)) for method, what in listing.unserved),
        ending,
    )
    return Capture(_document(server, connection, listing), wire)


def _document(server: Endpoint, connection: Connection, listing: Listing) -> str:
    """What the server serves, as JSON that any reader reads."""
    key = "discover" if connection.era == "stateless" else "initialize"
    served = {key: connection.introduction, **listing.lists}
    _clean(served, hiding_in_catalogs(server.named_secrets))
    document = {"server": server.described, **served}
    try:
        text = json.dumps(document, indent=2, ensure_ascii=False)
    except RecursionError:
        try:  # without an indent, the encoder is the one that goes as deep as the parser
            text = json.dumps(document, ensure_ascii=False)
        except RecursionError:
            raise ConnectError("what the server lists is nested too deeply to be checked") from None
    return _LONE_SURROGATE.sub(lambda found: f"\\u{ord(found[0]):04x}", text) + "\n"


def _clean(document: dict[str, Any], hide: Callable[[str], str]) -> None:
    """Hide secrets in every text, and make numbers finite that are too large for Python."""
    waiting: list[Any] = [document]

    def cleaned(value: Any) -> Any:
        if isinstance(value, str):
            return hide(value)
        if isinstance(value, float):
            return max(-_LARGEST_FLOAT, min(value, _LARGEST_FLOAT))
        if isinstance(value, (dict, list)):
            waiting.append(value)
        return value

    while waiting:
        holder = waiting.pop()
        if isinstance(holder, list):
            holder[:] = [cleaned(value) for value in holder]
        else:
            members: dict[str, Any] = {}
            for key, value in holder.items():
                shown = hide(key)
                while shown in members:  # two that look alike now stay two
                    shown += "*"
                members[shown] = cleaned(value)
            holder.clear()
            holder.update(members)


class Captures(NamedTuple):
    """What several servers gave: a capture, the reason why there is none, or nothing where an interrupt came first."""

    results: list[Capture | ConnectError | None]
    interrupted: bool


def capture_all(servers: Iterable[Endpoint], options: ConnectOptions, done: Callable[[Endpoint], None]) -> Captures:
    """Capture several servers at once.

    An interrupt, or a request to terminate, ends them all, leaves no process behind, and keeps what was there by then.
    """
    listed = list(servers)
    results: list[Capture | ConnectError | None] = [None] * len(listed)
    work = Interruptible()

    async def one(number: int, room: asyncio.Semaphore) -> None:
        async with room:
            try:
                results[number] = await capture(listed[number], options)
            except ConnectError as error:
                results[number] = error
            except Exception as error:  # one server must not take the others down with it
                message = f"internal error, please report it: {type(error).__name__}"
                results[number] = ConnectError(message, file=listed[number].label)
            done(listed[number])

    room = asyncio.Semaphore(AT_ONCE)
    work.run(*(partial(one, number, room) for number in range(len(listed))))
    return Captures(results, work.is_interrupted)

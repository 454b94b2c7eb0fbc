"""Capture live servers: list their catalogs, and collect what the connections showed.

`capture` connects, lists and disconnects; `capture_all` does so for several servers at once; `OpenServer` keeps one
server open for a whole command. Secrets are hidden in everything that is captured.
Why mcproof has a client of its own: docs/decisions/0015-own-mcp-client.md.
"""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Awaitable, Callable, Coroutine, Iterable
from contextlib import ExitStack
from functools import partial
from typing import TYPE_CHECKING, Any, Self

from mcproof.client import waiting
from mcproof.client.connect import ConnectOptions, connect
from mcproof.client.connection import Connection, in_seconds
from mcproof.client.errors import ConnectError, LostError, for_report
from mcproof.client.listing import Listing, list_everything, list_variation
from mcproof.client.redaction import hiding, hiding_in_catalogs
from mcproof.client.session import Session
from mcproof.client.waiting import GRACE, Interruptible, confirmed, raising_on_signals
from mcproof.core.named_tuple import NamedTuple
from mcproof.core.observations.connection import LINGERING, Anomaly, ObservedConnection, ProcessEnd, cropped

if TYPE_CHECKING:
    from mcproof.client.endpoints import Endpoint


LATE = 0.5
"""Seconds that a process has to exit once the time of a run is used up."""
AT_ONCE = 8
"""How many servers are captured concurrently."""

_LARGEST_FLOAT = 1.7976931348623157e308
_LONE_SURROGATE = re.compile("[\ud800-\udfff]")


class Capture(NamedTuple):
    """The catalog of a server as the text of a snapshot, and the facts of its connection."""

    text: str
    connection: ObservedConnection


async def capture(server: Endpoint, options: ConnectOptions) -> Capture:
    """Connect, list everything, disconnect. Raises ConnectError without secrets, from the error with the reason."""
    try:
        async with asyncio.timeout(options.limits.total):
            return await _capture(server, options)
    except TimeoutError:
        raise ConnectError(f"not done within {in_seconds(options.limits.total)}", file=server.label) from None
    except (ConnectError, LostError) as error:
        raise for_report(error, hiding(server.secrets), server.label) from error


async def capture_session(session: Session) -> Capture:
    """List everything and leave the session open. Raises ConnectError, without secrets.

    If a request got no response, the session is closed, and its next request starts another process.
    """
    server, limits = session.server, session.limits
    try:
        async with asyncio.timeout(limits.total):
            connection = await session.connection()
            listing = await list_everything(connection)
            ending = None if listing.is_complete else await session.close(grace=GRACE)
            session.stray_output.clear()  # part of the capture
            return _captured(server, connection, listing, ending)
    except TimeoutError:
        raise ConnectError(f"not done within {in_seconds(limits.total)}", file=server.label) from None
    except (ConnectError, LostError) as error:
        raise for_report(error, hiding(server.secrets), server.label) from error


async def _capture(server: Endpoint, options: ConnectOptions) -> Capture:
    connection = await connect(server, options)
    try:
        listing = await list_everything(connection)
    finally:
        ending = await connection.transport.close(GRACE)
    captured = _captured(server, connection, listing, ending)
    reconnect = partial(connect, server, options)
    facts = await confirmed(captured.connection, reconnect)
    if options.compares_lists and connection.era == "stateless":
        varies = await _variation(server, listing, reconnect)
        facts = facts if varies is None else facts._replace(anomalies=(*facts.anomalies, varies))
    return captured._replace(connection=facts)


async def _variation(
    server: Endpoint, listing: Listing, reconnect: Callable[[], Awaitable[Connection]]
) -> Anomaly | None:
    """How another connection lists other tools, without secrets."""
    hide = hiding_in_catalogs(server.named_secrets)
    return await list_variation(listing, reconnect, lambda lists: clean(lists, hide))


async def capture_over(server: Endpoint, connection: Connection) -> Capture:
    """List everything over a connection that stays open. Raises ConnectError or LostError."""
    return _captured(server, connection, await list_everything(connection), None)


def _captured(server: Endpoint, connection: Connection, listing: Listing, ending: ProcessEnd | None) -> Capture:
    hide = hiding(server.secrets)
    facts = ObservedConnection(
        transport=connection.transport.name,
        era=connection.era,
        requested=connection.requested,
        agreed=None if connection.agreed is None else hide(cropped(connection.agreed)),
        seconds_to_response=connection.seconds_to_response,
        anomalies=tuple(
            anomaly._replace(detail=hide(anomaly.detail)) for anomaly in connection.transport.peer.anomalies
        ),
        unserved=tuple((method, hide(why)) for method, why in listing.unserved),
        ending=ending,
        expired_sessions=connection.memory.expired_sessions,
        tool_pages=listing.pages.get("tools", 1),
    )
    return Capture(_document(server, connection, listing), facts)


def _document(server: Endpoint, connection: Connection, listing: Listing) -> str:
    """The catalog as portable JSON."""
    key = "discover" if connection.era == "stateless" else "initialize"
    served = {key: connection.introduction, **listing.lists}
    clean(served, hiding_in_catalogs(server.named_secrets))
    document = {"server": server.described, **served}
    try:
        text = json.dumps(document, indent=2, ensure_ascii=False)
    except RecursionError:
        try:  # the encoder in C, which is used without indentation, allows deeper nesting
            text = json.dumps(document, ensure_ascii=False)
        except RecursionError:
            raise ConnectError("the catalog is nested too deeply") from None
    # UTF-8 has no lone surrogates, so they stay escapes.
    return _LONE_SURROGATE.sub(lambda match: f"\\u{ord(match[0]):04x}", text) + "\n"


def clean(document: dict[str, Any], hide: Callable[[str], str]) -> None:
    """Hide secrets in every string, and replace infinite numbers by the largest finite ones."""
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
                while shown in members:  # keys that became equal stay separate
                    shown += "*"
                members[shown] = cleaned(value)
            holder.clear()
            holder.update(members)


class Captures(NamedTuple):
    """For each server a capture, an error, or None if an interrupt came first."""

    results: list[Capture | ConnectError | None]
    interrupted: bool


def capture_all(servers: Iterable[Endpoint], options: ConnectOptions, done: Callable[[Endpoint], None]) -> Captures:
    """Capture several servers concurrently.

    An interrupt ends all processes and keeps the captures made so far.
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
            except Exception as error:  # one server must not fail the others
                message = f"internal error, please report it: {type(error).__name__}"
                results[number] = ConnectError(message, file=listed[number].label)
            done(listed[number])

    room = asyncio.Semaphore(AT_ONCE)
    work.run(*(partial(one, number, room) for number in range(len(listed))))
    return Captures(results, work.is_interrupted)


class OpenServer:
    """A session for synchronous callers, with an event loop that lasts as long as the session.

    Use it as a context manager: `capture()`, then `run()` as often as needed, then `close()` for the facts that only
    the end of the process shows. Leaving the context without `close()` kills the process.
    """

    def __init__(self, server: Endpoint, options: ConnectOptions, limit: float) -> None:
        self.session = Session(server, options, limit)
        self._runner = asyncio.Runner()
        self._work = Interruptible(self._runner)
        self._facts: ObservedConnection | None = None
        self._stack = ExitStack()

    def __enter__(self) -> Self:
        # Undone in reverse: the process is killed while there is an event loop, and signals no longer raise.
        self._stack.enter_context(self._runner)
        self._stack.callback(self._kill)
        self._stack.enter_context(raising_on_signals())
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    @property
    def is_interrupted(self) -> bool:
        """Whether a signal interrupted `run()`."""
        return self._work.is_interrupted

    @property
    def facts(self) -> ObservedConnection | None:
        """What the connection has shown: once the lists are read, and how it ended, once it is closed."""
        return self._facts

    def capture(self) -> Capture:
        """Connect and list everything. Raises ConnectError and KeyboardInterrupt."""
        captured: list[Capture] = []

        async def capture() -> None:
            captured.append(await capture_session(self.session))

        if not self.run(capture):
            raise KeyboardInterrupt
        self._facts = captured[0].connection
        return captured[0]

    def run(self, *jobs: Callable[[], Coroutine[Any, Any, None]]) -> bool:
        """Run jobs concurrently; False if a signal cancelled them, or an earlier run."""
        return not self.is_interrupted and self._work.run(*jobs)

    def close(self, *, at_once: bool = False, seconds: float | None = None) -> ObservedConnection | None:
        """Close the session and return the facts of its connection, including how the process ended.

        If a call has ended the process, another one is started to see how it exits. After an interrupt, or with
        `at_once`, the process is killed, so how it would exit is unknown; also if `seconds` do not suffice for it.
        """
        if at_once or self.is_interrupted:
            self._kill()
        else:
            self.run(partial(self._end, seconds))
        return self._facts

    async def _end(self, seconds: float | None) -> None:
        facts, session = self._facts, self.session
        is_late = seconds is not None and seconds < waiting.GRACE + waiting.LONGER_GRACE
        if facts is None:
            await session.close()
            return
        if facts.ending is None and session.can_restart and not is_late:
            try:
                await session.connection()
            except ConnectError:
                return
        ending = await session.close(grace=LATE if is_late else waiting.GRACE)
        if is_late and ending is not None and ending.how in LINGERING:
            ending = None  # not confirmed
        late = tuple(anomaly._replace(detail=session.redacted(anomaly.detail)) for anomaly in session.stray_output)
        facts = facts._replace(
            ending=facts.ending or ending,
            anomalies=(*facts.anomalies, *late),
            expired_sessions=session.memory.expired_sessions,
        )
        self._facts = facts if is_late else await waiting.confirmed(facts, session.new_session().connection)

    def _kill(self) -> None:
        if self.session.is_connected:
            self._runner.run(self.session.close(at_once=True))

"""Probes of the protocol itself: requests for what does not exist, and messages that are not requests."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any, NamedTuple

from mcproof.client.connect import open_transport
from mcproof.client.connection import CLIENT, in_seconds, meta_of
from mcproof.client.errors import ConnectError, LostError
from mcproof.client.session import Response, Session, is_refusal
from mcproof.prove.probe_cases import ProbeCase

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from mcproof.client.connection import Connection

NO_SUCH_REVISION = "1900-01-01"
NO_SUCH_URI = "mcproof://no-such-resource"
NO_SUCH_NAME = "mcproof_no_such_thing"
_SETTLE = 0.2
"""Seconds to wait for a response to non-JSON, which is optional but must not be taken for another's."""


class ProtocolProbe(NamedTuple):
    """One probe of the protocol: a request, or a function for what needs its own connection."""

    name: str
    description: str
    capability: str | None = None
    """The capability that the server must declare; None if none is needed."""
    method: str = ""
    params: dict[str, Any] = {}  # noqa: RUF012 (never mutated)
    send: Callable[[Session], Awaitable[tuple[ProbeCase, Response]]] | None = None
    only_if: Callable[[Session], Awaitable[str | None]] | None = None
    """Finds out whether the probe applies to a server; why not, or None."""
    is_advice: bool = False
    """Whether the protocol recommends the rejection but does not require it."""

    @property
    def case(self) -> ProbeCase:
        """The request as a case that must be rejected."""
        sent = {"method": self.method, "params": self.params}
        return ProbeCase(self.name, self.description, "rejection", sent, any_response_passes=self.is_advice)


async def _bad_version(session: Session) -> tuple[ProbeCase, Response]:
    """Open a connection with a protocol revision that does not exist."""
    connection = await session.connection()
    is_stateless = connection.era == "stateless"
    method = "tools/list" if is_stateless else "initialize"
    introduction: dict[str, Any] = {"protocolVersion": NO_SUCH_REVISION, "capabilities": {}, "clientInfo": CLIENT}
    params = {"_meta": meta_of(NO_SUCH_REVISION)} if is_stateless else introduction
    case = ProbeCase(
        "bad_version",
        f"the protocol revision {NO_SUCH_REVISION}",
        "rejection" if is_stateless else "success",
        {"method": method, "params": params},
    )
    response = await _first_response(session, connection, method, params)
    if not is_stateless and response.result.get("protocolVersion") == NO_SUCH_REVISION:
        case = case._replace(expects="rejection")
    return case, response


async def _first_response(session: Session, connection: Connection, method: str, params: dict[str, Any]) -> Response:
    """Send a request as the first one on a new connection."""
    revision = NO_SUCH_REVISION if connection.era == "stateless" else None
    start = connection.limits.start
    try:
        async with (
            asyncio.timeout(start + session.limit),
            open_transport(session.server, connection.transport.name, revision, start) as transport,
        ):
            message = await transport.peer.request(method, params)
    except TimeoutError:
        return Response("hang", None, "no response in time")
    except (ConnectError, LostError) as error:
        return Response("malformed" if hasattr(error, "status") else "crash", None, session.redacted(error.message))
    return Response("rejected" if is_refusal(message) else "accepted", message)


async def _not_json(session: Session) -> tuple[ProbeCase, Response]:
    """Send non-JSON to a fresh server, then two pings; both must be answered."""
    text = "this is not JSON"
    case = ProbeCase("not_json", "a message that is not JSON", "rejection", {"text": text})
    own = session.new_session()
    try:
        connection = await own.connection()
        try:
            async with asyncio.timeout(own.limit):
                await connection.transport.send_bytes(text.encode())
        except TimeoutError:
            return case, Response("hang", None, f"no response within {in_seconds(own.limit)}")
        except (ConnectError, LostError) as error:
            return case, Response("crash", None, session.redacted(error.message))
        await asyncio.sleep(_SETTLE)
        for _ in range(2):
            failure = await own.ping_failure()
            if failure is None:
                continue
            if failure.outcome == "hang" and await own.ping_failure() is None:
                return case, failure._replace(why=f"{failure.why} to the next request; later ones are answered")
            return case, failure
    finally:
        await own.close(at_once=True)
    return case, Response("rejected", None, "the next requests are answered")


async def _pages(session: Session) -> str | None:
    """Whether the server issues cursors: a list of one page comes from SDKs that ignore them."""
    response = await session.send("tools/list", None)
    return None if isinstance(response.result.get("nextCursor"), str) else "the tools fit on one page"


PROBES = (
    ProtocolProbe("unknown_method", "a method that does not exist", method="mcproof/no-such-method"),
    ProtocolProbe("not_json", "a message that is not JSON", send=_not_json),
    ProtocolProbe("bad_version", "a protocol revision that does not exist", send=_bad_version),
    ProtocolProbe(
        "bad_cursor",
        "a cursor that the server never issued",
        capability="tools",
        method="tools/list",
        params={"cursor": NO_SUCH_NAME},
        only_if=_pages,
        is_advice=True,
    ),
    ProtocolProbe(
        "unknown_prompt",
        "a prompt that does not exist",
        capability="prompts",
        method="prompts/get",
        params={"name": NO_SUCH_NAME},
    ),
    ProtocolProbe(
        "unknown_resource",
        "a resource that does not exist",
        capability="resources",
        method="resources/read",
        params={"uri": NO_SUCH_URI},
    ),
)
NAMES = tuple(probe.name for probe in PROBES)

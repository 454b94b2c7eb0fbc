"""Probes of the protocol itself: requests for what does not exist, and messages that are no requests."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any, NamedTuple

from mcproof.client.connect import open_transport
from mcproof.client.connection import CLIENT, in_seconds, meta_of
from mcproof.client.failures import ConnectError, LostError
from mcproof.client.session import Response, Session, is_refusal
from mcproof.prove.probes import ProbeCase

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from mcproof.client.connection import Connection

NO_SUCH_REVISION = "1900-01-01"
NO_SUCH_URI = "mcproof://no-such-resource"
NO_SUCH_NAME = "mcproof_no_such_thing"
_MOMENT = 0.2
"""How long an answer to what is no message may take, in seconds; it is not needed, but would look like another's."""


class ProtocolProbe(NamedTuple):
    """One probe of the protocol: a request, or something that takes a connection of its own."""

    name: str
    what: str
    capability: str | None = None
    """What a server must offer to be asked; None where every server can be."""
    method: str = ""
    params: dict[str, Any] = {}  # noqa: RUF012 (a default that nobody changes)
    ask: Callable[[Session], Awaitable[tuple[ProbeCase, Response]]] | None = None
    is_advice: bool = False
    """Whether the protocol only advises what the probe asks for."""

    @property
    def case(self) -> ProbeCase:
        """The request as a case; it is to be refused."""
        shown = {"method": self.method, "params": self.params}
        return ProbeCase(self.name, self.what, "rejection", shown, any_answer_passes=self.is_advice)


async def _bad_version(session: Session) -> tuple[ProbeCase, Response]:
    """A conversation that starts with a revision that does not exist, on a connection of its own."""
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
    response = await _first_answer(session, connection, method, params)
    if not is_stateless and response.result.get("protocolVersion") == NO_SUCH_REVISION:
        case = case._replace(expects="rejection")
    return case, response


async def _first_answer(session: Session, connection: Connection, method: str, params: dict[str, Any]) -> Response:
    """What comes of a request that is the first on its connection."""
    revision = NO_SUCH_REVISION if connection.era == "stateless" else None
    start = connection.limits.start
    try:
        async with (
            asyncio.timeout(start + session.limit),
            open_transport(session.server, connection.transport.name, revision, start) as transport,
        ):
            answer = await transport.peer.request(method, params)
    except TimeoutError:
        return Response("hang", None, "no answer in time")
    except (ConnectError, LostError) as error:
        return Response("malformed" if hasattr(error, "status") else "crash", None, session.redacted(error.message))
    return Response("rejected" if is_refusal(answer) else "accepted", answer)


async def _not_json(session: Session) -> tuple[ProbeCase, Response]:
    """A message that is none, to a server of its own; then two requests, of which neither may be lost."""
    text = "this is not JSON"
    case = ProbeCase("not_json", "a message that is not JSON", "rejection", {"text": text})
    own = session.new_session()
    try:
        connection = await own.connection()
        try:
            async with asyncio.timeout(own.limit):
                await connection.transport.send_bytes(text.encode())
        except TimeoutError:
            return case, Response("hang", None, f"no answer within {in_seconds(own.limit)}")
        except (ConnectError, LostError) as error:
            return case, Response("crash", None, session.redacted(error.message))
        await asyncio.sleep(_MOMENT)
        for _ in range(2):
            gone = await own.ping_failure()
            if gone is None:
                continue
            if gone.outcome == "hang" and await own.ping_failure() is None:
                return case, gone._replace(why=f"{gone.why} to the request after it, and then it goes on")
            return case, gone
    finally:
        await own.close(at_once=True)
    return case, Response("rejected", None, "the requests after it are answered")


PROBES = (
    ProtocolProbe("unknown_method", "a method that does not exist", method="mcproof/no-such-method"),
    ProtocolProbe("not_json", "a message that is not JSON", ask=_not_json),
    ProtocolProbe("bad_version", "a protocol revision that does not exist", ask=_bad_version),
    ProtocolProbe(
        "bad_cursor",
        "a cursor that was never given out",
        "tools",
        "tools/list",
        {"cursor": NO_SUCH_NAME},
        is_advice=True,
    ),
    ProtocolProbe("unknown_prompt", "a prompt that does not exist", "prompts", "prompts/get", {"name": NO_SUCH_NAME}),
    ProtocolProbe(
        "unknown_resource", "a resource that does not exist", "resources", "resources/read", {"uri": NO_SUCH_URI}
    ),
)
NAMES = tuple(probe.name for probe in PROBES)

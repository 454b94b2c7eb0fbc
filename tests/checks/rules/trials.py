"""A record from the data of a case: a server that answers so is asked, and the product says what came of it."""

from __future__ import annotations

import asyncio
import base64
import json
import tempfile
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any
from unittest import mock

from mcproof.checks.rulebook import METHODS
from mcproof.client.connect import ConnectOptions
from mcproof.client.connection import Connection, Limits
from mcproof.client.endpoints import CommandEndpoint
from mcproof.client.errors import LostError
from mcproof.client.peer import Peer
from mcproof.client.session import Session
from mcproof.core.catalog.model import Server, Tool
from mcproof.core.observations.probes import ItemProbes
from mcproof.core.observations.responses import OutputContract
from mcproof.probing.attacks.cases import FAMILIES, HostileCase, ServerFolders, StringArgument
from mcproof.probing.attacks.effects import observe
from mcproof.probing.attacks.run import ToolAttacker
from mcproof.probing.attacks.traps import Traps
from mcproof.probing.calls import CallPlan
from mcproof.probing.fuzz.tool import FuzzPlan, ToolFuzzer
from mcproof.probing.generation.cases import GeneratedCase
from mcproof.probing.probes import promises
from mcproof.probing.probes.blame import Sender
from mcproof.probing.probes.cases import NO_SUCH_TOOL, ProbeCase
from mcproof.probing.probes.prove import record_of
from mcproof.probing.probes.responses import seen_response

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from mcproof.core.observations.connection import ProcessEnd
    from mcproof.core.observations.probes import ProbeRecord

REVISION = "2025-11-25"
STATELESS = "2026-07-28"
PATIENCE = 0.02
"""How long an answer may take that comes at once, or never."""
OBITUARY = "the server ended with exit code 3"
OF_SERVER = ("unknown_tool", *promises.NAMES)
"""The probes that are of no tool."""
REQUESTS = {
    "unknown_tool": ("a tool that does not exist", "tools/call", {"name": NO_SUCH_TOOL, "arguments": {}}),
    promises.NO_ARGUMENTS: ("a call of `list_cities` without `arguments`", "tools/call", {"name": "list_cities"}),
    **{each.name: (each.description, each.method, each.params) for each in promises.PROBES},
}


class Scripted:
    """A transport with a server behind it that gives one answer to whatever it is asked."""

    name = "stdio"

    def __init__(self, answer: Any) -> None:
        self.peer = Peer(self.send_bytes)
        self.sent: list[bytes] = []
        self._answer = answer

    async def open(self) -> None:
        pass

    async def send_bytes(self, data: bytes) -> None:
        self.sent.append(data)
        if self._answer == "crash":
            self.peer.fail(LostError(OBITUARY))
        elif isinstance(self._answer, dict):
            with_id = _number(data)
            if with_id is not None:
                self.peer.receive(json.dumps({"jsonrpc": "2.0", "id": with_id, **self._answer}).encode())
        elif self._answer != "hang":
            self.peer.receive(self._answer.encode())

    def last_words(self) -> str:
        return ""

    def last_lines(self) -> str:
        return ""

    def cpu_usage(self) -> None:
        return None

    def kill(self) -> None:
        pass

    async def close(self, _grace: float | None = None) -> ProcessEnd | None:
        return None


def _number(data: bytes) -> int | None:
    """The id of a request; None for what is none."""
    try:
        number: int | None = json.loads(data).get("id")
    except ValueError:
        return None
    return number


class ScriptedSession(Session):
    """A session with such a server."""

    def __init__(self, answer: Any, revision: str) -> None:
        super().__init__(CommandEndpoint(("server",), {}), ConnectOptions(), PATIENCE)
        self.transport = Scripted(answer)
        self._connection = Connection(self.transport, Limits(start=PATIENCE))
        era = "stateless" if revision >= STATELESS else "handshake"
        self._connection.settle(era, revision, {"protocolVersion": revision})

    def new_session(self) -> Session:
        return self


def tried(data: dict[str, Any]) -> ItemProbes:
    """What the rules are shown of a case."""
    return asyncio.run(_tried(**data))


async def _tried(
    *,
    probe: str,
    sent: Any,
    answer: Any,
    what: str = "",
    tool: dict[str, Any] | None = None,
    revision: str = REVISION,
    method: str | None = None,
    expects: Any = None,
    keyword: str = "",
    pointer: str = "",
    place: str = "",
) -> ItemProbes:
    session = ScriptedSession(answer, revision)
    method = method or METHODS.get(probe, "tools/call")
    special = next((each.send for each in promises.PROBES if each.name == probe), None)
    if special is not None:
        with mock.patch.object(promises, "open_transport", return_value=_opened(session.transport)):
            case, response = await special(session)
        _check_shown(method, sent, session.transport.sent[0])
        return ItemProbes(Server({}, ""), [_recorded(Server({}, ""), case, response, probe, revision)], revision)
    if probe in OF_SERVER:
        assert (what, method, sent) == REQUESTS[probe], "a page shows what is really sent"
        response = await session.send(method, sent)
        case = ProbeCase(probe, what, "rejection", sent)
        return ItemProbes(Server({}, ""), [_recorded(Server({}, ""), case, response, method, revision)], revision)
    item = Tool({"name": sent["name"], **(tool or {})}, "/tools/0")
    arguments = sent["arguments"]
    if probe in FAMILIES:
        return ItemProbes(item, await _attacked(item, probe, what, arguments, answer, revision), revision)
    response = await session.send(method, sent)
    if probe == "fuzz":
        called = ToolFuzzer(item, revision, FuzzPlan(CallPlan([], {}, PATIENCE), 0, 1), [])
        generated = GeneratedCase(arguments, not keyword, what, keyword, pointer)
        called._add(called.judged(1, generated, response, session))
        return ItemProbes(item, called.records(), revision)
    expects = expects or ("success" if probe in ("baseline", "ping") else "rejection")
    case = ProbeCase(probe, what, expects, arguments, keyword=keyword, schema_pointer=place)
    return ItemProbes(item, [_recorded(item, case, response, method, revision)], revision)


def _recorded(item: Any, case: ProbeCase, response: Any, method: str, revision: str) -> ProbeRecord:
    output = OutputContract(item.fields.get("outputSchema")) if method == "tools/call" else None
    return record_of(case, seen_response(response, case.sent_arguments(), revision, output))


async def _attacked(
    item: Tool, family: Any, what: str, arguments: dict[str, Any], answer: Any, revision: str
) -> list[ProbeRecord]:
    """The records of a hostile call; the response may have placeholders of the traps."""
    ((name, text),) = arguments.items()
    argument = StringArgument((name,), text[:1], name, frozenset(), "", ())
    async with Traps(ServerFolders(True, (), tempfile.gettempdir())) as traps:
        content = Path(traps.filled("<marker>", "")).read_bytes()
        named = json.dumps(answer).replace("<content of the marker>", content.decode().partition(" ")[2].strip())
        named = named.replace("<content of the marker, base64>", base64.b64encode(content).decode())
        session = ScriptedSession(traps.filled(json.loads(named), ""), revision)
        case = HostileCase(family, argument, arguments, {name: text[:1]}, what)
        seen = await observe(case, traps, lambda sent: session.send("tools/call", {"arguments": sent}))
        assert seen is not None
        attacker = ToolAttacker(item, None, traps, 0)
        if seen.outcome != "clean":
            attacker._keep(case, seen, Sender(session))
        return attacker.records(CallPlan([], {}, 1.0))


def _check_shown(method: str, shown: Any, really: bytes) -> None:
    """That a page shows what is really sent, but for who we are."""
    if isinstance(shown, str):
        assert shown.encode() == really
        return
    message = json.loads(really)
    if message["method"] == "ping":
        assert shown == {"method": "ping"}
        return
    assert message["method"] == method
    assert set(shown) == set(message["params"])
    assert promises.NO_SUCH_REVISION in json.dumps(shown)
    assert promises.NO_SUCH_REVISION in json.dumps(message)


@asynccontextmanager
async def _opened(transport: Scripted) -> AsyncIterator[Scripted]:
    yield transport

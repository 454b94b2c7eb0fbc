"""Observe a live server over MCP: its sessions, lists, a few resources and, in a deep scan, reading calls.

`observe_server` is the entry of a scan, and observes the URL and its TLS as well. Tools are called only in a deep
scan of a server on this machine, and only if they declare that they read.
"""

from __future__ import annotations

import asyncio
import json
import math
import re
from collections.abc import Awaitable, Callable
from contextlib import suppress
from hashlib import sha256
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from mcproof import __version__
from mcproof.client.capture import clean
from mcproof.client.connect import ConnectOptions, authorizer_of, open_transport
from mcproof.client.connection import Connection, announce, authorized, discover, initialize
from mcproof.client.endpoints import Endpoint, UrlEndpoint
from mcproof.client.errors import ConnectError, LostError
from mcproof.client.http.fetch import LIMITS, FetchLimits
from mcproof.client.listing import METHODS, list_everything
from mcproof.client.perimeter.endpoint import observe_perimeter
from mcproof.client.redaction import hiding, hiding_in_catalogs
from mcproof.client.session import reports_error
from mcproof.core.addresses import is_this_machine
from mcproof.core.catalog.model import Catalog, Tool, unread_lists
from mcproof.core.named_tuple import NamedTuple
from mcproof.core.observations.apps import Apps, apps_of
from mcproof.core.observations.connection import (
    AFTER,
    BEFORE,
    STATELESS,
    ListReading,
    ListStability,
    ObservedConnection,
    ServerIdentity,
    SessionIds,
    ToolHash,
    cropped,
)
from mcproof.core.observations.probes import ReadCall, ReadCalls, ResourceBodies

if TYPE_CHECKING:
    from mcproof.core.observations.perimeter import Perimeter


if TYPE_CHECKING:
    ArgumentsFor = Callable[[Tool], dict[str, Any] | None]
    """Returns arguments that a tool's input schema accepts; None if there are none."""

MOST_RESOURCES = 3
LONGEST_BODY = 8_192
"""Bytes of a resource that are kept."""
MOST_CALLS = 3


async def read_resources(connection: Connection, catalog: Catalog, server: Endpoint) -> ResourceBodies:
    """The texts of the first few https resources, cut off at a limit; what cannot be read is left out."""
    hide = hiding_in_catalogs(server.named_secrets)
    bodies: list[tuple[str, str]] = []
    for uri in _https_resources(catalog)[:MOST_RESOURCES]:
        try:
            response = await connection.request("resources/read", {"uri": uri})
        except (ConnectError, LostError, TimeoutError):
            continue
        text = _text(response.result)
        if text:
            bodies.append((hide(uri), hide(text)))
    return offered_resources(catalog)._replace(bodies=tuple(bodies))


async def read_apps(connection: Connection, catalog: Catalog, server: Endpoint) -> Apps:
    """The apps of a server, with what the first few pages declare when they are read."""
    hide = hiding_in_catalogs(server.named_secrets)
    apps = apps_of(catalog)
    for uri in apps.uris[:MOST_RESOURCES]:
        with suppress(ConnectError, LostError, TimeoutError):
            response = await connection.request("resources/read", {"uri": uri})
            apps = apps.with_contents(uri, response.result)
    domains = tuple(
        domain._replace(uri=hide(domain.uri), domain=hide(cropped(domain.domain))) for domain in apps.domains
    )
    return apps._replace(domains=domains)


def offered_resources(catalog: Catalog) -> ResourceBodies:
    """What is known of the resources before any was read."""
    return ResourceBodies((), len(_https_resources(catalog)), unread_lists(catalog).get("resources", ""))


def _https_resources(catalog: Catalog) -> list[str]:
    """The URIs of the resources that are read."""
    uris = [resource.fields.get("uri") for resource in catalog.resources]
    return [uri for uri in uris if isinstance(uri, str) and uri.lower().startswith("https://")]


def _text(result: Any) -> str:
    """The beginning of the text of a resource."""
    contents = result.get("contents") if isinstance(result, dict) else None
    texts = (
        [content.get("text") for content in contents if isinstance(content, dict)] if isinstance(contents, list) else []
    )
    whole = "\n".join(text for text in texts if isinstance(text, str))
    # The limit is in bytes, so it may cut a character.
    return whole.encode("utf-8", "surrogatepass")[:LONGEST_BODY].decode("utf-8", "ignore")


async def call_readers(
    connection: Connection, catalog: Catalog, server: Endpoint, arguments_for: ArgumentsFor
) -> ReadCalls:
    """Call up to three tools that declare themselves read-only, with arguments that their schemas accept."""
    hide = hiding(server.secrets)
    calls: list[ReadCall] = []
    for tool in filter(_is_reader, catalog.tools):
        arguments = arguments_for(tool)
        if arguments is not None:
            call = await _called(connection, tool, arguments)
            calls.append(call._replace(detail=hide(cropped(call.detail))))
        if len(calls) == MOST_CALLS:
            break
    return ReadCalls(tuple(calls), "" if calls else "no tool declares itself read-only and has a usable schema")


def _is_reader(tool: Tool) -> bool:
    """Whether a tool is read-only by its own declaration."""
    hints = tool.fields.get("annotations")
    if not tool.name or not isinstance(hints, dict):
        return False
    return hints.get("readOnlyHint") is True and hints.get("destructiveHint") is not True


async def _called(connection: Connection, tool: Tool, arguments: dict[str, Any]) -> ReadCall:
    try:
        response = await connection.request("tools/call", {"name": tool.name, "arguments": arguments})
    except (ConnectError, LostError) as error:
        return ReadCall(tool.name, "no_response", error.message)
    except TimeoutError:
        return ReadCall(tool.name, "no_response", "no response in time")
    if response.error is not None:
        return ReadCall(tool.name, "rejected", response.description)
    is_error = isinstance(response.result, dict) and reports_error(response.result)
    return ReadCall(tool.name, "tool_error" if is_error else "accepted")


LARGEST_STEP = 1_000_000
"""The largest difference between two ids of a counter."""
_UUID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-([0-9a-f])[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}", re.IGNORECASE)
_TIME_BASED = frozenset("126")
"""UUID versions that consist of the time and the address of the machine."""
_SEPARATORS = re.compile(r"[-_.:~]")


class _Alphabet(NamedTuple):
    """A set of characters that encodings use."""

    characters: re.Pattern[str]
    size: int


_ALPHABETS = (
    _Alphabet(re.compile(r"[0-9]*"), 10),
    _Alphabet(re.compile(r"[0-9a-f]*|[0-9A-F]*"), 16),
    _Alphabet(re.compile(r"[a-z]*|[A-Z]*"), 26),
    _Alphabet(re.compile(r"[a-z2-7=]*|[A-Z2-7=]*"), 32),
    _Alphabet(re.compile(r"[0-9a-z]*|[0-9A-Z]*"), 36),
    _Alphabet(re.compile(r"[0-9A-Za-z]*"), 62),
    _Alphabet(re.compile(r"[0-9A-Za-z+/=_-]*"), 64),
)
_ALL_VISIBLE = 94


def session_ids(ids: list[str], handshakes: int) -> SessionIds:
    """What ids have in common, in the order of their handshakes."""
    secret = _without_prefix(ids)
    return SessionIds(
        handshakes=handshakes,
        ids=len(ids),
        distinct=len(set(ids)),
        bits=min(map(_bits, secret), default=0),
        counts_up=_counts_up(secret),
        is_time_based=bool(ids) and all(_uuid_version(session_id) in _TIME_BASED for session_id in ids),
        is_visible_ascii=all("!" <= character <= "~" for session_id in ids for character in session_id),
    )


def _uuid_version(text: str) -> str:
    match = _UUID.fullmatch(text)
    return match[1] if match is not None else ""


def _without_prefix(ids: list[str]) -> list[str]:
    """The ids without a common prefix that ends with a separator, such as `session-`; UUIDs stay whole."""
    if len(ids) < 2 or all(map(_UUID.fullmatch, ids)):
        return ids
    low, high = min(ids), max(ids)
    shared = next((index for index, pair in enumerate(zip(low, high, strict=False)) if pair[0] != pair[1]), len(low))
    ends = [match.end() for match in _SEPARATORS.finditer(low[:shared])]
    return [session_id[ends[-1] :] for session_id in ids] if ends else ids


def _bits(text: str) -> int:
    """The most entropy that a text of this length and alphabet can have, in bits."""
    if _UUID.fullmatch(text) is not None:
        return 128
    size = next((alphabet.size for alphabet in _ALPHABETS if alphabet.characters.fullmatch(text)), _ALL_VISIBLE)
    return int(len(text) * math.log2(size))


def _counts_up(ids: list[str]) -> bool:
    """Whether each id is a number a small step above the one before."""
    numbers = [_number(session_id) for session_id in ids]
    steps = [after - before for before, after in pairwise(numbers) if before is not None and after is not None]
    return len(ids) > 1 and len(steps) == len(ids) - 1 and all(0 < step <= LARGEST_STEP for step in steps)


def _number(text: str) -> int | None:
    """The value of an id that is a decimal or hexadecimal number; of a UUID, too."""
    digits = text.replace("-", "").lower()
    if not digits or len(digits) > 200 or not digits.isascii():
        return None
    try:
        return int(digits) if digits.isdecimal() else int(digits, 16)
    except ValueError:  # neither decimal nor hexadecimal, so no counter
        return None


if TYPE_CHECKING:
    Meanwhile = Callable[[Connection], Awaitable[None]]
    """What else to do over a connection."""

CLIENT_NAMES = ("mcproof", "claude-ai")
"""A server that hides something hides it from a scanner, so the second name is that of a common client."""
HANDSHAKES = 5
LONGEST = 120.0
"""Seconds for all connections."""
LONGEST_CONNECTION = 60.0
LONGEST_EARLY = 5.0
"""Seconds for a response before the handshake is complete; a server need not send one."""
MOST_TOOLS = 5_000
"""How many tools are kept for comparison."""
MOST_UNSEEN = 50
_TOOLS = METHODS[0]


class SessionObservation(NamedTuple):
    """What several connections to a server showed."""

    stability: ListStability
    ids: SessionIds


async def observe_sessions(
    server: Endpoint,
    options: ConnectOptions,
    connection: ObservedConnection,
    meanwhile: Meanwhile | None = None,
) -> SessionObservation:
    """List the tools under two client names, and compare the session ids of five handshakes.

    `facts` are those of an earlier connection. `meanwhile` is run once, over the first connection after its lists. What
    fails or takes too long is left out.
    """
    run = _SessionRun(server, options, connection, meanwhile)
    with suppress(TimeoutError):
        async with asyncio.timeout(LONGEST):
            for name in CLIENT_NAMES:
                await run.list_as(name)
            for _ in range(0 if run.why_no_ids else HANDSHAKES - len(CLIENT_NAMES)):
                await run.connect(CLIENT_NAMES[0])
    ids = SessionIds(why_none=run.why_no_ids) if run.why_no_ids else session_ids(run.ids, run.handshakes)
    return SessionObservation(run.stability, ids)


class _SessionRun:
    """Connections to one server, one after the other."""

    def __init__(
        self, server: Endpoint, options: ConnectOptions, connection: ObservedConnection, meanwhile: Meanwhile | None
    ) -> None:
        self._server = server
        self._options = options
        self._facts = connection
        self._meanwhile = meanwhile
        self._hide = hiding_in_catalogs(server.named_secrets)
        self.readings: list[ListReading] = []
        self.ids: list[str] = []
        self.handshakes = 0
        self._tools: dict[str, dict[str, Any]] = {}
        """The tools of all readings, by hash."""

    @property
    def stability(self) -> ListStability:
        stability = ListStability(tuple(self.readings))
        seen = {tool.hash for tool in stability.usual.tools} if stability.usual is not None else set()
        unseen = [tool for number, tool in self._tools.items() if number not in seen]
        return stability._replace(unseen_tools=tuple(unseen[:MOST_UNSEEN]))

    @property
    def why_no_ids(self) -> str:
        """Why the server has no session ids; empty if it may have."""
        if self._facts.transport != "http":
            return f"the transport `{self._facts.transport}` has no session ids"
        return "the stateless era has no sessions" if self._facts.era == "stateless" else ""

    async def list_as(self, name: str) -> None:
        """List the tools under a client name, also before the handshake is complete if the server survives that."""
        before = len(self.readings)
        await self.connect(name, (BEFORE, AFTER))
        moments = [reading.moment for reading in self.readings[before:]]
        # The early list has cost the connection.
        if self._facts.era != "stateless" and AFTER not in moments:
            await self.connect(name, (AFTER,))

    async def connect(self, name: str, moments: tuple[str, ...] = ()) -> None:
        """Connect under a client name and list the tools; an error leaves out the rest of the connection."""
        authorizer = authorizer_of(self._server) if isinstance(self._server, UrlEndpoint) else None
        with suppress(ConnectError, LostError, TimeoutError):
            async with asyncio.timeout(LONGEST_CONNECTION):
                await authorized(authorizer, lambda: self._connect(name, moments))

    async def _connect(self, name: str, moments: tuple[str, ...]) -> None:
        facts, limits = self._facts, self._options.limits
        revision = facts.requested if facts.era == "stateless" else None
        async with open_transport(self._server, facts.transport, revision, limits.start) as transport:
            connection = Connection(transport, limits, self._options.answers)
            connection.client = {"name": name, "version": __version__}
            if facts.era == "stateless":
                await self._discover(connection, name)
            else:
                await self._shake_hands(connection, name, moments)
            # Over the first connection only.
            meanwhile, self._meanwhile = self._meanwhile, None
            if meanwhile is not None:
                await meanwhile(connection)

    async def _discover(self, connection: Connection, name: str) -> None:
        discovered = await discover(connection, (self._facts.requested,))
        if isinstance(discovered, str):
            raise ConnectError(discovered)
        connection.settle("stateless", *discovered)
        connection.use_protocol_headers()
        await self._list(connection, name, STATELESS)

    async def _shake_hands(self, connection: Connection, name: str, moments: tuple[str, ...]) -> None:
        connection.settle("handshake", *await initialize(connection, (self._facts.requested,)))
        self._note_session(connection)
        connection.use_protocol_headers()
        if moments[:1] == (BEFORE,):
            limits = connection.limits
            connection.limits = limits._replace(request=min(limits.request, LONGEST_EARLY))
            await self._list(connection, name, moments[0])
            connection.limits = limits
        await announce(connection)
        if moments:
            await self._list(connection, name, moments[-1])

    def _note_session(self, connection: Connection) -> None:
        self.handshakes += 1
        session = getattr(connection.transport, "offered_session", None)
        if session is not None:
            self.ids.append(session)

    async def _list(self, connection: Connection, name: str, moment: str) -> None:
        """Add a reading, if the server serves its tools."""
        listing = await list_everything(connection, (_TOOLS,))
        tools = listing.lists.get(_TOOLS.key)
        if tools is None or listing.unserved:
            return
        lists = {_TOOLS.key: tools}
        clean(lists, self._hide)
        with suppress(RecursionError):  # nested too deep to be compared
            hashed = [(_hashed(tool), tool) for tool in lists[_TOOLS.key]]
            self.readings.append(ListReading(name, moment, tuple(sorted(tool_hash for tool_hash, _ in hashed))))
            for tool_hash, tool in hashed:
                if isinstance(tool, dict) and len(self._tools) < MOST_TOOLS:
                    self._tools.setdefault(tool_hash.hash, tool)


def _hashed(tool: Any) -> ToolHash:
    members = {key: value for key, value in tool.items() if key != "_meta"} if isinstance(tool, dict) else tool
    text = json.dumps(members, sort_keys=True, ensure_ascii=True)
    name = tool.get("name") if isinstance(tool, dict) else None
    return ToolHash(cropped(name) if isinstance(name, str) else "", sha256(text.encode()).hexdigest())


REMOTE = "tools are called only on this machine"


async def observe_server(
    server: Endpoint,
    options: ConnectOptions,
    catalog: Catalog | None,
    *,
    arguments_for: ArgumentsFor | None = None,
    limits: FetchLimits = LIMITS,
) -> tuple[Any, ...]:
    """The facts for the `trust` rules: each element is of a class that is the scope of rules.

    `catalog` is what the server serves; None if it does not speak MCP, or refuses access: then only its perimeter is
    observed. Tools are called only in a deep scan: one that passes `arguments_for`, which makes their arguments. Never
    raises because of the server.
    """
    facts: list[Any] = []
    perimeter: Perimeter | None = None
    if isinstance(server, UrlEndpoint):
        perimeter, authorization = await observe_perimeter(server, limits)
        facts += [perimeter, *([] if authorization is None else [authorization])]
    if catalog is None or catalog.connection is None:
        return tuple(facts)
    if perimeter is not None and (identity := _identity(catalog, perimeter)) is not None:
        facts.append(identity)

    bodies = offered_resources(catalog)
    apps = apps_of(catalog)
    calls = ReadCalls(why_none="" if may_call(server) else REMOTE)

    async def read(connection: Connection) -> None:
        nonlocal apps, bodies, calls
        bodies = await read_resources(connection, catalog, server)
        apps = await read_apps(connection, catalog, server)
        if arguments_for is not None and may_call(server):
            calls = await call_readers(connection, catalog, server, arguments_for)

    stability, ids = await observe_sessions(server, options, catalog.connection, read)
    return (*facts, stability, ids, bodies, apps, *([] if arguments_for is None else [calls]))


def may_call(server: Endpoint) -> bool:
    """Whether a deep scan may call tools: only those of a server that runs on this machine."""
    from urllib.parse import urlsplit

    return not isinstance(server, UrlEndpoint) or is_this_machine(urlsplit(server.url).hostname or "")


def _identity(catalog: Catalog, perimeter: Perimeter) -> ServerIdentity | None:
    """The names of a server; None if it reports none."""
    name = catalog.server_info.get("name")
    if not isinstance(name, str) or not name:
        return None
    certificate = None if perimeter.tls is None else perimeter.tls.certificate
    return ServerIdentity(
        name=name,
        hostname=perimeter.hostname,
        is_internal=perimeter.internal_kind is not None,
        common_name="" if certificate is None else certificate.common_name,
        alternative_names=() if certificate is None else certificate.alternative_names,
    )

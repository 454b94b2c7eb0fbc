"""The probes of `prove`: every promise of a tool is broken, and requests of the protocol that must be rejected.

Probes explore what a tool does not promise, too.
Why proven means all: docs/decisions/0033-proven-means-all.md.
"""

from __future__ import annotations

import asyncio
from itertools import islice
from typing import TYPE_CHECKING, Any

from mcproof.client.connect import open_transport
from mcproof.client.connection import CLIENT, Connection, in_seconds, meta_of
from mcproof.client.errors import ConnectError, LostError
from mcproof.client.session import Response, Session, is_refusal
from mcproof.core.named_tuple import NamedTuple
from mcproof.probing.generation.values import ValueBuilder, valid_arguments
from mcproof.probing.generation.violations import Promise, PromiseCase, SchemaPromises, promises_of
from mcproof.probing.probes.cases import (
    COLUMN_OF,
    NO_PARAMETERS,
    PROBE_OF,
    SCHEMA_CHECKS,
    Explorer,
    NegativeChecks,
    ProbeCase,
    SkippedProbe,
    ToolProbes,
    baseline_of,
    column_of,
)

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterator

    from mcproof.core.catalog.model import Tool
    from mcproof.probing.outcomes import Column


PROVE_CHECKS = tuple(PROBE_OF.values())
"""The probes that call a tool, in the order of the columns of the matrix."""
_NOTHING_PROMISED: dict[Column, str] = {
    "missing": "no argument is required",
    "type": "no argument excludes a type",
    "extra": "the schema allows additional arguments",
    "size": "no argument is a string or a list of free size",
    "values": "no argument has a range, a pattern, a format or a list of values",
}


def probes_of_promises(
    tool: Tool, checks: list[str], *, given: dict[str, Any] | None, size: int, is_strict: bool, max_calls: int
) -> ToolProbes:
    """The probes of one tool, one of each column first, the rest in the order of the schema.

    With `is_strict`, a value that servers commonly convert must be rejected, too.
    """
    schema = tool.schema if tool.schema is not None else {}
    generated = valid_arguments(schema) if given is None else None
    base = given if generated is None else generated.value
    literal = NegativeChecks(tool, base, size)
    columns = [column for column, probe in PROBE_OF.items() if probe in checks]
    if base is None:
        skipped = [_untestable(literal, schema, column) for column in columns]
        tool.release_tree()
        return ToolProbes(tool, None, list(skipped), generated.problem if generated is not None else "")
    baseline = baseline_of(base, is_given=given is not None)
    probes = _Selection(literal, base, schema, size, is_strict).probes(tool, baseline, columns, max_calls)
    tool.release_tree()
    return probes


def _untestable(literal: NegativeChecks, schema: dict[str, Any], column: Column) -> SkippedProbe:
    probe = PROBE_OF[column]
    if column != "extra" and not literal.has_parameters:
        return SkippedProbe(probe, NO_PARAMETERS, False)
    if probe in SCHEMA_CHECKS:
        return literal.untestable(probe)
    reason = literal.untestable(SCHEMA_CHECKS[0]).reason
    return SkippedProbe(probe, reason, True, _declares_values(schema))


_VALUE_KEYWORDS = frozenset(
    {"enum", "const", "pattern", "format", "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"}
    | {"multipleOf", "minLength", "minItems", "uniqueItems", "contains", "minProperties", "maxProperties"}
)


def _declares_values(schema: dict[str, Any]) -> bool:
    """Whether a top-level property has a keyword about values."""
    properties = schema.get("properties")
    schemas = properties.values() if isinstance(properties, dict) else ()
    return any(isinstance(subschema, dict) and not _VALUE_KEYWORDS.isdisjoint(subschema) for subschema in schemas)


class _Selection:
    """Chooses the probes of one tool."""

    def __init__(
        self, literal: NegativeChecks, base: dict[str, Any], schema: dict[str, Any], size: int, is_strict: bool
    ) -> None:
        self._literal = literal
        self._is_strict = is_strict
        self._promises: SchemaPromises | None = None
        if literal.is_validating:
            self._promises = promises_of(ValueBuilder(schema, literal.oracle), base)
        points = None if self._promises is None else self._promises.points
        self._explorer = Explorer(literal, base, schema, points, size)
        self._breaking = list(self._breaking_cases())
        self._exploring = list(self._explorer.cases({case.probe for case in self._breaking if case.is_promise}))

    def probes(self, tool: Tool, baseline: ProbeCase, columns: list[Column], max_calls: int) -> ToolProbes:
        """The probes of some columns, at most as many as allowed."""
        ordered = [case for case in self._ordered() if COLUMN_OF[case.probe] in columns]
        cases: list[ProbeCase | SkippedProbe] = list(ordered[:max_calls])
        present = {case.probe for case in ordered}
        unbreakable = [promise for promise in self._unbreakable() if column_of(promise.keyword) in columns]
        unbroken = {column_of(promise.keyword) for promise in unbreakable}
        for column in columns:
            if PROBE_OF[column] not in present:
                cases.append(self._unbroken(column) if column in unbroken else self._inapplicable(column))
        unsent = [case.promise for case in ordered[max_calls:] if case.is_promise]
        return ToolProbes(
            tool=tool,
            baseline=baseline,
            cases=cases,
            promises=self._promises_in_order([*unbreakable, *unsent]),
            left_out=tuple(dict.fromkeys([*unsent, *unbreakable])),
            calls_left_out=len(ordered[max_calls:]),
        )

    def _promises_in_order(self, others: list[Promise]) -> tuple[Promise, ...]:
        """The promises that are tried, and others, in the order of the schema."""
        of_schema = [case.promise for case in self._promises.cases] if self._promises is not None else []
        tried = [case.promise for case in self._breaking if case.is_promise]
        wanted = {*tried, *others}
        return tuple(promise for promise in dict.fromkeys([*of_schema, *tried, *others]) if promise in wanted)

    def _ordered(self) -> list[ProbeCase]:
        """The first case of each column, then promises, explorations and conversions in the order of the schema."""
        promised = [case for case in self._breaking if case.is_promise]
        lenient = [case for case in self._breaking if not case.is_promise]
        others = [*promised, *self._exploring, *lenient]
        # One of each column comes first, so that a limit of calls cuts all columns alike.
        first = [case for probe in PROVE_CHECKS if (case := self._first(probe, others)) is not None]
        chosen = set(map(id, first))
        return [*first, *(case for case in others if id(case) not in chosen)]

    def _first(self, probe: str, cases: list[ProbeCase]) -> ProbeCase | None:
        """The case of a probe that the negative path sends, or else the first."""
        own = [case for case in cases if case.probe == probe]
        if probe in SCHEMA_CHECKS and probe != "oversized":
            usual = next(self._literal.cases(probe), None)
            for case in own:
                if usual is not None and case.arguments == usual.arguments:
                    return case
        return next(iter(own), None)

    def _inapplicable(self, column: Column) -> SkippedProbe:
        if column != "extra" and not self._literal.has_parameters:
            return SkippedProbe(PROBE_OF[column], NO_PARAMETERS, False)
        return SkippedProbe(PROBE_OF[column], _NOTHING_PROMISED[column], False)

    def _unbroken(self, column: Column) -> SkippedProbe:
        return SkippedProbe(PROBE_OF[column], "no call that breaks the promise could be generated", True, True)

    def _unbreakable(self) -> list[Promise]:
        return [] if self._promises is None else self._promises.unbreakable

    def _breaking_cases(self) -> Iterator[ProbeCase]:
        """The cases that break a promise; for a schema that cannot be validated, those of its literal top level."""
        if self._promises is None:
            for check in SCHEMA_CHECKS:
                cases = self._literal.cases(check) if check != "oversized" else self._literal.free_texts()
                yield from (case for case in cases if case.is_promise)
            return
        yield from islice(self._explorer.large_strings(is_bounded=True), 1)
        for case in self._promises.cases:
            yield _probe_case(case, is_strict=self._is_strict)


def _probe_case(case: PromiseCase, *, is_strict: bool) -> ProbeCase:
    return ProbeCase.compact(
        case.arguments,
        probe=PROBE_OF[column_of(case.promise.keyword)],
        description=case.description,
        expects="nothing" if case.is_lenient and not is_strict else "rejection",
        declared=True,
        keyword=case.promise.keyword,
        schema_pointer=f"/inputSchema{case.schema_pointer}",
        argument=case.promise.argument,
        is_lenient=case.is_lenient,
    )


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
    reconnects: bool = False
    """Whether it opens connections of its own."""
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
        # In a handshake, a server responds to an unknown revision with one that it supports.
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


_NO_MESSAGES = ("[]", "5", "null", '"x"')
"""JSON that is not a message; an empty list is an invalid batch in every revision."""


async def _not_json(session: Session) -> tuple[ProbeCase, Response]:
    return await _survives(session, "not_json", "a message that is not JSON", ("this is not JSON",))


async def _not_object(session: Session) -> tuple[ProbeCase, Response]:
    return await _survives(session, "not_object", "JSON that is not an object", _NO_MESSAGES)


async def _survives(
    session: Session, probe: str, description: str, texts: tuple[str, ...]
) -> tuple[ProbeCase, Response]:
    """Send texts to a fresh server, each with two pings after it; all pings must be answered."""
    own = session.new_session()
    case = ProbeCase(probe, description, "rejection", {"text": texts[0]})
    try:
        for text in texts:
            case = ProbeCase(probe, description, "rejection", {"text": text})
            failure = await _failure_after(text, own)
            if failure is not None:
                return case, failure._replace(why=session.redacted(failure.why))
    finally:
        await own.close(at_once=True)
    return case, Response("rejected", None, "the next requests are answered")


async def _failure_after(text: str, session: Session) -> Response | None:
    """How the next requests fail after a text that is no message; None if they are answered."""
    connection = await session.connection()
    try:
        async with asyncio.timeout(session.limit):
            await connection.transport.send_bytes(text.encode())
    except TimeoutError:
        return Response("hang", None, f"no response within {in_seconds(session.limit)}")
    except (ConnectError, LostError) as error:
        return Response("crash", None, error.message)
    await asyncio.sleep(_SETTLE)
    for _ in range(2):
        failure = await session.ping_failure()
        if failure is None:
            continue
        if failure.outcome == "hang" and await session.ping_failure() is None:
            return failure._replace(why=f"{failure.why} to the next request; later ones are answered")
        return failure
    return None


async def _ping(session: Session) -> tuple[ProbeCase, Response]:
    case = ProbeCase("ping", "a ping", "success", {"method": "ping"})
    return case, await session.send("ping", None)


async def _has_no_ping(session: Session) -> str | None:
    connection = await session.connection()
    return "its revision has no ping" if connection.era == "stateless" else None


async def _pages(session: Session) -> str | None:
    """Whether the server issues cursors: a list of one page comes from SDKs that ignore them."""
    response = await session.send("tools/list", None)
    return None if isinstance(response.result.get("nextCursor"), str) else "the tools fit on one page"


PROBES = (
    ProtocolProbe("unknown_method", "a method that does not exist", method="mcproof/no-such-method"),
    ProtocolProbe("not_json", "a message that is not JSON", send=_not_json, reconnects=True),
    ProtocolProbe("not_object", "JSON that is not an object", send=_not_object, reconnects=True),
    ProtocolProbe("ping", "a ping", send=_ping, only_if=_has_no_ping),
    ProtocolProbe("bad_version", "a protocol revision that does not exist", send=_bad_version, reconnects=True),
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
NO_ARGUMENTS = "no_arguments"
"""The probe that leaves out `arguments`, which the protocol allows; it needs a tool without required ones."""
NAMES = (*(probe.name for probe in PROBES), NO_ARGUMENTS)

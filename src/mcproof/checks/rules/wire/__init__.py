"""`wire`: rules about live connections and responses.

The rules of the connection itself and of responses are here; `contract` has those about calls that a server must
reject. They judge records and never send anything.
Why probes are observations: docs/decisions/0017-probes-are-facts.md.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import partial

from mcproof.checks.findings import Problem
from mcproof.checks.rule import rule
from mcproof.checks.rules.wire.contract import evidence_of, probe_rule
from mcproof.core.catalog.model import Catalog
from mcproof.core.console import cut, few, plural
from mcproof.core.observations.connection import LINGERING, SLOW_START, ObservedConnection
from mcproof.core.observations.probes import ERROR_AS_SUCCESS, ItemProbes, LeftFiles, ProbeRecord
from mcproof.core.protocol import REVISIONS
from mcproof.core.text.english import words_of

SHOWN = 5
"""How many pieces of evidence a finding has."""
_MOST_FILES = 100

NOISE = {
    "not-json": "lines that are not JSON",
    "not-utf8": "lines that are not UTF-8",
    "byte-order-mark": "a byte order mark before a message",
    "not-an-object": "JSON that is not a message",
    "truncated": "an incomplete message",
    "line-too-long": "a message of more than 64 MiB",
}
MALFORMED = {
    "no-jsonrpc": 'a message without `"jsonrpc": "2.0"`',
    "result-and-error": "a response with both a result and an error",
    "no-result": "a response with neither a result nor an error",
    "result-not-object": "a result that is not an object",
    "malformed-error": "an error without a numeric `code` and a string `message`",
    "duplicate-key": "an object with a duplicate key",
    "not-a-number": "`NaN` or `Infinity`, which are not JSON",
    "content-type": "a content type that the protocol does not allow",
}
PAGING = {
    "cursor-loop": "a repeated cursor",
    "endless-pages": "an endless list",
    "bad-cursor": "a cursor that is not a string",
}
_connection_rule = partial(rule, ObservedConnection, ruleset="wire", severity="error")


@_connection_rule("WIR-001", name="noise-on-stdout", category="transport")
def noise(connection: ObservedConnection) -> Iterator[Problem]:
    """The server writes non-protocol text to stdout.

    Why: stdout is reserved for the protocol; clients may disconnect at the first invalid line.
    Fix: write logs to stderr, and make sure that no library prints to stdout.
    """
    yield from _by_kind(connection, NOISE, "sends ")


@_connection_rule("WIR-002", name="malformed-message", category="protocol")
def malformed(connection: ObservedConnection) -> Iterator[Problem]:
    """A message violates JSON-RPC or the transport.

    Why: strict clients drop it and wait until they time out.
    Fix: let an SDK build the messages, or validate them against the schema of the protocol revision.
    """
    kinds = dict(MALFORMED)
    if connection.agreed != "2025-03-26":  # the only revision with batches
        kinds["batch"] = "a batch of messages, which its revision does not support"
    yield from _by_kind(connection, kinds, "sends ")


@_connection_rule("WIR-003", name="wrong-id", category="protocol")
def wrong_id(connection: ObservedConnection) -> Iterator[Problem]:
    """A response does not have the id of its request.

    Why: the client cannot match the response to its request, and waits until it times out.
    Fix: return the id unchanged: a number stays a number.
    """
    kinds = {"wrong-id": "with a wrong id", "unmatched-id": "to no pending request"}
    yield from _by_kind(connection, kinds, "sends a response ")


@_connection_rule("WIR-004", name="protocol-not-agreed", category="protocol")
def not_agreed(connection: ObservedConnection) -> Iterator[Problem]:
    """The server responds to the handshake with an unknown protocol revision, or without one.

    Why: a client must disconnect from a server whose revision it does not support.
    Fix: respond with the requested revision, or with the newest one that the server supports.
    """
    if connection.agreed not in REVISIONS:
        agreed = f"`{connection.agreed}`" if connection.agreed is not None else "no revision"
        yield Problem(f"responds to a request for revision {connection.requested} with {agreed}")


@_connection_rule("WIR-005", name="capability-not-served", category="protocol")
def not_served(connection: ObservedConnection) -> Iterator[Problem]:
    """A capability is declared, but its list is not served.

    Why: clients request every declared list; some give up on the whole server if one fails.
    Fix: serve the list, even if it is empty, or do not declare the capability.
    """
    for method, outcome in connection.unserved:
        yield Problem(f"declares a capability but does not serve `{method}`: {outcome}", evidence={"method": method})


@_connection_rule("WIR-006", name="broken-paging", category="protocol")
def broken_paging(connection: ObservedConnection) -> Iterator[Problem]:
    """The pages of a list do not end.

    Why: a client that follows the cursors never stops.
    Fix: omit `nextCursor` on the last page, and never return a cursor twice.
    """
    yield from _by_kind(connection, PAGING, "sends ")


@_connection_rule("WIR-007", name="slow-start", severity="warning", category="transport")
def slow_start(connection: ObservedConnection) -> Iterator[Problem]:
    """The first response takes longer than common clients wait.

    Why: the client gives up and reports the server as broken.
    Fix: respond first, and load slow parts when they are needed.

    A slow server is started a second time. The time that the process waits for a CPU does not count.
    """
    if connection.seconds_to_response > SLOW_START:
        message = f"takes more than {SLOW_START:.0f} seconds until its first response"
        yield Problem(message, evidence={"seconds": round(connection.seconds_to_response, 1)})


@_connection_rule("WIR-008", name="does-not-exit", severity="warning", category="transport")
def does_not_exit(connection: ObservedConnection) -> Iterator[Problem]:
    """The process keeps running after its stdin is closed.

    Why: clients close stdin to end a server; such servers pile up in the background.
    Fix: exit at the end of stdin, including background threads.

    A process has five seconds to exit, and a second one that was not asked for anything has ten.
    """
    if connection.ending is not None and connection.ending.how in LINGERING:
        how = "had to be killed" if connection.ending.how == "killed" else "exits only on SIGTERM"
        yield Problem(f"does not exit when its stdin is closed; it {how}", evidence={"ending": connection.ending.how})


@_connection_rule("WIR-009", name="unexpected-request", severity="warning", category="protocol")
def unexpected_request(connection: ObservedConnection) -> Iterator[Problem]:
    """The server sends a request that the client has not offered to handle.

    Why: most clients do not support sampling, roots or elicitation; the server must work without them.
    Fix: check the client's capabilities before sending a request.
    """
    kinds = {"unexpected-request": "requests a method that the client does not offer"}
    yield from _by_kind(connection, kinds, "")


@_connection_rule("WIR-033", name="notification-answered", severity="warning", category="protocol")
def notification_answered(connection: ObservedConnection) -> Iterator[Problem]:
    """The server sends an error that belongs to no request.

    Why: a notification gets no response; a client may take the error for the response to a pending request.
    Fix: ignore notifications that the server does not know, such as `notifications/initialized`.
    """
    kinds = {"answered-notification": "an error without an id while no request failed"}
    yield from _by_kind(connection, kinds, "sends ")


@rule(Catalog, "WIR-010", ruleset="wire", name="empty-server-version", severity="note", category="protocol")
def empty_version(catalog: Catalog) -> Iterator[Problem]:
    """A running server reports an empty version.

    Why: the field is required; strict clients refuse the connection.
    Fix: pass the version of the package to the SDK when the server is created.
    """
    if catalog.connection is not None and catalog.server_info.get("version") == "":
        yield Problem("reports an empty version", near=f"{catalog.server_info_pointer}/version")


@rule(Catalog, "WIR-036", ruleset="wire", name="initialize-incomplete", severity="error", category="protocol")
def initialize_incomplete(catalog: Catalog) -> Iterator[Problem]:
    """The response to `initialize` has no `capabilities`, or no `serverInfo`.

    Why: both are required; the official SDKs for Python and TypeScript refuse such a server.
    Fix: return both: `capabilities` lists what the server offers, `serverInfo` has its name and version.
    """
    introduction = catalog.server.fields.get("initialize")
    if catalog.connection is None or not isinstance(introduction, dict):
        return
    missing = [f"`{name}`" for name in ("capabilities", "serverInfo") if not isinstance(introduction.get(name), dict)]
    if missing:
        yield Problem(f"responds to `initialize` without {' and '.join(missing)}", near="/initialize")


def _by_kind(connection: ObservedConnection, kinds: dict[str, str], lead: str) -> Iterator[Problem]:
    """One problem for each kind of anomaly, with count and evidence."""
    for kind, words in kinds.items():
        details = [anomaly.detail for anomaly in connection.anomalies if anomaly.kind == kind]
        if details:
            times = f" ({len(details):,} times)" if len(details) > 1 else ""
            evidence = {"kind": kind, "count": len(details), "seen": details[:SHOWN]}
            yield Problem(f"{lead}{words}{times}: {details[0]}", evidence=evidence)


@probe_rule("WIR-020", name="structured-content-invalid", category="contract")
def structured_invalid(probes: ItemProbes) -> Iterator[Problem]:
    """Structured content violates the output schema of the tool.

    Why: a server must conform to its own schema; clients that validate reject the whole response.
    Fix: build the result from the type that the schema was generated from, or correct the schema.
    """
    yield from _flawed(probes, "structured-invalid", "returns structured content that violates its output schema: ")


@probe_rule("WIR-021", name="structured-content-missing", category="contract")
def structured_missing(probes: ItemProbes) -> Iterator[Problem]:
    """A tool with an output schema returns no structured content.

    Why: a tool with an output schema must return structured content; clients turn such a response into an error.
    Fix: return `structuredContent`, also as text, or do not declare an output schema.
    """
    yield from _flawed(probes, "structured-missing", "violates its output schema: ")


@probe_rule("WIR-022", name="malformed-content", category="protocol")
def malformed_content(probes: ItemProbes) -> Iterator[Problem]:
    """The result of a call is not valid in the protocol revision.

    Why: clients that validate drop the response; others show nothing, or the wrong content.
    Fix: return a list of content blocks of types that the revision supports, each with its required members.
    """
    yield from _flawed(probes, "malformed-content", "returns a result that the protocol does not allow: ")


_SEARCHING = frozenset({"search", "find", "lookup", "query"})
_NOT_FOUND = re.compile(r"(?!.{0,80}\berror)[^:\n]{0,120}\bnot (?:be )?found\b", re.IGNORECASE)
"""The answer of a tool that searches and finds nothing."""
_LONGEST_ERROR = 80
"""How many characters of an error a message quotes; the evidence has more."""


@probe_rule("WIR-023", name="error-as-success", severity="warning", category="contract")
def error_as_success(probes: ItemProbes) -> Iterator[Problem]:
    """The text of a result reports an error, but the result is marked as a success.

    Why: the client counts the call as successful, and the model may continue as if it were.
    Fix: set `isError: true` in the result of a failed call.

    The text must begin with an error message, or be an object such as `{"error": …}`. The verdict of a validator,
    `{"valid": false, "error": …}`, is a success, and so is "not found" of a tool that searches. A call of a tool that
    does not exist is WIR-011.
    """
    searches = not _SEARCHING.isdisjoint(words_of(probes.item.name))
    others = [
        record
        for record in probes.records
        if record.probe != "unknown_tool" and not (searches and _NOT_FOUND.match(record.reported_error or ""))
    ]
    yield from _flawed(probes._replace(records=others), ERROR_AS_SUCCESS, "reports an error without `isError`: ")


@probe_rule("WIR-034", name="value-not-computed", severity="warning", category="contract")
def not_computed(probes: ItemProbes) -> Iterator[Problem]:
    """A success returns a word for a value that does not exist: `NaN`, `Invalid Date`, `undefined`.

    Why: the model takes it for the answer; the tool has computed with arguments that it cannot use.
    Fix: check the arguments first, and set `isError: true` if they cannot be used.

    Only short texts are judged, and no word that the caller has sent.
    """
    yield from _flawed(probes, "no-value", "returns a success without a value: ")


@rule(LeftFiles, "WIR-038", ruleset="wire", name="files-left-behind", severity="warning", category="security")
def files_left(files: LeftFiles) -> Iterator[Problem]:
    """Calls leave new or changed files where the server runs.

    Why: a tool that only reads leaves nothing. Arguments may have reached a shell, or a path that the caller chooses.
    Fix: find the tool that writes with `mcproof prove --security`. If it is meant to write, declare
    `readOnlyHint: false`, and keep what it writes in a folder of its own.

    Only the working directory and the folder of the script are compared, before the calls and after them. Caches,
    logs, hidden folders, installed packages, and the home and temporary folders are left out. It is a note if a
    called tool is one that the user has allowed to change something.
    """
    severity = "info" if files.allowed else None
    for verb, paths in (("created", files.created), ("changed", files.changed)):
        if paths:
            allowed = f"; allowed to change something: {few([*files.allowed], SHOWN)}" if files.allowed else ""
            names = few([f"`{path}`" for path in paths], SHOWN)
            message = f"calls have {verb} {plural(len(paths), 'file')}: {names}{allowed}"
            yield Problem(message, evidence={"files": [*paths[:_MOST_FILES]]}, severity=severity)


@probe_rule("WIR-024", name="leak", category="security")
def leak(probes: ItemProbes) -> Iterator[Problem]:
    """An error message reveals a stack trace, a path of source code, a secret, or a mistake in the program.

    Why: a model may pass it on to anyone; it helps an attacker, but not the caller.
    Fix: write the details to a log, and tell the caller what to do about the error.

    The words of a runtime, such as `'NoneType' object is not subscriptable`, are a warning.
    """
    yield from _flawed(probes, "leak", "an error message reveals ")
    for problem in _flawed(probes, "internal-error", "an error message tells only of a mistake in the program: "):
        yield problem._replace(severity="warning")


def _flawed(probes: ItemProbes, kind: str, words: str) -> Iterator[Problem]:
    """One problem for a kind of flaw: the first occurrence and the count."""
    first: tuple[ProbeRecord, str] | None = None
    count = 0
    for record in probes.records:
        for flaw in record.flaws:
            if flaw.kind == kind:
                first = first or (record, flaw.detail)
                count += record.times
                break  # a response that leaks twice is one leak
    if first is not None:
        record, detail = first
        detail = cut(detail, _LONGEST_ERROR) if kind == ERROR_AS_SUCCESS else detail
        times = f" ({count:,} times)" if count > 1 else ""
        yield Problem(f"{words}{detail}{times}", evidence={**evidence_of(record), "count": count})

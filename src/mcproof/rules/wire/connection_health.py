"""What a connection shows before anything is called."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mcproof.linting.finding import Problem
from mcproof.linting.registry import rule

if TYPE_CHECKING:
    from collections.abc import Iterator

    from mcproof.catalog.model import Catalog
    from mcproof.exchange.connection_facts import Anomaly, ConnectionFacts

SLOW = 10.0
"""Seconds after which common clients give a server up."""

SHOWN = 5
"""How many pieces of evidence a finding carries."""

NOISE = {
    "not-json": "lines that are not JSON",
    "not-utf8": "lines that are not UTF-8",
    "byte-order-mark": "a byte order mark before a message",
    "not-an-object": "JSON that is no message",
    "truncated": "an unfinished message",
    "line-too-long": "a message of more than 64 MiB",
}
MALFORMED = {
    "no-jsonrpc": 'a message without `"jsonrpc": "2.0"`',
    "result-and-error": "an answer with both a result and an error",
    "no-result": "an answer with neither a result nor an error",
    "result-not-object": "a result that is no object",
    "malformed-error": "an error without a number as code and a text as message",
    "duplicate-key": "a key that stands twice in an object",
    "not-a-number": "`NaN` or `Infinity`, which are not JSON",
    "content-type": "a content type other than the protocol's",
}
PAGING = {
    "cursor-loop": "a repeated cursor",
    "endless-pages": "pages without an end",
    "bad-cursor": "a cursor that is no text",
}


@rule("WIR-001", ruleset="wire", name="noise-on-stdout", severity="error", category="transport")
def noise(wire: ConnectionFacts) -> Iterator[Problem]:
    """The server sends something that is no message.

    Why: standard output belongs to the protocol; a client that stops at the first bad line loses the server.
    Fix: write logs to standard error, and let no library print.
    """
    yield from _by_kind(wire, NOISE, "sends ")


@rule("WIR-002", ruleset="wire", name="malformed-message", severity="error", category="protocol")
def malformed(wire: ConnectionFacts) -> Iterator[Problem]:
    """A message is not what JSON-RPC or the transport asks for.

    Why: strict clients drop it and wait until their time is up.
    Fix: let an SDK write the envelope, or check every message against the schema of the revision.
    """
    kinds = dict(MALFORMED)
    if wire.agreed != "2025-03-26":  # the one revision that has batches
        kinds["batch"] = "a batch of messages, which its revision does not have"
    yield from _by_kind(wire, kinds, "sends ")


@rule("WIR-003", ruleset="wire", name="wrong-id", severity="error", category="protocol")
def wrong_id(wire: ConnectionFacts) -> Iterator[Problem]:
    """An answer does not carry the id of its request.

    Why: a client cannot tell what was answered, and waits until its time is up.
    Fix: send the id back as it came: a number stays a number.
    """
    kinds = {"wrong-id": "with an id that is not the request's", "unmatched-id": "that nobody asked for"}
    yield from _by_kind(wire, kinds, "sends an answer ")


@rule("WIR-004", ruleset="wire", name="protocol-not-agreed", severity="error", category="protocol")
def not_agreed(wire: ConnectionFacts) -> Iterator[Problem]:
    """The server answers the handshake with a protocol revision that does not exist, or with none.

    Why: a client must disconnect from a server whose revision it does not know.
    Fix: answer with the revision that was asked for, or with the newest that the server speaks.
    """
    known = ("2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25", "2026-07-28")
    if wire.agreed not in known:
        said = f"`{wire.agreed}`" if wire.agreed is not None else "no revision"
        yield Problem(f"was asked for revision {wire.requested} and answers {said}")


@rule("WIR-005", ruleset="wire", name="capability-not-served", severity="error", category="protocol")
def not_served(wire: ConnectionFacts) -> Iterator[Problem]:
    """A capability is declared, and its list is not served.

    Why: clients ask for whatever is declared; some give the whole server up when one list fails.
    Fix: serve the list, even an empty one, or do not declare the capability.
    """
    for method, instead in wire.unserved:
        yield Problem(f"declares a capability whose `{method}` is not served: {instead}", evidence={"method": method})


@rule("WIR-006", ruleset="wire", name="broken-paging", severity="error", category="protocol")
def broken_paging(wire: ConnectionFacts) -> Iterator[Problem]:
    """The pages of a list do not come to an end.

    Why: a client that follows the cursors asks for ever.
    Fix: leave `nextCursor` out on the last page, and never send a cursor twice.
    """
    yield from _by_kind(wire, PAGING, "sends ")


@rule("WIR-007", ruleset="wire", name="slow-start", severity="warning", category="transport")
def slow_start(wire: ConnectionFacts) -> Iterator[Problem]:
    """The first answer takes longer than common clients wait.

    Why: a client gives up and shows the server as broken.
    Fix: answer first, and load what is slow when it is needed.
    """
    if wire.seconds_to_response > SLOW:
        seconds = round(wire.seconds_to_response, 1)
        yield Problem(f"takes more than {SLOW:.0f} seconds to its first answer", evidence={"seconds": seconds})


@rule("WIR-008", ruleset="wire", name="does-not-exit", severity="warning", category="transport")
def does_not_exit(wire: ConnectionFacts) -> Iterator[Problem]:
    """The process goes on after its input is closed.

    Why: clients close the input and leave; such servers pile up in the background.
    Fix: end when standard input ends, background threads included.
    """
    if wire.ending is not None and wire.ending.how in ("terminated", "killed"):
        how = "had to be killed" if wire.ending.how == "killed" else "ended only when it was told to (SIGTERM)"
        yield Problem(f"does not end when its input is closed; it {how}", evidence={"ending": wire.ending.how})


@rule("WIR-009", ruleset="wire", name="unexpected-request", severity="warning", category="protocol")
def unexpected_request(wire: ConnectionFacts) -> Iterator[Problem]:
    """The server asks the client for something that the client does not offer.

    Why: most clients do not sample, list roots or ask the user; the server must do without.
    Fix: look at the client's capabilities before asking.
    """
    kinds = {"unexpected-request": "asks for a method that the client has not offered"}
    yield from _by_kind(wire, kinds, "")


@rule("WIR-010", ruleset="wire", name="empty-server-version", severity="note", category="protocol")
def empty_version(catalog: Catalog) -> Iterator[Problem]:
    """A running server gives an empty version.

    Why: the field is required, so something filled it in without knowing what; strict clients refuse the connection.
    Fix: give the SDK the version of the package when the server is made.
    """
    if catalog.connection is not None and catalog.server_info.get("version") == "":
        yield Problem("gives an empty text as its version", near=f"{catalog.server_info_pointer}/version")


def _by_kind(wire: ConnectionFacts, kinds: dict[str, str], lead: str) -> Iterator[Problem]:
    """One problem for each kind of anomaly, with how often and what was seen."""
    for kind, words in kinds.items():
        found: list[Anomaly] = [each for each in wire.anomalies if each.kind == kind]
        if found:
            times = f" ({len(found):,} times)" if len(found) > 1 else ""
            yield Problem(
                f"{lead}{words}{times}: {found[0].detail}",
                evidence={"kind": kind, "count": len(found), "seen": [each.detail for each in found[:SHOWN]]},
            )

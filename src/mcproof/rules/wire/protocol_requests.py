"""Rules about requests of the protocol that the server must reject, by its protocol revision."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mcproof.core.protocol import FIRST_STATELESS
from mcproof.linting.finding import Problem
from mcproof.linting.registry import UNKNOWN_METHOD, rule
from mcproof.rules.wire.contract_promises import evidence

if TYPE_CHECKING:
    from collections.abc import Iterator

    from mcproof.core.observations.probes import ItemProbes

CODES = {"unknown_method": -32601, "unknown_prompt": -32602, "unknown_resource": -32602, "bad_version": -32022}
"""The error codes that the stateless era requires."""


@rule(
    "WIR-025",
    ruleset="wire",
    name="unknown-method-accepted",
    severity="error",
    category="protocol",
    fault=UNKNOWN_METHOD,
)
def unknown_method(probes: ItemProbes) -> Iterator[Problem]:
    """A method that does not exist succeeds.

    Why: clients detect what a server supports by calling it; one that accepts everything misleads them.
    Fix: return the JSON-RPC error -32601.
    """
    yield from _accepted(probes, "unknown_method", "returns a result for a method that does not exist")


@rule("WIR-026", ruleset="wire", name="not-json-fatal", severity="error", category="robustness")
def not_json(probes: ItemProbes) -> Iterator[Problem]:
    """A message that is not JSON crashes the server, or the next request is lost.

    Why: one invalid line, from a client or a wrapper script, makes the server unavailable.
    Fix: return the JSON-RPC error -32700, or ignore the line, and continue.
    """
    words = {"crash": "crashes", "hang": "loses a request", "malformed": "sends malformed messages"}
    for record in probes.records:
        if record.probe == "not_json" and record.outcome in words:
            message = f"{words[record.outcome]} after a message that is not JSON: {record.response}"
            yield Problem(message, evidence=evidence(record))


@rule("WIR-027", ruleset="wire", name="version-not-negotiated", severity="error", category="protocol")
def version(probes: ItemProbes) -> Iterator[Problem]:
    """An unknown protocol revision is accepted, or rejected without an alternative.

    Why: a client with another revision must learn which revisions the server supports.
    Fix: respond to `initialize` with a supported revision; in the stateless era, with the error -32022.
    """
    is_stateless = (probes.revision or "") >= FIRST_STATELESS
    for record in probes.records:
        if record.probe != "bad_version":
            continue
        if record.expects == "rejection" and record.outcome == "accepted":
            yield Problem(f"accepts {record.description}, which does not exist", evidence=evidence(record))
        elif record.expects == "success" and record.outcome == "rejected" and not is_stateless:
            message = "rejects a client with another protocol revision instead of offering its own"
            yield Problem(f"{message}: {record.response}", evidence=evidence(record))


@rule("WIR-028", ruleset="wire", name="bad-cursor-accepted", severity="note", category="protocol")
def bad_cursor(probes: ItemProbes) -> Iterator[Problem]:
    """A cursor that the server never issued is accepted.

    Why: a client with a stale cursor gets a page and takes it for the next one.
    Fix: return the JSON-RPC error -32602.

    Tested only if the server issues cursors, that is, if its tools are on several pages.
    """
    yield from _accepted(probes, "bad_cursor", "returns a page for a cursor that it never issued")


@rule("WIR-029", ruleset="wire", name="unknown-prompt-accepted", severity="error", category="protocol")
def unknown_prompt(probes: ItemProbes) -> Iterator[Problem]:
    """A prompt that does not exist is returned.

    Why: the client shows a prompt that the server does not have, and a model follows it.
    Fix: return the JSON-RPC error -32602.
    """
    yield from _accepted(probes, "unknown_prompt", "returns a result for a prompt that does not exist")


@rule("WIR-030", ruleset="wire", name="unknown-resource-accepted", severity="error", category="protocol")
def unknown_resource(probes: ItemProbes) -> Iterator[Problem]:
    """A resource that does not exist is returned, or returned as empty.

    Why: the client cannot distinguish an empty resource from a missing one.
    Fix: return a JSON-RPC error: -32002, or -32602 from revision 2026-07-28 on.
    """
    yield from _accepted(probes, "unknown_resource", "returns a result for a resource that does not exist")


@rule("WIR-031", ruleset="wire", name="wrong-error-code", severity="warning", category="protocol")
def wrong_code(probes: ItemProbes) -> Iterator[Problem]:
    """An error has a code other than the revision requires.

    Why: from revision 2026-07-28 on, clients decide by the code what to do next.
    Fix: return -32601 for an unknown method, -32602 for an unknown prompt or resource, -32022 for a revision.
    """
    if (probes.revision or "") < FIRST_STATELESS:
        return
    for record in probes.records:
        wanted = CODES.get(record.probe)
        if wanted is not None and record.outcome == "rejected" and record.code != wanted:
            given = "no JSON-RPC error" if record.code is None else f"the error {record.code}"
            message = f"returns {given} for {record.description}; its revision requires {wanted}"
            yield Problem(message, evidence=evidence(record))


def _accepted(probes: ItemProbes, probe: str, words: str) -> Iterator[Problem]:
    for record in probes.records:
        if record.probe == probe and record.expects == "rejection" and record.outcome == "accepted":
            yield Problem(words, evidence=evidence(record))

"""What a server does with requests of the protocol that it should refuse, by the revision that it speaks."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mcproof.exchange.responses import STATELESS
from mcproof.linting.finding import Problem
from mcproof.linting.registry import UNKNOWN_METHOD, rule
from mcproof.rules.wire.contract_promises import evidence

if TYPE_CHECKING:
    from collections.abc import Iterator

    from mcproof.exchange.probe_facts import ItemProbes

CODES = {"unknown_method": -32601, "unknown_prompt": -32602, "unknown_resource": -32602, "bad_version": -32022}
"""The codes that the stateless era insists on."""


@rule(
    "WIR-025",
    ruleset="wire",
    name="unknown-method-accepted",
    severity="error",
    category="protocol",
    fault=UNKNOWN_METHOD,
)
def unknown_method(tried: ItemProbes) -> Iterator[Problem]:
    """A method that does not exist is answered as a success.

    Why: clients find out what a server can do by asking; one that says yes to everything is believed.
    Fix: answer with the JSON-RPC error -32601.
    """
    yield from _accepted(tried, "unknown_method", "answers a method that does not exist with a result")


@rule("WIR-026", ruleset="wire", name="not-json-fatal", severity="error", category="robustness")
def not_json(tried: ItemProbes) -> Iterator[Problem]:
    """A message that is not JSON ends the server, or costs the request after it.

    Why: one broken line, of a client or of a wrapper script, takes the server away.
    Fix: answer with the JSON-RPC error -32700, or pass over it, and read on.
    """
    words = {"crash": "ends", "hang": "loses a request", "malformed": "loses its way"}
    for record in tried.records:
        if record.probe == "not_json" and record.outcome in words:
            message = f"{words[record.outcome]} after a message that is not JSON: {record.response}"
            yield Problem(message, evidence=evidence(record))


@rule("WIR-027", ruleset="wire", name="version-not-negotiated", severity="error", category="protocol")
def version(tried: ItemProbes) -> Iterator[Problem]:
    """A protocol revision that does not exist is agreed to, or refused in a way that ends the conversation.

    Why: a client of another revision must learn which ones the server speaks, and go on from there.
    Fix: answer `initialize` with a revision that the server speaks; in the stateless era, with the error -32022.
    """
    is_stateless = (tried.revision or "") >= STATELESS
    for record in tried.records:
        if record.probe != "bad_version":
            continue
        if record.expects == "rejection" and record.outcome == "accepted":
            yield Problem(f"agrees to {record.what}, which does not exist", evidence=evidence(record))
        elif record.expects == "success" and record.outcome == "rejected" and not is_stateless:
            message = "refuses a client of another protocol revision, instead of offering its own"
            yield Problem(f"{message}: {record.response}", evidence=evidence(record))


@rule("WIR-028", ruleset="wire", name="bad-cursor-accepted", severity="note", category="protocol")
def bad_cursor(tried: ItemProbes) -> Iterator[Problem]:
    """A cursor that the server never gave out is accepted.

    Why: a client whose cursor has gone stale gets a page, and takes it for the next one.
    Fix: answer with the JSON-RPC error -32602.
    """
    yield from _accepted(tried, "bad_cursor", "answers a cursor that it never gave out with a page")


@rule("WIR-029", ruleset="wire", name="unknown-prompt-accepted", severity="error", category="protocol")
def unknown_prompt(tried: ItemProbes) -> Iterator[Problem]:
    """A prompt that does not exist is answered as if it did.

    Why: a client shows, and a model follows, what nobody wrote.
    Fix: answer with the JSON-RPC error -32602.
    """
    yield from _accepted(tried, "unknown_prompt", "answers a prompt that does not exist with a result")


@rule("WIR-030", ruleset="wire", name="unknown-resource-accepted", severity="error", category="protocol")
def unknown_resource(tried: ItemProbes) -> Iterator[Problem]:
    """A resource that does not exist is answered as if it did, or as if it were empty.

    Why: a client cannot tell what is empty from what is not there.
    Fix: answer with a JSON-RPC error: -32002, and -32602 from revision 2026-07-28 on.
    """
    yield from _accepted(tried, "unknown_resource", "answers a resource that does not exist with a result")


@rule("WIR-031", ruleset="wire", name="wrong-error-code", severity="warning", category="protocol")
def wrong_code(tried: ItemProbes) -> Iterator[Problem]:
    """An error has another code than the revision insists on.

    Why: from revision 2026-07-28 on clients decide by the code what to do next.
    Fix: answer with -32601 for an unknown method, -32602 for an unknown prompt or resource, -32022 for a revision.
    """
    if (tried.revision or "") < STATELESS:
        return
    for record in tried.records:
        wanted = CODES.get(record.probe)
        if wanted is not None and record.outcome == "rejected" and record.code != wanted:
            given = "no error of JSON-RPC" if record.code is None else f"the error {record.code}"
            message = f"answers {record.what} with {given}, where its revision asks for {wanted}"
            yield Problem(message, evidence=evidence(record))


def _accepted(tried: ItemProbes, probe: str, words: str) -> Iterator[Problem]:
    for record in tried.records:
        if record.probe == probe and record.expects == "rejection" and record.outcome == "accepted":
            yield Problem(words, evidence=evidence(record))

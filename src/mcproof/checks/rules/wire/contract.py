"""Rules about calls and requests that a server must reject, whether it survives them, and hostile arguments.

Why probes are observations: docs/decisions/0017-probes-are-facts.md.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

from mcproof.checks.findings import Problem
from mcproof.checks.rule import (
    MISSING_REQUIRED,
    OVERSIZED,
    TYPE_MISMATCH,
    UNEXPECTED_FIELD,
    UNKNOWN_METHOD,
    RuleTraits,
    rule,
)
from mcproof.core.observations.probes import ROOT, ItemProbes, Outcome, ProbeRecord
from mcproof.core.protocol import FIRST_STATELESS

_NO_MESSAGES = ("not_json", "not_object")
"""The probes that send what is no message; WIR-026 judges how the server survives."""
SHOWN = 5
"""How many of the calls with one problem a finding shows."""


def _identity(evidence: dict[str, Any]) -> str | None:
    """The broken promises of a tool if there are several, so that one more is a new finding."""
    promises = evidence.get("promises")
    return "\n".join(sorted(promises)) if promises else None


probe_rule = partial(rule, ItemProbes, ruleset="wire", severity="error")
_promise_rule = partial(probe_rule, category="contract", traits=RuleTraits(sums_up=_identity))
"""Registers a rule about the promises of a schema, which has one finding for all broken promises of a tool."""


@probe_rule("WIR-011", name="unknown-tool-accepted", category="contract", fault=UNKNOWN_METHOD)
def unknown_tool(probes: ItemProbes) -> Iterator[Problem]:
    """A call of a tool that does not exist succeeds.

    Why: a model that invents or misspells a tool believes that the call worked.
    Fix: return the JSON-RPC error -32602, or a result with `isError: true`.
    """
    for record in probes.records:
        if record.probe == "unknown_tool" and record.outcome == "accepted":
            message = "returns a result for a tool that does not exist"
            if (text := record.reported_error) is not None:
                message = f"reports a tool that does not exist without `isError`: {text}"
            yield Problem(message, record.schema_pointer, evidence=evidence_of(record))


@_promise_rule("WIR-012", name="missing-required-accepted", fault=MISSING_REQUIRED)
def missing_required(probes: ItemProbes) -> Iterator[Problem]:
    """A call without a required argument is accepted.

    Why: the check that the schema promises is missing; the call does something other than requested, or half of it.
    Fix: validate the arguments against the input schema before the tool runs, and return `isError: true`.
    """
    yield from _accepted_invalid(probes, MISSING_REQUIRED.id)


@_promise_rule("WIR-013", name="wrong-type-accepted", fault=TYPE_MISMATCH)
def wrong_type(probes: ItemProbes) -> Iterator[Problem]:
    """An argument of a type that the schema excludes is accepted.

    Why: a value of the wrong type reaches the tool's logic, fails late there, or is misinterpreted.
    Fix: validate the arguments against the input schema before the tool runs, and return `isError: true`.
    """
    yield from _accepted_invalid(probes, TYPE_MISMATCH.id)


@_promise_rule("WIR-014", name="extra-field-accepted", fault=UNEXPECTED_FIELD)
def extra_field(probes: ItemProbes) -> Iterator[Problem]:
    """An argument that the closed schema does not declare is accepted.

    Why: a misspelled or invented argument is silently ignored.
    Fix: reject undeclared arguments; most validators do so for `additionalProperties: false`.
    """
    yield from _accepted_invalid(probes, UNEXPECTED_FIELD.id)


@_promise_rule("WIR-015", name="oversized-accepted", fault=OVERSIZED)
def oversized(probes: ItemProbes) -> Iterator[Problem]:
    """An argument larger than the schema allows is accepted.

    Why: a bound that is not enforced protects nothing.
    Fix: validate the arguments against the input schema before the tool runs, and return `isError: true`.
    """
    yield from _accepted_invalid(probes, OVERSIZED.id)


@_promise_rule("WIR-016", name="invalid-accepted")
def invalid(probes: ItemProbes) -> Iterator[Problem]:
    """A call that violates the schema in another way is accepted: a bound, an enumeration, a pattern.

    Why: constraints of a schema hold only if the server checks them.
    Fix: validate the arguments against the input schema before the tool runs, and return `isError: true`.
    """
    yield from _accepted_invalid(probes, None)


@probe_rule("WIR-017", name="crash", category="robustness")
def crash(probes: ItemProbes) -> Iterator[Problem]:
    """A request crashes the server or closes the connection.

    Why: one bad call makes the server unavailable for all of its users.
    Fix: catch the exceptions of a tool where it is called, and return `isError: true`.
    """
    yield from _ended_in(probes, "crash", "crashes on {}")


@probe_rule("WIR-018", name="hang", category="robustness")
def hang(probes: ItemProbes) -> Iterator[Problem]:
    """A request gets no response in time.

    Why: the agent and its user wait; clients give up and report the server as broken.
    Fix: respond to every request, to bad ones with an error; limit the time of slow operations.
    """
    yield from _ended_in(probes, "hang", "does not respond to {}")


@probe_rule("WIR-019", name="malformed-answer", category="protocol")
def malformed(probes: ItemProbes) -> Iterator[Problem]:
    """The response to a request is not JSON-RPC.

    Why: the client drops it and waits until it times out.
    Fix: let an SDK build the messages, also for errors; print nothing else to stdout.
    """
    yield from _ended_in(probes, "malformed", "responds to {} with a malformed message")


def _accepted_invalid(probes: ItemProbes, fault: str | None) -> Iterator[Problem]:
    """One problem for a tool, or for the server if all of its tools share it."""
    records = [record for record in probes.records if record.is_broken_promise and record.fault == fault]
    for record in records:
        # Where no tool validates its arguments, the framework does not: that is one problem, not one for each tool.
        if record.of_tools:
            words = f"accepts calls that violate the schema in all {_tools(record)} that were tested"
            message = f"{words}, such as {record.description} in `{record.of_tools[0][0]}`"
            yield Problem(message, evidence=evidence_of_tools(record))
    own = [record for record in records if not record.of_tools]
    if own:
        yield _problem_of_tool(own)


def _problem_of_tool(records: list[ProbeRecord]) -> Problem:
    """One problem for all broken promises of a tool, at the argument if there is only one."""
    ways = list(dict.fromkeys(record.description for record in records))
    times = sum(record.times for record in records)
    shown = "; ".join(ways[:SHOWN]) + (f"; and {len(ways) - SHOWN:,} more" if len(ways) > SHOWN else "")
    is_one = len(ways) == 1
    message = f"accepts {'a call that violates' if is_one else 'calls that violate'} its schema: {shown}"
    if is_one and times > 1:
        message += f" ({times:,} times)"
    pointers = {record.schema_pointer for record in records}
    details = evidence_of(records[0])
    if len(records) > 1:
        promises = dict.fromkeys(f"{record.keyword} {record.schema_pointer}" for record in records)
        examples = [evidence_of(record) for record in records[:SHOWN]]
        details |= {"promises": list(promises), "examples": examples, "count": times}
    if len(pointers) > 1:
        return Problem(message, "/inputSchema", evidence=details)
    return Problem(message, records[0].schema_pointer, parameter_of(records[0]), details)


def _ended_in(probes: ItemProbes, outcome: Outcome, words: str) -> Iterator[Problem]:
    """A problem for each request with this outcome; `words` has a placeholder for what was sent."""
    for record in probes.records:
        if record.outcome == outcome and record.probe not in _NO_MESSAGES:
            if record.of_tools:
                where = f" in all {_tools(record)} that were tested"
                message = f"{words.format(_sent(record))}{where}: {record.response}"
                yield Problem(message, evidence=evidence_of_tools(record))
            else:
                message = f"{words.format(_sent(record))}: {record.response}{repetition(record)}"
                yield Problem(message, record.schema_pointer, evidence=evidence_of(record))


def _sent(record: ProbeRecord) -> str:
    """What was sent, as the object of a sentence."""
    if record.expects == "success":
        return record.description if record.probe != "fuzz" else f"a valid call ({record.description})"
    if record.keyword:
        return f"a call that violates its schema ({record.description})"
    # The description of an exploratory call is not a noun phrase: "without any argument".
    return f"a call ({record.description})" if record.schema_pointer else record.description


def parameter_of(record: ProbeRecord) -> str | None:
    """The top-level argument that a record is about, if it is about one."""
    name = record.schema_pointer.removeprefix("/inputSchema/properties/")
    if name == record.schema_pointer or "/" in name:
        return None
    return name.replace("~1", "/").replace("~0", "~")


def repetition(record: ProbeRecord) -> str:
    """The number of repetitions, if any."""
    return f" ({record.times:,} times)" if record.times > 1 else ""


def evidence_of_tools(record: ProbeRecord) -> dict[str, Any]:
    """The tools that share a failure, with examples."""
    examples = [{"tool": name, **evidence_of(example)} for name, example in record.of_tools[:SHOWN]]
    return {**evidence_of(record), "tools": _names(record), "examples": examples, "count": len(record.of_tools)}


def _tools(record: ProbeRecord) -> str:
    return f"{len(_names(record)):,} tools"


def _names(record: ProbeRecord) -> list[str]:
    return list(dict.fromkeys(name for name, _ in record.of_tools))


def evidence_of(record: ProbeRecord) -> dict[str, Any]:
    """The request and the response."""
    details: dict[str, Any] = {"probe": record.probe, "sent": record.request, "answer": record.response}
    if record.argument and record.argument != ROOT:
        details["argument"] = record.argument
    if record.failure is not None:
        details["failure"] = record.failure
    if record.times > 1:
        details["count"] = record.times
    return details


@probe_rule("WIR-032", name="injection", category="security")
def injection(probes: ItemProbes) -> Iterator[Problem]:
    """A tool executes or follows an argument instead of treating it as data: a path, a command, SQL, a template, a URL.

    Why: whoever writes the text that a model reads can make the model send such an argument.
    Fix: resolve paths and keep them inside the served folder; pass commands as lists and values as parameters; never
    evaluate arguments; do not request loopback or private addresses.
    """
    for record in probes.records:
        for flaw in record.flaws:
            if flaw.kind == "injection":
                message = f"{flaw.detail} ({record.description})"
                yield Problem(message, record.schema_pointer, parameter_of(record), evidence_of(record))


CODES = {"unknown_method": -32601, "unknown_prompt": -32602, "unknown_resource": -32602, "bad_version": -32022}
"""The error codes that the stateless era requires."""


@probe_rule("WIR-025", name="unknown-method-accepted", category="protocol", fault=UNKNOWN_METHOD)
def unknown_method(probes: ItemProbes) -> Iterator[Problem]:
    """A method that does not exist succeeds.

    Why: clients detect what a server supports by calling it; one that accepts everything misleads them.
    Fix: return the JSON-RPC error -32601.
    """
    yield from _accepted(probes, "unknown_method", "returns a result for a method that does not exist")


@probe_rule("WIR-026", name="not-json-fatal", category="robustness")
def not_json(probes: ItemProbes) -> Iterator[Problem]:
    """A message that is not JSON, or JSON that is not an object, crashes the server, or the next request is lost.

    Why: one invalid line, from a client or a wrapper script, makes the server unavailable.
    Fix: return the JSON-RPC error -32700 or -32600, or ignore the line, and continue.
    """
    words = {"crash": "crashes", "hang": "loses a request", "malformed": "sends malformed messages"}
    for record in probes.records:
        if record.probe in _NO_MESSAGES and record.outcome in words:
            message = f"{words[record.outcome]} after {record.description}: {record.response}"
            yield Problem(message, evidence=evidence_of(record))
            return  # a server that does not survive the one has the same flaw with the other


@probe_rule("WIR-035", name="ping-not-served", severity="warning", category="protocol")
def ping_not_served(probes: ItemProbes) -> Iterator[Problem]:
    """The server refuses `ping`.

    Why: both sides of a handshake must answer it; clients that keep connections alive take the server for dead.
    Fix: respond to `ping` with an empty result, as SDKs do.
    """
    for record in probes.records:
        if record.probe == "ping" and record.outcome == "rejected":
            yield Problem(f"refuses `ping`: {record.response}", evidence=evidence_of(record))


@probe_rule("WIR-037", name="arguments-demanded", severity="warning", category="protocol")
def arguments_demanded(probes: ItemProbes) -> Iterator[Problem]:
    """A tool that needs no argument accepts a call with an empty object, but not one without `arguments`.

    Why: the protocol makes `arguments` optional; clients may leave it out where there is nothing to pass.
    Fix: take missing `arguments` for an empty object.
    """
    for record in probes.records:
        if record.probe == "no_arguments" and record.outcome == "rejected":
            yield Problem(f"refuses {record.description}: {record.response}", evidence=evidence_of(record))


@probe_rule("WIR-027", name="version-not-negotiated", category="protocol")
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
            yield Problem(f"accepts {record.description}, which does not exist", evidence=evidence_of(record))
        elif record.expects == "success" and record.outcome == "rejected" and not is_stateless:
            message = "rejects a client with another protocol revision instead of offering its own"
            yield Problem(f"{message}: {record.response}", evidence=evidence_of(record))


@probe_rule("WIR-028", name="bad-cursor-accepted", severity="note", category="protocol")
def bad_cursor(probes: ItemProbes) -> Iterator[Problem]:
    """A cursor that the server never issued is accepted.

    Why: a client with a stale cursor gets a page and takes it for the next one.
    Fix: return the JSON-RPC error -32602.

    Tested only if the server issues cursors, that is, if its tools are on several pages.
    """
    yield from _accepted(probes, "bad_cursor", "returns a page for a cursor that it never issued")


@probe_rule("WIR-029", name="unknown-prompt-accepted", category="protocol")
def unknown_prompt(probes: ItemProbes) -> Iterator[Problem]:
    """A prompt that does not exist is returned.

    Why: the client shows a prompt that the server does not have, and a model follows it.
    Fix: return the JSON-RPC error -32602.
    """
    yield from _accepted(probes, "unknown_prompt", "returns a result for a prompt that does not exist")


@probe_rule("WIR-030", name="unknown-resource-accepted", category="protocol")
def unknown_resource(probes: ItemProbes) -> Iterator[Problem]:
    """A resource that does not exist is returned, or returned as empty.

    Why: the client cannot distinguish an empty resource from a missing one.
    Fix: return a JSON-RPC error: -32002, or -32602 from revision 2026-07-28 on.
    """
    yield from _accepted(probes, "unknown_resource", "returns a result for a resource that does not exist")


@probe_rule("WIR-031", name="wrong-error-code", severity="warning", category="protocol")
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
            yield Problem(message, evidence=evidence_of(record))


def _accepted(probes: ItemProbes, probe: str, words: str) -> Iterator[Problem]:
    for record in probes.records:
        if record.probe == probe and record.expects == "rejection" and record.outcome == "accepted":
            yield Problem(words, evidence=evidence_of(record))

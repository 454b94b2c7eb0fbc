"""What a server does with calls that it should refuse, and whether it survives them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from mcproof.linting.finding import Problem
from mcproof.linting.registry import MISSING_REQUIRED, OVERSIZED, TYPE_MISMATCH, UNEXPECTED_FIELD, UNKNOWN_METHOD, rule

if TYPE_CHECKING:
    from collections.abc import Iterator

    from mcproof.exchange.probe_facts import ItemProbes, Outcome, ProbeRecord


@rule(
    "WIR-011",
    ruleset="wire",
    name="unknown-tool-accepted",
    severity="error",
    category="contract",
    fault=UNKNOWN_METHOD,
)
def unknown_tool(tried: ItemProbes) -> Iterator[Problem]:
    """A call of a tool that does not exist is answered as a success.

    Why: a model that invents a tool, or misspells one, is told that all went well.
    Fix: answer with a JSON-RPC error (-32602), or with a result whose `isError` is true.
    """
    for record in _accepted(tried):
        if record.probe == "unknown_tool":
            yield Problem(
                "answers the call of a tool that does not exist with a result", record.place, evidence=evidence(record)
            )


@rule(
    "WIR-012",
    ruleset="wire",
    name="missing-required-accepted",
    severity="error",
    category="contract",
    fault=MISSING_REQUIRED,
)
def missing_required(tried: ItemProbes) -> Iterator[Problem]:
    """A call without an argument that the schema requires is accepted.

    Why: the schema promises a check that nobody makes; the call does something else than was asked, or half of it.
    Fix: validate the arguments against the input schema before the tool runs, and answer with `isError`.
    """
    yield from _accepted_invalid(tried, MISSING_REQUIRED.id)


@rule(
    "WIR-013",
    ruleset="wire",
    name="wrong-type-accepted",
    severity="error",
    category="contract",
    fault=TYPE_MISMATCH,
)
def wrong_type(tried: ItemProbes) -> Iterator[Problem]:
    """An argument of a type that the schema excludes is accepted.

    Why: a value of the wrong kind reaches the tool's logic, where it fails late, or is taken for something else.
    Fix: validate the arguments against the input schema before the tool runs, and answer with `isError`.
    """
    yield from _accepted_invalid(tried, TYPE_MISMATCH.id)


@rule(
    "WIR-014",
    ruleset="wire",
    name="extra-field-accepted",
    severity="error",
    category="contract",
    fault=UNEXPECTED_FIELD,
)
def extra_field(tried: ItemProbes) -> Iterator[Problem]:
    """An argument that the closed schema does not have is accepted.

    Why: a misspelt or invented argument has no effect, and the caller never learns it, whatever the schema says.
    Fix: refuse what the schema does not declare; most validators do so for `additionalProperties: false`.
    """
    yield from _accepted_invalid(tried, UNEXPECTED_FIELD.id)


@rule(
    "WIR-015",
    ruleset="wire",
    name="oversized-accepted",
    severity="error",
    category="contract",
    fault=OVERSIZED,
)
def oversized(tried: ItemProbes) -> Iterator[Problem]:
    """An argument that is larger than the schema allows is accepted.

    Why: a bound that nobody enforces protects nothing of what stands behind it.
    Fix: validate the arguments against the input schema before the tool runs, and answer with `isError`.
    """
    yield from _accepted_invalid(tried, OVERSIZED.id)


@rule("WIR-016", ruleset="wire", name="invalid-accepted", severity="error", category="contract")
def invalid(tried: ItemProbes) -> Iterator[Problem]:
    """A call that breaks the schema in some other way is accepted: a bound, an enumeration, a pattern.

    Why: what the schema says about values holds only if somebody checks it.
    Fix: validate the arguments against the input schema before the tool runs, and answer with `isError`.
    """
    yield from _accepted_invalid(tried, None)


@rule("WIR-017", ruleset="wire", name="crash", severity="error", category="robustness")
def crash(tried: ItemProbes) -> Iterator[Problem]:
    """A request ends the server, or closes the connection.

    Why: one bad call of one agent takes the server away from everybody who uses it.
    Fix: catch what a tool raises where it is called, and answer with `isError`.
    """
    yield from _ended_in(tried, "crash", "crashes on {}")


@rule("WIR-018", ruleset="wire", name="hang", severity="error", category="robustness")
def hang(tried: ItemProbes) -> Iterator[Problem]:
    """A request is not answered in time.

    Why: an agent waits, and so does whoever waits for the agent; clients give up and show the server as broken.
    Fix: answer every request, bad ones with an error; give what can take long a limit of its own.
    """
    yield from _ended_in(tried, "hang", "does not answer {}")


@rule("WIR-019", ruleset="wire", name="malformed-answer", severity="error", category="protocol")
def malformed(tried: ItemProbes) -> Iterator[Problem]:
    """A request is answered with something that is no JSON-RPC.

    Why: a client drops it, and waits until its time is up.
    Fix: let an SDK write the envelope, for errors as well; print nothing else to standard output.
    """
    yield from _ended_in(tried, "malformed", "answers {} with a malformed message")


def _accepted(tried: ItemProbes) -> Iterator[ProbeRecord]:
    for record in tried.records:
        if record.expects == "rejection" and record.outcome == "accepted":
            yield record


def _accepted_invalid(tried: ItemProbes, fault: str | None) -> Iterator[Problem]:
    """A problem for each call that breaks the schema and was accepted."""
    for record in _accepted(tried):
        if record.fault == fault and record.keyword:
            message = f"accepts a call that breaks its schema: {record.what}{again(record)}"
            yield Problem(message, record.place, _parameter(record), evidence(record))


def _ended_in(tried: ItemProbes, outcome: Outcome, words: str) -> Iterator[Problem]:
    """A problem for each request that came to this end; the words have a place for what was sent."""
    for record in tried.records:
        if record.outcome == outcome and record.probe != "not_json":
            message = f"{words.format(_sent(record))}: {record.response}{again(record)}"
            yield Problem(message, record.place, evidence=evidence(record))


def _sent(record: ProbeRecord) -> str:
    """What was sent, as the object of a sentence."""
    if record.expects == "success":
        return record.what if record.probe != "fuzz" else f"a valid call ({record.what})"
    if record.keyword:
        return f"a call that breaks its schema ({record.what})"
    # What concerns an argument is no noun: "without any argument".
    return f"a call ({record.what})" if record.place else record.what


def _parameter(record: ProbeRecord) -> str | None:
    """The argument that a record is about, if it is one of the first level."""
    name = record.place.removeprefix("/inputSchema/properties/")
    if name == record.place or "/" in name:
        return None
    return name.replace("~1", "/").replace("~0", "~")


def again(record: ProbeRecord) -> str:
    """How often, where it was more than once."""
    return f" ({record.times:,} times)" if record.times > 1 else ""


def evidence(record: ProbeRecord) -> dict[str, Any]:
    """What was sent and what came back."""
    found: dict[str, Any] = {"probe": record.probe, "sent": record.request, "answer": record.response}
    if record.failure is not None:
        found["failure"] = record.failure
    if record.times > 1:
        found["count"] = record.times
    return found

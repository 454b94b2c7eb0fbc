"""What a server does with calls that it should refuse, and whether it survives them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from mcproof.linting.finding import Problem
from mcproof.linting.registry import MISSING_REQUIRED, OVERSIZED, TYPE_MISMATCH, UNEXPECTED_FIELD, UNKNOWN_METHOD, rule

if TYPE_CHECKING:
    from collections.abc import Iterator

    from mcproof.exchange.probe_facts import Outcome, Trial, Trials


@rule(
    "WIR-011",
    ruleset="wire",
    name="unknown-tool-accepted",
    severity="error",
    category="contract",
    fault=UNKNOWN_METHOD,
)
def unknown_tool(tried: Trials) -> Iterator[Problem]:
    """A call of a tool that does not exist is answered as a success.

    Why: a model that invents a tool, or misspells one, is told that all went well.
    Fix: answer with a JSON-RPC error (-32602), or with a result whose `isError` is true.
    """
    for trial in _accepted(tried):
        if trial.probe == "unknown_tool":
            yield Problem(
                "answers the call of a tool that does not exist with a result", trial.place, evidence=evidence(trial)
            )


@rule(
    "WIR-012",
    ruleset="wire",
    name="missing-required-accepted",
    severity="error",
    category="contract",
    fault=MISSING_REQUIRED,
)
def missing_required(tried: Trials) -> Iterator[Problem]:
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
def wrong_type(tried: Trials) -> Iterator[Problem]:
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
def extra_field(tried: Trials) -> Iterator[Problem]:
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
def oversized(tried: Trials) -> Iterator[Problem]:
    """An argument that is larger than the schema allows is accepted.

    Why: a bound that nobody enforces protects nothing of what stands behind it.
    Fix: validate the arguments against the input schema before the tool runs, and answer with `isError`.
    """
    yield from _accepted_invalid(tried, OVERSIZED.id)


@rule("WIR-016", ruleset="wire", name="invalid-accepted", severity="error", category="contract")
def invalid(tried: Trials) -> Iterator[Problem]:
    """A call that breaks the schema in some other way is accepted: a bound, an enumeration, a pattern.

    Why: what the schema says about values holds only if somebody checks it.
    Fix: validate the arguments against the input schema before the tool runs, and answer with `isError`.
    """
    yield from _accepted_invalid(tried, None)


@rule("WIR-017", ruleset="wire", name="crash", severity="error", category="robustness")
def crash(tried: Trials) -> Iterator[Problem]:
    """A request ends the server, or closes the connection.

    Why: one bad call of one agent takes the server away from everybody who uses it.
    Fix: catch what a tool raises where it is called, and answer with `isError`.
    """
    yield from _ended_in(tried, "crash", "crashes on {}")


@rule("WIR-018", ruleset="wire", name="hang", severity="error", category="robustness")
def hang(tried: Trials) -> Iterator[Problem]:
    """A request is not answered in time.

    Why: an agent waits, and so does whoever waits for the agent; clients give up and show the server as broken.
    Fix: answer every request, bad ones with an error; give what can take long a limit of its own.
    """
    yield from _ended_in(tried, "hang", "does not answer {}")


@rule("WIR-019", ruleset="wire", name="malformed-answer", severity="error", category="protocol")
def malformed(tried: Trials) -> Iterator[Problem]:
    """A request is answered with something that is no JSON-RPC.

    Why: a client drops it, and waits until its time is up.
    Fix: let an SDK write the envelope, for errors as well; print nothing else to standard output.
    """
    yield from _ended_in(tried, "malformed", "answers {} with a malformed message")


def _accepted(tried: Trials) -> Iterator[Trial]:
    for trial in tried.trials:
        if trial.expects == "rejection" and trial.outcome == "accepted":
            yield trial


def _accepted_invalid(tried: Trials, fault: str | None) -> Iterator[Problem]:
    """A problem for each call that breaks the schema and was accepted."""
    for trial in _accepted(tried):
        if trial.fault == fault and trial.keyword:
            message = f"accepts a call that breaks its schema: {trial.what}{again(trial)}"
            yield Problem(message, trial.place, _parameter(trial), evidence(trial))


def _ended_in(tried: Trials, outcome: Outcome, words: str) -> Iterator[Problem]:
    """A problem for each request that came to this end; the words have a place for what was sent."""
    for trial in tried.trials:
        if trial.outcome == outcome and trial.probe != "not_json":
            message = f"{words.format(_sent(trial))}: {trial.answer}{again(trial)}"
            yield Problem(message, trial.place, evidence=evidence(trial))


def _sent(trial: Trial) -> str:
    """What was sent, as the object of a sentence."""
    if trial.expects == "success":
        return trial.what if trial.probe != "fuzz" else f"a valid call ({trial.what})"
    if trial.keyword:
        return f"a call that breaks its schema ({trial.what})"
    # What concerns an argument is no noun: "without any argument".
    return f"a call ({trial.what})" if trial.place else trial.what


def _parameter(trial: Trial) -> str | None:
    """The argument that a trial is about, if it is one of the first level."""
    name = trial.place.removeprefix("/inputSchema/properties/")
    if name == trial.place or "/" in name:
        return None
    return name.replace("~1", "/").replace("~0", "~")


def again(trial: Trial) -> str:
    """How often, where it was more than once."""
    return f" ({trial.times:,} times)" if trial.times > 1 else ""


def evidence(trial: Trial) -> dict[str, Any]:
    """What was sent and what came back."""
    found: dict[str, Any] = {"probe": trial.probe, "sent": trial.request, "answer": trial.answer}
    if trial.failure is not None:
        found["failure"] = trial.failure
    if trial.times > 1:
        found["count"] = trial.times
    return found

"""Rules about the responses of tools, whatever was sent."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mcproof.core.observations.probes import ERROR_AS_SUCCESS
from mcproof.linting.finding import Problem
from mcproof.linting.registry import rule
from mcproof.rules.wire.contract_promises import evidence

if TYPE_CHECKING:
    from collections.abc import Iterator

    from mcproof.core.observations.probes import ItemProbes, ProbeRecord


@rule("WIR-020", ruleset="wire", name="structured-content-invalid", severity="error", category="contract")
def structured_invalid(probes: ItemProbes) -> Iterator[Problem]:
    """Structured content violates the output schema of the tool.

    Why: a server must conform to its own schema; clients that validate reject the whole response.
    Fix: build the result from the type that the schema was generated from, or correct the schema.
    """
    yield from _flawed(probes, "structured-invalid", "returns structured content that violates its output schema: ")


@rule("WIR-021", ruleset="wire", name="structured-content-missing", severity="error", category="contract")
def structured_missing(probes: ItemProbes) -> Iterator[Problem]:
    """A tool with an output schema returns no structured content.

    Why: a tool with an output schema must return structured content; clients turn such a response into an error.
    Fix: return `structuredContent`, also as text, or do not declare an output schema.
    """
    yield from _flawed(probes, "structured-missing", "violates its output schema: ")


@rule("WIR-022", ruleset="wire", name="malformed-content", severity="error", category="protocol")
def malformed_content(probes: ItemProbes) -> Iterator[Problem]:
    """The result of a call is not valid in the protocol revision.

    Why: clients that validate drop the response; others show nothing, or the wrong content.
    Fix: return a list of content blocks of types that the revision supports, each with its required members.
    """
    yield from _flawed(probes, "malformed-content", "returns a result that the protocol does not allow: ")


_LONGEST_ERROR = 80
"""How many characters of an error a message quotes; the evidence has more."""


@rule("WIR-023", ruleset="wire", name="error-as-success", severity="warning", category="contract")
def error_as_success(probes: ItemProbes) -> Iterator[Problem]:
    """The text of a result reports an error, but the result is marked as a success.

    Why: the client counts the call as successful, and the model may continue as if it were.
    Fix: set `isError: true` in the result of a failed call.

    The text must begin with an error message, or be an object such as `{"error": …}`. The verdict of a validator,
    `{"valid": false, "error": …}`, is a success. A call of a tool that does not exist is WIR-011.
    """
    others = [record for record in probes.records if record.probe != "unknown_tool"]
    yield from _flawed(probes._replace(records=others), ERROR_AS_SUCCESS, "reports an error without `isError`: ")


@rule("WIR-024", ruleset="wire", name="leak", severity="error", category="security")
def leak(probes: ItemProbes) -> Iterator[Problem]:
    """An error message reveals a stack trace, a path of source code, or a secret.

    Why: a model may pass it on to anyone; it helps an attacker, but not the caller.
    Fix: write the details to a log, and tell the caller what to do about the error.
    """
    yield from _flawed(probes, "leak", "an error message reveals ")


def _flawed(probes: ItemProbes, kind: str, words: str) -> Iterator[Problem]:
    """One problem for a kind of flaw: the first occurrence and the count."""
    first: tuple[ProbeRecord, str] | None = None
    count = 0
    for record in probes.records:
        for flaw in record.flaws:
            if flaw.kind == kind:
                first = first or (record, flaw.detail)
                count += record.times
                break
    if first is not None:
        record, detail = first
        if kind == ERROR_AS_SUCCESS and len(detail) > _LONGEST_ERROR:
            detail = f"{detail[:_LONGEST_ERROR].rstrip()}…"
        times = f" ({count:,} times)" if count > 1 else ""
        yield Problem(f"{words}{detail}{times}", evidence={**evidence(record), "count": count})

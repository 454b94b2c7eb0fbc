"""What is wrong with the answers of tools, whatever was asked."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mcproof.linting.finding import Problem
from mcproof.linting.registry import rule
from mcproof.rules.wire.contract_promises import evidence

if TYPE_CHECKING:
    from collections.abc import Iterator

    from mcproof.exchange.probe_facts import ItemProbes, ProbeRecord


@rule("WIR-020", ruleset="wire", name="structured-content-invalid", severity="error", category="contract")
def structured_invalid(tried: ItemProbes) -> Iterator[Problem]:
    """Structured content breaks the output schema that the tool declares.

    Why: a server must keep to its own schema; clients that check refuse the whole answer.
    Fix: build the answer from the type that the schema is made of, or correct the schema.
    """
    yield from _flawed(tried, "structured-invalid", "answers with structured content that breaks its output schema: ")


@rule("WIR-021", ruleset="wire", name="structured-content-missing", severity="error", category="contract")
def structured_missing(tried: ItemProbes) -> Iterator[Problem]:
    """A tool declares an output schema and answers without structured content.

    Why: whoever declares a schema must send what it describes; clients turn such an answer into an error.
    Fix: send `structuredContent`, with the same as text beside it, or do not declare an output schema.
    """
    yield from _flawed(tried, "structured-missing", "breaks the promise of its output schema: ")


@rule("WIR-022", ruleset="wire", name="malformed-content", severity="error", category="protocol")
def malformed_content(tried: ItemProbes) -> Iterator[Problem]:
    """The result of a call is not what the protocol revision allows.

    Why: clients that check drop the answer; others show nothing, or the wrong thing.
    Fix: send a list of content blocks of the kinds that the revision has, each with what it needs.
    """
    yield from _flawed(tried, "malformed-content", "answers with a result that the protocol does not allow: ")


@rule("WIR-023", ruleset="wire", name="error-as-success", severity="warning", category="contract")
def error_as_success(tried: ItemProbes) -> Iterator[Problem]:
    """A result says in its text that it is an error, and is marked as a success.

    Why: a client counts it as done, and a model may go on as if it were.
    Fix: set `isError` to true in the result of whatever did not work.
    """
    yield from _flawed(tried, "error-as-success", "reports an error without `isError`: ")


@rule("WIR-024", ruleset="wire", name="leak", severity="error", category="security")
def leak(tried: ItemProbes) -> Iterator[Problem]:
    """An error text gives away a stack trace, a path of the source code, or a secret.

    Why: an answer goes to a model, and from there anywhere; this helps an attacker, and nobody who called the tool.
    Fix: write the details to a log, and answer with what the caller can do about it.
    """
    yield from _flawed(tried, "leak", "an error text gives away ")


def _flawed(tried: ItemProbes, kind: str, words: str) -> Iterator[Problem]:
    """One problem for a kind of flaw: what it was the first time, and how often it came."""
    first: tuple[ProbeRecord, str] | None = None
    count = 0
    for record in tried.records:
        for flaw in record.flaws:
            if flaw.kind == kind:
                first = first or (record, flaw.detail)
                count += record.times
                break
    if first is not None:
        record, detail = first
        times = f" ({count:,} times)" if count > 1 else ""
        yield Problem(f"{words}{detail}{times}", evidence={**evidence(record), "count": count})

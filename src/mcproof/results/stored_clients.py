"""The result of `compat` in a run report."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mcproof.checks.clients.profiles import effect_level
from mcproof.checks.clients.verdicts import BrokenConstraint, ClientGain, ClientOutcome, Improvement
from mcproof.results.payloads import CompatPayload
from mcproof.results.records import client_record, encode, improvement_record, listed, printable

if TYPE_CHECKING:
    from collections.abc import Iterator

    from mcproof.results.records import Record


def clients_text(payload: CompatPayload) -> Iterator[str]:
    """Write a payload as a JSON object, one client a line."""
    yield f'{{"named": {printable(encode(payload.named))}, "fixable": {encode(payload.is_fixable)},\n'
    yield from listed("outcomes", (encode(_client_outcome_record(each)) for each in payload.outcomes))
    yield ",\n"
    yield from listed("improvements", (encode(improvement_record(each)) for each in payload.improvements))
    yield "}"


def _client_outcome_record(each: ClientOutcome) -> Record:
    facts = {"client": each.client, "kind": each.kind, "checked": each.checked, "sends_to": each.sends_to}
    return {**facts, **client_record(each)}


def read_clients(record: Record) -> CompatPayload:
    """Read a payload; the schema of run reports holds."""
    return CompatPayload(
        outcomes=[_read_outcome(each) for each in record["outcomes"]],
        improvements=[_read_improvement(each) for each in record["improvements"]],
        named=tuple(record["named"]),
        is_fixable=record.get("fixable", False),
    )


def _read_outcome(record: Record) -> ClientOutcome:
    return ClientOutcome(
        client=record["client"],
        name=record["name"],
        kind=record["kind"],
        checked=record["checked"],
        verdict=record["verdict"],
        hits=[
            BrokenConstraint(
                level=effect_level(hit["effect"], hit["status"], conditional=hit["conditional"]),
                **hit,
            )
            for hit in record["hits"]
        ],
        through=tuple(record["through"]),
        sends_to=tuple(record["sends_to"]),
    )


def _read_improvement(record: Record) -> Improvement:
    return Improvement(
        rule=record["rule"],
        places=record["places"],
        tools=record["tools"],
        gains=tuple(ClientGain(**gain) for gain in record["gains"]),
        remedy=record["remedy"],
    )

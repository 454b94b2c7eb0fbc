"""Failures that all tools of a server share: one fact about the server instead of one about each tool.

A server that strips undeclared arguments before its tools see them does so for all of them, and logging that hangs on a
long text hangs in every tool. Such a failure is one record of the server, with the records of the tools.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from mcproof.exchange.probe_facts import SERVER_LOST, ItemProbes, ProbeRecord

if TYPE_CHECKING:
    from collections.abc import Callable

    from mcproof.catalog.model import Item

FEWEST = 3
"""The fewest tools that share a failure."""


def with_shared_failures(item_probes: list[ItemProbes], server: Item) -> list[ItemProbes]:
    """The records with shared failures moved to the server.

    A fault is shared if a violation was accepted in at least three tools and refused in none. A hang or a crash is
    shared if at least three tools were sent the same probe and all of them failed.
    """
    tools = [each for each in item_probes if each.item is not server]
    shared = [*_shared_acceptances(tools), *_shared_ends(tools)]
    if not shared:
        return item_probes
    moved = {id(record) for each in shared for _, record in each.of_tools}
    of_server = next((each for each in item_probes if each.item is server), None)
    if of_server is None:
        of_server = ItemProbes(server, [], tools[0].revision)
    rest = [each._replace(records=[one for one in each.records if id(one) not in moved]) for each in tools]
    return [of_server._replace(records=[*of_server.records, *shared]), *rest]


def _shared_acceptances(tools: list[ItemProbes]) -> list[ProbeRecord]:
    """One record for each fault of which violations are accepted everywhere."""
    refused = {fault for each in tools for fault in each.refused}
    faults = dict.fromkeys(record.fault for each in tools for record in each.records if record.is_broken_promise)
    shared = []
    for fault in [each for each in faults if each not in refused]:

        def is_broken(record: ProbeRecord, fault: str | None = fault) -> bool:
            return record.is_broken_promise and record.fault == fault

        shared.append(_shared(tools, is_broken))
    return [each for each in shared if each is not None]


def _shared_ends(tools: list[ItemProbes]) -> list[ProbeRecord]:
    """One record for each probe that ends every server it is sent to."""
    shared = []
    for probe in dict.fromkeys(record.probe for each in tools for record in each.records):
        # Fuzzing records only failures, and sends cases to every tool.
        tried = [each for each in tools if probe == "fuzz" or any(record.probe == probe for record in each.records)]
        for outcome in SERVER_LOST:

            def is_end(record: ProbeRecord, probe: str = probe, outcome: str = outcome) -> bool:
                return record.probe == probe and record.outcome == outcome

            if all(any(map(is_end, each.records)) for each in tried):
                shared.append(_shared(tried, is_end))
    return [each for each in shared if each is not None]


def _shared(tools: list[ItemProbes], belongs: Callable[[ProbeRecord], bool]) -> ProbeRecord | None:
    """The first of the records, with all of them by tool; None if too few tools have one."""
    found = [(each.item.name, record) for each in tools for record in each.records if belongs(record)]
    if len({name for name, _ in found}) < FEWEST:
        return None
    return found[0][1]._replace(of_tools=tuple(found), times=1)

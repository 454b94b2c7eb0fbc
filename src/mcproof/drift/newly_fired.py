"""Rules about poisoned texts that report the new version of an item, and did not report the old one."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from mcproof.catalog.model import Catalog
    from mcproof.drift.catalog_drift import Difference
    from mcproof.linting.finding import Finding

POISONING = "TRU-1"
"""The prefix of the ids of these rules."""


def newly_fired(new: Catalog, old: Catalog, differences: list[Difference]) -> list[Difference]:
    """Return differences with the ids of the rules that newly fire on them."""
    from mcproof.linting.engine import check
    from mcproof.linting.registry import rules_of

    rules = [rule for rule in rules_of("trust") if rule.id.startswith(POISONING) and rule.severity != "info"]
    if not rules:
        return differences
    known = {key for finding in check(old, rules) for key in _keys(finding)}
    fired: dict[str, list[tuple[str, str]]] = {}
    for finding in check(new, rules):
        for item, rule, text in _keys(finding):
            if (item, rule, text) not in known:
                fired.setdefault(item, []).append((rule, finding.pointer))
    return [each._replace(fires=_firing(each, fired)) for each in differences]


def _firing(difference: Difference, fired: dict[str, list[tuple[str, str]]]) -> tuple[str, ...]:
    """Return the rules that newly fire on the changed part of an item."""
    if difference.current_hash is None:
        return ()
    found = fired.get(difference.item.label, ())
    part = f"/{difference.part}" if difference.part in _POINTED else ""
    return tuple(sorted({rule for rule, pointer in found if not pointer or pointer.startswith(part)}))


_POINTED = ("description", "title", "inputSchema", "outputSchema", "annotations")


def _keys(finding: Finding) -> set[tuple[str, str, str]]:
    """Return the identity of a finding for each item that it concerns: item, rule, message."""
    return {(item, finding.rule.id, finding.message) for item in _items(finding)}


def _items(finding: Finding) -> set[str]:
    evidence: dict[str, Any] = finding.evidence or {}
    named = evidence.get("tools")
    tools = {name for name in named if isinstance(name, str)} if isinstance(named, list) else set()
    return {finding.item.label, *tools}

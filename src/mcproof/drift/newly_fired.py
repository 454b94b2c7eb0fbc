"""Rules about poisoned texts that report the new version of an item, and did not report the old one."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from mcproof.drift.surface_hashes import PARTS

if TYPE_CHECKING:
    from collections.abc import Iterator

    from mcproof.core.catalog.model import Catalog
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
    known = {each[:3] for finding in check(old, rules) for each in _reports(finding)}
    fired: dict[str, list[tuple[str, str]]] = {}
    for finding in check(new, rules):
        for item, rule, message, pointer in _reports(finding):
            if (item, rule, message) not in known:
                fired.setdefault(item, []).append((rule, pointer))
    return [each._replace(fires=_firing(each, fired)) for each in differences]


def _firing(difference: Difference, fired: dict[str, list[tuple[str, str]]]) -> tuple[str, ...]:
    """Return the rules that newly fire on the changed part of an item."""
    if difference.current_hash is None:
        return ()
    found = fired.get(difference.item.label, ())
    part = f"/{difference.part}" if difference.part in PARTS else ""
    return tuple(sorted({rule for rule, pointer in found if not pointer or pointer.startswith(part)}))


def _reports(finding: Finding) -> Iterator[tuple[str, str, str, str]]:
    """Yield item, rule, message and pointer for each item that a finding concerns; a text may be in several.

    The pointer is that of the first item, and empty for the others.
    """
    rule, message = finding.rule.id, finding.message.partition(" (also in ")[0]
    yield finding.item.label, rule, message, finding.pointer
    evidence: dict[str, Any] = finding.evidence or {}
    subjects = [each.partition(":")[2] for each in _texts(evidence.get("items"))]
    for name in {*_texts(evidence.get("tools")), *subjects} - {finding.item.label, ""}:
        yield name, rule, message, ""


def _texts(value: Any) -> list[str]:
    return [each for each in value if isinstance(each, str)] if isinstance(value, list) else []

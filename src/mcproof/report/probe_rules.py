"""Which rules judge which probes and cases, so that formats report each problem once."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mcproof.core.observations.probes import HOSTILE_PROBES

if TYPE_CHECKING:
    from collections.abc import Iterable

    from mcproof.probing.outcomes import Failure, ProbeResult
    from mcproof.runs.results import Kind

PROBING: tuple[Kind, ...] = ("probe", "prove")
"""The kinds of run that send probes."""

_RULE_OF_PROBE = {
    "unknown_tool": "WIR-011",
    "missing_required": "WIR-012",
    "wrong_type": "WIR-013",
    "extra_field": "WIR-014",
    "oversized": "WIR-015",
    "wrong_value": "WIR-016",
    "unknown_method": "WIR-025",
    "not_json": "WIR-026",
    "bad_version": "WIR-027",
    "bad_cursor": "WIR-028",
    "unknown_prompt": "WIR-029",
    "unknown_resource": "WIR-030",
    **dict.fromkeys(HOSTILE_PROBES, "WIR-032"),
}

_RULES_OF_OUTCOME = {
    "crash": ("WIR-017",),
    "hang": ("WIR-018",),
    "malformed": ("WIR-019",),
    "rejected": ("WIR-031",),
}
"""The rules that judge the outcome of any probe."""

RULES_OF_CASE_OUTCOME = {
    "accepted": ("WIR-012", "WIR-013", "WIR-014", "WIR-015", "WIR-016"),
    "crash": ("WIR-017",),
    "hang": ("WIR-018",),
    "protocol_violation": ("WIR-019", "WIR-020", "WIR-021", "WIR-022"),
    "leak": ("WIR-024",),
    "injection": ("WIR-032",),
}
"""The rules that judge the outcome of a case."""

UNUSED_RULES: dict[Kind, frozenset[str]] = {
    "probe": frozenset({"WIR-024", "WIR-032"}),
    "prove": frozenset({"WIR-024", "WIR-032"}),
    "fuzz": frozenset({"WIR-011", *(f"WIR-{number:03}" for number in range(25, 33))}),
}
"""The rules that a kind of run sends nothing for, so that no finding does not mean passed."""

PROBED_RULES = frozenset((*_RULE_OF_PROBE.values(), "WIR-016", "WIR-017", "WIR-018", "WIR-019", "WIR-031"))
"""The rules whose findings are the result of a probe."""


def rules_judging(probe: ProbeResult) -> set[str]:
    """Return the ids of the rules whose finding reports the same as a failed probe."""
    rules = set(_RULES_OF_OUTCOME.get(probe.outcome, ()))
    return rules | {_RULE_OF_PROBE[probe.probe]} if probe.probe in _RULE_OF_PROBE else rules


def covered_by_probes(probes: Iterable[ProbeResult]) -> set[tuple[str | None, str]]:
    """Return the tools and rules whose findings the failed probes already report."""
    return {(each.tool, rule) for each in probes if each.passed is False for rule in rules_judging(each)}


def covered_by_failures(failures: Iterable[Failure]) -> set[tuple[str | None, str]]:
    """Return the tools and rules whose findings the failed cases already report."""
    return {(each.tool, rule) for each in failures for rule in RULES_OF_CASE_OUTCOME.get(each.outcome, ())}

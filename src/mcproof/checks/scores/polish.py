"""The polish score: names, descriptions and schemas, rated from 0 to 100.

Every finding costs points by its severity, weighted by its category; the sum is divided by the square root of the
number of tools. Computed as published with the rules.
"""

from __future__ import annotations

from math import sqrt
from typing import TYPE_CHECKING

from mcproof.core.named_tuple import NamedTuple

if TYPE_CHECKING:
    from mcproof.checks.findings import Finding
    from mcproof.checks.rule import Rule
    from mcproof.core.catalog.model import Catalog

POINTS = {"error": 5.0, "warn": 2.0, "note": 0.5}
WEIGHTS = {"schema": 0.20, "naming": 0.30, "description": 0.30, "consistency": 0.15, "security": 0.05}
"""The weight of each category; they add up to 1."""
SCALE = 8


class PolishDeduction(NamedTuple):
    """The penalty for the findings of one rule."""

    rule: Rule
    times: int

    @property
    def penalty(self) -> float:
        return self.times * POINTS[self.rule.scheme_severity] * WEIGHTS[self.rule.category]


class Polish(NamedTuple):
    score: int
    """0 for a server that offers nothing."""
    deductions: list[PolishDeduction]
    """By rule, the costliest first."""
    tools: int

    @property
    def penalty(self) -> float:
        return sum(deduction.penalty for deduction in self.deductions)

    def cost_of(self, deduction: PolishDeduction) -> float:
        """The points a deduction costs, before rounding and clamping."""
        return SCALE * deduction.penalty / _softening(self.tools)


def polish(catalog: Catalog, findings: list[Finding]) -> Polish:
    """The polish score of a catalog; only findings of the `polish` ruleset count."""
    counts: dict[Rule, int] = {}
    for finding in findings:
        if finding.rule.ruleset == "polish":
            counts[finding.rule] = counts.get(finding.rule, 0) + 1
    deductions = sorted(
        (PolishDeduction(rule, count) for rule, count in counts.items()),
        key=lambda deduction: (-deduction.penalty, deduction.rule.id),
    )
    unscored = Polish(0, deductions, len(catalog.tools))
    if catalog.is_empty:
        return unscored
    return unscored._replace(score=score_of(unscored.penalty, unscored.tools))


def score_of(penalty: float, tools: int) -> int:
    """The score for a penalty, rounded half to even and clamped to 0..100."""
    return max(0, min(100, round(100 - SCALE * penalty / _softening(tools))))


def _softening(tools: int) -> float:
    return max(1.0, sqrt(tools))

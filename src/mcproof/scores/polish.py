"""The polish score: from 0 to 100, how much there is to do about names, descriptions and schemas.

Every finding costs points by its severity, weighed by its category; many tools soften the sum, by the root of their
number. Published with the rules, and computed as published.
"""

from __future__ import annotations

from math import sqrt
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from mcproof.catalog.model import Catalog
    from mcproof.linting.finding import Finding
    from mcproof.linting.registry import Rule

POINTS = {"error": 5.0, "warn": 2.0, "note": 0.5}
WEIGHTS = {"schema": 0.20, "naming": 0.30, "description": 0.30, "consistency": 0.15, "security": 0.05}
"""How much each category counts; together one."""
SCALE = 8


class PolishDeduction(NamedTuple):
    """What the findings of one rule add to the penalty."""

    rule: Rule
    times: int

    @property
    def penalty(self) -> float:
        return self.times * POINTS[self.rule.scheme_severity] * WEIGHTS[self.rule.category]


class Polish(NamedTuple):
    score: int
    """0 for a server that offers nothing: there is nothing to call polished."""
    deductions: list[PolishDeduction]
    """By rule, the costliest first."""
    tools: int

    @property
    def penalty(self) -> float:
        return sum(each.penalty for each in self.deductions)

    def cost_of(self, deduction: PolishDeduction) -> float:
        """What a deduction takes off the score, before rounding and cutting."""
        return SCALE * deduction.penalty / _softening(self.tools)


def polish(catalog: Catalog, findings: list[Finding]) -> Polish:
    """The score that the findings of the `polish` ruleset give; others do not count."""
    counts: dict[Rule, int] = {}
    for finding in findings:
        if finding.rule.ruleset == "polish":
            counts[finding.rule] = counts.get(finding.rule, 0) + 1
    deductions = sorted(
        (PolishDeduction(rule, count) for rule, count in counts.items()), key=lambda each: (-each.penalty, each.rule.id)
    )
    unscored = Polish(0, deductions, len(catalog.tools))
    if catalog.is_empty:
        return unscored
    return unscored._replace(score=score_of(unscored.penalty, unscored.tools))


def score_of(penalty: float, tools: int) -> int:
    """The score for a penalty, rounded half to even, within 0 and 100."""
    return max(0, min(100, round(100 - SCALE * penalty / _softening(tools))))


def _softening(tools: int) -> float:
    return max(1.0, sqrt(tools))

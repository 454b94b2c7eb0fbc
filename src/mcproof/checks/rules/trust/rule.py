"""Registration of `trust` rules, with what their score needs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

from mcproof.linting.registry import rule

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from mcproof.core.observations.perimeter import Exposure
    from mcproof.linting.registry import Check

    HardFail = Callable[[Mapping[str, Any], Exposure], bool]
    """Whether a finding with this evidence forces the verdict `block`, for a server reached like this."""

Phase = Literal["perimeter", "post-handshake", "auth-required", "source", "drift"]
Dimension = Literal[
    "Transport security",
    "Endpoint hygiene",
    "Tool surface risk",
    "Schema quality",
    "MCP discovery posture",
    "Exposure minimization",
    "Metadata transparency",
    "Auth discovery posture",
]

WEIGHTS = {"critical": 14, "high": 8, "medium": 4, "low": 2, "info": 0}
"""The weight of a rule that the published catalog does not have, by severity."""


def trust_rule(
    id: str,
    *,
    name: str,
    severity: str,
    category: str,
    dimension: Dimension,
    phase: Phase,
    weight: int | None = None,
    hard_fail: HardFail | None = None,
    counted_by: str | None = None,
    in_lint: bool = False,
    chosen: tuple[str, ...] = (),
    **traits: Any,
) -> Callable[[Check], Check]:
    """Register a rule of the `trust` ruleset.

    `weight` defaults to that of the severity. `counted_by` is the rule that states the same fact in the score.
    `in_lint` is true of the rules that `lint` runs by default. `chosen` names what the published catalog leaves open
    and mcproof sets: `severity`, `weight`.
    """
    return rule(
        id,
        ruleset="trust",
        name=name,
        severity=severity,
        category=category,
        weight=WEIGHTS[severity] if weight is None else weight,
        dimension=dimension,
        phase=phase,
        hard_fail=hard_fail,
        counted_by=counted_by,
        in_lint=in_lint,
        chosen=chosen,
        **traits,
    )


def always(_evidence: Mapping[str, Any], _exposure: Exposure) -> bool:
    """The condition of a rule that always blocks."""
    return True


def if_open(_evidence: Mapping[str, Any], exposure: Exposure) -> bool:
    """The condition of a rule that blocks only if anyone can reach the server."""
    return exposure.is_open

"""The numbers of `tool_quality`: description scores and schema findings of a catalog."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable

    from mcproof.checks.scores.descriptions import DescriptionScore
    from mcproof.core.catalog.model import Catalog, Tool

NAMED = 3
"""Maximum number of tools named in a reason."""


class Quality(NamedTuple):
    """The numbers by name, and the reason for each."""

    facts: dict[str, Any]
    reasons: dict[str, str]


def quality_of(catalog: Catalog) -> Quality:
    """Rate the tools of a catalog, which must not be empty."""
    from mcproof.checks.engine import check
    from mcproof.checks.rule import rules_of
    from mcproof.checks.scores.descriptions import description_scores, judge

    judged = list(map(judge, catalog.tools))
    scores = description_scores(judged)
    critical: list[str] = []
    warnings: list[str] = []
    for each in judged:
        tool, described = each.tool, each.explained()
        if (why := _critical_flaw(tool, described)) is not None:
            critical.append(f"{tool.label}: {why}")
        else:
            missing = [part.name for part in described.components if part.weight and not part.score]
            warnings += [f"{tool.label}: no {name}" for name in missing]
    found = [each for each in check(catalog, rules_of("strict")) if each.rule.ruleset == "strict"]
    schema_findings = {
        severity: [f"{each.item.label}: {each.rule.id}" for each in found if each.rule.severity == severity]
        for severity in ("critical", "warning")
    }
    lowest = sorted(scores.items(), key=lambda each: each[1])
    worst = _listed(f"{name} {score:.2f}" for name, score in lowest)
    facts = {
        "min_score": lowest[0][1],
        "mean_score": round(sum(scores.values()) / len(scores), 4),
        "tool": {name: {"score": score} for name, score in scores.items()},
        "critical_count": len(critical),
        "warning_count": len(warnings),
        "schema_criticals": len(schema_findings["critical"]),
        "schema_warnings": len(schema_findings["warning"]),
    }
    reasons = {
        "min_score": f"lowest: {worst}",
        "mean_score": f"lowest: {worst}",
        "critical_count": _listed(critical),
        "warning_count": _listed(warnings),
        "schema_criticals": _listed(schema_findings["critical"]),
        "schema_warnings": _listed(schema_findings["warning"]),
    }
    return Quality(facts, reasons)


def _critical_flaw(tool: Tool, described: DescriptionScore) -> str | None:
    """Return the critical flaw of a description: missing, repeats the name, or a single word; None if it has none."""
    if described.nothing:
        return described.nothing
    words = tool.description.split()
    # Scripts without spaces write whole sentences as one word.
    return "a single word" if len(words) == 1 and words[0].isascii() else None


def _listed(sentences: Iterable[str]) -> str:
    listed = list(sentences)
    more = f" and {len(listed) - NAMED:,} more" if len(listed) > NAMED else ""
    return ", ".join(listed[:NAMED]) + more

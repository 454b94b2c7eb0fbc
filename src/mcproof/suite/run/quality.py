"""What the descriptions and schemas of a server's tools come to, in the numbers that suites gate on."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable

    from mcproof.catalog.model import Catalog, Tool
    from mcproof.scores.description import DescriptionScore

NAMED = 3
"""How many tools a sentence names."""


class Quality(NamedTuple):
    """The numbers, and for each a sentence that says where it comes from."""

    facts: dict[str, Any]
    reasons: dict[str, str]


def quality_of(catalog: Catalog) -> Quality:
    """Judge every tool of a catalog, which must have some."""
    from mcproof.linting.engine import check
    from mcproof.linting.registry import rules_of
    from mcproof.scores.description import describe_score, description_scores

    scores = description_scores(catalog)
    critical: list[str] = []
    warnings: list[str] = []
    for tool in catalog.tools:
        described = describe_score(tool)
        if (why := _useless(tool, described)) is not None:
            critical.append(f"{tool.label}: {why}")
        else:
            missing = [each.name for each in described.components if each.weight and not each.score]
            warnings += [f"{tool.label}: no {name}" for name in missing]
    found = [each for each in check(catalog, rules_of("strict")) if each.rule.ruleset == "strict"]
    of_schemas = {
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
        "schema_criticals": len(of_schemas["critical"]),
        "schema_warnings": len(of_schemas["warning"]),
    }
    reasons = {
        "min_score": f"the lowest: {worst}",
        "mean_score": f"the lowest: {worst}",
        "critical_count": _listed(critical),
        "warning_count": _listed(warnings),
        "schema_criticals": _listed(of_schemas["critical"]),
        "schema_warnings": _listed(of_schemas["warning"]),
    }
    return Quality(facts, reasons)


def _useless(tool: Tool, described: DescriptionScore) -> str | None:
    """Why a description is none: it is missing, only repeats the name or is a single word."""
    if described.nothing:
        return described.nothing
    words = tool.description.split()
    # A sentence in a script without blanks is one word to `split`, and more than that to its readers.
    return "a single word" if len(words) == 1 and words[0].isascii() else None


def _listed(sentences: Iterable[str]) -> str:
    listed = list(sentences)
    more = f" and {len(listed) - NAMED:,} more" if len(listed) > NAMED else ""
    return ", ".join(listed[:NAMED]) + more

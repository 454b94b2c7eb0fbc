"""Sentences about the trust in a server that several formats share."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from mcproof.core.console import plural

if TYPE_CHECKING:
    from mcproof.checks.scores.trust import Action, Trust

TONES = {"allow": "good", "review": "fair", "block": "bad"}
SYMBOLS = {"allow": "✓", "review": "?", "block": "✕"}


class Unseen(NamedTuple):
    """Rules that were not judged for one reason."""

    why: str
    rules: list[str]
    is_applicable: bool


def trust_sentence(trust: Trust) -> str:
    """Return the verdict, the score and the coverage."""
    return f"{trust.verdict}: score {trust.score} of 100, {trust.coverage:.0%} of the weight observed"


def outcome_counts(trust: Trust) -> str:
    """Return how many rules passed, failed and were not judged."""
    counts: dict[str, int] = {}
    for each in trust.outcomes:
        counts[each.outcome] = counts.get(each.outcome, 0) + 1
    listed = [f"{counts[word]:,} {word}" for word in _ORDER if word in counts]
    return f"{plural(len(trust.outcomes), 'rule')}: {', '.join(listed)}"


_ORDER = ("failed", "passed", "not observed", "not applicable")


def action_gain(action: Action, trust: Trust) -> str:
    """Return what an action gains, such as "+8, then review"; empty if it gains nothing alone."""
    parts = [f"+{action.points}"] if action.points else []
    parts += [f"verdict {action.verdict}"] if action.verdict != trust.verdict else []
    return ", ".join(parts)


def unseen_rules(trust: Trust) -> list[Unseen]:
    """Return the rules that were not judged, by reason: first those that concern the target."""
    grouped: dict[tuple[bool, str], list[str]] = {}
    for each in trust.outcomes:
        if each.outcome in ("not observed", "not applicable"):
            grouped.setdefault((each.outcome == "not observed", each.why), []).append(each.rule)
    unseen = [Unseen(why, rules, is_applicable) for (is_applicable, why), rules in grouped.items()]
    return sorted(unseen, key=lambda each: not each.is_applicable)

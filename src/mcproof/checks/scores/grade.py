"""The grade: a score from 0 to 100 and a letter from A to F."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from mcproof.checks.rule import GradeTraits
from mcproof.checks.scores.tokens import length, trim

if TYPE_CHECKING:
    from mcproof.checks.findings import Finding
    from mcproof.checks.rule import Rule
    from mcproof.core.catalog.model import Catalog

POINTS = {"error": 15, "warning": 5, "info": 1}
BONUS, BONUS_LENGTH = 5, 20
"""Points for a server all of whose descriptions have at least this many characters."""

THRESHOLDS = (
    ("A", 90, "excellent"),
    ("B", 75, "good"),
    ("C", 60, "needs work"),
    ("D", 40, "poor"),
    ("F", 0, "critical"),
)
LETTERS = tuple(letter for letter, _, _ in THRESHOLDS)
_IMPROVES_DESCRIPTIONS = ("tool-no-description", "tool-short-description", "tool-description-is-name")


class Deduction(NamedTuple):
    """The points that the findings of one rule cost."""

    rule: str
    severity: str
    """The scheme's severity, which determines the points."""
    times: int
    points: int


class Gain(NamedTuple):
    """The effect of fixing every finding of one rule."""

    rule: str
    remedy: str
    """What to do, such as "describe 7 parameters"."""
    points: int
    """By how much the score rises."""
    cost: int
    """What the findings cost; more than `points` where the score is at its floor."""
    letter: str


class Grade(NamedTuple):
    """A score and a letter, with the deductions they result from."""

    score: int
    letter: str
    word: str
    unclamped: int
    """The score before it is clamped to 0..100."""
    bonus: int
    """The points for descriptions that are all long enough."""
    short_descriptions: int
    """How many descriptions are too short for the bonus."""
    is_empty: bool
    deductions: list[Deduction]
    """By rule, the costliest first."""
    gains: list[Gain]
    """The largest first; none for an empty server."""

    def findings_of(self, severity: str) -> int:
        """How many findings of a severity count."""
        return sum(each.times for each in self.deductions if each.severity == severity)


def letter_of(score: int) -> str:
    return next(letter for letter, threshold, _ in THRESHOLDS if score >= threshold)


def grade(catalog: Catalog, findings: list[Finding]) -> Grade:
    """Return the grade of a catalog; only findings of the `grade` ruleset count."""
    counts: dict[Rule, int] = {}
    for finding in findings:
        if finding.rule.ruleset == "grade":
            counts[finding.rule] = counts.get(finding.rule, 0) + 1
    rules = {rule.id: rule for rule in counts}
    deductions = [
        Deduction(rule.id, rule.scheme_severity, count, count * POINTS[rule.scheme_severity])
        for rule, count in counts.items()
    ]
    deductions.sort(key=lambda each: (-each.points, each.rule))
    short = {id(tool) for tool in catalog.tools if length(trim(tool.description)) < BONUS_LENGTH}
    bonus = BONUS if catalog.tools and not short else 0
    unclamped = 100 - sum(each.points for each in deductions) + bonus
    score = 0 if catalog.is_empty else _clamp(unclamped)
    gains = []
    for each in () if catalog.is_empty else deductions:
        earned = BONUS if _earns_bonus(each.rule, findings, short) else 0
        improved = _clamp(unclamped + each.points + earned)
        remedy = _remedy(rules[each.rule], each.times)
        gains.append(Gain(each.rule, remedy, improved - score, each.points, letter_of(improved)))
    gains.sort(key=lambda gain: (-gain.points, -gain.cost))
    letter = letter_of(score)
    return Grade(
        score=score,
        letter=letter,
        word=next(word for name, _, word in THRESHOLDS if name == letter),
        unclamped=unclamped,
        bonus=bonus,
        short_descriptions=len(short),
        is_empty=catalog.is_empty,
        deductions=deductions,
        gains=gains,
    )


def _earns_bonus(rule: str, findings: list[Finding], short: set[int]) -> bool:
    """Whether fixing one rule alone makes every short description long enough for the bonus."""
    if rule not in _IMPROVES_DESCRIPTIONS or not short:
        return False
    return short <= {id(finding.item) for finding in findings if finding.rule.id == rule}


def _remedy(rule: Rule, count: int) -> str:
    return rule.own(GradeTraits).remedy.format(n=f"{count:,}", s="" if count == 1 else "s")


def _clamp(score: int) -> int:
    return max(0, min(100, score))

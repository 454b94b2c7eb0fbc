"""The grade: a score from 0 to 100 and a letter from A to F."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from mcproof.text.javascript import length, trim

if TYPE_CHECKING:
    from mcproof.catalog.model import Catalog
    from mcproof.linting.finding import Finding
    from mcproof.linting.registry import Rule

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


class GradeDeduction(NamedTuple):
    """What the findings of one rule cost."""

    rule: Rule
    times: int

    @property
    def points(self) -> int:
        return self.times * POINTS[self.rule.scheme_severity]


class GradeGain(NamedTuple):
    """What mending every finding of one rule would do to the score."""

    deduction: GradeDeduction
    points: int
    letter: str

    @property
    def remedy(self) -> str:
        """What to do, such as "describe 7 parameters"."""
        count = self.deduction.times
        text: str = self.deduction.rule.traits["remedy"].format(n=f"{count:,}", s="" if count == 1 else "s")
        return text


class Grade(NamedTuple):
    score: int
    deductions: list[GradeDeduction]
    """By rule, the costliest first."""
    has_bonus: bool
    short_descriptions: int
    """How many tools keep the bonus away."""
    rules_for_bonus: frozenset[str]
    """The rules of which each, by itself, has a finding for every one of those tools: mending it earns the bonus."""
    is_empty: bool

    @property
    def letter(self) -> str:
        return letter_of(self.score)

    @property
    def word(self) -> str:
        return next(word for letter, _, word in THRESHOLDS if letter == self.letter)

    @property
    def bonus(self) -> int:
        """The points for descriptions that are all long enough."""
        return BONUS * self.has_bonus

    @property
    def raw_score(self) -> int:
        """The score before it is cut to the range from 0 to 100."""
        return 100 - sum(each.points for each in self.deductions) + self.bonus

    def findings_of(self, severity: str) -> int:
        return sum(each.times for each in self.deductions if each.rule.scheme_severity == severity)

    def gains(self) -> list[GradeGain]:
        """What each rule's findings stand in the way of, the largest gain first; nothing for an empty server."""
        if self.is_empty:
            return []
        gains = []
        for deduction in self.deductions:
            earns_bonus = deduction.rule.id in self.rules_for_bonus
            score = _clamp(self.raw_score + deduction.points + BONUS * earns_bonus)
            gains.append(GradeGain(deduction, score - self.score, letter_of(score)))
        return sorted(gains, key=lambda gain: (-gain.points, -gain.deduction.points))


def letter_of(score: int) -> str:
    return next(letter for letter, threshold, _ in THRESHOLDS if score >= threshold)


def grade(catalog: Catalog, findings: list[Finding]) -> Grade:
    """The grade that the findings of the `grade` ruleset give; others do not count."""
    counts: dict[Rule, int] = {}
    for finding in findings:
        if finding.rule.ruleset == "grade":
            counts[finding.rule] = counts.get(finding.rule, 0) + 1
    deductions = sorted(
        (GradeDeduction(rule, count) for rule, count in counts.items()), key=lambda each: (-each.points, each.rule.id)
    )
    short = {id(tool) for tool in catalog.tools if length(trim(tool.description)) < BONUS_LENGTH}
    mended: dict[str, set[int]] = {rule: set() for rule in _IMPROVES_DESCRIPTIONS}
    for finding in findings:
        if finding.rule.id in mended:
            mended[finding.rule.id].add(id(finding.item))
    unscored = Grade(
        0,
        deductions,
        has_bonus=bool(catalog.tools) and not short,
        short_descriptions=len(short),
        rules_for_bonus=frozenset(rule for rule, tools in mended.items() if short and short <= tools),
        is_empty=catalog.is_empty,
    )
    return unscored if catalog.is_empty else unscored._replace(score=_clamp(unscored.raw_score))


def _clamp(score: int) -> int:
    return max(0, min(100, score))

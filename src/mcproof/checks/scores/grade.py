"""The grade, from 0 to 100 with a letter from A to F, and the polish score of names, descriptions and schemas.

For source, the letter is withheld if a part of the catalog that discovery does not know could change it.
For the polish score, every finding costs points by its severity, weighted by its category; the sum is divided by the
square root of the number of tools. It is computed as published with the rules.
"""

from __future__ import annotations

import re
from collections import Counter
from math import sqrt
from typing import TYPE_CHECKING, Annotated

from mcproof.checks.rule import GradeTraits, Rule
from mcproof.checks.scores.tokens import length, trim
from mcproof.core.named_tuple import NamedTuple
from mcproof.core.stored_form import Count, Position, Text, member, record

if TYPE_CHECKING:
    from mcproof.checks.findings import Finding
    from mcproof.checks.rule import Rule
    from mcproof.core.catalog.model import Catalog, Tool


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


Letter = Annotated[str, member("grade", enum=LETTERS)]


@record()
class Deduction(NamedTuple):
    """The points that the findings of one rule cost."""

    rule: str
    """The rule's id."""
    severity: Annotated[str, member(enum=["error", "warning", "info"])]
    """The scheme's severity, which determines the points."""
    times: Position
    """How many findings."""
    points: Position
    """The points."""
    intended: Count = 0
    """How many of them look intended, such as tools all of whose parameters have a default."""


@record()
class Gain(NamedTuple):
    """The effect of fixing every finding of one rule, without those that look intended."""

    rule: str
    """The rule's id."""
    remedy: str
    """What to do."""
    points: Count
    """The points gained."""
    cost: Position
    """The points that the findings cost."""
    letter: Letter
    """The grade after the fix."""


@record()
class Grade(NamedTuple):
    """The grade, with its deductions."""

    score: Annotated[int, member(minimum=0, maximum=100)]
    """100 minus the deductions plus the bonus, between 0 and 100."""
    letter: Letter
    """The letter of the score."""
    word: Text
    """The letter in a word."""
    unclamped: int
    """The score before it is clamped to 0..100."""
    bonus: Count
    """Points for descriptions that are all long enough."""
    short_descriptions: Count
    """The number of descriptions too short for the bonus."""
    is_empty: bool
    """Whether the server offers nothing, and so scores 0."""
    deductions: list[Deduction]
    """The deductions by rule, the costliest first."""
    gains: list[Gain]
    """The gains by rule, the largest first."""


@record()
class NotJudged(NamedTuple):
    """What of a server's source could not be judged, because discovery does not know it."""

    schemas: list[Text]
    """The tools whose input schema is not known exactly."""
    descriptions: list[Text]
    """The tools whose description is not known."""
    lists: list[Text]
    """The lists that may hold more than was found."""
    best: Annotated[str | None, member(enum=[*LETTERS, None])] = None
    """The best grade that the server may have, if its grade is withheld."""

    @property
    def tools(self) -> int:
        """How many tools were not judged, or in part only."""
        return len({*self.schemas, *self.descriptions})


def not_judged(catalog: Catalog) -> NotJudged | None:
    """Return what of a catalog from source could not be judged; None if all of it was."""
    if catalog.source is None:
        return None
    doubtful = [tool for tool in catalog.tools if tool.source is not None and tool.source.unknown]
    schemas = [tool.label for tool in doubtful if not tool.knows_all("/inputSchema")]
    descriptions = [tool.label for tool in doubtful if not tool.knows("/description")]
    lists = sorted(catalog.source.incomplete_lists)
    return NotJudged(schemas, descriptions, lists) if schemas or descriptions or lists else None


_RISKS = (
    (re.compile(r"/description"), POINTS["error"]),
    (re.compile(r"/inputSchema/type"), POINTS["info"]),
    (re.compile(r"/inputSchema/properties/[^/]+"), 2 * POINTS["warning"]),
    (re.compile(r"/inputSchema/properties/[^/]+/(description|type|enum|oneOf|anyOf|allOf|\$ref)"), POINTS["warning"]),
    (re.compile(r"/inputSchema/required/\d+"), POINTS["error"]),
)
"""The most points that an unknown value may cost, by its pointer. Values elsewhere cost nothing."""
_UNBOUNDED = frozenset(("", "/inputSchema", "/inputSchema/properties"))
"""Unknown values that may hold any number of parameters."""


def _risk(tool: Tool) -> float:
    """The most points that the unknown parts of a tool may cost."""
    unknown = tool.source.unknown if tool.source is not None else ()
    risk = 0.0
    for pointer in unknown:
        if pointer in _UNBOUNDED:
            return float("inf")
        if pointer == "/inputSchema/required":
            # Only a written schema may require what is not among its properties.
            is_written = tool.source is not None and tool.source.schema_is_explicit
            risk += float("inf") if is_written else POINTS["info"]
        risk += next((points for pattern, points in _RISKS if pattern.fullmatch(pointer)), 0)
    return risk


def letter_range(catalog: Catalog, grade: Grade) -> tuple[str, str]:
    """Return the best and the worst letter that a catalog with unknown parts may have."""
    if catalog.source is None or grade.is_empty:
        return grade.letter, grade.letter
    unsettled = [tool for tool in catalog.tools if not tool.knows("/description")]
    certain = grade.unclamped - grade.bonus
    short = {id(tool) for tool in catalog.tools if length(trim(tool.description)) < BONUS_LENGTH}
    best = certain + (BONUS if short <= {id(tool) for tool in unsettled} else 0)
    risk = float("inf") if catalog.source.incomplete_lists else sum(map(_risk, catalog.tools))
    worst = certain + (0 if unsettled else grade.bonus) - risk
    return letter_of(_clamp(best)), "F" if worst < 0 else letter_of(_clamp(int(worst)))


def letter_of(score: int) -> str:
    return next(letter for letter, threshold, _ in THRESHOLDS if score >= threshold)


def grade(catalog: Catalog, findings: list[Finding]) -> Grade:
    """Return the grade of a catalog; only findings of the `grade` ruleset count."""
    graded = [finding for finding in findings if finding.rule.ruleset == "grade"]
    counts = Counter(finding.rule for finding in graded)
    intended = Counter(finding.rule for finding in graded if finding.problem.may_be_meant)
    rules = {rule.id: rule for rule in counts}
    deductions = [
        Deduction(rule.id, rule.scheme_severity, count, count * POINTS[rule.scheme_severity], intended[rule])
        for rule, count in counts.items()
    ]
    deductions.sort(key=lambda deduction: (-deduction.points, deduction.rule))
    # In the units of the program that defines the grade: docs/decisions/0011-javascript-semantics.md.
    short = {id(tool) for tool in catalog.tools if length(trim(tool.description)) < BONUS_LENGTH}
    bonus = BONUS if catalog.tools and not short else 0
    unclamped = 100 - sum(deduction.points for deduction in deductions) + bonus
    score = 0 if catalog.is_empty else _clamp(unclamped)
    gains = []
    for deduction in () if catalog.is_empty else deductions:
        if not (count := deduction.times - deduction.intended):
            continue
        cost = count * POINTS[deduction.severity]
        earned = BONUS if _earns_bonus(deduction.rule, findings, short) else 0
        improved = _clamp(unclamped + cost + earned)
        remedy = _remedy(rules[deduction.rule], count)
        gains.append(Gain(deduction.rule, remedy, improved - score, cost, letter_of(improved)))
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


PENALTIES = {"error": 5.0, "warn": 2.0, "note": 0.5}
WEIGHTS = {"schema": 0.20, "naming": 0.30, "description": 0.30, "consistency": 0.15, "security": 0.05}
"""The weight of each category; they add up to 1."""
SCALE = 8


class PolishDeduction(NamedTuple):
    """The penalty for the findings of one rule."""

    rule: Rule
    times: int

    @property
    def penalty(self) -> float:
        return self.times * PENALTIES[self.rule.scheme_severity] * WEIGHTS[self.rule.category]


class Polish(NamedTuple):
    score: int
    """0 for a server that offers nothing."""
    deductions: list[PolishDeduction]
    """By rule, the costliest first."""
    tools: int

    @property
    def penalty(self) -> float:
        return sum(deduction.penalty for deduction in self.deductions)


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
    return max(0, min(100, round(100 - SCALE * penalty / max(1.0, sqrt(tools)))))

"""One target as a page shows it: the values that its templates need."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

from mcproof.console import plural
from mcproof.linting.finding import LEVELS, level_of
from mcproof.report.html.finding_views import Findings
from mcproof.report.html.suite_views import OPEN, by_outcome, duration, servers_of, test_shares, tests_headline
from mcproof.report.html.wording import GRADE_TONES, Share, Words, bar_width
from mcproof.report.outcome_phrases import summary_sentence
from mcproof.report.phrases import failing_words, fixing_hint, gate_sentence, scope_of
from mcproof.results.payloads import CALLING
from mcproof.results.proof import promises
from mcproof.scores.grade import BONUS, BONUS_LENGTH, THRESHOLDS

if TYPE_CHECKING:
    from mcproof.report.html.suite_views import OutcomeGroup
    from mcproof.results.run import TargetResult
    from mcproof.results.scores import Scores
    from mcproof.scores.grade import Gain, Grade

BARS = 12
"""How many tools the token chart names; the rest are summed up."""

ADVICE = 3
"""How many gains are shown."""


class Tile(NamedTuple):
    """The result as one large character."""

    character: str
    tone: str
    spoken: str


class CostRow(NamedTuple):
    """A deduction, with its bar."""

    rule: str
    findings: str
    width: float
    level: str
    points: int


class TokenRow(NamedTuple):
    """The tokens of one tool, or of all others together."""

    name: str
    tokens: int
    width: float
    percent: float
    is_rest: bool


class Band(NamedTuple):
    """The range of a grade on the scale."""

    letter: str
    start: int
    width: int


class TargetView:
    """A result of a target, and its number on the page."""

    def __init__(self, result: TargetResult, number: int, words: Words) -> None:
        self.result = result
        self.number = number
        self.words = words

    @property
    def kind(self) -> str:
        return self.result.payload.kind

    @cached_property
    def findings(self) -> Findings:
        return Findings(self.result)

    @property
    def scores(self) -> Scores:
        return self.result.scores

    @property
    def grade(self) -> Grade | None:
        """The grade, for kinds of run that show it."""
        return self.result.scores.grade if self.words.noun == "finding" else None

    @property
    def grade_tone(self) -> str:
        grade = self.result.scores.grade
        return GRADE_TONES.get(grade.letter, "bad") if grade is not None else "bad"

    @property
    def tile(self) -> Tile:
        """The grade, or whether the target passed."""
        if self.result.trouble is not None:
            return Tile("!", "bad", "could not be checked")
        if self.kind == "diff":
            levels = self.findings.levels
            if levels["error"]:
                return Tile("✕", "bad", "breaking")
            return Tile("?", "fair", "cannot tell") if levels["warning"] else Tile("✓", "good", "compatible")
        if self.result.scores.grade is not None:
            return Tile(self.result.scores.grade.letter, self.grade_tone, "grade")
        if self.result.incomplete and not self.result.failing:
            return Tile("?", "fair", f"{self.result.incomplete}: incomplete")
        if self.result.passed and self._tested_nothing():
            return Tile("?", "fair", "nothing was tested")
        return Tile("✓", "good", "passed") if self.result.passed else Tile("✕", "bad", "failed")

    def _tested_nothing(self) -> bool:
        """Whether a run that tests has tested nothing, which is not a success."""
        if self.kind == "suite":
            return all(test.outcome != "passed" for test in self.result.tests)
        return self.kind in CALLING and not self.result.was_tested

    @property
    def headline(self) -> str:
        """The result in a phrase."""
        result = self.result
        if result.trouble is not None:
            return "could not be checked"
        if self.kind == "suite":
            return tests_headline(result.tests)
        if sentence := summary_sentence(result):
            return sentence
        levels = self.findings.levels
        if self.kind == "diff":
            if levels["error"]:
                return plural(levels["error"], "breaking change")
            if levels["warning"]:
                return f"{plural(levels['warning'], 'change')} that may break callers"
            return f"{plural(levels['note'], 'change')}, none breaking" if levels["note"] else "no changes"
        if result.scores.grade is not None:
            return f"{result.scores.grade.score} of 100, {result.scores.grade.word[:40]}"
        return plural(len(self.findings.shown), "finding") if self.findings.shown else "no findings"

    @property
    def shares(self) -> list[Share]:
        """The result as the shares of one bar."""
        payload = self.result.payload
        shares = []
        if payload.kind == "prove":
            counts = promises(payload.matrix)
            shares = [
                Share("good", "✓", counts.kept, "kept"),
                Share("bad", "✗", counts.broken, "broken"),
                Share("fair", "?", counts.not_shown, "not shown"),
                Share("none", "·", counts.not_tested, "not tested"),
            ]
        elif payload.kind == "probe":
            judged = [each.passed for each in payload.probes]
            idle = sum(each.outcome == "not_tested" for each in payload.probes)
            shares = [
                Share("good", "✓", judged.count(True), "passed"),
                Share("bad", "✗", judged.count(False), "failed"),
                Share("none", "·", idle, "not tested"),
            ]
        elif payload.kind == "fuzz":
            clean, accepted = (payload.fuzzing.outcomes.get(name, 0) for name in ("clean", "accepted"))
            shares = [
                Share("good", "✓", clean, "clean"),
                Share("fair", "!", accepted, "invalid but accepted"),
                Share("bad", "✗", max(0, payload.fuzzing.cases - clean - accepted), "failed"),
            ]
        elif payload.kind == "suite":
            shares = test_shares(payload.tests)
        return [share for share in shares if share.amount]

    @property
    def compared_with(self) -> str | None:
        return self.result.payload.compared_with if self.result.payload.kind == "diff" else None

    @property
    def scope(self) -> str:
        return scope_of(self.result) if self.result.counts else ""

    @property
    def scale(self) -> list[Band]:
        """The ranges of the grades."""
        uppers = (100, *(threshold for _, threshold, _ in THRESHOLDS))
        return [
            Band(letter, threshold, upper - threshold)
            for (letter, threshold, _), upper in zip(THRESHOLDS, uppers, strict=False)
        ]

    def verdict(self, stale: int) -> list[tuple[bool, str]]:
        """Return the reasons why the target passes or fails; stale baseline entries fail the run, too."""
        result, words = self.result, self.words
        if result.fail_on == "never":
            reasons = [(True, f"{words.noun}s do not fail the run (--fail-on never)")]
        else:
            failing = sum(result.fails(group.shown) for group in self.findings.shown)
            count = plural(failing, words.noun) if failing else f"no {words.noun}s"
            level = words.levels[result.fail_on] if result.fail_on in LEVELS else result.fail_on
            reasons = [(not result.failing, f"{count} {failing_words(level)}")]
        reasons += [(gate.passed, gate_sentence(gate)) for gate in result.gates]
        if stale:
            reasons.append((False, f"{stale:,} stale in the baseline"))
        return reasons

    @property
    def advice(self) -> list[Gain]:
        """The largest gains."""
        grade = self.grade
        return [] if grade is None or grade.score == 100 else grade.gains[:ADVICE]

    @property
    def floor_note(self) -> str:
        """Why no single fix raises the score, if so."""
        grade = self.grade
        if grade is None or not grade.gains or grade.gains[0].points:
            return ""
        below = f"{-grade.unclamped:,} points below zero" if grade.unclamped < 0 else "at zero"
        return f"The score is {below}: no single fix raises it, so start with the costliest."

    @property
    def costs(self) -> list[CostRow]:
        """The deductions, with bars."""
        deductions = self.grade.deductions if self.grade is not None else []
        widest = max((each.points for each in deductions), default=1) or 1
        return [
            CostRow(
                each.rule,
                plural(each.times, each.severity[:20]),
                bar_width(each.points / widest),
                level_of(each.severity),
                each.points,
            )
            for each in deductions
        ]

    @property
    def calculation(self) -> str:
        """The deductions and the bonus as the left side of a sum."""
        grade = self.grade
        if grade is None:
            return ""
        cost = sum(each.points for each in grade.deductions)
        return f"100{f' − {cost:,}' if cost else ''}{f' + {grade.bonus}' if grade.bonus else ''}"

    @property
    def asides(self) -> list[str]:
        """What does not count for the score."""
        lines = []
        grade = self.grade
        if grade is not None and not grade.bonus and grade.short_descriptions:
            short = plural(grade.short_descriptions, "description")
            lines.append(f"No bonus of {BONUS}: {short} under {BONUS_LENGTH} characters.")
        for by, words in (("ignore-for", "the configuration"), ("comment", "comments in the source")):
            ignored = [
                each for each in self.result.suppressed if each.suppression is not None and each.suppression.by == by
            ]
            if ignored:
                lines.append(f"{plural(len(ignored), 'finding')} ignored by {words}, at no cost.")
        return lines

    @property
    def token_rows(self) -> list[TokenRow]:
        """The tokens of each tool, the most expensive first."""
        tokens = self.result.scores.tokens
        if tokens is None or not tokens.tools:
            return []
        ranked = sorted(tokens.tools.items(), key=lambda each: -each[1])
        widest, total = max(1, ranked[0][1]), max(1, tokens.total)
        rows = [
            TokenRow(name, count, bar_width(count / widest), 100 * count / total, is_rest=False)
            for name, count in ranked[:BARS]
        ]
        if others := ranked[BARS:]:
            rest = sum(count for _, count in others)
            rows.append(TokenRow(plural(len(others), "more tool"), rest, 0, 100 * rest / total, is_rest=True))
        return rows

    @property
    def fixing_hint(self) -> tuple[str, str]:
        return fixing_hint(self.result)

    @property
    def is_called(self) -> bool:
        """Whether the run called the tools of the server."""
        return self.kind in CALLING

    @property
    def outcomes(self) -> list[OutcomeGroup]:
        """The tests by outcome."""
        return by_outcome(self.result.tests)

    @property
    def has_few_tests(self) -> bool:
        return len(self.result.tests) <= OPEN

    @property
    def servers(self) -> list[str]:
        return servers_of(self.result.tests)

    @property
    def took(self) -> str:
        return duration(self.result.seconds)

"""One target as a page shows it: the values that its templates need."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

from mcproof.checks.findings import level_of
from mcproof.checks.scores.grade import BONUS, BONUS_LENGTH, THRESHOLDS
from mcproof.core.console import plural
from mcproof.probing.outcomes import promises
from mcproof.report.client_grid import shown_outcomes
from mcproof.report.gate_verdicts import INCOMPLETE, target_verdict
from mcproof.report.html.finding_views import Findings
from mcproof.report.html.page_limits import PageRoom
from mcproof.report.html.suite_views import OPEN_TESTS, by_outcome, duration, servers_of, test_shares
from mcproof.report.html.verdict_views import gate_rows, headlines, target_tile
from mcproof.report.html.wording import GRADE_TONES, Share, Words, bar_width
from mcproof.report.phrases import fixing_hint, scope_of
from mcproof.runs.results import CALLING

if TYPE_CHECKING:
    from mcproof.checks.scores.grade import Gain, Grade
    from mcproof.report.gate_verdicts import GateVerdict
    from mcproof.report.html.suite_views import OutcomeGroup
    from mcproof.report.html.verdict_views import GateRow, Tile
    from mcproof.runs.results import Scores, TargetResult

BARS = 12
"""How many tools the token chart names; the rest are summed up."""

ADVICE = 3
"""How many gains are shown."""


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

    def __init__(self, result: TargetResult, number: int, words: Words, verdict: GateVerdict | None = None) -> None:
        self.result = result
        self.number = number
        self.words = words
        self.room = PageRoom()
        """How much the page has room for; the page may lower it."""
        self.verdict = target_verdict(result) if verdict is None else verdict

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
        """The grade, or the verdict."""
        return target_tile(self.result, self.verdict, self.findings.levels)

    @property
    def headlines(self) -> list[str]:
        """The result in phrases, the worst true statement first."""
        return headlines(self.result, self.verdict, self.findings)

    @property
    def verdict_word(self) -> str:
        """The verdict in a few words, for a table."""
        if self.result.trouble is not None:
            return INCOMPLETE
        return self.verdict.word or self.verdict.reason.partition(";")[0].partition(" (")[0]

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
        elif payload.kind == "compat":
            verdicts = [each.verdict for each in shown_outcomes(payload) if each.kind == "client"]
            shares = [
                Share("good", "✓", verdicts.count("works"), "work"),
                Share("fair", "!", verdicts.count("degraded"), "degraded"),
                Share("bad", "✗", verdicts.count("breaks"), "break"),
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

    def gate_rows(self, stale: int) -> list[GateRow]:
        """What was gated, and what was not; stale baseline entries fail the run, too."""
        return gate_rows(self.result, self.findings, self.words, stale)

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
        return by_outcome(self.result.tests, self.room.tests)

    @property
    def has_few_tests(self) -> bool:
        return len(self.result.tests) <= OPEN_TESTS

    @property
    def servers(self) -> list[str]:
        return servers_of(self.result.tests)

    @property
    def took(self) -> str:
        return duration(self.result.seconds)

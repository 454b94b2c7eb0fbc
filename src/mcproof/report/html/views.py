"""A target and its verdict as the frame of a page shows them: tile, headline, gates, facts."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

from mcproof.checks.findings import LEVELS
from mcproof.checks.scores.grade import THRESHOLDS, Grade
from mcproof.core.console import plural
from mcproof.core.named_tuple import NamedTuple
from mcproof.report.html.parts import Findings, PageRoom, Words, duration
from mcproof.report.phrases import GRADE_TONES, SYMBOLS, TONES, failing_words, fixing_hint, gate_sentence, scope_of
from mcproof.report.sections import document_of
from mcproof.report.sections.outcomes import summary_sentence, tests_headline
from mcproof.report.sections.scores import score_blocks
from mcproof.report.verdicts import FAILED, INCOMPLETE, GateVerdict, called_sentence, target_verdict
from mcproof.runs.results import CALLING, Scores, TargetResult

if TYPE_CHECKING:
    from mcproof.report.blocks import Block, Document, Share


_SYMBOLS = {"good": ("✓", "good"), "bad": ("✕", "bad"), "fair": ("?", "fair"), "none": ("–", "fair")}
"""The character of a verdict by its tone, and the tone of its tile."""


class Tile(NamedTuple):
    """The result as one large character."""

    character: str
    tone: str
    spoken: str


class GateRow(NamedTuple):
    """A gate, or something that has none."""

    word: str
    """`met`, `failed`, `not gated` or `not tested`."""
    sentence: str

    @property
    def is_failed(self) -> bool:
        return self.word == FAILED


def verdict_tile(verdict: GateVerdict) -> Tile:
    """Return the tile of a target without a grade."""
    character, tone = _SYMBOLS[verdict.tone]
    return Tile(character, tone, verdict.word)


class TargetView:
    """A result of a target, and its number on the page."""

    def __init__(self, result: TargetResult, number: int, words: Words, verdict: GateVerdict | None = None) -> None:
        self.result = result
        self.number = number
        self.words = words
        self.room = PageRoom(number)
        """How much the page has room for; the page may lower it."""
        self.verdict = target_verdict(result) if verdict is None else verdict

    @property
    def kind(self) -> str:
        return self.result.payload.kind

    @cached_property
    def document(self) -> Document:
        return document_of(self.result)

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
        """The grade, or the verdict if there is none or if the target failed."""
        # The worst true statement wins: trouble, then what cannot be told, then verdict, then grade.
        result, verdict, levels = self.result, self.verdict, self.findings.levels
        if result.trouble is not None:
            return Tile("!", "bad", "could not be checked")
        if result.payload.kind == "diff" and not verdict.is_bad and levels["warning"]:
            return Tile("?", "fair", "cannot tell")
        if result.payload.kind == "diff" and not verdict.is_bad:
            return Tile("✕", "bad", "breaking") if levels["error"] else Tile("✓", "good", "compatible")
        if result.payload.kind == "scan" and result.payload.trust is not None:
            word = result.payload.trust.verdict
            return Tile(SYMBOLS[word], TONES[word], word)
        grade = result.scores.grade
        if grade is not None and not verdict.is_bad:
            return Tile(grade.letter, GRADE_TONES.get(grade.letter, "bad"), "grade")
        return verdict_tile(verdict)

    @property
    def headlines(self) -> list[str]:
        """The result in phrases, the worst true statement first."""
        result, verdict = self.result, self.verdict
        if result.trouble is not None:
            return ["could not be checked"]
        if result.payload.kind == "suite":
            return [str(verdict)] if ": " in verdict.word else [tests_headline(result.tests)]
        summary = self._summary
        if not verdict.is_bad:
            # "Nothing was tested" comes before what was found anyway.
            return [str(verdict), summary] if verdict.tone == "fair" else [summary, str(verdict)]
        return [str(verdict)] if result.payload.kind == "diff" else [str(verdict), summary]

    @property
    def _summary(self) -> str:
        result, findings = self.result, self.findings
        if sentence := summary_sentence(result):
            return sentence
        levels = findings.levels
        if result.payload.kind == "diff":
            if levels["error"]:
                return plural(levels["error"], "breaking change")
            if levels["warning"]:
                return f"{plural(levels['warning'], 'change')} that may break callers"
            return f"{plural(levels['note'], 'change')}, none breaking" if levels["note"] else "no changes"
        if result.scores.grade is not None:
            return f"{result.scores.grade.score} of 100, {result.scores.grade.word[:40]}"
        return plural(len(result.findings), "finding") if findings.shown else "no findings"

    @property
    def verdict_word(self) -> str:
        """The verdict in a few words, for a table."""
        if self.result.trouble is not None:
            return INCOMPLETE
        return self.verdict.word or self.verdict.reason.partition(";")[0].partition(" (")[0]

    @property
    def shares(self) -> list[Share]:
        return [share for share in self.document.shares if share.amount]

    @property
    def compared_with(self) -> str | None:
        return self.result.payload.compared_with if self.result.payload.kind == "diff" else None

    @property
    def scope(self) -> str:
        return scope_of(self.result) if self.result.counts else ""

    @property
    def scale(self) -> list[tuple[str, int, int]]:
        """The letter, the start and the width of the range of each grade."""
        uppers = (100, *(threshold for _, threshold, _ in THRESHOLDS))
        return [
            (letter, threshold, upper - threshold)
            for (letter, threshold, _), upper in zip(THRESHOLDS, uppers, strict=False)
        ]

    def gate_rows(self, stale: int) -> list[GateRow]:
        """What was gated, and what was not gated or not tested; stale baseline entries fail the run, too."""
        result, words = self.result, self.words
        if result.fail_on == "never":
            option = "gate them with --fail-on" if result.payload.kind == "scan" else "--fail-on never"
            rows = [GateRow("not gated", f"{words.noun}s ({option})")]
        else:
            # What is not gated is listed too: a green page must show what it does not vouch for.
            count = plural(result.failing, words.noun) if result.failing else f"no {words.noun}s"
            level = words.levels[result.fail_on] if result.fail_on in LEVELS else result.fail_on
            rows = [GateRow(FAILED if result.failing else "met", f"{count} {failing_words(level)}")]
        rows += [GateRow("met" if gate.passed else FAILED, gate_sentence(gate)) for gate in result.gates]
        if stale:
            rows.append(GateRow(FAILED, f"{stale:,} stale in the baseline"))
        grade = result.scores.grade
        if grade is not None and words.noun == "finding" and all(gate.gate != "min-grade" for gate in result.gates):
            rows.append(GateRow("not gated", f"grade {grade.letter[:3]}"))
        if result.payload.kind in CALLING:
            called, total = len(result.called_tools), result.counts.get("tools", 0)
            if called < total:
                rows.append(
                    GateRow("not tested", f"{plural(total - called, 'tool')}: {called_sentence(called, total)}")
                )
        elif result.payload.kind != "diff":
            rows.append(GateRow("not tested", "behaviour: no tool was called"))
        return rows

    @property
    def scores_shown(self) -> list[Block]:
        """What the scores are made of."""
        return list(score_blocks(self.result))

    @property
    def fixing_hint(self) -> tuple[str, str]:
        return fixing_hint(self.result)

    @property
    def is_called(self) -> bool:
        """Whether the run called the tools of the server."""
        return self.kind in CALLING

    @property
    def servers(self) -> list[str]:
        return list(dict.fromkeys(test.server for test in self.result.tests if test.server))

    @property
    def took(self) -> str:
        return duration(self.result.seconds)

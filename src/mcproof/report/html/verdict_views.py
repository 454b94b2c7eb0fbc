"""The verdict as a page shows it: the tile, the headline, and a row for each gate."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from mcproof.checks.findings import LEVELS
from mcproof.core.console import plural
from mcproof.report.gate_verdicts import FAILED, called_sentence
from mcproof.report.html.wording import GRADE_TONES
from mcproof.report.outcome_phrases import summary_sentence, tests_headline
from mcproof.report.phrases import failing_words, gate_sentence
from mcproof.report.trust_phrases import SYMBOLS, TONES
from mcproof.runs.results import CALLING

if TYPE_CHECKING:
    from mcproof.checks.findings import Level
    from mcproof.report.gate_verdicts import GateVerdict
    from mcproof.report.html.finding_views import Findings
    from mcproof.report.html.wording import Words
    from mcproof.runs.results import TargetResult

_SYMBOLS = {"good": ("✓", "good"), "bad": ("✕", "bad"), "fair": ("?", "fair"), "none": ("–", "fair")}
"""The character of a verdict by its tone, and the tone of its tile."""


_SPOKEN = {"fair": "nothing was tested", "good": "no findings"}
"""The words for a tile without a verdict."""


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
    return Tile(character, tone, verdict.word or _SPOKEN.get(verdict.tone, "no verdict"))


def target_tile(result: TargetResult, verdict: GateVerdict, levels: dict[Level, int]) -> Tile:
    """Return the grade, or the verdict."""
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
    if grade is not None:
        return Tile(grade.letter, GRADE_TONES.get(grade.letter, "bad"), "grade")
    return verdict_tile(verdict)


def headlines(result: TargetResult, verdict: GateVerdict, findings: Findings) -> list[str]:
    """Return the result in phrases, the worst true statement first."""
    if result.trouble is not None:
        return ["could not be checked"]
    if result.payload.kind == "suite":
        return [str(verdict)] if ": " in verdict.word else [tests_headline(result.tests)]
    summary = _summary(result, findings)
    if not verdict.is_bad:
        return [str(verdict), summary] if verdict.tone == "fair" else [summary, str(verdict)]
    return [str(verdict)] if result.payload.kind == "diff" else [str(verdict), summary]


def _summary(result: TargetResult, findings: Findings) -> str:
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
    return plural(len(findings.shown), "finding") if findings.shown else "no findings"


def gate_rows(result: TargetResult, findings: Findings, words: Words, stale: int) -> list[GateRow]:
    """Return what was gated, with the result, and what was not gated or not tested."""
    if result.fail_on == "never":
        rows = [GateRow("not gated", f"{words.noun}s (--fail-on never)")]
    else:
        failing = sum(result.fails(group.shown) for group in findings.shown)
        count = plural(failing, words.noun) if failing else f"no {words.noun}s"
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
            rows.append(GateRow("not tested", f"{plural(total - called, 'tool')}: {called_sentence(called, total)}"))
    elif result.payload.kind != "diff":
        rows.append(GateRow("not tested", "behaviour: no tool was called"))
    return rows

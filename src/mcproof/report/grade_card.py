"""The grade for people: the letter large, what it costs, what would help most, and the tokens as bars."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mcproof.console import Style, display_width, plural, shell_word
from mcproof.linting.finding import level_of
from mcproof.report.text import failing_words
from mcproof.scores.grade import BONUS, BONUS_LENGTH

if TYPE_CHECKING:
    from collections.abc import Iterator

    from mcproof.results.run import Gate, TargetResult
    from mcproof.results.scores import Descriptions
    from mcproof.scores.grade import Gain, Grade
    from mcproof.scores.tokens import TokenCost

LARGE = {
    "A": (" ### ", "#   #", "#####", "#   #", "#   #"),
    "B": ("#### ", "#   #", "#### ", "#   #", "#### "),
    "C": (" ####", "#    ", "#    ", "#    ", " ####"),
    "D": ("#### ", "#   #", "#   #", "#   #", "#### "),
    "F": ("#####", "#    ", "#### ", "#    ", "#    "),
}
_COLOUR = {"A": "good", "B": "good", "C": "warning", "D": "warning", "F": "error"}
BARS, BAR_WIDTH, NAME_WIDTH = 10, 24, 36


def card(report: TargetResult, style: Style) -> Iterator[str]:
    """Everything there is to say about one catalog's grade."""
    score, tokens = _graded(report)
    sections = [
        _headline(report, score, tokens, style),
        _deductions(report, score, style),
        _advice(score, style),
        _descriptions(report.scores.descriptions, style),
        _bars(tokens, style),
        _input_findings(report, style),
        _verdict(report, style),
    ]
    yield "\n".join(section for section in sections if section)


def row(report: TargetResult, style: Style) -> Iterator[str]:
    """One line of a list of many catalogs."""
    score, tokens = _graded(report)
    letter = style.paint(score.letter, _COLOUR[score.letter], "bold")
    failed = "".join(f"  {gate_sentence(gate)}" for gate in report.gates if not gate.passed)
    name = style.text(report.target)
    yield f"{letter} {score.score:>3}  {tokens.total:>8,} tokens  {name}{style.paint(failed, 'error')}\n"


def _graded(report: TargetResult) -> tuple[Grade, TokenCost]:
    if report.scores.grade is None or report.scores.tokens is None:
        raise ValueError("a report without a grade has no card")
    return report.scores.grade, report.scores.tokens


def _headline(report: TargetResult, score: Grade, tokens: TokenCost, style: Style) -> str:
    beside = [
        style.paint(style.text(report.title, 80), "bold"),
        f"grade {style.paint(score.letter, _COLOUR[score.letter], 'bold')}, {score.word}",
        f"score {style.paint(str(score.score), 'bold')} of 100",
        f"{plural(report.counts.get('tools', 0), 'tool')}, {plural(tokens.total, 'token')}",
        style.text(report.target) if report.title != report.target else "",
    ]
    block = style.symbol("█", "#")
    lines = []
    for drawn, text in zip(LARGE[score.letter], beside, strict=True):
        wide = "".join((block if mark == "#" else " ") * 2 for mark in drawn)
        lines.append(f"  {style.paint(wide, _COLOUR[score.letter])}   {text}".rstrip())
    return "\n" + "\n".join(lines) + "\n"


def _deductions(report: TargetResult, score: Grade, style: Style) -> str:
    minus = style.symbol("−", "-")
    lines = [style.paint("What it costs", "bold")]
    for each in score.deductions:
        points = style.paint(f"{minus}{each.points}".rjust(6), level_of(each.severity))
        lines.append(f"{points}  {each.rule:28} {plural(each.times, each.severity)}")
    if score.is_empty:
        lines.append("  an empty server scores 0, whatever else is right")
    if score.bonus:
        bonus = style.paint(f"+{score.bonus}".rjust(6), "good")
        lines.append(f"{bonus}  every description has {BONUS_LENGTH} characters or more")
    elif score.short_descriptions:
        short = plural(score.short_descriptions, "description")
        lines.append(f"    +0  no bonus of {BONUS}: {short} under {BONUS_LENGTH} characters")
    if not score.deductions:
        lines.insert(1, "       nothing: no finding")
    for by, words in (("ignore-for", "the configuration"), ("comment", "comments in the source")):
        ignored = sum(each.suppression is not None and each.suppression.by == by for each in report.suppressed)
        if ignored:
            lines.append(f"    +0  {plural(ignored, 'finding')} ignored by {words}, with no cost")
    return "\n".join(lines) + "\n"


def _advice(score: Grade, style: Style) -> str:
    if not score.gains or score.score == 100:
        return ""
    lines = [style.paint("What would help most", "bold")]
    if score.gains[0].points == 0:
        below = f"{-score.unclamped} points below zero" if score.unclamped < 0 else "at zero"
        lines.append(f"  the score stands {below}: one fix alone does not lift it, so start with the costliest")
    lines += [f"  {_gain(gain, score, style)}" for gain in score.gains[:3]]
    return "\n".join(lines) + "\n"


def _gain(gain: Gain, score: Grade, style: Style) -> str:
    """Such as "describe 7 parameters: +35, C → A"."""
    arrow = style.symbol("→", "->")
    change = f", {score.letter} {arrow} {gain.letter}" if gain.letter != score.letter else ""
    return f"{gain.remedy}: {style.paint(f'+{gain.points or gain.cost}', 'good')}{change}"


def _descriptions(descriptions: Descriptions | None, style: Style) -> str:
    """What the descriptions are worth, and the worst of them with what costs each most."""
    if descriptions is None or not descriptions.tools:
        return ""
    lines = [style.paint("Descriptions", "bold") + f": {descriptions.mean:.2f} of 1.00 on average"]
    names = [style.text(each.tool, NAME_WIDTH) for each in descriptions.weakest]
    column = max(map(display_width, names), default=0)
    for name, each in zip(names, descriptions.weakest, strict=True):
        padding = " " * (column - display_width(name))
        what, _, cost = style.text(each.reason, 80).rpartition("-")
        lines.append(f"  {name}{padding}  {each.score:.2f}  {what}{style.symbol('−', '-')}{cost}")
    return "\n".join(lines) + "\n"


def _bars(tokens: TokenCost, style: Style) -> str:
    """What each tool costs, the dearest first."""
    if not tokens.tools:
        return ""
    lines = [style.paint("Context cost", "bold") + f": {tokens.total:,} tokens in every request"]
    ranked = sorted(tokens.tools.items(), key=lambda each: -each[1])
    widest = max(1, ranked[0][1])
    names = {label: style.text(label, NAME_WIDTH) for label, _ in ranked[:BARS]}
    column = max(display_width(name) for name in names.values())
    block = style.symbol("█", "#")
    for label, count in ranked[:BARS]:
        bar = block * max(1, round(BAR_WIDTH * count / widest))
        padding = " " * (column - display_width(names[label]))
        painted = style.paint(bar, "help") + " " * (BAR_WIDTH - len(bar))
        lines.append(f"  {names[label]}{padding}  {painted} {count:>7,}")
    if len(ranked) > BARS:
        rest = sum(count for _, count in ranked[BARS:])
        lines.append(f"  and {plural(len(ranked) - BARS, 'more tool')} with {rest:,} tokens")
    return "\n".join(lines) + "\n"


def _input_findings(report: TargetResult, style: Style) -> str:
    """What is wrong with the input itself counts for nothing here, and must not be hidden by that."""
    count = sum(each.rule.ruleset == "catalog" for each in report.findings)
    if not count:
        return ""
    what = style.paint(plural(count, "problem"), "warning")
    return f"{what} with the input itself; see: mcproof lint {shell_word(report.target)} --ruleset catalog\n"


def _verdict(report: TargetResult, style: Style) -> str:
    """Why the exit code is what it is."""
    passed, failed = style.paint("passed", "good"), style.paint("failed", "error")
    lines = [f"{passed if gate.passed else failed}  {gate_sentence(gate)}\n" for gate in report.gates]
    if report.failing:
        serious = plural(report.failing, "finding")
        lines.append(f"{failed}  {serious} {failing_words(report.fail_on)}\n")
    return "".join(lines)


def gate_sentence(gate: Gate) -> str:
    """What a gate asks for, and what there is."""
    if gate.gate == "min-grade":
        return f"grade {gate.actual}, at least {gate.limit} is asked for"
    if gate.gate == "tested":
        return f"{plural(int(gate.actual), 'request')} judged, and what was not tested does not pass"
    return f"{gate.actual:,} tokens, at most {gate.limit:,} are allowed"

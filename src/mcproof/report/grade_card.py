"""The grade for people: the letter large, what it costs, what would help most, and the tokens as bars."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from mcproof.report.terminal import Style, display_width, shell_word
from mcproof.report.text import plural
from mcproof.scores.grade import BONUS, BONUS_LENGTH

if TYPE_CHECKING:
    from mcproof.catalog import Catalog
    from mcproof.finding import Finding
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


class Verdict(NamedTuple):
    """What decides the exit code: the gates that were asked for, and the findings that are too serious."""

    gates: list[dict[str, Any]]
    fail_on: str
    serious: int

    @property
    def passed(self) -> bool:
        return not self.serious and all(gate["passed"] for gate in self.gates)


def card(
    catalog: Catalog, findings: list[Finding], grade: Grade, tokens: TokenCost, verdict: Verdict, style: Style
) -> str:
    """Everything there is to say about one catalog's grade."""
    sections = [
        _headline(catalog, grade, tokens, style),
        _deductions(grade, style),
        _advice(grade, style),
        _bars(tokens, style),
        _input_findings(catalog, findings, style),
        _verdict(verdict, style),
    ]
    return "\n".join(section for section in sections if section)


def row(catalog: Catalog, grade: Grade, tokens: TokenCost, verdict: Verdict, style: Style) -> str:
    """One line of a list of many catalogs."""
    letter = style.paint(grade.letter, _COLOUR[grade.letter], "bold")
    failed = "".join(f"  {_gate(gate)}" for gate in verdict.gates if not gate["passed"])
    name = style.text(catalog.name)
    return f"{letter} {grade.score:>3}  {tokens.total:>8,} tokens  {name}{style.paint(failed, 'error')}\n"


def _headline(catalog: Catalog, grade: Grade, tokens: TokenCost, style: Style) -> str:
    info = catalog.server_info
    said = [info[key] for key in ("name", "version") if isinstance(info.get(key), str) and info[key]]
    title = " ".join(said) or catalog.name
    beside = [
        style.paint(style.text(title, 80), "bold"),
        f"grade {style.paint(grade.letter, _COLOUR[grade.letter], 'bold')}, {grade.word}",
        f"score {style.paint(str(grade.score), 'bold')} of 100",
        f"{plural(len(catalog.tools), 'tool')}, {plural(tokens.total, 'token')}",
        style.text(catalog.name) if title != catalog.name else "",
    ]
    block = style.symbol("█", "#")
    lines = []
    for drawn, text in zip(LARGE[grade.letter], beside, strict=True):
        wide = "".join((block if mark == "#" else " ") * 2 for mark in drawn)
        lines.append(f"  {style.paint(wide, _COLOUR[grade.letter])}   {text}".rstrip())
    return "\n" + "\n".join(lines) + "\n"


def _deductions(grade: Grade, style: Style) -> str:
    minus = style.symbol("−", "-")
    lines = [style.paint("What it costs", "bold")]
    for each in grade.deductions:
        points = style.paint(f"{minus}{each.points}".rjust(6), each.rule.level)
        lines.append(f"{points}  {each.rule.id:28} {plural(each.times, each.rule.severity)}")
    if grade.is_empty:
        lines.append("  an empty server scores 0, whatever else is right")
    if grade.has_bonus:
        bonus = style.paint(f"+{BONUS}".rjust(6), "good")
        lines.append(f"{bonus}  every description has {BONUS_LENGTH} characters or more")
    elif grade.short_descriptions:
        short = plural(grade.short_descriptions, "description")
        lines.append(f"    +0  no bonus of {BONUS}: {short} under {BONUS_LENGTH} characters")
    if not grade.deductions:
        lines.insert(1, "       nothing: no finding")
    return "\n".join(lines) + "\n"


def _advice(grade: Grade, style: Style) -> str:
    gains = grade.gains()
    if not gains or grade.score == 100:
        return ""
    lines = [style.paint("What would help most", "bold")]
    if gains[0].points == 0:
        below = f"{-grade.raw_score} points below zero" if grade.raw_score < 0 else "at zero"
        lines.append(f"  the score stands {below}: one fix alone does not lift it, so start with the costliest")
    lines += [f"  {_gain(gain, grade, style)}" for gain in gains[:3]]
    return "\n".join(lines) + "\n"


def _gain(gain: Gain, grade: Grade, style: Style) -> str:
    """Such as "describe 7 parameters: +35, C → A"."""
    count = gain.deduction.times
    remedy = gain.deduction.rule.traits["remedy"].format(n=f"{count:,}", s="" if count == 1 else "s")
    arrow = style.symbol("→", "->")
    points = gain.points or gain.deduction.points
    change = f", {grade.letter} {arrow} {gain.letter}" if gain.letter != grade.letter else ""
    return f"{remedy}: {style.paint(f'+{points}', 'good')}{change}"


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


def _input_findings(catalog: Catalog, findings: list[Finding], style: Style) -> str:
    """What is wrong with the input itself counts for nothing here, and must not be hidden by that."""
    count = sum(finding.rule.ruleset == "catalog" for finding in findings)
    if not count:
        return ""
    what = style.paint(plural(count, "problem"), "warning")
    return f"{what} with the input itself; see: mcproof lint {shell_word(catalog.name)} --ruleset catalog\n"


def _verdict(verdict: Verdict, style: Style) -> str:
    """Why the exit code is what it is."""
    passed, failed = style.paint("passed", "good"), style.paint("failed", "error")
    lines = [f"{passed if gate['passed'] else failed}  {_gate(gate)}\n" for gate in verdict.gates]
    if verdict.serious:
        serious = plural(verdict.serious, "finding")
        lines.append(f"{failed}  {serious} at or above the level {verdict.fail_on} (--fail-on)\n")
    return "".join(lines)


def _gate(gate: dict[str, Any]) -> str:
    limit, actual = gate["limit"], gate["actual"]
    if gate["gate"] == "min-grade":
        return f"grade {actual}, at least {limit} is asked for"
    return f"{actual:,} tokens, at most {limit:,} are allowed"

"""The grade and the trust in a server: the letter or verdict, its reasons and what to do."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mcproof.checks.findings import level_of
from mcproof.checks.scores.grade import BONUS, BONUS_LENGTH, Gain, Grade
from mcproof.core.console import Style, display_width, plural, shell_word, wrapped
from mcproof.report.blocks import (
    HTML,
    MARKDOWN,
    TEXT,
    Bullets,
    Document,
    Findings,
    Graph,
    Headline,
    Only,
    Reason,
    Reasons,
    Section,
    Sentence,
    Step,
    Steps,
)
from mcproof.report.phrases import TONES, action_gain, outcome_counts, trust_sentence, unseen_rules
from mcproof.report.sections.findings import command_hint
from mcproof.report.verdicts import target_verdict

if TYPE_CHECKING:
    from collections.abc import Iterator

    from mcproof.checks.scores.tokens import TokenCost
    from mcproof.checks.scores.trust import Action
    from mcproof.report.blocks import Block
    from mcproof.runs.results import Descriptions, TargetResult


LARGE = {
    "A": (" ### ", "#   #", "#####", "#   #", "#   #"),
    "B": ("#### ", "#   #", "#### ", "#   #", "#### "),
    "C": (" ####", "#    ", "#    ", "#    ", " ####"),
    "D": ("#### ", "#   #", "#   #", "#   #", "#### "),
    "F": ("#####", "#    ", "#### ", "#    ", "#    "),
}
_COLOUR = {"A": "good", "B": "good", "C": "warning", "D": "warning", "F": "error"}
BARS, BAR_WIDTH, NAME_WIDTH = 10, 24, 36


def card(result: TargetResult, style: Style) -> Iterator[str]:
    """Render the grade of one catalog in full."""
    grade, tokens = _graded(result)
    sections = [
        _headline(result, grade, tokens, style),
        _deductions(result, grade, style),
        _advice(grade, style),
        _descriptions(result.scores.descriptions, style),
        _bars(tokens, style),
        _input_findings(result, style),
    ]
    yield "\n".join(section for section in sections if section)


def row(result: TargetResult, style: Style) -> Iterator[str]:
    """Render the grade of one of several catalogs on one line."""
    grade, tokens = _graded(result)
    letter = style.paint(grade.letter, _COLOUR[grade.letter], "bold")
    verdict = target_verdict(result)
    failed = f"  {verdict}" if verdict.is_bad else ""
    name = style.text(result.target)
    yield f"{letter} {grade.score:>3}  {tokens.total:>8,} tokens  {name}{style.paint(failed, 'error')}\n"


def _graded(result: TargetResult) -> tuple[Grade, TokenCost]:
    if result.scores.grade is None or result.scores.tokens is None:
        raise ValueError("not a graded result")
    return result.scores.grade, result.scores.tokens


def _headline(result: TargetResult, grade: Grade, tokens: TokenCost, style: Style) -> str:
    beside = [
        style.paint(style.text(result.title, 80), "bold"),
        f"grade {style.paint(grade.letter, _COLOUR[grade.letter], 'bold')}, {grade.word}",
        f"score {style.paint(str(grade.score), 'bold')} of 100",
        f"{plural(result.counts.get('tools', 0), 'tool')}, {plural(tokens.total, 'token')}",
        style.text(result.target) if result.title != result.target else "",
    ]
    block = style.symbol("█", "#")
    lines = []
    for drawn, text in zip(LARGE[grade.letter], beside, strict=True):
        wide = "".join((block if cell == "#" else " ") * 2 for cell in drawn)
        lines.append(f"  {style.paint(wide, _COLOUR[grade.letter])}   {text}".rstrip())
    return "\n" + "\n".join(lines) + "\n"


def _deductions(result: TargetResult, grade: Grade, style: Style) -> str:
    minus = style.symbol("−", "-")
    lines = [style.paint("Deductions", "bold")]
    for deduction in grade.deductions:
        points = style.paint(f"{minus}{deduction.points}".rjust(6), level_of(deduction.severity))
        lines.append(f"{points}  {deduction.rule:28} {plural(deduction.times, deduction.severity)}")
    if grade.is_empty:
        lines.append("  an empty server scores 0")
    if grade.bonus:
        bonus = style.paint(f"+{grade.bonus}".rjust(6), "good")
        lines.append(f"{bonus}  every description has {BONUS_LENGTH} characters or more")
    elif grade.short_descriptions:
        short = plural(grade.short_descriptions, "description")
        lines.append(f"    +0  no bonus of {BONUS}: {short} under {BONUS_LENGTH} characters")
    if not grade.deductions:
        lines.insert(1, "        none")
    for by, words in (("ignore-for", "the configuration"), ("comment", "comments in the source")):
        ignored = sum(finding.suppression is not None and finding.suppression.by == by for finding in result.suppressed)
        if ignored:
            lines.append(f"    +0  {plural(ignored, 'finding')} ignored by {words}, at no cost")
    return "\n".join(lines) + "\n"


def _advice(grade: Grade, style: Style) -> str:
    if not grade.gains or grade.score == 100:
        return ""
    lines = [style.paint("What would help most", "bold")]
    if grade.gains[0].points == 0:
        below = f"{-grade.unclamped} points below zero" if grade.unclamped < 0 else "at zero"
        lines += _indented(f"the score is {below}: no single fix raises it, so start with the costliest", style)
    for gain in grade.gains[:3]:
        lines += _indented(_gain(gain, grade, style), style)
    return "\n".join(lines) + "\n"


def _indented(text: str, style: Style) -> list[str]:
    first, *others = wrapped(text, style.width, used=2, indent=4)
    return [f"  {first}", *others]


def _gain(gain: Gain, grade: Grade, style: Style) -> str:
    """Return a line such as "describe 7 parameters: +35, C → A"."""
    arrow = style.symbol("→", "->")
    change = f", {grade.letter} {arrow} {gain.letter}" if gain.letter != grade.letter else ""
    return f"{gain.remedy}: {style.paint(f'+{gain.points or gain.cost}', 'good')}{change}"


def _descriptions(descriptions: Descriptions | None, style: Style) -> str:
    """Render the mean score of the descriptions, and the weakest with the costliest flaw of each."""
    if descriptions is None or not descriptions.tools:
        return ""
    lines = [style.paint("Descriptions", "bold") + f": {descriptions.mean:.2f} of 1.00 on average"]
    names = [style.shortened(description.tool, _name_width(style)) for description in descriptions.weakest]
    column = max(map(display_width, names), default=0)
    for name, description in zip(names, descriptions.weakest, strict=True):
        padding = " " * (column - display_width(name))
        what, _, cost = style.text(description.reason, 80).rpartition("-")
        reason = f"{what}{style.symbol('−', '-')}{cost}"
        first, *others = wrapped(reason, style.width, used=column + 10, indent=column + 10)
        lines += [f"  {name}{padding}  {description.score:.2f}  {first}", *others]
    return "\n".join(lines) + "\n"


def _name_width(style: Style) -> int:
    """Return the most columns that a tool's name takes."""
    return min(NAME_WIDTH, style.width // 2)


def _bars(tokens: TokenCost, style: Style) -> str:
    """Render the tokens of each tool, the most expensive first."""
    if not tokens.tools:
        return ""
    lines = [style.paint("Context cost", "bold") + f": {tokens.total:,} tokens in every request"]
    ranked = sorted(tokens.tools.items(), key=lambda item: -item[1])
    widest = max(1, ranked[0][1])
    names = {label: style.shortened(label, _name_width(style)) for label, _ in ranked[:BARS]}
    column = max(display_width(name) for name in names.values())
    room = min(BAR_WIDTH, style.width - column - 12)
    block = style.symbol("█", "#")
    for label, count in ranked[:BARS]:
        bar = block * max(1, round(room * count / widest))
        padding = " " * (column - display_width(names[label]))
        painted = style.paint(bar, "help") + " " * (room - len(bar))
        lines.append(f"  {names[label]}{padding}  {painted} {count:>7,}")
    if len(ranked) > BARS:
        rest = sum(count for _, count in ranked[BARS:])
        lines.append(f"  and {plural(len(ranked) - BARS, 'more tool')} with {rest:,} tokens")
    return "\n".join(lines) + "\n"


def _input_findings(result: TargetResult, style: Style) -> str:
    """Mention problems with the input itself, which do not count for the grade."""
    count = sum(finding.rule.ruleset == "catalog" for finding in result.findings)
    if not count:
        return ""
    what = style.paint(plural(count, "problem"), "warning")
    command = f"mcproof lint {shell_word(result.target)} --ruleset catalog"
    return "\n".join(command_hint(f"{what} with the input itself; see", command, style)) + "\n"


_NOUNS = {"commands": "command", "hint": "hint", "mentions": "mention"}


def scan_document(result: TargetResult) -> Document:
    """Return the verdict and its reasons, what to do, what was not judged, and which tools name each other."""
    payload = result.payload
    if payload.kind != "scan" or payload.trust is None:
        raise ValueError("not a result of a scan")
    trust, graph = payload.trust, payload.graph
    verdict, _, rest = trust_sentence(trust).partition(":")
    counts = outcome_counts(trust)
    body: list[Block] = [
        Only((TEXT,), [Headline(verdict, f":{rest}", TONES[trust.verdict])]),
        Only((TEXT,), [Sentence(counts, is_strong=False, has_gap=True)]),
        Only((MARKDOWN,), [Sentence(f"{counts}.")]),
    ]
    if trust.reasons:
        body.append(Section("Why", [Bullets(trust.reasons)]))
    if trust.actions:
        steps = [_step(action, action_gain(action, trust)) for action in trust.actions]
        body.append(Section("What to do", [Steps(steps)], gist="the largest gain first"))
    pictures = []
    if graph is not None and graph.edges:
        kinds = {kind: sum(edge.kind == kind for edge in graph.edges) for kind in _NOUNS}
        gist = ", ".join(plural(count, _NOUNS[kind]) for kind, count in kinds.items() if count)
        title = "Tools that name each other"
        pictures = [Section(title, [Graph(graph, gist)], gist, long=title, lead="")]
    body.append(Only((HTML,), pictures))
    unseen = unseen_rules(trust)
    for formats, title, groups in (
        ((TEXT,), "Not observed", [group for group in unseen if group.is_applicable]),
        ((MARKDOWN, HTML), "Not judged", unseen),
    ):
        if groups:
            reasons = Reasons([Reason(group.rules, group.why) for group in groups], "not judged", "rule")
            body.append(Only(formats, [Section(title, [reasons], counts, long=title, lead="")]))
    body.append(Only((TEXT, MARKDOWN), pictures))
    return Document(body, [Findings(result)])


def _step(action: Action, gain: str) -> Step:
    return Step(action.advice, action.rule, gain, "{text} ({rule}: {gain})" if gain else "{text} ({rule})")

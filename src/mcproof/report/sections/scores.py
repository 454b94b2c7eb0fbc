"""The grade and the trust in a server: the letter or verdict, its reasons and what to do, in text and Markdown."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mcproof.checks.findings import level_of
from mcproof.checks.scores.grade import BONUS, BONUS_LENGTH, Gain, Grade
from mcproof.core.console import Style, display_width, plural, shell_word, wrapped
from mcproof.report.phrases import TONES, action_gain, outcome_counts, trust_sentence, unseen_rules
from mcproof.report.sections.findings import command_hint, frames
from mcproof.report.verdicts import target_verdict

if TYPE_CHECKING:
    from collections.abc import Iterator

    from mcproof.checks.scores.tokens import TokenCost
    from mcproof.checks.scores.trust import Trust
    from mcproof.checks.texts.tool_graph import ToolGraph
    from mcproof.runs.results import Descriptions, TargetResult


_MARKDOWN_EDGES = 30
"""How many edges of the tool graph are listed."""


def trust_sections(trust: Trust, graph: ToolGraph | None) -> Iterator[str]:
    """Write why the verdict is what it is, what to do, and which rules were not judged."""
    # Here, as the text for a terminal is loaded more often, and without the Markdown around it.
    from mcproof.report.markdown import code, escaped

    yield f"\n{outcome_counts(trust)}.\n"
    if trust.reasons:
        yield "\nWhy:\n\n"
        yield from (f"- {escaped(reason)}\n" for reason in trust.reasons)
    if trust.actions:
        yield "\nWhat to do, the largest gain first:\n\n"
        for number, action in enumerate(trust.actions, 1):
            gain = action_gain(action, trust)
            yield f"{number}. {escaped(action.advice)} ({code(action.rule)}{f': {escaped(gain)}' if gain else ''})\n"
    unseen = unseen_rules(trust)
    if unseen:
        yield "\n| not judged | why |\n| --- | --- |\n"
        for group in unseen:
            yield f"| {', '.join(map(code, group.rules))} | {escaped(group.why)} |\n"
    if graph is not None and graph.edges:
        yield "\n| tool | names | sentence |\n| --- | --- | --- |\n"
        for edge in graph.edges[:_MARKDOWN_EDGES]:
            yield f"| {code(edge.source)} | {edge.kind} {code(edge.target)} | {escaped(edge.sentence)} |\n"


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


_COLOURS = {"good": "good", "fair": "warning", "bad": "error"}
_STEPS, _TEXT_EDGES = 8, 12
"""How many actions, and lines of the tool graph, are listed unless everything is."""


def scan_text(result: TargetResult, style: Style) -> Iterator[str]:
    """Render the result of `scan`."""
    payload = result.payload
    if payload.kind != "scan" or payload.trust is None:
        raise ValueError("not a result of a scan")
    trust = payload.trust
    verdict, _, rest = trust_sentence(trust).partition(":")
    yield f"{style.paint(verdict, 'bold', _COLOURS[TONES[trust.verdict]])}:{rest}\n"
    yield from _lines(outcome_counts(trust), style)
    yield "\n"
    if trust.reasons:
        yield style.paint("Why", "bold") + "\n\n"
        for reason in trust.reasons:
            yield from _lines(style.text(reason, 1_000), style, "  - ")
        yield "\n"
    yield from _actions(trust, style)
    yield from _unseen(trust, style)
    yield from _graph(payload.graph, style)
    yield from frames(result, style)


def _actions(trust: Trust, style: Style) -> Iterator[str]:
    if not trust.actions:
        return
    yield style.paint("What to do, the largest gain first", "bold") + "\n\n"
    shown = trust.actions if style.examples is None else trust.actions[:_STEPS]
    for number, action in enumerate(shown, 1):
        gain = action_gain(action, trust)
        text = f"{style.text(action.advice, 500)} ({style.text(action.rule)}{f': {gain}' if gain else ''})"
        yield from _lines(text, style, f"{number:>3}  ")
    if len(trust.actions) > len(shown):
        yield f"     and {len(trust.actions) - len(shown):,} more; --show all lists everything\n"
    yield "\n"


def _graph(graph: ToolGraph | None, style: Style) -> Iterator[str]:
    """Render which tools name each other, unless none does."""
    if graph is None or not graph.edges:
        return
    yield style.paint("Tools that name each other", "bold") + "\n\n"
    from mcproof.checks.texts.tool_graph import graph_lines

    lines = graph_lines(graph)
    shown = lines if style.examples is None else lines[:_TEXT_EDGES]
    for line in shown:
        head = "  " + " " * (len(line) - len(line.lstrip()))
        yield from _lines(style.text(line.strip(), 400), style, head)
    if len(lines) > len(shown):
        yield f"  and {len(lines) - len(shown):,} more lines; --show all lists everything\n"
    yield "\n"


def _unseen(trust: Trust, style: Style) -> Iterator[str]:
    unseen = [group for group in unseen_rules(trust) if group.is_applicable]
    if not unseen:
        return
    yield style.paint("Not observed", "bold") + "\n\n"
    for group in unseen:
        named = ", ".join(group.rules) if style.examples is None or len(group.rules) == 1 else ""
        what = named or plural(len(group.rules), "rule")
        yield from _lines(f"{what}: {style.text(group.why, 500)}", style, "  - ")
    yield "\n"


def _lines(text: str, style: Style, head: str = "") -> Iterator[str]:
    first, *others = wrapped(text, style.width, used=len(head), indent=len(head))
    yield f"{head}{first}\n"
    yield from (f"{line}\n" for line in others)

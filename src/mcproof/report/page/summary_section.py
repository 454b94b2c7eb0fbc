"""What comes before the findings: the grade and how it came about, the verdict, the tokens, and several at a glance."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mcproof.console import plural
from mcproof.linting.finding import LEVELS, level_of
from mcproof.report.grade_card import gate_sentence
from mcproof.report.page.findings_section import count_levels, level_counts, rule_link
from mcproof.report.page.markup import bar, listing, prose, text
from mcproof.report.page.suite_section import tests_headline
from mcproof.report.proof import summary_sentence
from mcproof.report.text import failing_words, fixing_command, scope_of
from mcproof.results.payloads import CALLING
from mcproof.scores.grade import BONUS, BONUS_LENGTH, LETTERS, THRESHOLDS

if TYPE_CHECKING:
    from collections.abc import Iterable

    from mcproof.report.page.findings_section import Findings, RuleUse
    from mcproof.report.page.markup import Words
    from mcproof.results.run import Notice, RunResult, TargetResult, Trouble
    from mcproof.scores.grade import Grade
    from mcproof.scores.tokens import TokenCost

BARS = 12
"""How many tools the chart of the tokens names; the rest is summed up."""

ADVICE = 3


def tile(report: TargetResult, findings: Findings) -> str:
    """The result in one large character: the grade, or whether it passed."""
    if report.trouble is not None:
        return _tile("!", "bad", "could not be checked")
    if report.payload.kind == "diff":
        levels = count_levels(findings.shown)
        if levels["error"]:
            return _tile("✕", "bad", "breaking")
        return _tile("?", "fair", "cannot tell") if levels["warning"] else _tile("✓", "good", "compatible")
    if report.scores.grade is not None:
        return _tile(text(report.scores.grade.letter, 3), grade_tone(report.scores.grade.letter), "grade")
    if report.passed and _was_idle(report):
        return _tile("?", "fair", "nothing was tested")
    return _tile("✓", "good", "passed") if report.passed else _tile("✕", "bad", "failed")


def _was_idle(report: TargetResult) -> bool:
    """Whether a command that tests has tested nothing, which nobody should take for a success."""
    if report.payload.kind == "suite":
        return all(test.outcome != "passed" for test in report.tests)
    return report.payload.kind in CALLING and not report.was_tested


def _tile(character: str, tone: str, spoken: str) -> str:
    return f'<p class="tile {tone}"><span class="unseen">{spoken} </span>{character}</p>\n'


def grade_tone(grade: str) -> str:
    """How good a letter is, in the words of the style sheet."""
    return {"A": "good", "B": "good", "C": "fair", "D": "fair"}.get(grade, "bad")


def headline(report: TargetResult, findings: Findings, words: Words) -> str:
    """The result in a phrase, without markup."""
    if report.trouble is not None:
        return "could not be checked"
    if report.payload.kind == "suite":
        return tests_headline(report.tests)
    if sentence := summary_sentence(report):
        return sentence
    levels = count_levels(findings.shown)
    if words.noun == "change":
        if levels["error"]:
            return plural(levels["error"], "breaking change")
        if levels["warning"]:
            return f"{plural(levels['warning'], 'change')} that may break callers"
        return f"{plural(levels['note'], 'change')}, none breaking" if levels["note"] else "no changes"
    if report.scores.grade is not None:
        return f"{report.scores.grade.score} of 100, {text(report.scores.grade.word, 40)}"
    return plural(len(findings.shown), "finding") if findings.shown else "no findings"


def facts(report: TargetResult, findings: Findings, words: Words) -> str:
    """What was looked at and what came of it, in numbers."""
    counts = level_counts(count_levels(findings.shown), words) or "none"
    entries = [(words.heading, counts)]
    if findings.suppressed:
        entries.append(("Suppressed", f"{len(findings.suppressed):,}"))
    if report.counts:
        entries.append(("Looked at", scope_of(report)))
    if report.scores.tokens is not None:
        entries.append(("Context cost", plural(report.scores.tokens.total, "token")))
    if report.scores.grade is not None and report.scores.descriptions is not None and report.scores.descriptions.tools:
        entries.append(("Descriptions", f"{report.scores.descriptions.mean:.2f} of 1.00"))
    if report.scores.polish is not None:
        entries.append(("Polish", f"{report.scores.polish} of 100"))
    if report.protocol:
        entries.append(("Protocol", text(report.protocol, 40)))
    if report.payload.kind == "diff":
        entries.append(("Compared with", f"<code>{text(report.payload.compared_with)}</code>"))
    if report.title != report.target:
        entries.append(("Target", f"<code>{text(report.target)}</code>"))
    rows = "".join(f"<div><dt>{name}</dt><dd>{value}</dd></div>\n" for name, value in entries)
    return f'<dl class="facts">\n{rows}</dl>\n'


def scale(score: Grade) -> str:
    """Where the score stands between the grades."""
    bands = []
    upper = 100
    for letter, threshold, _ in THRESHOLDS:
        now = " now" if letter == score.letter else ""
        width = upper - threshold
        bands.append(
            f'<rect class="band{now}" x="{threshold}%" width="{width}%" y="8" height="8"/>'
            f'<text class="letter{now}" x="{threshold + width / 2}%" y="33">{letter}</text>'
        )
        upper = threshold
    marker = f'<circle cx="{score.score}%" cy="12" r="7"/>'
    spoken = ", ".join(f"{letter} from {threshold}" for letter, threshold, _ in THRESHOLDS)
    return (
        f'<svg class="scale {grade_tone(score.letter)}" role="img" aria-label="{score.score} of 100; {spoken}" '
        f'width="100%" height="38">{"".join(bands)}{marker}</svg>\n'
    )


def verdict(report: TargetResult, findings: Findings, words: Words, stale: int = 0) -> str:
    """Every reason why a target passes or fails; entries of the baseline that are stale fail a run, too."""
    if report.fail_on == "never":
        reasons = [(True, f"{words.noun}s do not fail the run (--fail-on never)")]
    else:
        failing = sum(report.fails(group.shown) for group in findings.shown)
        count = plural(failing, words.noun) if failing else f"no {words.noun}"
        level = words.levels[report.fail_on] if report.fail_on in LEVELS else report.fail_on
        reasons = [(not report.failing, f"{count} {failing_words(level)}")]
    reasons += [(gate.passed, gate_sentence(gate)) for gate in report.gates]
    if stale:
        reasons.append((False, f"{stale:,} stale in the baseline"))
    return _reasons(reasons)


def _reasons(reasons: Iterable[tuple[bool, str]]) -> str:
    return listing(
        (
            f'<strong class="{"passed" if passed else "failed"}">{"passed" if passed else "failed"}</strong> '
            f"{text(sentence)}"
            for passed, sentence in reasons
        ),
        "reasons",
    )


def costs(report: TargetResult, score: Grade, rules: dict[str, RuleUse]) -> str:
    """What each rule takes off the score, and how that adds up."""
    widest = max((each.points for each in score.deductions), default=1) or 1
    rows = [
        f'<tr><th scope="row">{rule_link(each.rule, rules)}</th><td>{plural(each.times, text(each.severity, 20))}</td>'
        f'<td class="chart">{bar(each.points / widest, level_of(each.severity))}</td>'
        f'<td class="number">−{each.points:,}</td></tr>\n'
        for each in score.deductions
    ]
    if score.bonus:
        rows.append(
            f'<tr class="bonus"><th scope="row" colspan="3">every description has {BONUS_LENGTH} characters or more'
            f'</th><td class="number">+{score.bonus}</td></tr>\n'
        )
    table = (
        '<table class="rows"><thead class="unseen"><tr><th scope="col">Rule</th><th scope="col">Findings</th>'
        '<th scope="col">Share</th><th scope="col">Points</th></tr></thead>\n'
        f"<tbody>\n{''.join(rows)}</tbody></table>\n"
    )
    return (table if rows else "<p>Nothing: no finding.</p>\n") + _sum(score) + _asides(report, score)


def _sum(score: Grade) -> str:
    """The score as a calculation."""
    if score.is_empty:
        return '<p class="sum">An empty server scores 0, whatever else is right.</p>\n'
    cost = sum(each.points for each in score.deductions)
    bonus = f" + {score.bonus}" if score.bonus else ""
    minus = f" − {cost:,}" if cost else ""
    result = f"{score.unclamped:,}".replace("-", "−")
    counted = "" if score.unclamped == score.score else f", counted as <b>{score.score}</b>"
    shown = f"<b>{result}</b>" if not counted else result
    return f'<p class="sum">100{minus}{bonus} = {shown}{counted}</p>\n'


def _asides(report: TargetResult, score: Grade) -> str:
    """What the calculation leaves out."""
    lines = []
    if not score.bonus and score.short_descriptions:
        short = plural(score.short_descriptions, "description")
        lines.append(f"No bonus of {BONUS}: {short} under {BONUS_LENGTH} characters.")
    for by, words in (("ignore-for", "the configuration"), ("comment", "comments in the source")):
        ignored = sum(each.suppression is not None and each.suppression.by == by for each in report.suppressed)
        if ignored:
            lines.append(f"{plural(ignored, 'finding')} ignored by {words}, with no cost.")
    return "".join(f'<p class="aside">{line}</p>\n' for line in lines)


def advice(score: Grade) -> str:
    """What to mend first."""
    if not score.gains or score.score == 100:
        return ""
    intro = ""
    if score.gains[0].points == 0:
        below = f"{-score.unclamped:,} points below zero" if score.unclamped < 0 else "at zero"
        intro = f"<p>The score stands {below}: one fix alone does not lift it, so start with the costliest.</p>\n"
    steps = []
    for gain in score.gains[:ADVICE]:
        change = f" <span>{score.letter} → {text(gain.letter, 3)}</span>" if gain.letter != score.letter else ""
        steps.append(f"<li>{text(gain.remedy)} <b>+{gain.points or gain.cost:,}</b>{change}</li>\n")
    return f'{intro}<ol class="advice">\n{"".join(steps)}</ol>\n'


def token_chart(tokens: TokenCost) -> str:
    """What each tool costs in the context of a model, the dearest first."""
    ranked = sorted(tokens.tools.items(), key=lambda each: -each[1])
    widest = max(1, ranked[0][1])
    rows = [(f"<code>{text(name, 120)}</code>", count, "note") for name, count in ranked[:BARS]]
    if others := ranked[BARS:]:
        rows.append((plural(len(others), "more tool"), sum(count for _, count in others), "rest"))
    share = max(1, tokens.total)
    body = "".join(
        f'<tr class="{kind}"><th scope="row">{name}</th>'
        f'<td class="chart">{bar(count / widest, kind) if kind == "note" else ""}</td>'
        f'<td class="number">{count:,}</td><td class="number share">{100 * count / share:.0f} %</td></tr>\n'
        for name, count, kind in rows
    )
    return (
        '<table class="rows"><thead class="unseen"><tr><th scope="col">Tool</th><th scope="col">Bar</th>'
        '<th scope="col">Tokens</th><th scope="col">Share</th></tr></thead>\n'
        f"<tbody>\n{body}</tbody></table>\n"
    )


def fixable(report: TargetResult) -> str:
    """How much a machine can mend, and how to tell it to."""
    count = sum(each.fix is not None for each in report.findings)
    if not count:
        return ""
    command = text(fixing_command(report))
    return f'<p class="aside">{count:,} can be fixed by machine: <code>{command}</code></p>\n'


def untested(report: TargetResult) -> str:
    """What the run cannot speak of."""
    rows = "".join(
        f"<div><dt>{text(each.what, 5000)}</dt><dd>{prose(each.why)}</dd></div>\n" for each in report.untested
    )
    return f'<dl class="untested">\n{rows}</dl>\n' if rows else ""


def notices(run: RunResult) -> str:
    """What somebody should tidy up in the configuration or the baseline."""
    return listing((_notice(each) for each in run.notices), "notices")


def _notice(notice: Notice) -> str:
    line = "" if notice.line is None else f":{notice.line}"
    return (
        f'<span class="level {notice.level}">{notice.level}</span> {prose(notice.message)} '
        f'<span class="place">{text(notice.file)}{line}</span>'
    )


def trouble_box(trouble: Trouble) -> str:
    """Why something could not be done."""
    place = ":".join(str(part) for part in (trouble.file, trouble.line, trouble.column) if part is not None)
    where = f'<p class="place">{text(place)}</p>\n' if place else ""
    return f'<div class="trouble" role="note">\n<p>{prose(trouble.message)}</p>\n{where}</div>\n'


def overview(run: RunResult, all_findings: list[Findings], words: Words) -> str:
    """Several targets at a glance."""
    graded = any(report.scores.grade is not None for report in run.targets)
    priced = any(report.scores.tokens is not None for report in run.targets)
    columns = [*(["Grade"] if graded else []), "Target", words.heading, *(["Tokens"] if priced else []), "Result"]
    classes = {"Tokens": ' class="number"'}
    head = "".join(f'<th scope="col"{classes.get(column, "")}>{column}</th>' for column in columns)
    rows = "".join(
        _overview_row(number, report, findings, words, graded, priced)
        for number, (report, findings) in enumerate(zip(run.targets, all_findings, strict=True), 1)
    )
    return (
        f'<table class="overview"><caption class="unseen">All targets</caption>\n'
        f"<thead><tr>{head}</tr></thead>\n<tbody>\n{rows}</tbody></table>\n"
    )


def _overview_row(
    number: int, report: TargetResult, findings: Findings, words: Words, graded: bool, priced: bool
) -> str:
    score, tokens = report.scores.grade, report.scores.tokens
    counts = level_counts(count_levels(findings.shown), words) or "none"
    result = "passed" if report.passed else "failed"
    cells = [
        f'<td class="of-grade">{"–" if score is None else grade_chip(score)}</td>' if graded else "",
        f'<th scope="row" class="of-name"><a href="#t{number}">{text(report.title, 120)}</a></th>',
        f'<td class="of-counts">{counts if report.trouble is None else "could not be checked"}</td>',
        f'<td class="of-tokens number">{"–" if tokens is None else f"{tokens.total:,}"}</td>' if priced else "",
        f'<td class="of-result"><strong class="{result}">{result}</strong></td>',
    ]
    kind = "" if graded else ' class="ungraded"'
    return f"<tr{kind}>{''.join(cells)}</tr>\n"


def grade_chip(score: Grade) -> str:
    """A grade with its score, small."""
    return f'<span class="chip {grade_tone(score.letter)}">{text(score.letter, 3)}</span> {score.score}'


def grades_of(run: RunResult) -> str:
    """How many targets have each grade, such as "3 A, 1 C", as markup."""
    letters = [report.scores.grade.letter for report in run.targets if report.scores.grade is not None]
    return ", ".join(f"{letters.count(letter):,}&nbsp;{letter}" for letter in LETTERS if letter in letters)

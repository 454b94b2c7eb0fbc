"""What the script brings to life on a page, and the help of the rules that it shows in place."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mcproof.console import plural
from mcproof.linting.finding import LEVELS
from mcproof.report.page.findings_section import count_levels
from mcproof.report.page.markup import prose, text
from mcproof.report.page.suite_section import LOOKS, all_tests, by_outcome

if TYPE_CHECKING:
    from collections.abc import Iterator

    from mcproof.report.page.findings_section import Findings, RuleUse
    from mcproof.report.page.markup import Words
    from mcproof.results.run import RunResult


def filter_bar(all_findings: list[Findings], rules: dict[str, RuleUse], words: Words) -> str:
    """The search and the filters; hidden until the script is there to answer them."""
    shown = count_levels(group for findings in all_findings for group in findings.shown)
    hidden = count_levels(group for findings in all_findings for group in findings.suppressed)
    boxes = [
        _box(level, f"{words.levels[level]} <b>{shown[level]:,}</b>", "level")
        for level in LEVELS
        if shown[level] or hidden[level]
    ]
    suppressed = sum(hidden.values())
    if suppressed:
        boxes.append(_box("suppressed", f"suppressed <b>{suppressed:,}</b>", "suppressed", checked=False))
    return _bar(boxes, "Levels", _selects(rules), words)


def test_filter(run: RunResult, words: Words) -> str:
    """The search and the choice of outcomes, where there are tests to choose from."""
    boxes = [
        _box(outcome, f"{LOOKS[outcome].word} <b>{len(tests):,}</b>", "level", f"tone {LOOKS[outcome].tone}")
        for outcome, tests in by_outcome(all_tests(run)).items()
        if tests
    ]
    return _bar(boxes, "Outcomes", "", words) if boxes else ""


def _bar(boxes: list[str], legend: str, selects: str, words: Words) -> str:
    return (
        '<div class="filter" id="filter" role="search" aria-label="Filter" hidden>\n'
        f'<label class="search"><span class="unseen">Search the {words.noun}s</span><input type="search" id="query" '
        f'placeholder="Search {words.noun}s" autocomplete="off" spellcheck="false" aria-keyshortcuts="/"></label>\n'
        f'<fieldset><legend class="unseen">{legend}</legend>{"".join(boxes)}</fieldset>\n'
        f"{selects}"
        '<p class="actions"><output id="matches" for="query"></output>\n'
        '<button type="button" id="expand">Expand all</button><button type="button" id="collapse">Collapse all</button>'
        '<button type="button" id="clear">Clear</button></p>\n</div>\n'
        f'<p class="nothing" id="nothing" hidden>No {words.noun} matches the filter.</p>\n'
    )


def _box(value: str, label: str, name: str, look: str = "", *, checked: bool = True) -> str:
    state = " checked" if checked else ""
    return (
        f'<label class="box {look or value}">'
        f'<input type="checkbox" name="{name}" value="{value}"{state} autocomplete="off">'
        f"<span>{label}</span></label>\n"
    )


def _selects(rules: dict[str, RuleUse]) -> str:
    """The choice of a rule, and of a ruleset where there is more than one."""
    by_ruleset: dict[str, list[RuleUse]] = {}
    for use in rules.values():
        by_ruleset.setdefault(use.rule.ruleset, []).append(use)
    names = sorted(by_ruleset)
    rulesets = "".join(f'<option value="{number}">{text(name, 60)}</option>' for number, name in enumerate(names, 1))
    options = "".join(
        f'<optgroup label="{text(name, 60)}">'
        + "".join(
            f'<option value="{use.number}" data-ruleset="{number}">{text(use.rule.id, 80)} ({use.times:,})</option>'
            for use in by_ruleset[name]
        )
        + "</optgroup>"
        for number, name in enumerate(names, 1)
    )
    alone = " hidden" if len(names) < 2 else ""
    return (
        '<label class="choice"><span class="unseen">Rule</span><select id="rule" autocomplete="off">'
        f'<option value="">all rules</option>{options}</select></label>\n'
        f'<label class="choice"{alone}><span class="unseen">Ruleset</span><select id="ruleset" autocomplete="off">'
        f'<option value="">all rulesets</option>{rulesets}</select></label>\n'
    )


def rule_help(run: RunResult, rules: dict[str, RuleUse], words: Words) -> Iterator[str]:
    """Every rule that found something, once: why it matters and what to do; then the rules that found nothing."""
    for use in rules.values():
        rule = use.rule
        name = f' <span class="alias">{text(rule.name, 120)}</span>' if rule.name != rule.id else ""
        severity = "" if rule.severity == rule.level else f" · {text(rule.severity, 20)}"
        yield (
            f'<details class="help {rule.level}"><summary><h3 class="title"><code>{text(rule.id)}</code>{name}</h3>'
            f'<span class="gist">{prose(rule.summary)}</span>'
            f'<span class="counts"><span class="count {rule.level}">{plural(use.times, words.noun)}</span></span>'
            f'</summary>\n<div class="advice-of" id="r{use.number}">\n'
            f'<p class="facts-of">{words.levels[rule.level]}{severity} · {text(rule.ruleset, 60)} · '
            f"{text(rule.category, 60)}</p>\n<dl>\n"
            f"{_paragraph('Why', rule.why)}{_paragraph('Fix', rule.fix)}</dl>\n"
            f'<button type="button" class="only" value="{use.number}" hidden>Show only this rule</button>\n'
            "</div></details>\n"
        )
    silent = [rule.id for rule in run.rules if rule.id not in rules]
    if silent:
        listed = " ".join(f"<code>{text(each)}</code>" for each in silent)
        yield (
            f'<details class="help silent"><summary><h3 class="title">{plural(len(silent), "rule")} found nothing'
            f'</h3></summary>\n<p class="advice-of">{listed}</p></details>\n'
        )


def _paragraph(label: str, sentence: str) -> str:
    return f"<div><dt>{label}</dt><dd>{prose(sentence)}</dd></div>\n" if sentence else ""

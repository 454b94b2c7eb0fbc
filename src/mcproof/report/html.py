"""The report for a person: one HTML page that needs nothing else.

Style and script stand in the page and are the only ones that it lets run, by their hashes. Whatever comes from a
catalog is text; the script takes what it needs from the elements of the page.
"""

from __future__ import annotations

from importlib.resources import files
from typing import TYPE_CHECKING

from mcproof.console import plural
from mcproof.report.page.controls import filter_bar, rule_help, test_filter
from mcproof.report.page.findings_section import (
    Findings,
    count_levels,
    findings_of,
    level_counts,
    rules_used,
    tool_sections,
)
from mcproof.report.page.markup import proportion_bar, text, words_of
from mcproof.report.page.proof_section import proportions, trial_sections, untested_reasons
from mcproof.report.page.suite_section import (
    all_tests,
    shares,
    suite_facts,
    suites_overview,
    test_groups,
    tests_headline,
)
from mcproof.report.page.summary_section import (
    advice,
    costs,
    facts,
    fixable,
    grade_chip,
    grade_tone,
    grades_of,
    headline,
    notices,
    overview,
    scale,
    tile,
    token_chart,
    trouble_box,
    untested,
    verdict,
)
from mcproof.results.payloads import CALLING
from mcproof.scores.grade import LETTERS

if TYPE_CHECKING:
    from collections.abc import Iterator

    from mcproof.report.page.findings_section import RuleUse
    from mcproof.report.page.markup import Words
    from mcproof.results.run import RunResult, TargetResult

OPEN_TARGETS = 3
"""With no more targets than this, each is shown open."""

_ICON_COLOURS = {"good": "#1a6b3c", "fair": "#8a5300", "bad": "#b3261e"}


def document(run: RunResult) -> Iterator[str]:
    """The page, in pieces."""
    words = words_of(run.kind)
    all_findings = [findings_of(report) for report in run.targets]
    rules = rules_used(run)
    yield from _head(run, all_findings, words)
    yield _top(run, words)
    yield '<main id="main">\n'
    if _is_about_one(run):
        yield from _one(run, all_findings[0], rules, words)
    else:
        yield from _several(run, all_findings, rules, words)
    if rules or run.rules:
        yield from _section("rules", "Rules", rule_help(run, rules, words))
    yield "</main>\n"
    yield _foot(run)
    yield f"<script>{_asset('report.js')}</script>\n</body>\n</html>\n"


def _is_about_one(run: RunResult) -> bool:
    """Whether the page is about one target alone, and not a list of them."""
    return run.is_single and len(run.targets) == 1


def _asset(name: str) -> str:
    """A file of the page, the same on every system."""
    content = (files("mcproof.report") / "page" / name).read_text(encoding="utf-8")
    return content.replace("\r\n", "\n")


def _hashed(content: str) -> str:
    """How a Content-Security-Policy names a style or a script."""
    from base64 import b64encode
    from hashlib import sha256

    return f"'sha256-{b64encode(sha256(content.encode()).digest()).decode()}'"


def _head(run: RunResult, all_findings: list[Findings], words: Words) -> Iterator[str]:
    style = _asset("report.css")
    policy = (
        f"default-src 'none'; style-src {_hashed(style)}; script-src {_hashed(_asset('report.js'))}; "
        "img-src data:; base-uri 'none'; form-action 'none'"
    )
    yield (
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        '<meta name="color-scheme" content="light dark">\n<meta name="referrer" content="no-referrer">\n'
        f'<meta name="generator" content="mcproof {text(run.version, 40)}">\n'
        f"<title>{_title(run, all_findings, words)}</title>\n"
        f'<link rel="icon" href="{_icon(run)}">\n'
        f"<style>{style}</style>\n</head>\n<body>\n"
    )


def _title(run: RunResult, all_findings: list[Findings], words: Words) -> str:
    if _is_about_one(run):
        (report,) = run.targets
        grade = (
            f"{text(report.scores.grade.letter, 3)} · "
            if report.scores.grade is not None and words.noun == "finding"
            else ""
        )
        return f"{grade}{text(report.title, 120)}: {headline(report, all_findings[0], words)} · mcproof"
    result = f": {tests_headline(all_tests(run))}" if run.kind == "suite" else ""
    return f"{plural(len(run.targets), words.target)}{result} · mcproof {text(run.command, 40)}"


def _icon(run: RunResult) -> str:
    """A picture for the tab, which also keeps a browser from asking a server for one."""
    from urllib.parse import quote

    score = run.targets[0].scores.grade if _is_about_one(run) else None
    if score is not None and score.letter in LETTERS:
        letter, tone = score.letter, grade_tone(score.letter)
    else:
        letter, tone = ("✓", "good") if run.exit_code == 0 else ("✕", "bad")
    picture = (
        '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 32 32">'
        f'<rect width="32" height="32" rx="7" fill="{_ICON_COLOURS[tone]}"/>'
        '<text x="16" y="23" font-family="sans-serif" font-size="20" font-weight="700" fill="#fff" '
        f'text-anchor="middle">{letter}</text></svg>'
    )
    return f"data:image/svg+xml,{quote(picture)}"


def _top(run: RunResult, words: Words) -> str:
    place = "findings" if run.targets and run.trouble is None else "main"
    return (
        f'<a class="skip" href="#{place}">Skip to the {words.noun}s</a>\n'
        f'<header class="top"><p><b>mcproof</b> {text(run.command, 40)}</p>'
        f"<p>{_outcome(run)}</p></header>\n"
    )


def _outcome(run: RunResult) -> str:
    """How the run ended, as the exit code tells it."""
    word = {0: "passed", 1: "failed"}.get(run.exit_code, "incomplete")
    tone = "passed" if run.exit_code == 0 else "failed"
    return f'<strong class="{tone}">{word}</strong> <span class="code">exit code {run.exit_code}</span>'


def _foot(run: RunResult) -> str:
    started = f'<p>Started <time datetime="{text(run.started, 40)}">{text(run.started, 40)}</time></p>\n'
    return (
        f'<footer class="foot">\n<p>mcproof {text(run.version, 40)}, <code>{text(run.command, 40)}</code></p>\n'
        f"{started if run.started else ''}</footer>\n"
    )


def _section(id: str, heading: str, body: Iterator[str] | str, level: int = 2) -> Iterator[str]:
    """A section with its heading; an empty id where there may be several of it."""
    anchor = f' id="{id}"' if id else ""
    yield f"<section{anchor}>\n<h{level}>{heading}</h{level}>\n"
    yield from [body] if isinstance(body, str) else body
    yield "</section>\n"


def _one(run: RunResult, findings: Findings, rules: dict[str, RuleUse], words: Words) -> Iterator[str]:
    """The page about one target."""
    (report,) = run.targets
    yield f'<div class="hero">\n{tile(report, findings)}<div class="beside">\n'
    result = headline(report, findings, words)
    yield f'<h1>{text(report.title, 200)}</h1>\n<p class="headline">{result}</p>\n'
    if report.trouble is not None:
        yield f"</div></div>\n{trouble_box(report.trouble)}"
        yield from _notices(run)
        return
    if run.kind == "suite":
        yield f"{proportions(report)}</div></div>\n{suite_facts(report)}"
        yield from _notices(run)
        yield from _section("findings", words.heading, _tests(test_filter(run, words), report, 3))
        return
    if report.scores.grade is not None and words.noun == "finding":
        yield scale(report.scores.grade)
    yield f"{proportions(report)}</div></div>\n{facts(report, findings, words)}"
    yield from trial_sections(report, 1, 2)
    yield from _judgement(run, report, findings, rules, words, 2)
    yield from _notices(run)
    controls = filter_bar([findings], rules, words)
    yield from _section("findings", words.heading, _findings(controls, report, findings, rules, words, 3))
    if missing := _missing(report, run):
        yield from _section("untested", "Not tested", missing)


def _judgement(
    run: RunResult, report: TargetResult, findings: Findings, rules: dict[str, RuleUse], words: Words, level: int
) -> Iterator[str]:
    """Verdict, score and tokens of one target, beside each other where there is room."""
    yield '<div class="panels">\n'
    stale = sum(notice.level == "error" for notice in run.notices) if run.is_single else 0
    yield from _section("", "Verdict", verdict(report, findings, words, stale), level)
    score, tokens = report.scores.grade, report.scores.tokens
    if score is not None and words.noun == "finding":
        if steps := advice(score):
            yield from _section("", "What would help most", steps, level)
        yield from _section("", "What it costs", costs(report, score, rules), level)
    if tokens is not None and tokens.tools:
        heading = f'Context cost <span class="gist">{plural(tokens.total, "token")} in every request</span>'
        yield from _section("", heading, token_chart(tokens), level)
    yield "</div>\n"


def _findings(
    controls: str, report: TargetResult, findings: Findings, rules: dict[str, RuleUse], words: Words, heading: int
) -> Iterator[str]:
    if not findings.shown and not findings.suppressed:
        yield f'<p class="clean">No {words.noun}s.</p>\n'
        return
    yield fixable(report)
    yield controls
    yield from tool_sections(report, findings, rules, words, heading)


def _tests(controls: str, report: TargetResult, heading: int) -> Iterator[str]:
    yield controls
    yield from test_groups(report, heading)


def _missing(report: TargetResult, run: RunResult) -> str:
    """What the run cannot speak of; where a server was tried, by the reason."""
    return untested_reasons(report) if run.kind in CALLING else untested(report)


def _notices(run: RunResult) -> Iterator[str]:
    if run.notices:
        yield from _section("notices", "To tidy up", notices(run))


def _several(run: RunResult, all_findings: list[Findings], rules: dict[str, RuleUse], words: Words) -> Iterator[str]:
    """The page about several targets: all at a glance, then each in a section that opens."""
    yield f"<h1>{plural(len(run.targets), words.target)}</h1>\n"
    if not run.targets:
        yield '<p class="clean">Nothing was checked.</p>\n'
        return
    yield f'<p class="headline">{_tally(run)}</p>\n'
    if run.kind == "suite":
        yield f"{proportion_bar(shares(all_tests(run)))}{suites_overview(run)}"
        controls = test_filter(run, words)
    else:
        yield overview(run, all_findings, words)
        controls = filter_bar(all_findings, rules, words) if rules else ""
    yield from _notices(run)
    yield f'<section id="findings">\n<h2>{words.heading} by {words.target}</h2>\n{controls}'
    for number, (report, findings) in enumerate(zip(run.targets, all_findings, strict=True), 1):
        state = " open" if _starts_open(run, report) else ""
        head = _suite_head(report) if run.kind == "suite" else _target_head(report, findings, words)
        yield f'<details class="target"{state}>\n<summary>{head}</summary>\n<div class="inside" id="t{number}">\n'
        if report.trouble is not None:
            yield trouble_box(report.trouble)
        elif run.kind == "suite":
            yield suite_facts(report)
            yield from test_groups(report, 4)
        else:
            yield from _inside(run, report, findings, rules, words, number)
        yield "</div></details>\n"
    yield "</section>\n"


def _starts_open(run: RunResult, report: TargetResult) -> bool:
    """Whether a target is shown open: where there are few, and a suite also where it failed."""
    return len(run.targets) <= OPEN_TARGETS or (run.kind == "suite" and not report.passed)


def _inside(
    run: RunResult, report: TargetResult, findings: Findings, rules: dict[str, RuleUse], words: Words, number: int
) -> Iterator[str]:
    """What there is about one of several targets."""
    if run.kind in CALLING:
        yield f'<p class="headline">{headline(report, findings, words)}</p>\n'
        yield proportions(report)
    yield facts(report, findings, words)
    yield from trial_sections(report, number, 4)
    yield from _judgement(run, report, findings, rules, words, 4)
    yield from _findings("", report, findings, rules, words, 4)
    if missing := _missing(report, run):
        yield from _section("", "Not tested", missing, 4)


def _tally(run: RunResult) -> str:
    """How many targets passed, failed and could not be read, and with which grades; of suites, the tests."""
    passed = sum(report.passed for report in run.targets)
    broken = len(run.failed)
    counts = [(passed, "passed"), (len(run.targets) - passed - broken, "failed"), (broken, "could not be checked")]
    parts = [f"{count:,} {word}" for count, word in counts if count]
    if run.kind == "suite":
        return f"{tests_headline(all_tests(run))} · suites: {', '.join(parts)}"
    grades = grades_of(run)
    return ", ".join(parts) + (f" · {grades}" if grades else "")


def _target_head(report: TargetResult, findings: Findings, words: Words) -> str:
    if report.trouble is not None:
        mark, counts = '<span class="chip bad">!</span>', "could not be checked"
    else:
        mark = grade_chip(report.scores.grade) if report.scores.grade is not None else ""
        counts = level_counts(count_levels(findings.shown), words) or f"no {words.noun}s"
    return (
        f'<span class="mark">{mark}</span><h3 class="title">{text(report.title, 200)}</h3>'
        f'<span class="counts">{counts}</span>'
    )


def _suite_head(report: TargetResult) -> str:
    if report.trouble is not None:
        tone, symbol, result = "bad", "!", "could not be checked"
    else:
        tone, symbol = ("good", "✓") if report.passed else ("bad", "✗")
        result = tests_headline(report.tests)
    return (
        f'<span class="mark short"><span class="chip {tone}" aria-hidden="true">{symbol}</span></span>'
        f'<h3 class="title">{text(report.title, 200)}</h3><span class="counts">{result}</span>'
    )

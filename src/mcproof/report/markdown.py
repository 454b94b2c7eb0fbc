"""Markdown for a pull-request comment and for the summary page of a job."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from mcproof.console import plural, safe
from mcproof.linting.finding import LEVELS
from mcproof.report.as_tests import SUPPRESSED
from mcproof.report.ci_paths import repository_path
from mcproof.report.grade_card import gate_sentence
from mcproof.report.proof import split_static, static_sentence, summary_sentence, told_by_failures
from mcproof.report.suite_tests import sentence_of, told_once
from mcproof.report.text import scope_of
from mcproof.results.findings import group_by_fault
from mcproof.results.payloads import CALLING

if TYPE_CHECKING:
    from collections.abc import Iterator

    from mcproof.linting.finding import Level
    from mcproof.results.findings import FindingGroup, ReportedFinding
    from mcproof.results.run import RunResult, TargetResult

MARK = "<!-- mcproof -->"
"""What a workflow finds its own comment by, to write it anew instead of adding another."""

MOST_CHARACTERS = 60_000
"""A comment on GitHub holds 65,536."""

MOST_OF_A_TEXT = 300
"""How much of a name or a message is shown, so that no single one fills the comment."""

_SIGNS = {"error": "🔴", "warning": "🟡", "note": "🔵"}
_CHANGES = {"error": "breaking", "warning": "cannot tell", "note": "compatible"}
_PUNCTUATION = re.compile(r"([\\`*_\[\]#|<>~&$])")
"""What is markup within a line; no line starts with text from outside."""
_LINKS = re.compile(r"(@|#|GH-|www|://)(?=\S)", re.IGNORECASE)
_FOLD, _UNFOLD = "<details>", "</details>"
_NOTHING = "&#8203;"
"""A space of no width: what it divides names nobody and links nowhere."""


def document(run: RunResult) -> Iterator[str]:
    """A table of findings for each target, as much of it as fits into a comment."""
    room = MOST_CHARACTERS
    folded = 0
    for piece in _pieces(run):
        if len(piece) > room:
            yield f"\n{_UNFOLD}\n" * folded + "\nThe rest does not fit here; the other formats have it.\n"
            return
        room -= len(piece)
        folded += piece.startswith(f"\n{_FOLD}") - piece.startswith(f"\n{_UNFOLD}")
        yield piece


def _pieces(run: RunResult) -> Iterator[str]:
    yield f"{MARK}\n\n# mcproof {escaped(run.command)}: {_verdict(run)}\n"
    for notice in run.notices:
        place = code(_place(notice.file, notice.line))
        yield f"\n{_SIGNS[notice.level]} {place} {escaped(notice.message)}\n"
    for report in run.targets:
        if report.trouble is not None:
            yield f"\n## {escaped(report.target)}\n\n🔴 {escaped(str(report.trouble))}\n"
        else:
            yield from _target(report, run)
    if any(report.findings for report in run.targets) and run.kind != "diff":
        yield "\n`mcproof explain RULE` says why a rule exists and what to do.\n"


def _verdict(run: RunResult) -> str:
    return {0: "passed", 1: "failed", 130: "interrupted"}.get(run.exit_code, "could not do the job")


def _target(report: TargetResult, run: RunResult) -> Iterator[str]:
    if run.kind == "suite":
        yield from _tests(report)
        return
    findings, static = split_static(report.findings) if run.kind in CALLING else (report.findings, 0)
    groups = group_by_fault(findings)
    sentence = summary_sentence(report)
    first = f"**{escaped(sentence)}**\n\n" if sentence else ""
    yield f"\n## {escaped(report.title)}\n\n{first}{_summary(report, groups, run)}\n"
    if run.kind in CALLING:
        from mcproof.report.proof_markdown import trial_sections

        yield from trial_sections(report)
    if report.scores.grade is not None and report.scores.grade.gains and report.scores.grade.score < 100:
        helps = [f"{escaped(gain.remedy)} (+{gain.points or gain.cost})" for gain in report.scores.grade.gains[:3]]
        yield f"\nWhat would help most: {', '.join(helps)}.\n"
    if report.scores.polish is not None:
        yield f"\nPolish score: {report.scores.polish} of 100.\n"
    for gate in report.gates:
        yield f"\n{'✅' if gate.passed else '🔴'} {escaped(gate_sentence(gate))}\n"
    told = told_by_failures(report.payload.fuzzing.failures) if report.payload.kind == "fuzz" else set()
    untold = [group for group in groups if (group.shown.tool, group.shown.rule.id) not in told]
    for level in LEVELS:
        yield from _table(level, [group for group in untold if group.shown.level == level], run)
    if static:
        yield f"\n{escaped(static_sentence(static))}\n"
    if run.kind in CALLING:
        from mcproof.report.proof_markdown import untested_section

        yield from untested_section(report)
    if report.suppressed:
        yield f"\n{_FOLD}<summary>{plural(len(report.suppressed), 'finding')} suppressed</summary>\n\n"
        yield "| rule | where | why |\n| --- | --- | --- |\n"
        for each in report.suppressed:
            if each.suppression is not None:
                by, reason, file, line = each.suppression
                said = f"{SUPPRESSED[by]} {code(_place(file, line))}"
                said += f": {escaped(reason)}" if reason else ""
                yield f"| {code(each.rule.id)} | {_where(each)} | {said} |\n"
        yield f"\n{_UNFOLD}\n"


_OUTCOMES = {"passed": "✅", "failed": "🔴", "error": "❗"}


def _tests(report: TargetResult) -> Iterator[str]:
    """The tests that did not pass, one row each, and the others folded away."""
    yield f"\n## {escaped(report.target)}\n\n**{escaped(sentence_of(report.tests))}**\n"
    bad = [test for test in told_once(report.tests) if test.is_bad]
    others = [test for test in report.tests if not test.is_bad]
    if bad:
        yield "\n| | test | where | why |\n| --- | --- | --- | --- |\n"
    for test in bad:
        lines = [each.sentence for each in test.failures] or [test.message, *test.detail.splitlines()]
        told = "<br>".join(map(escaped, lines))
        where = code(_place(test.file, test.first_line)) if test.file is not None else ""
        yield f"| {_OUTCOMES[test.outcome]} | {escaped(test.label)} | {where} | {told} |\n"
    if others:
        yield f"\n{_FOLD}<summary>{plural(len(others), 'other test')}</summary>\n\n"
        for test in others:
            said = f": {escaped(test.message)}" if test.message else ""
            yield f"- {_OUTCOMES.get(test.outcome, '➖')} {escaped(test.label)}{said}\n"
        yield f"\n{_UNFOLD}\n"


def _summary(report: TargetResult, groups: list[FindingGroup], run: RunResult) -> str:
    parts = []
    if report.scores.grade is not None:
        parts.append(f"grade **{report.scores.grade.letter}** ({report.scores.grade.score} of 100)")
    levels = [group.shown.level for group in groups]
    counts = [_counted(levels.count(level), level, run) for level in LEVELS if level in levels]
    parts.append(", ".join(counts) or ("no change" if run.kind == "diff" else "no findings"))
    if report.suppressed:
        parts.append(f"{len(report.suppressed):,} suppressed")
    if run.kind != "diff":
        parts.append(scope_of(report))
    if report.scores.tokens is not None:
        parts.append(plural(report.scores.tokens.total, "token"))
    if report.scores.grade is not None and report.scores.descriptions is not None and report.scores.descriptions.tools:
        parts.append(f"descriptions {report.scores.descriptions.mean:.2f} of 1.00")
    if report.payload.kind == "diff":
        parts.append(f"from {code(repository_path(report.payload.compared_with))}")
    if report.title != report.target:
        parts.append(code(repository_path(report.target) if report.connection is None else report.target))
    return " · ".join(parts)


def _counted(count: int, level: Level, run: RunResult) -> str:
    return f"{count:,} {_CHANGES[level]}" if run.kind == "diff" else plural(count, level)


def _table(level: Level, groups: list[FindingGroup], run: RunResult) -> Iterator[str]:
    """The findings of a level; notes are folded away."""
    if not groups:
        return
    word = _counted(len(groups), level, run)
    folded = level == "note"
    if folded:
        yield f"\n{_FOLD}<summary>{_SIGNS[level]} {word}</summary>\n"
    else:
        yield f"\n### {_SIGNS[level]} {word}\n"
    yield f"\n| {'change' if run.kind == 'diff' else 'rule'} | where | what |\n| --- | --- | --- |\n"
    for shown, also in groups:
        rules = ", ".join(code(rule) for rule in (shown.rule.id, *also))
        yield f"| {rules} | {_where(shown)} | {escaped(shown.message)} |\n"
    if folded:
        yield f"\n{_UNFOLD}\n"


def _where(each: ReportedFinding) -> str:
    whose = f"{code(each.label)} " if each.label else ""
    return whose + code(_place(each.file, each.line))


def _place(file: str, line: int | None) -> str:
    return repository_path(file) + (f":{line}" if line is not None else "")


def escaped(text: str) -> str:
    """Text from outside as Markdown that shows it and does nothing: no markup, no link, no mention.

    What stands between backticks stays code, as the rules' messages mean it.
    """
    text = _shown(text)
    parts = text.split("`")
    if len(parts) % 2 == 0 or not all(parts[1:-1]):
        return _plain(text)
    return "".join(code(part) if number % 2 else _plain(part) for number, part in enumerate(parts))


def _plain(text: str) -> str:
    pieces = _LINKS.split(text)
    joined = [
        _PUNCTUATION.sub(r"\\\1", piece) + (_NOTHING if number % 2 else "") for number, piece in enumerate(pieces)
    ]
    return "".join(joined).replace("\\|", "&#124;")


def code(text: str) -> str:
    """Text in a code span, in which nothing is markup; what a span or a table cannot hold is shown without one."""
    text = _shown(text)
    return _plain(text) if "`" in text or "|" in text or not text.strip() else f"`{text}`"


def _shown(text: str) -> str:
    """Text from outside without what acts on its own, and no longer than a reader bears."""
    return safe(text if len(text) <= MOST_OF_A_TEXT else text[:MOST_OF_A_TEXT] + "…")

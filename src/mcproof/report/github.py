"""Workflow commands of GitHub Actions: annotations on lines."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mcproof.checks.findings import LEVELS, group_by_fault
from mcproof.core.console import safe, without_commands
from mcproof.core.errors import INTERRUPTED
from mcproof.report.ci_paths import repository_path
from mcproof.report.gate_verdicts import run_verdict
from mcproof.report.outcome_phrases import merge_unrun

if TYPE_CHECKING:
    from collections.abc import Iterator

    from mcproof.checks.findings import FindingGroup, Level
    from mcproof.runs.results import RunResult

_COMMANDS = {"error": "error", "warning": "warning", "note": "notice"}


def github_document(run: RunResult) -> Iterator[str]:
    """Write an annotation for each finding, the most serious first: GitHub shows ten of a kind."""
    annotations = [*_verdict(run), *_troubles(run), *_notices(run), *_tests(run)]
    annotations += [_annotation(group) for result in run.targets for group in group_by_fault(result.findings)]
    for level, command in sorted(annotations, key=lambda each: LEVELS.index(each[0])):
        yield f"::{_COMMANDS[level]} {command}\n"


def _verdict(run: RunResult) -> Iterator[tuple[Level, str]]:
    """Return the verdict if a gate failed or the run is incomplete, which no finding shows."""
    is_missed = any(not gate.passed for result in run.targets for gate in result.gates)
    if is_missed or run.exit_code == INTERRUPTED:
        yield "error", _command(None, {}, f"mcproof {run.command}", str(run_verdict(run)))


def _troubles(run: RunResult) -> Iterator[tuple[Level, str]]:
    for trouble in (result.trouble for result in run.targets):
        if trouble is not None:
            location = {"line": trouble.line, "col": trouble.column}
            yield "error", _command(trouble.file, location, "mcproof", trouble.message)


def _notices(run: RunResult) -> Iterator[tuple[Level, str]]:
    for notice in run.notices:
        yield notice.level, _command(notice.file, {"line": notice.line}, notice.kind, notice.message)


def _tests(run: RunResult) -> Iterator[tuple[Level, str]]:
    for test in (test for result in run.targets for test in merge_unrun(result.tests)):
        for each in test.failures:
            lines = [each.sentence, *each.difference]
            yield "error", _command(test.file, {"line": each.line or test.line}, test.label, *lines)
        if test.is_bad and not test.failures:
            lines = [test.message, *test.detail.splitlines()]
            yield "error", _command(test.file, {"line": test.line}, test.label, *lines)


def _annotation(group: FindingGroup) -> tuple[Level, str]:
    shown = group.shown
    location = {"line": shown.line, "col": shown.column, "endColumn": shown.end_column}
    title = ", ".join((shown.rule.id, *group.also))
    advice = [f"help: {shown.rule.fix}"] if shown.rule.fix else []
    file = shown.file if shown.line is not None else None  # a live server is not a file
    return shown.level, _command(file, location, title, shown.sentence, *advice)


def _command(file: str | None, location: dict[str, int | None], title: str, *lines: str) -> str:
    """Return the part of a workflow command after its name."""
    properties: dict[str, object] = {} if file is None else {"file": repository_path(file), **location}
    properties["title"] = title
    listed = ",".join(f"{key}={_property(str(value))}" for key, value in properties.items() if value is not None)
    return f"{listed}::{'%0A'.join(map(_data, lines))}"


def _data(text: str) -> str:
    return without_commands(safe(text)).replace("%", "%25")


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")

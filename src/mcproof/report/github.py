"""Workflow commands of GitHub Actions: annotations beside the lines that they are about."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mcproof.finding import LEVELS
from mcproof.report.model import group_by_fault
from mcproof.report.places import repository_path
from mcproof.report.terminal import safe

if TYPE_CHECKING:
    from collections.abc import Iterator

    from mcproof.report.model import Group, RunReport

_COMMANDS = {"error": "error", "warning": "warning", "note": "notice"}


def document(run: RunReport) -> Iterator[str]:
    """An annotation for each finding, the most serious first: GitHub shows ten of a kind."""
    for report in run.targets:
        if report.trouble is not None:
            trouble = report.trouble
            place = {"line": trouble.line, "col": trouble.column}
            yield _command("error", trouble.file, place, "mcproof", trouble.message)
    for notice in run.notices:
        yield _command(notice.level, notice.file, {"line": notice.line}, notice.kind, notice.message)
    groups = [group for report in run.targets for group in group_by_fault(report.findings)]
    for group in sorted(groups, key=lambda group: LEVELS.index(group.shown.level)):
        yield _annotation(group)


def _annotation(group: Group) -> str:
    shown = group.shown
    place = {"line": shown.line, "col": shown.column, "endColumn": shown.end_column}
    title = ", ".join((shown.rule.id, *group.also))
    advice = f"\nhelp: {shown.rule.fix}" if shown.rule.fix else ""
    return _command(shown.level, shown.file, place, title, safe(shown.sentence) + advice)


def _command(level: str, file: str | None, place: dict[str, int | None], title: str, message: str) -> str:
    properties: dict[str, object] = {} if file is None else {"file": repository_path(file), **place}
    properties["title"] = title
    listed = ",".join(f"{key}={_property(str(value))}" for key, value in properties.items() if value is not None)
    return f"::{_COMMANDS[level]} {listed}::{_data(message)}\n"


def _data(text: str) -> str:
    lines = [safe(line).replace("%", "%25") for line in text.split("\n")]
    return "%0A".join(lines)


def _property(text: str) -> str:
    return safe(text).replace("%", "%25").replace(":", "%3A").replace(",", "%2C")

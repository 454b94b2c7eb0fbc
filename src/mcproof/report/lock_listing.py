"""What `mcproof lock` prints: the targets that were locked, and what changed."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mcproof.core.console import plural, wrapped
from mcproof.runs.records import SCHEMA_VERSION, encode, printable

if TYPE_CHECKING:
    from collections.abc import Iterator

    from mcproof.checks.diff.drift import Difference
    from mcproof.core.console import Style
    from mcproof.runs.diff import LockedTarget, LockOutcome
    from mcproof.runs.records import Record

_LONGEST_LINE = 400


def lock_lines(outcome: LockOutcome, style: Style) -> Iterator[str]:
    """Render the outcome for people: a line for each target, then its differences."""
    for each in outcome.targets:
        yield f"{style.paint(style.text(each.target), 'bold')}: {_status(each)}\n"
        for difference in each.drift.differences if each.drift is not None else ():
            yield from _difference_lines(difference, style)
    count = sum(each.status != "dropped" for each in outcome.targets)
    yield f"{outcome.file}: {plural(count, 'target')} locked\n"


def _status(each: LockedTarget) -> str:
    if each.status == "dropped":
        return "dropped, the file no longer exists"
    tools = plural(each.counts.get("tools", 0), "tool")
    if each.status == "changed" and each.drift is not None:
        return f"{tools}, {each.drift.summary or 'other parts are known now'}"
    return f"{tools}, {each.status}"


def _difference_lines(difference: Difference, style: Style) -> Iterator[str]:
    name = f"{difference.item.kind} {difference.item.label}" if difference.item.kind != "server" else "server"
    fires = f" (now reported by {', '.join(difference.fires)})" if difference.fires else ""
    yield f"  {style.text(name)}: {style.text(difference.summary)}{fires}\n"
    for line in difference.lines:
        colour = {"-": "error", "+": "good"}.get(line[:1], "dim")
        for part in wrapped(style.text(line, _LONGEST_LINE), style.width, used=4, indent=6):
            yield f"    {style.paint(part.strip() if part.startswith(' ') else part, colour)}\n"


def lock_document(outcome: LockOutcome) -> Iterator[str]:
    """Write the document of `mcproof lock --format json`."""
    record = {
        "schema_version": SCHEMA_VERSION,
        "file": outcome.file,
        "targets": [_target_record(each) for each in outcome.targets],
    }
    yield printable(encode(record)) + "\n"


def _target_record(each: LockedTarget) -> Record:
    differences = each.drift.differences if each.drift is not None else []
    return {
        "target": each.target,
        "status": each.status,
        "hash": each.hash or None,
        "tools": each.counts.get("tools", 0),
        "differences": [{"kind": one.kind, "subject": one.item.subject, **one.evidence} for one in differences],
    }

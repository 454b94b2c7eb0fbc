"""TAP version 14, for test harnesses."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from mcproof.core.console import safe
from mcproof.report.as_tests import suites_of
from mcproof.runs.records import printable

if TYPE_CHECKING:
    from collections.abc import Iterator

    from mcproof.report.as_tests import Check
    from mcproof.runs.results import RunResult


def tap_document(run: RunResult) -> Iterator[str]:
    """Write a test point for each check."""
    points = [(suite.name, check) for suite in suites_of(run) for check in suite.checks]
    yield "TAP version 14\n"
    if run.trouble is not None:
        yield f"1..0\nBail out! {safe(str(run.trouble))}\n"
        return
    yield f"1..{len(points)}\n"
    for number, (suite, check) in enumerate(points, 1):
        yield from _point(number, suite, check)


def _point(number: int, suite: str, check: Check) -> Iterator[str]:
    verdict = "ok" if check.outcome in ("passed", "skipped") else "not ok"
    directive = f" # SKIP {_words(check.message)}" if check.outcome == "skipped" else ""
    yield f"{verdict} {number} - {_words(f'{suite}: {check.name}')}{directive}\n"
    if check.message and check.outcome != "skipped":
        facts = {
            "message": check.message,
            "severity": check.kind,
            "help": check.detail,
            "exchange": check.exchange,
            "file": check.file,
            "line": check.line,
        }
        yield "  ---\n"
        for key, value in facts.items():
            if value not in (None, ""):
                shown = value if isinstance(value, int) else safe(str(value))
                yield f"  {key}: {printable(json.dumps(shown, ensure_ascii=False))}\n"
        yield "  ...\n"


def _words(text: str) -> str:
    """Return a description on one line, without directives."""
    return safe(text).replace("\\", "\\\\").replace("#", "\\#")

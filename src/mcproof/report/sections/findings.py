"""Results that are findings: of `lint`, and the changes that `diff` finds."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mcproof.report.blocks import HTML, MARKDOWN, TEXT, Changes, Document, Findings, Only, Reason, Reasons, Section

if TYPE_CHECKING:
    from mcproof.report.blocks import Block
    from mcproof.runs.results import TargetResult


def lint_document(result: TargetResult) -> Document:
    """Return the findings."""
    return Document(findings=[Findings(result, result.findings)], after=untested(result))


def diff_document(result: TargetResult) -> Document:
    """Return the changes: by item in text, as a table like findings elsewhere."""
    tables = Only((MARKDOWN,), [Findings(result, result.findings)])
    return Document(findings=[Only((TEXT,), [Changes(result)]), tables], after=untested(result))


def untested(result: TargetResult) -> list[Block]:
    """Return what could not be checked without a call, which a page names."""
    if not result.untested:
        return []
    reasons = Reasons([Reason([one.what], one.why) for one in result.untested], are_phrases=True)
    return [Only((HTML,), [Section("Not tested", [reasons], anchor="untested")])]

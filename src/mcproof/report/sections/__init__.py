"""What a report says of each kind of result, as blocks for every format.

To show more of a payload, yield another block in its builder; the formats need no change unless its class is new.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

from mcproof.report.blocks import (
    HTML,
    MARKDOWN,
    TEXT,
    Changes,
    Document,
    Findings,
    Only,
    Reason,
    Reasons,
    Section,
    Sentence,
)

if TYPE_CHECKING:
    from mcproof.report.blocks import Block
    from mcproof.runs.results import Kind, TargetResult


_BUILDERS: dict[Kind, tuple[str, str]] = {
    "lint": ("mcproof.report.sections", "lint_document"),
    "grade": ("mcproof.report.sections.scores", "grade_document"),
    "compat": ("mcproof.report.sections.clients", "compat_document"),
    "scan": ("mcproof.report.sections.scores", "scan_document"),
    "check": ("mcproof.report.sections.check", "check_document"),
    "diff": ("mcproof.report.sections", "diff_document"),
    "probe": ("mcproof.report.sections.calls", "probe_document"),
    "prove": ("mcproof.report.sections.calls", "prove_document"),
    "fuzz": ("mcproof.report.sections.calls", "fuzz_document"),
    "suite": ("mcproof.report.sections.outcomes", "suite_document"),
}


def document_of(result: TargetResult) -> Document:
    """Return the blocks of a target; only the builder of its kind is imported, as a command shows one kind."""
    # By name, as the sections of other kinds bring modules that this command does not need.
    module, name = _BUILDERS[result.payload.kind]
    document: Document = getattr(import_module(module), name)(result)
    return document


def lint_document(result: TargetResult) -> Document:
    """Return the findings."""
    return Document(findings=[Findings(result, result.findings)], after=[*not_judged(result), *untested(result)])


def not_judged(result: TargetResult) -> list[Block]:
    """Return what of source is not known, for a comment; text says it in its last lines, a page in a table."""
    if result.not_judged is None:
        return []
    from mcproof.report.phrases import not_judged_sentence

    return [Only((MARKDOWN,), [Sentence(f"Not judged: {not_judged_sentence(result.not_judged)}.")])]


def diff_document(result: TargetResult) -> Document:
    """Return the changes: by item in text, as a table like findings elsewhere."""
    # A comment shows changes and findings alike; a page draws both in its own frame, below the filters.
    tables = Only((MARKDOWN,), [Findings(result, result.findings)])
    return Document(findings=[Only((TEXT,), [Changes(result)]), tables], after=untested(result))


def untested(result: TargetResult) -> list[Block]:
    """Return what could not be checked without a call, which a page names."""
    parts = [Reason([part.what], part.why) for part in result.untested]
    if result.not_judged is not None:
        from mcproof.report.phrases import not_judged_sentence

        parts.append(Reason(["source"], not_judged_sentence(result.not_judged)))
    if not parts:
        return []
    reasons = Reasons(parts, are_phrases=True)
    return [Only((HTML,), [Section("Not tested", [reasons], anchor="untested")])]

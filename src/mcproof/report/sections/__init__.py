"""What a report says of each kind of result, as blocks for every format.

To show more of a payload, yield another block in its builder; the formats need no change unless its class is new.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from mcproof.report.blocks import Document
    from mcproof.runs.results import Kind, TargetResult


_BUILDERS: dict[Kind, tuple[str, str]] = {
    "lint": ("mcproof.report.sections.findings", "lint_document"),
    "grade": ("mcproof.report.sections.scores", "grade_document"),
    "compat": ("mcproof.report.sections.clients", "compat_document"),
    "scan": ("mcproof.report.sections.scores", "scan_document"),
    "diff": ("mcproof.report.sections.findings", "diff_document"),
    "probe": ("mcproof.report.sections.calls", "probe_document"),
    "prove": ("mcproof.report.sections.calls", "prove_document"),
    "fuzz": ("mcproof.report.sections.calls", "fuzz_document"),
    "suite": ("mcproof.report.sections.suites", "suite_document"),
}


def document_of(result: TargetResult) -> Document:
    """Return the blocks of a target; only the builder of its kind is imported, as a command shows one kind."""
    module, name = _BUILDERS[result.payload.kind]
    document: Document = getattr(import_module(module), name)(result)
    return document

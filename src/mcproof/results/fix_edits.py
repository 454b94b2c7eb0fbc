"""Determine fixes as edits of files, for formats that carry them (SARIF, and the stored form).

This is a step of its own, because it is expensive for Python source: discovery runs again on the changed text, and only
an edit that is proven to work is kept.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from mcproof.results.findings import TextEdit

if TYPE_CHECKING:
    from mcproof.core.catalog.model import Catalog
    from mcproof.core.text.json_document import JsonText, Position
    from mcproof.linting.finding import Finding


class FileEdit(NamedTuple):
    """An edit, and the file that it changes."""

    file: str
    change: TextEdit


def proven_edits(catalog: Catalog, findings: list[Finding]) -> dict[int, FileEdit]:
    """Return the edit of each fix that is certain, by the index of its finding; none for a live server."""
    if catalog.source is not None:
        return _source_edits(catalog, findings)
    if catalog.origin is not None:
        return {}
    edits = _document_edits(catalog.document, findings)
    return {at: FileEdit(catalog.name, edit) for at, edit in edits.items()}


def _source_edits(catalog: Catalog, findings: list[Finding]) -> dict[int, FileEdit]:
    from mcproof.linting.fixing.source_fix import edits_by_finding

    return {
        at: FileEdit(edit.file, TextEdit(*edit.start, *edit.end, edit.replacement))
        for at, edit in edits_by_finding(catalog, findings).items()
    }


def _document_edits(document: JsonText, findings: list[Finding]) -> dict[int, TextEdit]:
    fixes = [
        (at, (finding.item.pointer + finding.pointer, finding.fix.key, finding.fix.value))
        for at, finding in enumerate(findings)
        if finding.fix is not None
    ]
    if not fixes:
        return {}
    edits = document.member_edits([change for _, change in fixes])
    offsets = sorted({offset for edit in edits for offset in (edit.start, edit.end)})
    positions: dict[int, Position] = dict(zip(offsets, document.positions(offsets), strict=True))
    return {
        at: TextEdit(*positions[edit.start], *positions[edit.end], edit.replacement)
        for (at, _), edit in zip(fixes, edits, strict=True)
    }

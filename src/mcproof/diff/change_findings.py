"""Convert the changes between two catalogs into reported findings with locations."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, NamedTuple

from mcproof.linting.finding import identity_of, level_of
from mcproof.results.build import find_spans, snippet_at
from mcproof.results.findings import CHANGE_SEVERITIES, ReportedFinding, RuleFacts
from mcproof.results.source_locations import SourceLines, locate

if TYPE_CHECKING:
    from mcproof.core.catalog.model import Catalog
    from mcproof.core.text.json_positions import Span
    from mcproof.diff.change_kinds import ChangeKind
    from mcproof.diff.changes import CatalogChange


class _LocatedChange(NamedTuple):
    """A change, the catalog it is located in, and its position there."""

    change: CatalogChange
    catalog: Catalog
    span: Span
    line: int
    column: int


def report_changes(old: Catalog, new: Catalog, changes: list[CatalogChange]) -> list[ReportedFinding]:
    """Return every change with its location: in the new catalog, or in the old one for removed items."""
    seen: Counter[tuple[str, ...]] = Counter()
    reported = []
    lines = SourceLines()
    for located in _located(old, new, changes):
        change, catalog = located.change, located.catalog
        key = (change.kind.id, change.item.kind, change.item.given_name, change.pointer)
        finding = _finding(located, fingerprint=identity_of(*key, str(seen[key])))
        seen[key] += 1
        if catalog.source is not None:
            source = locate(catalog, _document_pointer(change))
            finding = finding._replace(
                file=source.file,
                line=source.line,
                column=source.column,
                end_column=source.end_column,
                snippet=lines.snippet(source),
            )
        reported.append(finding)
    return reported


def _located(old: Catalog, new: Catalog, changes: list[CatalogChange]) -> list[_LocatedChange]:
    """Locate all changes, each document in one pass; in the order given."""
    found: dict[int, _LocatedChange] = {}
    for catalog in (old, new):
        indexes = [index for index, change in enumerate(changes) if change.is_old == (catalog is old)]
        spans = find_spans(catalog.document, [_document_pointer(changes[index]) for index in indexes])
        anchors = sorted({span.anchor for span in spans})
        positions = dict(zip(anchors, catalog.document.positions(anchors), strict=True))
        for index, span in zip(indexes, spans, strict=True):
            found[index] = _LocatedChange(changes[index], catalog, span, *positions[span.anchor])
    return [found[index] for index in range(len(changes))]


def _document_pointer(change: CatalogChange) -> str:
    if not change.pointer and change.item.name:
        return f"{change.item.pointer}/name"
    return change.item.pointer + change.pointer


def _finding(located: _LocatedChange, fingerprint: str) -> ReportedFinding:
    change, catalog, line, column = located.change, located.catalog, located.line, located.column
    item, origin = change.item, catalog.origin
    snippet = snippet_at(catalog.document, column, located.span)
    return ReportedFinding(
        rule=kind_facts(change.kind, change.breaking),
        item=item.subject,
        item_pointer=item.pointer,
        subject=f"parameter:{change.parameter}" if change.parameter is not None else item.subject,
        pointer=change.pointer,
        message=change.message,
        evidence=None,
        file=catalog.name if origin is None else origin.file,
        line=line if origin is None else origin.line,
        column=column if origin is None else None,
        fix=None,
        fingerprint=fingerprint,
        end_column=column + max(1, snippet.end - snippet.start) if origin is None else None,
        snippet=snippet,
    )


def kind_facts(kind: ChangeKind, breaking: bool | None) -> RuleFacts:
    """Return a kind of change in the shape of a rule, with the severity of this change."""
    severity = CHANGE_SEVERITIES[breaking]
    return RuleFacts(
        id=kind.id,
        name=kind.id,
        ruleset="diff",
        category="change",
        severity=severity,
        level=level_of(severity),
        fault=None,
        fixable=False,
        needs_language_model=False,
        since=kind.since,
        summary=kind.summary,
        why=kind.why,
        fix=kind.advice,
    )

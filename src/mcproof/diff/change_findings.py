"""Build reported findings from the changes between two catalogs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mcproof.linting.finding import identity_of, level_of
from mcproof.results.build import find_spans, snippet_at
from mcproof.results.findings import CHANGE_SEVERITIES, ReportedFinding, RuleFacts
from mcproof.results.source_locations import SourceLines, place_at

if TYPE_CHECKING:
    from mcproof.catalog.model import Catalog
    from mcproof.diff.change_kinds import ChangeKind
    from mcproof.diff.changes import CatalogChange


def report_changes(old: Catalog, new: Catalog, changes: list[CatalogChange]) -> list[ReportedFinding]:
    """Return every change with its location: in the new catalog, or in the old one for what is gone."""
    places = {}
    for catalog in (old, new):
        mine = [at for at, change in enumerate(changes) if change.is_old == (catalog is old)]
        pointers = [_place(changes[at]) for at in mine]
        spans = find_spans(catalog.document, pointers)
        anchors = sorted({span.anchor for span in spans})
        positions = dict(zip(anchors, catalog.document.positions(anchors), strict=True))
        for at, span in zip(mine, spans, strict=True):
            places[at] = (catalog, span, positions[span.anchor])
    seen: dict[tuple[str, ...], int] = {}
    reported = []
    texts = SourceLines()
    for at, change in enumerate(changes):
        catalog, span, (line, column) = places[at]
        item, origin = change.item, catalog.origin
        snippet = snippet_at(catalog.document, line, column, span)
        key = (change.kind.id, item.kind, item.given_name, change.pointer)
        twin = seen[key] = seen.get(key, -1) + 1
        each = ReportedFinding(
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
            fingerprint=identity_of(*key, str(twin)),
            end_column=column + max(1, snippet.end - snippet.start) if origin is None else None,
            snippet=snippet,
        )
        if catalog.source is not None:
            place = place_at(catalog, _place(change))
            each = each._replace(
                file=place.file,
                line=place.line,
                column=place.column,
                end_column=place.end_column,
                snippet=texts.snippet(place),
            )
        reported.append(each)
    return reported


def _place(change: CatalogChange) -> str:
    if not change.pointer and change.item.name:
        return f"{change.item.pointer}/name"
    return change.item.pointer + change.pointer


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

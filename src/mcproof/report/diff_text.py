"""What changed between two catalogs, as a report and for people."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mcproof.console import plural
from mcproof.linting.finding import identity_of, level_of
from mcproof.report.text import place_of
from mcproof.results.build import find_spans, snippet_at
from mcproof.results.model import Reported, RuleFacts
from mcproof.results.source_locations import SourceLines, place_at

if TYPE_CHECKING:
    from collections.abc import Iterator

    from mcproof.catalog.model import Catalog
    from mcproof.console import Style
    from mcproof.diff.change_kinds import ChangeKind
    from mcproof.diff.changes import CatalogChange
    from mcproof.results.model import TargetReport

SEVERITIES = {True: "error", None: "warning", False: "note"}
"""How serious a change is, by whether it breaks callers."""

BREAKING: dict[str, bool | None] = {severity: breaking for breaking, severity in SEVERITIES.items()}
WORDS = {"error": "breaking", "warning": "cannot tell", "note": "compatible"}


def report_changes(old: Catalog, new: Catalog, changes: list[CatalogChange]) -> list[Reported]:
    """Every change with its place: in the new catalog, or in the old one for what is gone."""
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
        each = Reported(
            kind_facts(change.kind, change.breaking),
            item.subject,
            item.pointer,
            f"parameter:{change.parameter}" if change.parameter is not None else item.subject,
            change.pointer,
            change.message,
            None,
            catalog.name if origin is None else origin.file,
            line if origin is None else origin.line,
            column if origin is None else None,
            None,
            identity_of(*key, str(twin)),
            column + max(1, snippet.end - snippet.start) if origin is None else None,
            snippet,
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
    """A kind of change in the shape of a rule, as serious as this change is."""
    severity = SEVERITIES[breaking]
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


_MARKS = {"error": "!", "warning": "?", "note": " "}


def changes_text(report: TargetReport, format: str, style: Style) -> Iterator[str]:
    """The changes, by what they are about; then how many break callers."""
    about = None
    for each in report.findings:
        place = place_of(each, style)
        word = style.paint(WORDS[each.level], each.level)
        if format == "concise":
            whose = f"{style.text(each.label, 100)}: " if each.label else ""
            yield f"{place}: {word} {each.rule.id} {whose}{style.text(each.message)}\n"
            continue
        if (each.item, each.item_pointer) != about:
            yield ("" if about is None else "\n") + style.paint(style.text(each.label or "server", 100), "bold") + "\n"
            about = (each.item, each.item_pointer)
        mark = style.paint(_MARKS[each.level], each.level)
        yield f"  {mark} {style.text(each.message)} ({word})\n"
        yield "      " + style.paint(f"{each.rule.id}  {place}", "dim") + "\n"
    if format == "concise":
        return
    yield ("\n" if report.findings else "") + _summary(report, style)


def _summary(report: TargetReport, style: Style) -> str:
    between = f"from {style.text(report.compared_with or '?')} to {style.text(report.target)}"
    if not report.findings:
        return f"{style.paint(style.symbol('✓', 'ok:'), 'good')} no change {between}\n"
    levels = report.levels()
    counts = [style.paint(f"{levels[level]:,} {WORDS[level]}", level) for level in levels if levels[level]]
    return f"{plural(len(report.findings), 'change')} {between}: {', '.join(counts)}\n"

"""From a catalog and its findings to the values of the report: places, lines to show, edits, scores."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mcproof.linting.finding import fingerprints
from mcproof.results.model import (
    Deduction,
    Fix,
    Gain,
    Reported,
    RuleFacts,
    Score,
    Snippet,
    TextEdit,
)
from mcproof.text.json_positions import Span

if TYPE_CHECKING:
    from collections.abc import Sequence

    from mcproof.catalog.model import Catalog
    from mcproof.linting.finding import Finding
    from mcproof.linting.registry import Rule
    from mcproof.linting.suppression.ignores import Suppression
    from mcproof.scores.grade import Grade
    from mcproof.text.jsontext import JsonText, Position
    from mcproof.text.pointers import Pointer

BEFORE, AFTER = 100, 200
"""How much of a line a snippet keeps around the place; more than any terminal shows."""


def report_findings(
    catalog: Catalog,
    findings: list[Finding],
    suppressions: Sequence[Suppression | None] | None = None,
    *,
    lines: bool = False,
    identities: bool = False,
) -> list[Reported]:
    """Every finding with its place, in the order in which a reader of the file meets them.

    On demand with the line to show, and with the fingerprint and the fix as an edit of the file; not every format needs
    them, and they take longer than all the rest.
    """
    if catalog.source is not None:
        return _report_source(catalog, findings, suppressions, lines=lines, identities=identities)
    document, name, origin = catalog.document, catalog.name, catalog.origin
    asked = ["" if isinstance(finding.near, Span) else finding.place_pointer for finding in findings]
    spans = [
        finding.near if isinstance(finding.near, Span) else span
        for finding, span in zip(findings, find_spans(document, asked), strict=True)
    ]
    anchors = [span.anchor for span in spans]
    order = sorted(range(len(findings)), key=anchors.__getitem__)
    positions = document.positions([anchors[at] for at in order])
    facts: dict[Rule, RuleFacts] = {}
    reported = []
    for at, (line, column) in zip(order, positions, strict=True):
        finding = findings[at]
        file, line_of = (name, line) if origin is None else (origin.file, origin.line)
        reported.append(_reported(finding, facts, file, line_of, column if origin is None else None))
    if suppressions is not None:
        reported = [
            each if suppressions[at] is None else each._replace(suppression=suppressions[at])
            for at, each in zip(order, reported, strict=True)
        ]
    if lines:
        reported = [
            # Of a live server as a whole there is no line to show.
            each if origin is not None and not asked[at] else _with_line(document, spans[at], position, each)
            for at, position, each in zip(order, positions, reported, strict=True)
        ]
    return _with_identities(catalog, findings, order, reported) if identities else reported


def _report_source(
    catalog: Catalog,
    findings: list[Finding],
    suppressions: Sequence[Suppression | None] | None,
    *,
    lines: bool,
    identities: bool,
) -> list[Reported]:
    """The same for Python source, whose parts are written wherever their author put them."""
    from mcproof.linting.fixing.source_fix import may_be_fixed
    from mcproof.results.source_locations import SourceLines, placed

    assert catalog.source is not None  # noqa: S101 (whoever asks knows)
    places = placed(catalog, findings)
    order = sorted(range(len(findings)), key=lambda at: places[at].order)
    facts: dict[Rule, RuleFacts] = {}
    reported = []
    texts = SourceLines()
    for at in order:
        file, line, column, end = places[at]
        each = _reported(findings[at], facts, file, line, column)
        if each.fix is not None and not may_be_fixed(catalog.source, findings[at]):
            each = each._replace(fix=None)
        each = each._replace(end_column=end, suppression=None if suppressions is None else suppressions[at])
        reported.append(each._replace(snippet=texts.snippet(places[at])) if lines else each)
    return _with_identities(catalog, findings, order, reported) if identities else reported


def _reported(
    finding: Finding, facts: dict[Rule, RuleFacts], file: str, line: int | None, column: int | None
) -> Reported:
    """A finding at a place; the facts of each rule are made once."""
    item, fix = finding.item, finding.fix
    return Reported(
        facts.get(finding.rule) or facts.setdefault(finding.rule, rule_facts(finding.rule)),
        item.subject,
        item.pointer,
        finding.subject,
        finding.pointer,
        finding.message,
        finding.evidence,
        file,
        line,
        column,
        None if fix is None else Fix(fix.key, fix.value),
    )


def find_spans(document: JsonText, asked: list[Pointer]) -> list[Span]:
    """Where each of these stands, looked up in one pass over the text."""
    spans = document.spans(asked)
    if missing := {pointer for pointer in asked if pointer not in spans}:
        # A pointer to what is not there: show the nearest thing that is.
        around = {pointer: _ancestors(pointer) for pointer in missing}
        found = document.spans({ancestor for ancestors in around.values() for ancestor in ancestors})
        for pointer, ancestors in around.items():
            spans[pointer] = next(found[ancestor] for ancestor in ancestors if ancestor in found)
    return [spans[pointer] for pointer in asked]


def _ancestors(pointer: Pointer) -> list[Pointer]:
    """The pointers of all that contains a value, the nearest first; the last is the whole document."""
    tokens = pointer.split("/")
    return ["/".join(tokens[:length]) for length in range(len(tokens) - 1, 0, -1)] or [""]


def _with_line(document: JsonText, span: Span, position: Position, each: Reported) -> Reported:
    snippet = snippet_at(document, *position, span)
    end = None if each.column is None else each.column + max(1, snippet.end - snippet.start)
    return each._replace(snippet=snippet, end_column=end)


def _with_identities(
    catalog: Catalog, findings: list[Finding], order: list[int], reported: list[Reported]
) -> list[Reported]:
    """With a live server's findings there is no file to edit."""
    identities = fingerprints(findings)
    if catalog.source is not None:
        edits = _source_edits(catalog, findings, order, reported)
    else:
        edits = _edits(catalog.document, findings) if catalog.origin is None else {}
    return [
        each._replace(fingerprint=identities[at], fix=each.fix and each.fix._replace(edit=edits.get(at)))
        for at, each in zip(order, reported, strict=True)
    ]


def _source_edits(
    catalog: Catalog, findings: list[Finding], order: list[int], reported: list[Reported]
) -> dict[int, TextEdit]:
    """The same for Python source: of fixes that are certain, and change the file that the finding is in."""
    from mcproof.linting.fixing.source_fix import edits_by_finding

    files = {at: each.file for at, each in zip(order, reported, strict=True)}
    return {
        at: TextEdit(*edit.start, *edit.end, edit.replacement)
        for at, edit in edits_by_finding(catalog, findings).items()
        if edit.file == files[at]
    }


def _edits(document: JsonText, findings: list[Finding]) -> dict[int, TextEdit]:
    """What each fix changes in the file, by the number of its finding."""
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


def snippet_at(document: JsonText, line: int, column: int, span: Span) -> Snippet:
    """The line at a place, with the part of it that the span covers."""
    start, end = document.line_bounds(line)
    place = start + column - 1
    first, last = max(start, place - BEFORE), min(end, place + AFTER)
    marked_end = min(place + _highlighted(document.text, span), last)
    text = document.text[first:last]
    return Snippet(text, place - first, max(place, marked_end) - first, first > start, last < end)


def _highlighted(text: str, span: Span) -> int:
    """How many characters to point at: a member with its value, as far as both fit on one line."""
    length = span.end - span.anchor
    if length <= 60 and "\n" not in text[span.anchor : span.end]:
        return length
    if span.key >= 0:  # only the key: up to its colon
        closing = span.start
        while closing > span.key and text[closing - 1] != '"':
            closing -= 1
        return closing - span.key
    return 1


def rule_facts(rule: Rule) -> RuleFacts:
    """What a report says of a rule."""
    return RuleFacts(
        id=rule.id,
        name=rule.name,
        ruleset=rule.ruleset,
        category=rule.category,
        severity=rule.severity,
        level=rule.level,
        fault=rule.fault.id if rule.fault is not None else None,
        fixable=rule.fixable,
        needs_language_model=rule.needs_language_model,
        since=rule.since,
        summary=rule.summary,
        why=rule.why,
        fix=rule.advice,
        same_as=rule.same_as,
    )


def score_of(grade: Grade) -> Score:
    """A grade as the report has it."""
    return Score(
        grade.score,
        grade.letter,
        grade.word,
        grade.raw_score,
        grade.bonus,
        grade.short_descriptions,
        grade.is_empty,
        [Deduction(each.rule.id, each.rule.scheme_severity, each.times, each.points) for each in grade.deductions],
        [
            Gain(gain.deduction.rule.id, gain.remedy, gain.points, gain.deduction.points, gain.letter)
            for gain in grade.gains()
        ],
    )

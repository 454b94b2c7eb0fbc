"""Build reported findings from a catalog and its findings: locations, snippets, fixes."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

from mcproof.core.text.json_positions import Span
from mcproof.linting.finding import fingerprints
from mcproof.results.findings import FixFacts, RuleFacts, Snippet, reported_finding
from mcproof.results.shared_findings import number_twins

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from mcproof.core.catalog.model import Catalog
    from mcproof.core.text.json_document import JsonText, Position
    from mcproof.core.text.json_positions import Pointer
    from mcproof.linting.finding import Finding
    from mcproof.linting.registry import Rule
    from mcproof.linting.suppression.ignores import Suppression
    from mcproof.results.findings import ReportedFinding
    from mcproof.results.fix_edits import FileEdit

BEFORE, AFTER = 100, 200
"""How many characters of a line a snippet keeps around the location; more than any terminal shows."""


def report_findings(
    catalog: Catalog,
    findings: list[Finding],
    suppressions: Sequence[Suppression | None] | None = None,
    *,
    lines: bool = False,
    identities: bool = False,
    edits: Mapping[int, FileEdit] | None = None,
) -> list[ReportedFinding]:
    """Return every finding with its location, in the order of the file.

    Snippets and the numbers of shared findings (`lines`), fingerprints (`identities`) and fixes as `edits` of the file
    (see `fix_edits`) are optional: not every format needs them, and they take longer than everything else.
    """
    if catalog.source is not None:
        order, reported = _report_source(catalog, findings, lines=lines)
    else:
        order, reported = _report_document(catalog, findings, lines=lines)
    if suppressions is not None:
        reported = [
            each if suppressions[at] is None else each._replace(suppression=suppressions[at])
            for at, each in zip(order, reported, strict=True)
        ]
    if identities:
        known = fingerprints(findings)
        reported = [each._replace(fingerprint=known[at]) for at, each in zip(order, reported, strict=True)]
    if edits:
        reported = [_with_edit(each, edits.get(at)) for at, each in zip(order, reported, strict=True)]
    if lines and (twins := number_twins(findings)):
        reported = [
            each._replace(twins=twins[at]) if at in twins else each for at, each in zip(order, reported, strict=True)
        ]
    return reported


def _report_document(
    catalog: Catalog, findings: list[Finding], *, lines: bool
) -> tuple[list[int], list[ReportedFinding]]:
    """Report findings about a JSON document; also return the index of each in `findings`."""
    document, name, origin = catalog.document, catalog.name, catalog.origin
    known = {at: near for at, finding in enumerate(findings) if isinstance(near := finding.problem.near, Span)}
    pointers = ["" if at in known else finding.shown_pointer for at, finding in enumerate(findings)]
    spans = find_spans(document, pointers)
    for at, near in known.items():
        spans[at] = near
    anchors = [start if key < 0 else key for key, start, _ in spans]
    order = sorted(range(len(findings)), key=anchors.__getitem__)
    positions = document.positions([anchors[at] for at in order])
    reported = []
    for at, position in zip(order, positions, strict=True):
        if origin is None:
            each = _reported(findings[at], name, *position)
        else:
            each = _reported(findings[at], origin.file, origin.line, None)
        # A finding about a live server as a whole has no line to show.
        if lines and _shows_line(findings[at]) and (origin is None or pointers[at]):
            each = _with_line(document, spans[at], position, each)
        reported.append(each)
    return order, reported


def _report_source(
    catalog: Catalog, findings: list[Finding], *, lines: bool
) -> tuple[list[int], list[ReportedFinding]]:
    """Report findings about Python source; also return the index of each in `findings`."""
    from mcproof.linting.fixing.source_fix import may_be_fixed
    from mcproof.results.source_locations import SourceLines, locate_findings

    assert catalog.source is not None  # noqa: S101 (checked by the caller)
    locations = locate_findings(catalog, findings)
    order = sorted(range(len(findings)), key=lambda at: locations[at].order)
    reported = []
    texts = SourceLines()
    for at in order:
        file, line, column, end = locations[at]
        each = _reported(findings[at], file, line, column)._replace(end_column=end)
        if each.fix is not None and not may_be_fixed(catalog.source, findings[at]):
            each = each._replace(fix=None)
        is_shown = lines and _shows_line(findings[at])
        reported.append(each._replace(snippet=texts.snippet(locations[at])) if is_shown else each)
    return order, reported


def _shows_line(finding: Finding) -> bool:
    """Whether a report may quote the line of a finding; the line of a secret has the secret."""
    return not finding.rule.traits.get("withholds_line")


def _reported(finding: Finding, file: str, line: int | None, column: int | None) -> ReportedFinding:
    """Return a finding at a location."""
    rule, item, problem = finding
    fix, parameter, subject = problem.fix, problem.parameter, item.subject
    return reported_finding(
        rule=rule_facts(rule),
        item=subject,
        item_pointer=item.pointer,
        subject=subject if parameter is None else f"parameter:{parameter}",
        pointer=problem.at,
        message=problem.message,
        evidence=problem.evidence,
        file=file,
        line=line,
        column=column,
        fix=None if fix is None else FixFacts(fix.key, fix.value),
    )


def _with_edit(each: ReportedFinding, edit: FileEdit | None) -> ReportedFinding:
    """Attach the edit of a fix, if it changes the file that the finding is in."""
    if each.fix is None or edit is None or edit.file != each.file:
        return each
    return each._replace(fix=each.fix._replace(edit=edit.change))


def find_spans(document: JsonText, pointers: list[Pointer]) -> list[Span]:
    """Return the span of each pointer, in one pass over the text."""
    spans = document.spans(pointers)
    if missing := {pointer for pointer in pointers if pointer not in spans}:
        # A pointer to a missing value: use its nearest existing ancestor.
        around = {pointer: _ancestors(pointer) for pointer in missing}
        found = document.spans({ancestor for ancestors in around.values() for ancestor in ancestors})
        for pointer, ancestors in around.items():
            spans[pointer] = next(found[ancestor] for ancestor in ancestors if ancestor in found)
    return [spans[pointer] for pointer in pointers]


def _ancestors(pointer: Pointer) -> list[Pointer]:
    """Return the pointers of everything around a value, the nearest first; the last is the document."""
    tokens = pointer.split("/")
    return ["/".join(tokens[:length]) for length in range(len(tokens) - 1, 0, -1)] or [""]


def _with_line(document: JsonText, span: Span, position: Position, each: ReportedFinding) -> ReportedFinding:
    snippet = snippet_at(document, position.column, span)
    end = None if each.column is None else each.column + max(1, snippet.end - snippet.start)
    return each._replace(snippet=snippet, end_column=end)


def snippet_at(document: JsonText, column: int, span: Span) -> Snippet:
    """Return the line at a span, which starts in this column, with the part that the span covers highlighted."""
    place = span.anchor
    start, end = place - column + 1, document.line_end(place, AFTER)
    first, last = max(start, place - BEFORE), min(end, place + AFTER)
    marked_end = min(place + _highlighted(document.text, span), last)
    text = document.text[first:last]
    return Snippet(text, place - first, max(place, marked_end) - first, first > start, last < end)


def _highlighted(text: str, span: Span) -> int:
    """Return how many characters to highlight: a member with its value, if both fit on one line."""
    length = span.end - span.anchor
    if length <= 60 and "\n" not in text[span.anchor : span.end]:
        return length
    if span.key >= 0:  # only the key: up to its colon
        closing = span.start
        while closing > span.key and text[closing - 1] != '"':
            closing -= 1
        return closing - span.key
    return 1


@cache
def rule_facts(rule: Rule) -> RuleFacts:
    """Return the facts about a rule that reports show."""
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

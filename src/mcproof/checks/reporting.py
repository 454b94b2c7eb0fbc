"""Findings as people read them: with location, snippet and fix, grouped by rule and by shared definition.

Locations in JSON come from pointers, those in source from discovery: the parameter, the key or the string that
causes the finding. Every format takes its locations from here, SARIF too.
Why one habit is one group: docs/decisions/0040-text-shows-habits.md.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache
from marshal import dumps
from typing import TYPE_CHECKING

from mcproof.checks.findings import (
    LEVELS,
    Finding,
    FindingGroup,
    FixSummary,
    ReportedFinding,
    RuleSummary,
    Snippet,
    fingerprints,
)
from mcproof.core.named_tuple import NamedTuple
from mcproof.core.text.files import open_in_checkout
from mcproof.core.text.json_positions import Pointer, Span, resolve

if TYPE_CHECKING:
    from mcproof.checks.findings import Problem
    from mcproof.checks.fixes import FileEdit
    from mcproof.checks.ignores import Suppression
    from mcproof.checks.rule import Rule
    from mcproof.core.catalog.model import Catalog, Item
    from mcproof.core.text.json_document import JsonText


def written_item(item: Item, source: Catalog) -> Item | None:
    """The item of a source that a live server sends as `item`; None if the source shows none."""
    items: list[Item] = [*source.tools, *source.prompts, *source.resources, *source.templates]
    return next((written for written in items if written.subject == item.subject), None)


_NO_REFERENCES = 2
"""The newest version of `marshal` that writes equal values as equal bytes."""


def number_twins(findings: Sequence[Finding]) -> dict[int, int]:
    """Number the findings that several items share, by their index: same rule, message, pointer and schema there.

    A finding about a live server's behaviour has its own evidence, so it is not shared.
    """
    alike: dict[tuple[str, str, str], list[int]] = {}
    for index, (rule, _, problem) in enumerate(findings):
        if problem.at and rule.ruleset != "wire":
            alike.setdefault((rule.id, problem.at, problem.message), []).append(index)
    numbers: dict[int, int] = {}
    written: dict[int, bytes] = {}
    latest = 0
    for indices in alike.values():
        if len(indices) > 1:
            for twins in _by_content(findings, indices, written):
                # Two alike findings about one tool are two places to repair; only what several tools carry is one
                # definition.
                if len({findings[index].item.pointer for index in twins}) > 1:
                    latest += 1
                    numbers |= dict.fromkeys(twins, latest)
    return numbers


def _by_content(findings: Sequence[Finding], indices: list[int], written: dict[int, bytes]) -> list[list[int]]:
    """Group findings by the value that they point at; one that cannot be compared is left out.

    `written` keeps each value as bytes, by identity: several rules report the same schemas.
    """
    groups: dict[bytes, list[int]] = {}
    for at in indices:
        _, item, problem = findings[at]
        try:
            value = resolve(item.raw, problem.at)
            content = written.get(id(value))
            # Bytes are compared faster than nested values, and tell 1 from true.
            if content is None:
                content = written[id(value)] = dumps(value, _NO_REFERENCES)
        except (LookupError, ValueError):  # no such value, or nested too deeply
            continue
        groups.setdefault(content, []).append(at)
    return list(groups.values())


if TYPE_CHECKING:
    _Place = tuple[int, "FindingLocation", Snippet | None]
    """The index of a finding, where it is, and the line there."""

BEFORE, AFTER = 100, 200
"""How many characters of a line a snippet keeps around the location; more than any terminal shows."""


def report_findings(
    catalog: Catalog,
    findings: list[Finding],
    suppressions: Sequence[Suppression | None] | None = None,
    *,
    lines: bool = False,
    identities: bool = False,
    positions: bool = True,
    edits: Mapping[int, FileEdit] | None = None,
) -> list[ReportedFinding]:
    """Return every finding with its location, in the order of the file; without `positions`, as they were found.

    Snippets and the numbers of shared findings (`lines`), fingerprints (`identities`) and fixes as `edits` of the file
    (see `proven_edits`) are optional: not every format needs them, and they take longer than everything else.
    """
    places = _places_in_source if catalog.source is not None else _places_in_document if positions else _only_files
    identity_of = fingerprints(findings) if identities else None
    twins = number_twins(findings) if lines else {}
    reported = []
    for index, (file, line, column, end_column), snippet in places(catalog, findings, lines=lines):
        rule, item, problem = findings[index]
        subject, parameter = item.subject, problem.parameter
        reported.append(
            ReportedFinding(
                rule=rule_facts(rule),
                item=subject,
                item_pointer=item.pointer,
                subject=subject if parameter is None else f"parameter:{parameter}",
                pointer=problem.at,
                message=_with_fault(problem, rule) if rule.ruleset == "wire" else problem.message,
                evidence=problem.evidence,
                file=file,
                line=line,
                column=column,
                fix=None
                if problem.fix is None
                else _fix_of(catalog, findings[index], file, edits.get(index) if edits else None),
                fingerprint="" if identity_of is None else identity_of[index],
                end_column=end_column,
                snippet=snippet,
                suppression=None if suppressions is None else suppressions[index],
                twins=twins.get(index, 0),
            )
        )
    return reported


def _with_fault(problem: Problem, rule: Rule) -> str:
    """The message about a live server's behaviour with the id of its fault, which is in every format then."""
    return f"{problem.message} [{rule.fault.id}]" if rule.fault is not None else problem.message


def _places_in_document(catalog: Catalog, findings: list[Finding], *, lines: bool) -> Iterator[_Place]:
    """The places of findings in a JSON document, or at the endpoint of a live server."""
    document, origin = catalog.document, catalog.origin
    texts = SourceLines()
    given = {at: near for at, finding in enumerate(findings) if isinstance(near := finding.problem.near, Span)}
    pointers = ["" if at in given else finding.shown_pointer for at, finding in enumerate(findings)]
    spans = find_spans(document, pointers)
    for at, near in given.items():
        spans[at] = near
    anchors = [start if key < 0 else key for key, start, _ in spans]
    # In the order of the text, as lines and columns are counted in one pass over it:
    # docs/decisions/0016-positions-on-demand.md.
    order = sorted(range(len(findings)), key=anchors.__getitem__)
    for at, (line, column) in zip(order, document.positions([anchors[at] for at in order]), strict=True):
        near_code = findings[at].near
        if near_code is not None and not isinstance(near_code, (str, Span)):  # in the source of a started server
            place = FindingLocation(*near_code)
            yield at, place, texts.snippet(place) if lines and _shows_line(findings[at]) else None
            continue
        # A finding about a live server as a whole has no line to show.
        is_shown = lines and _shows_line(findings[at]) and (origin is None or pointers[at])
        snippet = snippet_at(document, column, spans[at]) if is_shown else None
        if origin is not None:
            yield at, FindingLocation(origin.file, origin.line, None, None), snippet
        else:
            end = None if snippet is None else column + max(1, snippet.end - snippet.start)
            yield at, FindingLocation(catalog.name, line, column, end), snippet


def _only_files(catalog: Catalog, findings: list[Finding], **_: bool) -> Iterator[_Place]:
    """Only the file of each finding."""
    return ((index, FindingLocation(catalog.name, None, None, None), None) for index in range(len(findings)))


def _places_in_source(catalog: Catalog, findings: list[Finding], *, lines: bool) -> Iterator[_Place]:
    """The places of findings in source."""
    locations = locate_findings(catalog, findings)
    texts = SourceLines()
    for at in sorted(range(len(findings)), key=lambda at: locations[at].order):
        yield at, locations[at], texts.snippet(locations[at]) if lines and _shows_line(findings[at]) else None


def _shows_line(finding: Finding) -> bool:
    """Whether a report may quote the line of a finding; the line of a secret has the secret."""
    return not finding.rule.traits.withholds_line


def _fix_of(catalog: Catalog, finding: Finding, file: str, edit: FileEdit | None) -> FixSummary | None:
    """The fix of a finding, with its edit if that changes the file that the finding is in."""
    if catalog.source is not None:
        from mcproof.checks.fixes.source import may_be_fixed

        # A fix that is offered and then refused would be worse than none.
        if not may_be_fixed(catalog.source, finding):
            return None
    change = edit.change if edit is not None and edit.file == file else None
    return None if finding.fix is None else FixSummary(finding.fix.key, finding.fix.value, change)


def find_spans(document: JsonText, pointers: list[Pointer]) -> list[Span]:
    """Return the span of each pointer, in one pass over the text."""
    spans = document.spans(pointers)
    if missing := {pointer for pointer in pointers if pointer not in spans}:
        # A pointer to a missing value: use its nearest existing ancestor.
        tokens = {pointer: pointer.split("/") for pointer in missing}
        around = {
            pointer: ["/".join(parts[:length]) for length in range(len(parts) - 1, 0, -1)] or [""]
            for pointer, parts in tokens.items()
        }
        existing = document.spans({ancestor for ancestors in around.values() for ancestor in ancestors})
        for pointer, ancestors in around.items():
            spans[pointer] = next(existing[ancestor] for ancestor in ancestors if ancestor in existing)
    return [spans[pointer] for pointer in pointers]


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
def rule_facts(rule: Rule) -> RuleSummary:
    """Return the facts about a rule that reports show."""
    return RuleSummary(
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


class FindingEntry(NamedTuple):
    """A finding to show, and the items that have the very same one."""

    shown: ReportedFinding
    also: list[str]
    """The ids of other rules that report the same, with what the fault does in clients."""
    items: list[str]
    """The names of the items, in the order of the file."""


class RuleGroup(NamedTuple):
    """The findings of one rule."""

    rule: RuleSummary
    entries: list[FindingEntry]

    @property
    def size(self) -> int:
        """How many findings the group has."""
        return count_findings(self.entries)


def count_findings(entries: Iterable[FindingEntry]) -> int:
    """Return how many findings entries stand for."""
    return sum(len(entry.items) for entry in entries)


def group_by_rule(groups: Iterable[FindingGroup], *, merges: bool = True) -> list[RuleGroup]:
    """Group findings by rule: the worst level first, then the most frequent, then in the order of the file.

    With `merges`, identical findings about several items are one entry.
    """
    by_rule: dict[str, RuleGroup] = {}
    by_twins: dict[int, FindingEntry] = {}
    for group in groups:
        shown, also = group.shown, group.also_in_words
        entry = by_twins.get(shown.twins) if merges and shown.twins else None
        if entry is not None and entry.also == also:
            entry.items.append(shown.label)
            continue
        entry = FindingEntry(shown, also, [shown.label])
        if shown.twins:
            by_twins[shown.twins] = entry
        by_rule.setdefault(shown.rule.id, RuleGroup(shown.rule, [])).entries.append(entry)
    return sorted(by_rule.values(), key=lambda group: (LEVELS.index(group.rule.level), -group.size))


class FindingLocation(NamedTuple):
    """The location of a finding in source; without a line if it is about no part of it."""

    file: str
    line: int | None
    column: int | None
    end_column: int | None

    @property
    def order(self) -> tuple[str, int, int]:
        return self.file, self.line or 0, self.column or 0


def locate_findings(catalog: Catalog, findings: list[Finding]) -> list[FindingLocation]:
    """Return the location of each finding: of its pointer, or of the nearest part around it that has one."""
    locations = []
    for finding in findings:
        near = finding.near
        if near is not None and not isinstance(near, (str, Span)):
            locations.append(FindingLocation(*near))
        else:
            locations.append(locate(catalog, near if isinstance(near, str) else finding.item.pointer + finding.pointer))
    return locations


def locate(catalog: Catalog, pointer: str) -> FindingLocation:
    """Return the location of a part of a catalog, or of what is around it; the name of the target if it has none."""
    source = catalog.source
    if source is not None and pointer.startswith("/problems/"):  # problems of discovery have their own places
        file, line, column, _ = source.problems[int(pointer.rpartition("/")[2])]
        return FindingLocation(file, line, column, None)
    while source is not None and pointer:
        if (location := source.locations.get(pointer)) is not None:
            return FindingLocation(*location)
        pointer = pointer.rpartition("/")[0]
    return FindingLocation(catalog.name, None, None, None)


class SourceLines:
    """The lines of source files, each file read once."""

    def __init__(self) -> None:
        self._lines: dict[str, list[str]] = {}

    def snippet(self, location: FindingLocation) -> Snippet | None:
        """Return the line of a location, with the part to highlight; None if there is none to show."""
        if location.line is None or location.column is None:
            return None
        lines = self._read(location.file)
        if location.line > len(lines):
            return None
        text = lines[location.line - 1].rstrip("\r\n")
        start = min(location.column - 1, len(text))
        end = min(location.end_column - 1, len(text)) if location.end_column is not None else len(text)
        first, last = max(0, start - BEFORE), min(len(text), start + AFTER)
        marked = max(start, min(end, last))
        return Snippet(text[first:last], start - first, marked - first, first > 0, last < len(text))

    def _read(self, file: str) -> list[str]:
        if file not in self._lines:
            import tokenize

            try:
                with open(file, "rb", opener=open_in_checkout) as data:
                    # As Python reads it: columns must be those that the author sees.
                    encoding, _ = tokenize.detect_encoding(data.readline)
                with open(file, encoding=encoding, errors="replace", newline="", opener=open_in_checkout) as text:
                    self._lines[file] = text.read().splitlines(keepends=True)
            except (OSError, SyntaxError, LookupError):
                # Deleted meanwhile, or in an encoding that Python does not know: shown without its line.
                self._lines[file] = []
        return self._lines[file]

"""A change between two catalogs, the parts that it can be about, and its place in a finding.

Items are matched by their identifiers. Parts that only running the source would reveal are left out of both tools,
because a missing part is not a removed one.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterator, Sequence
from inspect import cleandoc
from typing import Any, Generic, TypeVar

from mcproof.checks.diff.documents import json_key
from mcproof.checks.diff.kinds import CHANGE_KINDS, ChangeKind
from mcproof.checks.findings import CHANGE_SEVERITIES, ReportedFinding, RuleSummary, Snippet, identity_of, level_of
from mcproof.checks.reporting import FindingLocation, SourceLines, find_spans, locate, snippet_at
from mcproof.core.catalog.model import CONDITIONAL, Catalog, Item, Tool
from mcproof.core.named_tuple import NamedTuple
from mcproof.core.text.json_positions import Span, unescape


def report_changes(old: Catalog, new: Catalog, changes: list[CatalogChange]) -> list[ReportedFinding]:
    """Return every change with its location: in the new catalog, or in the old one for removed items."""
    findings: dict[int, ReportedFinding] = {}
    lines = SourceLines()
    # A position costs a pass over the text, so all of a document are computed at once:
    # docs/decisions/0016-positions-on-demand.md.
    for catalog in (old, new):
        indexes = [index for index, change in enumerate(changes) if change.is_old == (catalog is old)]
        spans = find_spans(catalog.document, [_document_pointer(changes[index]) for index in indexes])
        anchors = sorted({span.anchor for span in spans})
        positions = dict(zip(anchors, catalog.document.positions(anchors), strict=True))
        for index, span in zip(indexes, spans, strict=True):
            findings[index] = _finding(changes[index], catalog, span, *positions[span.anchor], lines)
    seen: Counter[tuple[str, ...]] = Counter()
    reported = []
    for index, change in enumerate(changes):
        key = (change.kind.id, change.item.kind, change.item.given_name, change.pointer)
        # Twins get a number, so that each has an identity: docs/decisions/0006-finding-identity.md.
        reported.append(findings[index]._replace(fingerprint=identity_of(*key, str(seen[key]))))
        seen[key] += 1
    return reported


def _document_pointer(change: CatalogChange) -> str:
    if not change.pointer and change.item.name:
        return f"{change.item.pointer}/name"
    return change.item.pointer + change.pointer


def _finding(
    change: CatalogChange, catalog: Catalog, span: Span, line: int, column: int, lines: SourceLines
) -> ReportedFinding:
    """A change at its location: in the document, in source, or at the endpoint of a live server."""
    item, origin = change.item, catalog.origin
    snippet = snippet_at(catalog.document, column, span)
    shown: Snippet | None = snippet
    place = FindingLocation(catalog.name, line, column, column + max(1, snippet.end - snippet.start))
    if catalog.source is not None:
        place = locate(catalog, _document_pointer(change))
        shown = lines.snippet(place)
    elif origin is not None:
        place = FindingLocation(origin.file, origin.line, None, None)
    return ReportedFinding(
        rule=kind_facts(change.kind, change.breaking),
        item=item.subject,
        item_pointer=item.pointer,
        subject=f"parameter:{change.parameter}" if change.parameter is not None else item.subject,
        pointer=change.pointer,
        message=change.message,
        evidence=None,
        file=place.file,
        line=place.line,
        column=place.column,
        fix=None,
        end_column=place.end_column,
        snippet=shown,
    )


def kind_facts(kind: ChangeKind, breaking: bool | None) -> RuleSummary:
    """Return a kind of change in the shape of a rule, with the severity of this change."""
    severity = CHANGE_SEVERITIES[breaking]
    return RuleSummary(
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


class CatalogChange(NamedTuple):
    """One difference between two catalogs."""

    kind: ChangeKind
    breaking: bool | None
    """Whether callers break; None if unknown."""
    message: str
    """The change as a predicate, with both values if they are short."""
    item: Item
    """The changed item of the new catalog, or of the old one if `is_old`."""
    is_old: bool
    """Whether item and pointer belong to the old catalog, as for everything that was removed."""
    pointer: str = ""
    """Relative to the item: `/inputSchema/properties/limit`."""
    parameter: str | None = None

    @classmethod
    def of(
        cls,
        kind: str,
        breaking: bool | None,
        message: str,
        item: Item,
        pointer: str = "",
        *,
        is_old: bool = False,
        parameter: str | None = None,
    ) -> CatalogChange:
        """Construct a change from the id of its kind."""
        return cls(CHANGE_KINDS[kind], breaking, message, item, is_old, pointer, parameter)


class ComparableTools(NamedTuple):
    """Two tools without the parts that are unknown in either."""

    old: Tool
    new: Tool
    doubtful_members: frozenset[str] = frozenset()
    """Members in which a difference may come from an unknown part."""


def is_conditional(item: Item) -> bool:
    """Whether an item from source code is served only under an unknown condition."""
    meta = item.fields.get("_meta")
    return isinstance(meta, dict) and CONDITIONAL in meta


def may_be_incomplete(catalog: Catalog, list_key: str) -> bool:
    """Whether a catalog from source code may lack items of a list."""
    source = catalog.source
    return source is not None and (bool(source.problems) or list_key in source.incomplete_lists)


def served_members(item: Item) -> dict[str, Any]:
    """The members that a server would send: without the mark of conditional items."""
    fields = item.fields
    meta = fields.get("_meta")
    if not isinstance(meta, dict) or CONDITIONAL not in meta:
        return fields
    served_meta = {key: value for key, value in meta.items() if key != CONDITIONAL}
    others = {key: value for key, value in fields.items() if key != "_meta"}
    return {**others, "_meta": served_meta} if served_meta else others


def comparable_tools(old: Tool, new: Tool) -> ComparableTools:
    """Remove the parts of two tools that are unknown in either."""
    unknown = {pointer for tool in (old, new) if tool.source is not None for pointer in tool.source.unknown}
    if old.source is not None or new.source is not None:
        before, after = old.fields.get("description"), new.fields.get("description")
        # Python 3.13 strips the indentation of docstrings.
        if (
            isinstance(before, str)
            and isinstance(after, str)
            and before != after
            and cleandoc(before) == cleandoc(after)
        ):
            new = _with_fields(new, {**new.fields, "description": before})
    if not unknown or not old.is_object or not new.is_object:
        return ComparableTools(old, new)
    # Nothing is known of one tool as a whole. A tool compared with itself has no changes.
    if "" in unknown:
        return ComparableTools(old, old)
    pointers = sorted(unknown)
    (old_fields, old_missing), (new_fields, new_missing) = (_without(tool.fields, pointers) for tool in (old, new))
    doubtful = frozenset(pointer.split("/", 2)[1] for pointer in old_missing | new_missing)
    return ComparableTools(_with_fields(old, old_fields), _with_fields(new, new_fields), doubtful)


def _with_fields(tool: Tool, fields: dict[str, Any]) -> Tool:
    return Tool(fields, tool.pointer, tool.index)


def _without(fields: dict[str, Any], pointers: list[str]) -> tuple[dict[str, Any], set[str]]:
    """Return a copy without the values at some pointers, and the pointers that do not exist.

    A list that contains such a value is removed as a whole. Only changed objects are copied.
    """
    root = dict(fields)
    copied = {id(root)}
    missing: set[str] = set()
    for pointer in pointers:
        tokens = [unescape(token) for token in pointer.split("/")[1:]]
        parent, parent_key = root, ""
        for token in tokens[:-1]:
            child = parent.get(token)
            if isinstance(child, list):
                del parent[token]
                break
            if not isinstance(child, dict):
                if parent_key != "properties":  # a property that the other tool lacks is not doubtful
                    missing.add(pointer)
                break
            if id(child) not in copied:
                child = parent[token] = dict(child)
                copied.add(id(child))
            parent, parent_key = child, token
        else:
            parent.pop(tokens[-1], None)
    return root, missing


AnyItem = TypeVar("AnyItem", bound=Item)


class MatchedItems(NamedTuple, Generic[AnyItem]):
    """The new items, each with its old counterpart if there is one, and the removed items."""

    new: list[tuple[AnyItem | None, AnyItem]]
    removed: list[AnyItem]


def match_items(old: Sequence[AnyItem], new: Sequence[AnyItem], key: str) -> MatchedItems[AnyItem]:
    """Match items by an identifying member; items without it are matched with each other."""
    before, after = _grouped(old, key), _grouped(new, key)
    partners = {
        id(item): partner
        for identity, items in after.items()
        for partner, item in _paired(before.get(identity, []), items)
    }
    matched = {id(item) for item in partners.values()}  # by identity, since items may be equal
    return MatchedItems(
        [(partners.get(id(item)), item) for item in new], [item for item in old if id(item) not in matched]
    )


def _grouped(items: Sequence[AnyItem], key: str) -> dict[str | None, list[AnyItem]]:
    groups: dict[str | None, list[AnyItem]] = {}
    for item in items:
        value = item.fields.get(key)
        groups.setdefault(value if isinstance(value, str) else None, []).append(item)
    return groups


def _paired(old: list[AnyItem], new: list[AnyItem]) -> Iterator[tuple[AnyItem, AnyItem]]:
    """Pair items with the same identifier: equal ones first, then the others in order."""
    if len(old) == len(new) == 1:
        yield old[0], new[0]
        return
    by_content: dict[Hashable, list[AnyItem]] = {}
    for item in reversed(old):  # so that `pop` takes equal items in their order
        by_content.setdefault(json_key(item.raw), []).append(item)
    matched, unmatched = set(), []
    for item in new:
        if equal := by_content.get(json_key(item.raw)):
            matched.add(id(equal[-1]))
            yield equal.pop(), item
        else:
            unmatched.append(item)
    # Not strict: what remains in the longer list was added or removed.
    yield from zip((item for item in old if id(item) not in matched), unmatched, strict=False)

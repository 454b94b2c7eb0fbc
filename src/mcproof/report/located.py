"""Findings with their places in the file, in the order in which a reader meets them."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from mcproof.finding import LEVELS
from mcproof.jsontext import Span

if TYPE_CHECKING:
    from mcproof.catalog import Catalog
    from mcproof.finding import Finding
    from mcproof.jsontext import Pointer, Position


class Located(NamedTuple):
    """A finding and where it stands in the file."""

    finding: Finding
    span: Span
    position: Position


def locate(catalog: Catalog, findings: list[Finding]) -> list[Located]:
    """Look up the place of every finding in one pass, and sort by place."""
    document = catalog.document
    asked = ["" if isinstance(finding.near, Span) else finding.place_pointer for finding in findings]
    spans = document.spans(asked)
    if missing := {pointer for pointer in asked if pointer not in spans}:
        # A pointer to what is not there: show the nearest thing that is.
        around = {pointer: _ancestors(pointer) for pointer in missing}
        found = document.spans({ancestor for ancestors in around.values() for ancestor in ancestors})
        for pointer, ancestors in around.items():
            spans[pointer] = next(found[ancestor] for ancestor in ancestors if ancestor in found)
    placed = [
        finding.near if isinstance(finding.near, Span) else spans[at]
        for finding, at in zip(findings, asked, strict=True)
    ]
    anchors = [span.anchor for span in placed]
    order = sorted(range(len(findings)), key=anchors.__getitem__)
    positions = document.positions([anchors[number] for number in order])
    return [Located(findings[at], placed[at], position) for at, position in zip(order, positions, strict=True)]


def _ancestors(pointer: Pointer) -> list[Pointer]:
    """The pointers of all that contains a value, the nearest first; the last is the whole document."""
    tokens = pointer.split("/")
    return ["/".join(tokens[:length]) for length in range(len(tokens) - 1, 0, -1)] or [""]


class Group(NamedTuple):
    """What people see once: a finding, and the ids of other rules that say the same of the same place."""

    shown: Located
    also: list[str]


def group_by_fault(located: list[Located]) -> list[Group]:
    """Put findings together that report one fault at one place, the most serious in front."""
    groups: dict[tuple[object, ...], list[Located]] = {}
    for position, each in enumerate(located):
        finding = each.finding
        key: tuple[object, ...] = (position,)
        if finding.rule.fault is not None:
            key = (finding.rule.fault.id, id(finding.item), finding.pointer)
        groups.setdefault(key, []).append(each)
    result = []
    for members in groups.values():
        shown = min(members, key=lambda each: LEVELS.index(each.finding.level))
        result.append(Group(shown, [each.finding.rule.id for each in members if each is not shown]))
    return result

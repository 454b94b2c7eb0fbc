"""Match the items of two catalogs by their identifiers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Generic, NamedTuple, TypeVar

from mcproof.core.catalog.model import Item
from mcproof.diff.equality import json_key

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterator, Sequence

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
    matched = {id(item) for item in partners.values()}
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
    for item in reversed(old):
        by_content.setdefault(json_key(item.raw), []).append(item)
    matched, unmatched = set(), []
    for item in new:
        if equal := by_content.get(json_key(item.raw)):
            matched.add(id(equal[-1]))
            yield equal.pop(), item
        else:
            unmatched.append(item)
    yield from zip((item for item in old if id(item) not in matched), unmatched, strict=False)

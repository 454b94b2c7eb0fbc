"""Compare a catalog with an earlier version of it.

Hashes decide what changed, so every difference counts. Where `diff` knows what a change of a schema means for callers,
its words are used.
"""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING, Any

from mcproof.diff.change_wording import names_text
from mcproof.diff.compare_catalogs import compare_catalogs
from mcproof.diff.equality import changed_keys
from mcproof.diff.item_matching import match_items
from mcproof.diff.server_changes import instructions_in
from mcproof.drift.catalog_drift import CatalogDrift, Difference
from mcproof.drift.newly_fired import newly_fired
from mcproof.drift.part_differences import ABSENT, changed_places, difference
from mcproof.drift.surface_hashes import (
    OTHER,
    PARTS,
    hash_of,
    item_hash,
    known_parts,
    parts_of,
    server_name,
    surface_hash,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from mcproof.core.catalog.model import Catalog, Item
    from mcproof.diff.changes import CatalogChange
    from mcproof.drift.catalog_drift import DriftKind

_WORDS = {"inputSchema": "input schema", "outputSchema": "output schema"}
_KIND_OF_PART: dict[str, DriftKind] = {"description": "description", "inputSchema": "schema", "outputSchema": "schema"}
_SCHEMAS = ("inputSchema", "outputSchema")
_MOST_REASONS = 3
_LONGEST_QUOTE = 160
_KEYS = {"resource": "uri", "template": "uriTemplate", "prompt": "name"}


def drift_against(catalog: Catalog, earlier: Catalog) -> CatalogDrift:
    """Return how a catalog differs from an earlier version of it.

    Only what both catalogs have is compared: a bare list of tools has no instructions and no other items.
    """
    parts = known_parts(catalog) & known_parts(earlier)
    found = list(_differences(catalog, earlier, parts))
    if found:
        found = newly_fired(catalog, earlier, found)
    prior, current = surface_hash(earlier, parts), surface_hash(catalog, parts)
    return CatalogDrift(reference=earlier.name, differences=found, prior_hash=prior, current_hash=current)


def _differences(new: Catalog, old: Catalog, parts: frozenset[str]) -> Iterator[Difference]:
    yield from _server_differences(new, old, parts)
    reasons = _Reasons(old, new)
    matches = match_items(old.tools, new.tools, "name")
    for before, after in matches.new:
        if before is None:
            yield _whole("new-tool", after, "is a new tool", is_new=True)
        else:
            yield from _part_differences(before, after, reasons)
    for tool in matches.removed:
        yield _whole("removed-tool", tool, "was removed", is_new=False)
    if "items" not in parts:
        return
    yield from _item_differences(old.resources, new.resources, reasons)
    yield from _item_differences(old.templates, new.templates, reasons)
    yield from _item_differences(old.prompts, new.prompts, reasons)


def _server_differences(new: Catalog, old: Catalog, parts: frozenset[str]) -> Iterator[Difference]:
    """Yield changes of the server's name and instructions."""
    (before, _), (after, pointer) = instructions_in(old), instructions_in(new)
    if "instructions" in parts and before != after:
        yield _changed("other", new.server, "instructions", before or None, after or None, pointer=pointer)
    before, after = server_name(old), server_name(new)
    if "name" in parts and before != after:
        pointer = new.server_info_pointer.removeprefix(new.server.pointer)
        yield _changed("other", new.server, "server name", before or None, after or None, pointer=pointer)


def _item_differences(old: Sequence[Item], new: Sequence[Item], reasons: _Reasons) -> Iterator[Difference]:
    """Yield the differences of resources, templates or prompts."""
    kind = next((item.kind for item in (*old, *new)), "prompt")
    matches = match_items(old, new, _KEYS[kind])
    for before, after in matches.new:
        if before is None:
            yield _whole("other", after, f"is a new {kind}", is_new=True)
        else:
            yield from _part_differences(before, after, reasons)
    for item in matches.removed:
        yield _whole("other", item, "was removed", is_new=False)


def _part_differences(before: Item, after: Item, reasons: _Reasons) -> Iterator[Difference]:
    """Yield one difference for each part that changed."""
    if item_hash(before) == item_hash(after):
        return
    old, new = parts_of(before), parts_of(after)
    if before.name != after.name:  # a resource, which its URI identifies
        yield _changed("other", after, "name", before.name or None, after.name or None)
    for part in (*PARTS, OTHER):
        if part not in old and part not in new:
            continue
        if part in old and part in new and hash_of(old[part]) == hash_of(new[part]):
            continue
        kind = _KIND_OF_PART.get(part, "other") if after.kind == "tool" else "other"
        yield _changed(kind, after, part, old.get(part), new.get(part), detail=reasons.about(after, part))


def _changed(
    kind: DriftKind, item: Item, part: str, before: Any, after: Any, *, pointer: str | None = None, detail: str = ""
) -> Difference:
    """Return the difference of a part; None stands for an absent one."""
    happened = "changed" if before is not None and after is not None else "removed" if after is None else "added"
    return Difference(
        kind=kind,
        item=item,
        part=part,
        summary=f"{_WORDS.get(part, part) if part != OTHER else _changed_members(before, after)} {happened}",
        detail=": ".join(filter(None, (detail, _quoted(before, after)))),
        pointer=item.pointer_to(part) if pointer is None else pointer,
        prior_hash=None if before is None else hash_of(before),
        current_hash=None if after is None else hash_of(after),
        lines=difference(before, after),
    )


def _whole(kind: DriftKind, item: Item, summary: str, *, is_new: bool) -> Difference:
    """Return the difference of an item that was added or removed."""
    old, new = (None, item.raw) if is_new else (item.raw, None)
    return Difference(
        kind=kind,
        item=item,
        part="",
        summary=summary,
        detail="",
        pointer="",
        prior_hash=None if is_new else item_hash(item),
        current_hash=item_hash(item) if is_new else None,
        lines=difference(_reviewed(old), _reviewed(new)),
    )


def _reviewed(raw: Any) -> Any:
    """Return what a reviewer reads first of a whole item: its description; the item itself if it has none."""
    return raw["description"] if isinstance(raw, dict) and isinstance(raw.get("description"), str) else raw


def _quoted(before: Any, after: Any) -> str:
    """Return the differing parts of two texts on one line; empty unless exactly one text changed."""
    if not isinstance(before, str | None) or not isinstance(after, str | None):
        places = list(islice(changed_places(before, after), 2))
        texts = [None if each is ABSENT else each for each in places[0][1:]] if len(places) == 1 else []
        return _quoted(*texts) if texts and all(isinstance(each, str | None) for each in texts) else ""
    shown = [" ".join(line[2:].split()) for line in difference(before, after)]
    cropped = [text if len(text) <= _LONGEST_QUOTE else f"{text[:_LONGEST_QUOTE]}…" for text in shown]
    return " → ".join(f'"{text}"' for text in cropped)


def _changed_members(before: Any, after: Any) -> str:
    """Return the names of the members that differ between two versions of the part for the others."""
    if not isinstance(before, dict | None) or not isinstance(after, dict | None):
        return "definition"
    return names_text(changed_keys(before or {}, after or {})[:_MOST_REASONS])


class _Reasons:
    """What changes of schemas mean for callers, computed only if there is one."""

    def __init__(self, old: Catalog, new: Catalog) -> None:
        self._catalogs = old, new
        self._changes: dict[int, list[CatalogChange]] | None = None

    def about(self, item: Item, part: str) -> str:
        """Return the first few changes of a schema; empty for other parts."""
        if part not in _SCHEMAS:
            return ""
        if self._changes is None:
            self._changes = _by_item(compare_catalogs(*self._catalogs))
        changes = self._changes.get(id(item), ())
        messages = [each.message for each in changes if each.pointer.startswith(f"/{part}")]
        more = f" and {len(messages) - _MOST_REASONS:,} more" if len(messages) > _MOST_REASONS else ""
        return f"{'; '.join(messages[:_MOST_REASONS])}{more}"


def _by_item(changes: Iterable[CatalogChange]) -> dict[int, list[CatalogChange]]:
    grouped: dict[int, list[CatalogChange]] = {}
    for each in changes:
        grouped.setdefault(id(each.item), []).append(each)
    return grouped

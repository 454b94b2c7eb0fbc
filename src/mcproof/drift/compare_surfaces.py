"""Compare a catalog with an earlier version of it.

Hashes decide what changed, so every difference counts. Where `diff` knows what a change of a schema means for callers,
its words are used.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from mcproof.diff.compare_catalogs import compare_catalogs
from mcproof.diff.item_matching import match_items
from mcproof.diff.server_changes import instructions_in
from mcproof.drift.catalog_drift import CatalogDrift, Difference
from mcproof.drift.newly_fired import newly_fired
from mcproof.drift.part_differences import difference
from mcproof.drift.surface_hashes import (
    OTHER,
    PARTS,
    hash_of,
    item_hash,
    lists_only_tools,
    parts_of,
    surface_hash,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from mcproof.catalog.model import Catalog, Item
    from mcproof.diff.changes import CatalogChange
    from mcproof.drift.catalog_drift import DriftKind

_WORDS = {
    "description": "description",
    "title": "title",
    "inputSchema": "input schema",
    "outputSchema": "output schema",
    "annotations": "annotations",
}
_KIND_OF_PART: dict[str, DriftKind] = {"description": "description", "inputSchema": "schema", "outputSchema": "schema"}
_MOST_REASONS = 3
_KEYS = {"resource": "uri", "template": "uriTemplate", "prompt": "name"}


def drift_against(catalog: Catalog, earlier: Catalog) -> CatalogDrift:
    """Return how a catalog differs from an earlier version of it.

    A bare list of tools says nothing about the server and its other items, so these are compared only if both catalogs
    have them.
    """
    tools_only = lists_only_tools(catalog) or lists_only_tools(earlier)
    with_server = catalog.describes_server and earlier.describes_server
    found = list(_differences(catalog, earlier, tools_only=tools_only))
    if found:
        found = newly_fired(catalog, earlier, found)
    prior, current = (
        surface_hash(each, tools_only=tools_only, with_server=with_server) for each in (earlier, catalog)
    )
    return CatalogDrift(reference=earlier.name, differences=found, prior_hash=prior, current_hash=current)


def _differences(new: Catalog, old: Catalog, *, tools_only: bool) -> Iterator[Difference]:
    yield from _server_differences(new, old)
    reasons = _Reasons(old, new)
    matches = match_items(old.tools, new.tools, "name")
    for before, after in matches.new:
        if before is None:
            yield _whole("new-tool", after, "is a new tool", is_new=True)
        else:
            yield from _part_differences(before, after, reasons)
    for tool in matches.removed:
        yield _whole("removed-tool", tool, "was removed", is_new=False)
    if tools_only:
        return
    yield from _item_differences(old.resources, new.resources, reasons)
    yield from _item_differences(old.templates, new.templates, reasons)
    yield from _item_differences(old.prompts, new.prompts, reasons)


def _server_differences(new: Catalog, old: Catalog) -> Iterator[Difference]:
    """Yield changes of the server's name and instructions, as far as both catalogs have them."""
    (before, _), (after, pointer) = instructions_in(old), instructions_in(new)
    if before != after and all(
        catalog.describes_server or text for catalog, text in ((old, before), (new, after))
    ):
        summary = f"instructions {_happened(before, after)}"
        yield _changed("other", new.server, pointer.removeprefix("/"), summary, before or None, after or None)
    if new.knows_server_info("name") and old.knows_server_info("name"):
        before, after = (str(each.server_info.get("name", "")) for each in (old, new))
        if before != after:
            yield _changed("other", new.server, "", f"server name {_happened(before, after)}", before, after)


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
    if before.raw == after.raw and item_hash(before) == item_hash(after):
        return
    old, new = parts_of(before), parts_of(after)
    if before.name != after.name:  # a resource, which its URI identifies
        yield _changed("other", after, "name", f"name {_happened(before.name, after.name)}", before.name, after.name)
    for part in (*PARTS, OTHER):
        if part not in old and part not in new:
            continue
        if part in old and part in new and hash_of(old[part]) == hash_of(new[part]):
            continue
        kind = _KIND_OF_PART.get(part, "other") if after.kind == "tool" else "other"
        words = _WORDS.get(part) or _names(old.get(part), new.get(part))
        summary = f"{words} {_happened(part in old, part in new)}{reasons.about(after, part)}"
        yield _changed(kind, after, part, summary, old.get(part), new.get(part))


def _happened(before: Any, after: Any) -> str:
    return "changed" if before and after else "added" if after else "removed"


def _names(old: Any, new: Any) -> str:
    """Return the changed members of the part without a name of its own."""
    if not isinstance(old, dict | None) or not isinstance(new, dict | None):
        return "definition"
    one, other = old or {}, new or {}
    changed = [key for key in {**other, **one} if key not in one or key not in other or one[key] != other[key]]
    return ", ".join(f"`{key[:40]}`" for key in changed[:_MOST_REASONS]) or "definition"


def _whole(kind: DriftKind, item: Item, summary: str, *, is_new: bool) -> Difference:
    """Return the difference of an item that was added or removed."""
    old, new = (None, item.raw) if is_new else (item.raw, None)
    return Difference(
        kind=kind,
        item=item,
        part="",
        summary=summary,
        prior_hash=None if is_new else item_hash(item),
        current_hash=item_hash(item) if is_new else None,
        lines=difference(_texts(old), _texts(new)),
    )


def _texts(raw: Any) -> Any:
    """Return what a reviewer reads first of a whole item: its description; the item itself if it has none."""
    return raw["description"] if isinstance(raw, dict) and isinstance(raw.get("description"), str) else raw


def _changed(kind: DriftKind, item: Item, part: str, summary: str, before: Any, after: Any) -> Difference:
    return Difference(
        kind=kind,
        item=item,
        part=part,
        summary=summary,
        prior_hash=None if before is None else hash_of(before),
        current_hash=None if after is None else hash_of(after),
        lines=difference(before, after),
    )


class _Reasons:
    """What changes of schemas mean for callers, computed only if there is one."""

    def __init__(self, old: Catalog, new: Catalog) -> None:
        self._catalogs = old, new
        self._changes: dict[int, list[CatalogChange]] | None = None

    def about(self, item: Item, part: str) -> str:
        """Return the first few changes of a schema, to follow a summary; empty for other parts."""
        if part not in ("inputSchema", "outputSchema"):
            return ""
        if self._changes is None:
            self._changes = _by_item(compare_catalogs(*self._catalogs))
        messages = [
            each.message
            for each in self._changes.get(id(item), ())
            if each.pointer.startswith(f"/{part}") and (each.kind.id.startswith("output-") is False)
        ]
        more = f" and {len(messages) - _MOST_REASONS:,} more" if len(messages) > _MOST_REASONS else ""
        return f": {'; '.join(messages[:_MOST_REASONS])}{more}" if messages else ""


def _by_item(changes: Iterable[CatalogChange]) -> dict[int, list[CatalogChange]]:
    grouped: dict[int, list[CatalogChange]] = {}
    for each in changes:
        grouped.setdefault(id(each.item), []).append(each)
    return grouped

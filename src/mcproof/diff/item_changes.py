"""Changes that all kinds of items have in common: texts, other members, doubtful removals."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from mcproof.core.text.json_positions import escape
from mcproof.diff.change_wording import names_text, text_change
from mcproof.diff.changes import CatalogChange
from mcproof.diff.comparable_parts import is_conditional, may_be_incomplete, served_members
from mcproof.diff.equality import changed_keys

if TYPE_CHECKING:
    from collections.abc import Iterator

    from mcproof.core.catalog.model import Catalog, Item

_HARMLESS_MEMBERS = frozenset({"_meta", "icons", "annotations", "size", "name"})
"""Members that do not affect how an item is used."""


def as_text(value: Any) -> str:
    """Return the value if it is a string, else an empty string."""
    return value if isinstance(value, str) else ""


def annotations_of(item: Item) -> dict[str, Any]:
    """The annotations of an item; empty if absent or malformed."""
    annotations = item.fields.get("annotations")
    return annotations if isinstance(annotations, dict) else {}


def removal_doubt(item: Item, new: Catalog) -> str | None:
    """Why it is unknown whether a missing item was removed; None if it was."""
    if may_be_incomplete(new, item.list_key):
        return "is not in the new catalog, whose source code was only partly analysed"
    if is_conditional(item):
        return "was removed; it was only served under a condition"
    return None


def text_changes(old: Item, new: Item) -> Iterator[CatalogChange]:
    """Yield changes of title and description."""
    before, after = (
        as_text(item.fields.get("title")) or as_text(annotations_of(item).get("title")) for item in (old, new)
    )
    if before != after:
        message = text_change("title", before, after)
        yield CatalogChange.of("title-changed", False, message, new, new.pointer_to("title"))
    before, after = (as_text(item.fields.get("description")) for item in (old, new))
    if before != after:
        message = text_change("description", before, after)
        yield CatalogChange.of("description-changed", False, message, new, new.pointer_to("description"))


def member_changes(old: Item, new: Item, compared: frozenset[str]) -> Iterator[CatalogChange]:
    """Yield changes of all other members: one for the harmless ones, one for those of unknown effect."""
    changed = [key for key in changed_keys(served_members(old), served_members(new)) if key not in compared]
    for keys, breaking in (
        ([key for key in changed if key in _HARMLESS_MEMBERS], False),
        ([key for key in changed if key not in _HARMLESS_MEMBERS], None),
    ):
        if keys:
            pointer = f"/{escape(keys[0])}" if keys[0] in new.fields else ""
            yield CatalogChange.of("metadata-changed", breaking, f"{names_text(keys)} changed", new, pointer)

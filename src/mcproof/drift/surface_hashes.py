"""Hashes of what a server offers: of each item, of each part of it, and of the whole.

A hash is of the canonical JSON text: the order of members and of items does not matter, everything else does.
"""

from __future__ import annotations

import json
from hashlib import sha256
from typing import TYPE_CHECKING, Any

from mcproof.core.errors import InputError
from mcproof.diff.server_changes import instructions_in

if TYPE_CHECKING:
    from collections.abc import Sequence

    from mcproof.core.catalog.model import Catalog, Item

OTHER = "other"
"""The part of an item that has all members without a part of their own."""
PARTS = ("description", "title", "inputSchema", "outputSchema", "annotations")
"""The members of an item that are hashed on their own, so that drift can be named."""
_LARGEST_FLOAT = 1.7976931348623157e308


def hash_of(value: Any) -> str:
    """Return the hash of a JSON value."""
    return f"sha256:{sha256(_canonical(value).encode('ascii')).hexdigest()}"


def _canonical(value: Any) -> str:
    """Return the canonical JSON text of a value: sorted members, no whitespace, ASCII."""
    try:
        try:
            return _compact(value)
        except ValueError:  # a number that is too large for a float
            return _compact(finite(value))
    except RecursionError:
        raise InputError("nested too deeply to hash") from None


def _compact(value: Any) -> str:
    return json.dumps(value, sort_keys=True, separators=(",", ":"), allow_nan=False)


def finite(value: Any) -> Any:
    """Return a copy of a JSON value with infinite numbers replaced by the largest finite ones."""
    if isinstance(value, dict):
        return {key: finite(each) for key, each in value.items()}
    if isinstance(value, list):
        return [finite(each) for each in value]
    return max(-_LARGEST_FLOAT, min(value, _LARGEST_FLOAT)) if isinstance(value, float) else value


def parts_of(item: Item) -> dict[str, Any]:
    """Return the parts of an item that are there, by name; the name of the item is in none of them."""
    if not item.is_object:
        return {OTHER: item.raw}
    parts = {key: item.fields[key] for key in PARTS if key in item.fields}
    rest = {key: value for key, value in item.fields.items() if key not in PARTS and key != "name"}
    return {**parts, OTHER: rest} if rest else parts


def part_hashes(item: Item) -> dict[str, str]:
    """Return the hash of each part of an item."""
    return {name: hash_of(value) for name, value in parts_of(item).items()}


def item_hash(item: Item) -> str:
    """Return the hash of an item with its name."""
    return hash_of(item.raw)


def known_parts(catalog: Catalog) -> frozenset[str]:
    """Return what a catalog has of a server: `tools`, other `items`, the `name`, the `instructions`.

    A bare list of tools has nothing else, and source code leaves some of it to the framework.
    """
    parts = {"tools"}
    if catalog.server.raw:
        parts.add("items")
    if catalog.knows_server_info("name"):
        parts.add("name")
    if catalog.describes_server or instructions_in(catalog)[0]:
        parts.add("instructions")
    return frozenset(parts)


def server_name(catalog: Catalog) -> str:
    """Return the name that a server reports; empty if there is none."""
    name = catalog.server_info.get("name")
    return name if isinstance(name, str) else ""


def surface_hash(catalog: Catalog, parts: frozenset[str]) -> str:
    """Return the hash of what a catalog offers, as far as it is in these parts.

    The version of the server is not part of it: a new version with the same surface needs no new review.
    """
    lists: list[Sequence[Item]] = [catalog.tools]
    lists += [catalog.resources, catalog.templates, catalog.prompts] if "items" in parts else []
    name = server_name(catalog) if "name" in parts else None
    instructions = instructions_in(catalog)[0] if "instructions" in parts else None
    return hash_of([name, instructions, *(sorted(map(item_hash, items)) for items in lists)])

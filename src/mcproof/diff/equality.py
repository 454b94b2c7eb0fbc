"""Whether two JSON values, or two schemas, say the same.

Schemas say the same if they differ only in notes, in the order of what has none, and in which definitions they
are spread over. A number is the same however it is written; `true` is not 1. Nothing here recurses.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, NamedTuple

from mcproof.diff.keywords import ASSERTIONS, DYNAMIC, SCHEMA_LISTS, SCHEMA_MAPS, SINGLE_SCHEMAS, unknown

if TYPE_CHECKING:
    from collections.abc import Hashable

    from mcproof.diff.schema_side import Side

_MOST_STEPS = 5_000
_MOST_HOPS = 100
_UNORDERED = frozenset({"type", "enum", "required"})


class Place(NamedTuple):
    """A schema and where it stands, as a pointer from the item."""

    schema: Any
    pointer: str


def same_json(one: Any, other: Any) -> bool:
    """Whether two values are the same JSON."""
    waiting = [(one, other)]
    while waiting:
        left, right = waiting.pop()
        if left is right:
            continue
        if type(left) is dict and type(right) is dict:
            if left.keys() != right.keys():
                return False
            waiting += [(value, right[key]) for key, value in left.items()]
        elif type(left) is list and type(right) is list:
            if len(left) != len(right):
                return False
            waiting += zip(left, right, strict=True)
        elif type(left) is bool or type(right) is bool or left != right:
            return False
    return True


def key_of(value: Any) -> Hashable:
    """Something that two values share if they are the same JSON, for sets and dictionaries."""
    if isinstance(value, (bool, dict, list)):
        try:
            return json.dumps(value, sort_keys=True)
        except (RecursionError, ValueError):
            return id(value)
    return ("text", value) if isinstance(value, str) else value


def asserts(schema: dict[str, Any]) -> list[str]:
    """The keywords of a schema that can refuse a value."""
    return [keyword for keyword in schema if keyword in ASSERTIONS]


def hops(side: Side, place: Place) -> list[Place]:
    """A schema, and what it stands for: where it does nothing but refer to another, that other one, and so on.

    What stands beside a `$ref` means nothing in the drafts before 2019-09.
    """
    found = [place]
    for _ in range(_MOST_HOPS):
        schema = place.schema
        if type(schema) is not dict:
            break
        keywords = ["$ref"] if "$ref" in schema and side.ignores_siblings else asserts(schema)
        if len(keywords) != 1:
            break
        if keywords[0] == "$ref":
            reference = side.reference(schema)
            if reference is None:
                break
            place = Place(reference.target, side.pointer_of(reference) or place.pointer)
        elif keywords[0] == "allOf" and isinstance(schema["allOf"], list) and len(schema["allOf"]) == 1:
            place = Place(schema["allOf"][0], f"{place.pointer}/allOf/0")
        else:
            break
        found.append(place)
    return found


def settled(side: Side, place: Place) -> Place:
    """What a schema stands for in the end."""
    return hops(side, place)[-1]


def unknown_on_the_way(side: Side, way: list[Place]) -> dict[str, Any]:
    """The members of unknown meaning of a schema and of those that it stands for; the first of a name counts."""
    members: dict[str, Any] = {}
    for place in reversed(way):
        if type(place.schema) is dict and not ("$ref" in place.schema and side.ignores_siblings):
            members |= unknown(place.schema)
    return members


def same_schema(old: tuple[Side, Any], new: tuple[Side, Any]) -> bool:
    """Whether two schemas say the same; no, if that would take too long to find out."""
    return _same(old[0], new[0], [(old[1], new[1])])


def same_keyword(keyword: str, old: tuple[Side, dict[str, Any]], new: tuple[Side, dict[str, Any]]) -> bool:
    """Whether a keyword says the same in two schemas."""
    (old_side, old_schema), (new_side, new_schema) = old, new
    if (keyword in old_schema) != (keyword in new_schema):
        return False
    pairs = _parts(keyword, old_schema.get(keyword), new_schema.get(keyword))
    return pairs is not None and _same(old_side, new_side, pairs)


def _same(old_side: Side, new_side: Side, waiting: list[tuple[Any, Any]]) -> bool:
    """Whether all these pairs of schemas say the same. A pair that comes round again is taken to."""
    met: set[tuple[int, int]] = set()
    for _ in range(_MOST_STEPS):
        if not waiting:
            return True
        old, new = waiting.pop()
        ways = hops(old_side, Place(old, "")), hops(new_side, Place(new, ""))
        if not same_json(unknown_on_the_way(old_side, ways[0]), unknown_on_the_way(new_side, ways[1])):
            return False
        old, new = (_as_dict(way[-1].schema) for way in ways)
        if type(old) is not dict or type(new) is not dict:
            if not same_json(old, new):
                return False
            continue
        if (id(old), id(new)) in met:
            continue
        met.add((id(old), id(new)))
        keywords = asserts(old)
        if set(keywords) != set(asserts(new)) or not DYNAMIC.isdisjoint(keywords):
            return False
        if "$ref" in keywords:
            targets = [side.reference(schema) for side, schema in ((old_side, old), (new_side, new))]
            if (targets[0] is None) != (targets[1] is None):
                return False
            if targets[0] is not None and targets[1] is not None:
                waiting.append((targets[0].target, targets[1].target))
                keywords.remove("$ref")
        for keyword in keywords:
            pairs = _parts(keyword, old[keyword], new[keyword])
            if pairs is None:
                return False
            waiting += pairs
    return False


def _as_dict(schema: Any) -> Any:
    return {} if schema is True else schema


def _parts(keyword: str, old: Any, new: Any) -> list[tuple[Any, Any]] | None:
    """The schemas in two values of a keyword, paired; None where the values differ in themselves."""
    if keyword in SCHEMA_MAPS and type(old) is dict and type(new) is dict:
        if old.keys() != new.keys():
            return None
        listed = [(value, new[name]) for name, value in old.items() if list in {type(value), type(new[name])}]
        if not all(same_json(*pair) for pair in listed):
            return None
        return [(value, new[name]) for name, value in old.items() if type(value) is not list]
    if keyword in SCHEMA_LISTS and type(old) is list and type(new) is list:
        return list(zip(old, new, strict=True)) if len(old) == len(new) else None
    if keyword in SINGLE_SCHEMAS and type(old) in {dict, bool} and type(new) in {dict, bool}:
        return [(old, new)]
    if keyword in _UNORDERED:
        return [] if _as_set(old) == _as_set(new) else None
    return [] if same_json(old, new) else None


def _as_set(value: Any) -> set[Hashable]:
    return set(map(key_of, value)) if isinstance(value, list) else {key_of(value)}

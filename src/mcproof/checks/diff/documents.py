"""Whether two JSON values or two schemas are equivalent.

Schemas are equivalent if they differ only in annotations, in the order of unordered lists, and in how they are divided
into definitions. Numbers are equal however they are written; `true` is not 1. Nothing here is recursive.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from mcproof.core.schema.keywords import DYNAMIC, SCHEMA_LISTS, SCHEMA_MAPS, SINGLE_SCHEMAS, assertions
from mcproof.diff.schema_document import Subschema, unknown_in_chain

if TYPE_CHECKING:
    from collections.abc import Hashable

    from mcproof.diff.schema_document import SchemaDocument

_MAX_STEPS = 5_000
_UNORDERED = frozenset({"type", "enum", "required"})


def same_json(one: Any, other: Any) -> bool:
    """Whether two values are equal as JSON."""
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


def changed_keys(old: dict[str, Any], new: dict[str, Any]) -> list[str]:
    """The keys of members that were added, removed or changed."""
    return [key for key in {**new, **old} if (key in old) != (key in new) or not same_json(old[key], new[key])]


def json_key(value: Any) -> Hashable:
    """A hashable key that is equal for values that are equal as JSON."""
    if isinstance(value, (bool, dict, list)):
        try:
            return json.dumps(value, sort_keys=True)
        except (RecursionError, ValueError):
            return id(value)
    return ("text", value) if isinstance(value, str) else value


def same_schema(old: Subschema, new: Subschema) -> bool:
    """Whether two schemas are equivalent; false if that takes too long to decide."""
    return _all_same(old.document, new.document, [(old.schema, new.schema)])


def same_keyword(keyword: str, old: Subschema, new: Subschema) -> bool:
    """Whether a keyword is equivalent in two schemas."""
    if (keyword in old.keywords) != (keyword in new.keywords):
        return False
    pairs = _subschema_pairs(keyword, old.keywords.get(keyword), new.keywords.get(keyword))
    return pairs is not None and _all_same(old.document, new.document, pairs)


def _all_same(old_document: SchemaDocument, new_document: SchemaDocument, waiting: list[tuple[Any, Any]]) -> bool:
    """Whether all these pairs of schemas are equivalent. A pair that recurs below itself is assumed to be."""
    seen: set[tuple[int, int]] = set()
    for _ in range(_MAX_STEPS):
        if not waiting:
            return True
        old_schema, new_schema = waiting.pop()
        old_chain = Subschema(old_document, old_schema, "").chain()
        new_chain = Subschema(new_document, new_schema, "").chain()
        if not same_json(unknown_in_chain(old_chain), unknown_in_chain(new_chain)):
            return False
        old, new = old_chain[-1], new_chain[-1]
        if not (_has_keywords(old.schema) and _has_keywords(new.schema)):
            if not same_json(old.schema, new.schema):
                return False
            continue
        key = (id(old.keywords), id(new.keywords))
        if key in seen:
            continue
        seen.add(key)
        pairs = _keyword_pairs(old, new)
        if pairs is None:
            return False
        waiting += pairs
    return False


def _has_keywords(schema: Any) -> bool:
    return schema is True or type(schema) is dict


def _keyword_pairs(old: Subschema, new: Subschema) -> list[tuple[Any, Any]] | None:
    """The pairs of subschemas that must be equivalent; None if the schemas differ otherwise."""
    keywords = assertions(old.keywords)
    if set(keywords) != set(assertions(new.keywords)) or not DYNAMIC.isdisjoint(keywords):
        return None
    found: list[tuple[Any, Any]] = []
    if "$ref" in keywords:
        old_target, new_target = old.target(), new.target()
        if (old_target is None) != (new_target is None):
            return None
        if old_target is not None and new_target is not None:
            found.append((old_target.schema, new_target.schema))
            keywords.remove("$ref")
    for keyword in keywords:
        pairs = _subschema_pairs(keyword, old.keywords[keyword], new.keywords[keyword])
        if pairs is None:
            return None
        found += pairs
    return found


def _subschema_pairs(keyword: str, old: Any, new: Any) -> list[tuple[Any, Any]] | None:
    """The pairs of subschemas in two values of a keyword; None if the values differ otherwise."""
    if keyword in SCHEMA_MAPS and type(old) is dict and type(new) is dict:
        if old.keys() != new.keys():
            return None
        lists = [(value, new[name]) for name, value in old.items() if list in {type(value), type(new[name])}]
        if not all(same_json(*pair) for pair in lists):
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
    return set(map(json_key, value)) if isinstance(value, list) else {json_key(value)}

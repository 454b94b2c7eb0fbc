"""Collect the marks of a schema: its keywords, and everything unusual about it.

They follow from the shapes that the walk of the schema collects, and from a look at the few values that shapes do not
show.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from mcproof.schema.schema_marks import DEEP, EXTERNAL, ODD, ODD_ENUM, ODD_KEY, UNDECLARED, UNTYPED
from mcproof.schema.schema_shapes import ENUM, REFERENCE_KEYWORDS, REQUIRED, distinct_texts, is_unusual_dialect

if TYPE_CHECKING:
    from mcproof.schema.tree import SchemaNode, SchemaTree

DEEP_LEVELS = 10
LONGEST_KEY = 64
_ELEMENTS = frozenset({"properties", "items", "prefixItems", "anyOf", "oneOf"})
_MOST_KEYS = 10_000
_SCALARS = frozenset({str, int, float, bool, type(None)})


def marks_in(tree: SchemaTree) -> frozenset[str]:
    """Return the keywords of a schema and of all schemas inside it, and marks for what is unusual."""
    marks = set(tree.unusual)
    for shape in tree.shapes:
        marks |= shape.marks
    if tree.deepest > DEEP_LEVELS:
        marks.add(DEEP)
    if "$schema" in tree.root and is_unusual_dialect(tree.root["$schema"]):
        marks.add(ODD)
    if tree.holders and any(map(_is_external, tree.holders)):
        marks.add(EXTERNAL)
    if tree.untyped and any(node.step and node.step[0] in _ELEMENTS for node in tree.untyped):
        marks.add(UNTYPED)
    return frozenset(marks)


def _is_external(holder: SchemaNode) -> bool:
    """Whether a schema has a reference that is not inside its own document."""
    texts = (holder.schema.get(keyword) for keyword in REFERENCE_KEYWORDS)
    return any(type(each) is str and not each.startswith("#") for each in texts)


_plain_keys: set[str] = set()
"""Names of properties that are known to be plain; the same names occur in many tools."""


def _is_plain_key(name: str) -> bool:
    is_plain = name.isidentifier() and name.isascii() and len(name) <= LONGEST_KEY
    if is_plain and len(_plain_keys) < _MOST_KEYS:
        _plain_keys.add(name)
    return is_plain


def mark_names(declared: dict[str, Any], marks: set[str]) -> None:
    """Mark names of properties that are not plain."""
    if not declared.keys() <= _plain_keys and not all(map(_is_plain_key, declared)):
        marks.add(ODD_KEY)


def mark_counts(schema: dict[str, Any], keywords: tuple[str, ...], marks: set[str]) -> None:
    """Mark numbers that must not be negative, and are, or are not whole numbers."""
    for keyword in keywords:
        if type(schema[keyword]) is not int or schema[keyword] < 0:
            marks.add(ODD)


def is_list_of_scalars(descent: int, value: Any, schema: dict[str, Any], marks: set[str]) -> bool:
    """Whether a value without schemas is a list of scalars; mark odd names in `required` and odd values of an enum."""
    if descent == REQUIRED:
        if _has_declared_names(value, schema.get("properties")):
            return True
        marks.add(ODD if distinct_texts(value) is None else UNDECLARED)
    elif descent == ENUM:
        names = distinct_texts(value)
        if names and "" not in names and schema.get("type", "string") == "string":
            return True
        marks.add(ODD_ENUM)
    return type(value) is list and _SCALARS.issuperset(map(type, value))


def _has_declared_names(required: list[Any], declared: Any) -> bool:
    """Whether a list has distinct names of declared properties."""
    if type(declared) is not dict:
        return False
    try:
        names = set(required)
    except TypeError:
        return False
    return len(names) == len(required) and names <= declared.keys()

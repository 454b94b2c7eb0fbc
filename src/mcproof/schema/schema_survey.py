"""Collect the marks of a schema: its keywords, and everything unusual about it.

They follow from the shapes that the walk of the schema collects, and from a look at the few values that shapes do not
show.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from mcproof.schema.schema_marks import DEEP, EXTERNAL, ODD, ODD_ENUM, ODD_KEY, UNDECLARED, UNTYPED
from mcproof.schema.schema_shapes import REFERENCE_KEYWORDS, distinct_texts, is_unusual_dialect

if TYPE_CHECKING:
    from mcproof.schema.tree import SchemaNode, SchemaTree

DEEP_LEVELS = 10
LONGEST_KEY = 64
_ELEMENTS = frozenset({"properties", "items", "prefixItems", "anyOf", "oneOf"})
_MOST_KEYS = 10_000
_NOTHING: dict[str, Any] = {}


def marks_in(tree: SchemaTree) -> frozenset[str]:
    """Return the keywords of a schema and of all schemas inside it, and marks for what is unusual."""
    marks: set[str] = set()
    for shape in tree.shapes:
        marks |= shape.marks
    if tree.has_other_values:
        marks.update((ODD, UNTYPED))
    if tree.deepest > DEEP_LEVELS:
        marks.add(DEEP)
    if "$schema" in tree.root and is_unusual_dialect(tree.root["$schema"]):
        marks.add(ODD)
    if any(map(_is_external, tree.holders)):
        marks.add(EXTERNAL)
    for node, shape in tree.remarkable:
        schema = node.schema
        if shape.lacks_type and node.step and node.step[0] in _ELEMENTS:
            marks.add(UNTYPED)
        declared = schema.get("properties", _NOTHING)
        if type(declared) is not dict:
            declared = _NOTHING  # odd by its type
        elif not declared.keys() <= _plain_keys and not all(map(_is_plain_key, declared)):
            marks.add(ODD_KEY)
        for keyword in shape.by_value:
            value = schema[keyword]
            if keyword == "required":
                _mark_required(value, declared, marks)
            elif keyword == "enum":
                _mark_enum(value, schema.get("type", "string"), marks)
            elif type(value) is not int or value < 0:
                marks.add(ODD)
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


def _mark_required(required: Any, declared: dict[str, Any], marks: set[str]) -> None:
    try:
        names = set(required)
    except TypeError:
        marks.add(ODD)
        return
    if len(names) == len(required) and names <= declared.keys():
        return  # distinct texts; a value that is not a list is odd by its type
    marks.add(ODD if distinct_texts(required) is None else UNDECLARED)


def _mark_enum(values: Any, kind: Any, marks: set[str]) -> None:
    names = distinct_texts(values)
    if not names or "" in names or kind != "string":
        marks.add(ODD_ENUM)
        if not values:
            marks.add(ODD)  # invalid in some dialects

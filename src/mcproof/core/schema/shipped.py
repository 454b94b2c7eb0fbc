"""The schemas that mcproof ships for files of users, and what in a value breaks one: each breach with its path.

A validator says that no alternative of `anyOf` matches; a user wants to know which word is wrong. Therefore the
alternative is chosen by the type of the value, and what a breach means is left to the reader of the format.
Why readers follow the schemas: docs/decisions/0068-readers-follow-schemas.md.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from functools import cache
from typing import Any

from mcproof.core.named_tuple import NamedTuple

Schema = dict[str, Any]
Path = tuple[str | int, ...]
"""The keys and indices from the top of a document to a value."""

_TYPES: dict[str, tuple[type, ...]] = {
    "object": (dict,),
    "array": (list,),
    "string": (str,),
    "boolean": (bool,),
    "integer": (int,),
    "number": (int, float),
    "null": (type(None),),
}


class Breach(NamedTuple):
    """A value that breaks its schema."""

    keyword: str
    """The keyword that it breaks; `type` also if no alternative has its type."""
    path: Path
    place: tuple[str, ...]
    """The path with `[]` for every index and `*` for every key that the schema does not name."""
    value: Any
    schema: Schema
    """The schema that has the keyword."""
    key: str = ""
    """The key that is unknown, missing or malformed."""


class ShippedSchema:
    """A schema of a format."""

    def __init__(self, root: Schema) -> None:
        self.root = root

    def at(self, *keys: str) -> Schema:
        """Return the schema of a property of a property …"""
        schema = self.root
        for key in keys:
            schema = self._resolved(schema["properties"][key])
        return schema

    def breaches(self, value: Any, schema: Schema, path: Path = (), place: tuple[str, ...] = ()) -> Iterator[Breach]:
        """Yield what in a value breaks a schema, in the order of the value: of an object first its keys."""
        schema = self._resolved(schema)
        if alternatives := schema.get("anyOf"):
            schema = self._chosen(value, alternatives) or schema
        if not _has_type(value, schema):
            yield Breach("type", path, place, value, schema)
            return
        keyword = next((word for word, breaks in _BREAKS.items() if word in schema and breaks(value, schema[word])), "")
        if keyword:
            yield Breach(keyword, path, place, value, schema)
            return
        if isinstance(value, dict):
            yield from self._of_members(value, schema, path, place)
        elif isinstance(value, list) and "items" in schema:
            first = schema.get("prefixItems", ())
            for number, item in enumerate(value):
                of_item = first[number] if number < len(first) else schema["items"]
                yield from self.breaches(item, of_item, (*path, number), (*place, "[]"))

    def _of_members(
        self, value: dict[str, Any], schema: Schema, path: Path, place: tuple[str, ...]
    ) -> Iterator[Breach]:
        declared, others = schema.get("properties", {}), schema.get("additionalProperties")
        names = _pattern(schema.get("propertyNames", {}).get("pattern", ""))
        for key in value:
            if key not in declared and others is False:
                yield Breach("additionalProperties", (*path, key), place, value, schema, key)
            if not names.search(key):
                yield Breach("propertyNames", (*path, key), place, value, schema, key)
        for key in schema.get("required", ()):
            if key not in value:
                yield Breach("required", path, place, value, schema, key)
        for key, member in value.items():
            if key in declared:
                yield from self.breaches(member, declared[key], (*path, key), (*place, key))
            elif isinstance(others, dict):
                yield from self.breaches(member, others, (*path, key), (*place, "*"))

    def _resolved(self, schema: Schema) -> Schema:
        while "$ref" in schema:
            _, group, name = schema["$ref"].split("/")
            schema = self.root[group][name]
        return schema

    def _chosen(self, value: Any, alternatives: list[Schema]) -> Schema | None:
        """Return the alternative of the value's type; of several, the first that has all required keys."""
        fitting = [schema for schema in map(self._resolved, alternatives) if _has_type(value, schema)]
        complete = (schema for schema in fitting if all(key in value for key in schema.get("required", ())))
        return next(complete, fitting[0] if fitting else None)


@cache
def schema_in(file: str) -> ShippedSchema:
    """Return the schema in a file of the package."""
    # Not by `importlib.resources`, which takes longer to import than the schema to read.
    with open(file, encoding="utf-8") as opened:
        return ShippedSchema(json.load(opened))


def _has_type(value: Any, schema: Schema) -> bool:
    if "const" in schema:
        return type(value) is type(schema["const"]) and bool(value == schema["const"])
    if "anyOf" in schema:  # none of its alternatives has the type
        return False
    if "enum" in schema:  # a word that is not in the list is another mistake than a number
        return isinstance(value, str)
    types = schema.get("type")
    if types is None:
        return True
    kinds = [kind for name in ([types] if isinstance(types, str) else types) for kind in _TYPES[name]]
    # In Python, a boolean is an integer.
    return type(value) in kinds if isinstance(value, bool) else isinstance(value, tuple(kinds))


@cache
def _pattern(pattern: str) -> re.Pattern[str]:
    # In Python, `$` also matches before a newline at the end.
    return re.compile(f"{pattern[:-1]}\\Z" if pattern.endswith("$") else pattern)


_BREAKS: dict[str, Callable[[Any, Any], bool]] = {
    "enum": lambda word, words: word not in words,
    # A text of nothing but blanks says nothing either.
    "minLength": lambda text, least: len(text.strip()) < least,
    "maxLength": lambda text, most: len(text) > most,
    "pattern": lambda text, pattern: _pattern(pattern).search(text) is None,
    "minItems": lambda items, least: len(items) < least,
    "maxItems": lambda items, most: len(items) > most,
    "minProperties": lambda members, least: len(members) < least,
    "maxProperties": lambda members, most: len(members) > most,
    # Negated, because NaN is neither above nor below a limit.
    "minimum": lambda number, least: not number >= least,
    "maximum": lambda number, most: not number <= most,
    "exclusiveMinimum": lambda number, limit: not number > limit,
    "exclusiveMaximum": lambda number, limit: not number < limit,
}
"""What breaks each keyword, for values of the type that it is about."""

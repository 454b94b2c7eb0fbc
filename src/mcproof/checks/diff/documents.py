"""The two schema documents of a comparison: subschemas, names of properties, and whether two are equivalent.

Schemas are equivalent if they differ only in annotations, in the order of unordered lists, and in how they are
divided into definitions. Numbers are equal however they are written; `true` is not 1. Nothing here is recursive.
"""

from __future__ import annotations

import json
from collections.abc import Hashable, Iterator
from typing import Any

from mcproof.core.named_tuple import NamedTuple
from mcproof.core.schema.keywords import (
    DYNAMIC,
    SCHEMA_LISTS,
    SCHEMA_MAPS,
    SINGLE_SCHEMAS,
    assertions,
    unknown_keywords,
)
from mcproof.core.schema.references import Reference
from mcproof.core.schema.tree import SchemaTree
from mcproof.core.text.json_positions import escape

_SELECTING_KEYWORDS = ("enum", "const", "propertyNames")
"""Keywords that can depend on undeclared properties."""


def declared_properties(schema: dict[str, Any]) -> dict[str, Any]:
    """The declared properties; empty if `properties` is absent or malformed."""
    properties = schema.get("properties")
    return properties if isinstance(properties, dict) else {}


def required_names(schema: dict[str, Any]) -> dict[str, None]:
    """The distinct required names, in order."""
    return dict.fromkeys(_strings(schema.get("required")))


def mentioned_names(schema: dict[str, Any]) -> dict[str, None]:
    """The names that `required` and the keywords for dependencies mention."""
    names = required_names(schema)
    for keyword in ("dependentRequired", "dependencies", "dependentSchemas"):
        dependencies = schema.get(keyword)
        for name, dependency in (dependencies if isinstance(dependencies, dict) else {}).items():
            names |= dict.fromkeys([name, *_strings(dependency)])
    return names


def constrains_unnamed(schema: dict[str, Any]) -> bool:
    """Whether a schema constrains properties that it does not name: by number, by name or by whole values."""
    minimum = schema.get("minProperties", 0)
    named = declared_properties(schema) | mentioned_names(schema)
    is_enough = isinstance(minimum, (int, float)) and minimum <= len(named)
    return not is_enough or any(keyword in schema for keyword in _SELECTING_KEYWORDS)


def _strings(value: Any) -> list[str]:
    return [entry for entry in value if isinstance(entry, str)] if isinstance(value, list) else []


_DRAFTS = {"2020-12": 20, "2019-09": 19, "draft-07": 7, "draft-06": 6, "draft-04": 4}
DEFAULT_DRAFT = 20
"""The dialect of a schema without `$schema` in MCP: draft 2020-12."""
_MAX_REFERENCES = 100
_NO_KEYWORDS: dict[str, Any] = {}


class SchemaDocument:
    """A schema document with its references."""

    def __init__(self, root: dict[str, Any], base: str) -> None:
        self.root = root
        self.base = base
        self._tree = SchemaTree(root, base)
        self._references: dict[int, Reference] | None = None
        self._names: frozenset[str] | None = None

    @property
    def draft(self) -> int | None:
        """The number of the draft; None if it is unknown."""
        dialect = self.root.get("$schema")
        if dialect is None:
            return DEFAULT_DRAFT
        return next((number for name, number in _DRAFTS.items() if f"/{name}/schema" in str(dialect)), None)

    @property
    def ignores_ref_siblings(self) -> bool:
        """Whether the keywords beside a `$ref` are ignored, as in the drafts before 2019-09."""
        return (self.draft or DEFAULT_DRAFT) < 19

    @property
    def names(self) -> frozenset[str]:
        """Every property name that any schema in the document declares or mentions."""
        if self._names is None:
            self._names = frozenset(
                name for schema in self.schemas() for name in (*declared_properties(schema), *mentioned_names(schema))
            )
        return self._names

    def reference(self, schema: dict[str, Any]) -> Reference | None:
        """The resolved `$ref` of a schema; None if it has none or its target does not exist."""
        if self._references is None:
            self._references = {
                id(reference.holder.schema): reference
                for reference in self._tree.references.all
                if reference.keyword == "$ref" and reference.is_resolved
            }
        return self._references.get(id(schema))

    def pointer_of(self, reference: Reference) -> str | None:
        """The pointer of the target, relative to the item; None for boolean schemas."""
        node = self._tree.references.target_node(reference)
        return None if node is None else node.pointer

    def schemas(self) -> Iterator[dict[str, Any]]:
        """Every schema in the document that is an object."""
        return (node.schema for node in self._tree.nodes if isinstance(node.schema, dict))

    def release(self) -> None:
        """Break the reference cycles of the tree."""
        self._references = None
        self._tree.release()


class Subschema(NamedTuple):
    """A schema in a document, and its pointer relative to the item."""

    document: SchemaDocument
    schema: Any
    pointer: str

    @property
    def keywords(self) -> dict[str, Any]:
        """The keywords of the schema; empty for boolean schemas."""
        return self.schema if isinstance(self.schema, dict) else _NO_KEYWORDS

    def child(self, schema: Any, *tokens: str | int) -> Subschema:
        """A schema below this one."""
        return Subschema(self.document, schema, self.pointer + "".join(f"/{escape(str(token))}" for token in tokens))

    def unconstrained(self) -> Subschema:
        """The schema `true` in the same document, without a location."""
        return Subschema(self.document, True, "")

    def target(self) -> Subschema | None:
        """The target of `$ref`; None if it is absent or unresolved."""
        reference = self.document.reference(self.keywords)
        if reference is None:
            return None
        pointer = self.document.pointer_of(reference) or self.pointer
        return Subschema(self.document, reference.target, pointer)

    def chain(self) -> list[Subschema]:
        """This schema and its successive targets, as long as each is a mere reference to the next.

        An `allOf` with a single branch counts as a reference.
        """
        chain = [self]
        current = self
        for _ in range(_MAX_REFERENCES):  # references may form a cycle
            following = current._following()
            if following is None:
                break
            current = following
            chain.append(current)
        return chain

    def _following(self) -> Subschema | None:
        schema = self.schema
        if type(schema) is not dict:
            return None
        keywords = ["$ref"] if "$ref" in schema and self.document.ignores_ref_siblings else assertions(schema)
        if keywords == ["$ref"]:
            return self.target()
        if keywords == ["allOf"] and isinstance(schema["allOf"], list) and len(schema["allOf"]) == 1:
            return self.child(schema["allOf"][0], "allOf", 0)
        return None

    def resolved(self) -> Subschema:
        """The last schema of the chain."""
        return self.chain()[-1]


def unknown_in_chain(chain: list[Subschema]) -> dict[str, Any]:
    """The unknown keywords of all schemas in a chain; the first occurrence counts."""
    keywords: dict[str, Any] = {}
    for subschema in reversed(chain):
        if type(subschema.schema) is dict and not (
            "$ref" in subschema.schema and subschema.document.ignores_ref_siblings
        ):
            keywords |= unknown_keywords(subschema.schema)
    return keywords


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
    # In Python `True == 1`; in JSON they differ.
    if isinstance(value, (bool, dict, list)):
        try:
            return json.dumps(value, sort_keys=True)
        except (RecursionError, ValueError):
            return id(value)  # nested too deeply: equal to itself only
    # Marked, since the key of a list is a text as well.
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
    subschema_pairs: list[tuple[Any, Any]] = []
    if "$ref" in keywords:
        old_target, new_target = old.target(), new.target()
        if (old_target is None) != (new_target is None):
            return None
        if old_target is not None and new_target is not None:
            subschema_pairs.append((old_target.schema, new_target.schema))
            keywords.remove("$ref")
    for keyword in keywords:
        pairs = _subschema_pairs(keyword, old.keywords[keyword], new.keywords[keyword])
        if pairs is None:
            return None
        subschema_pairs += pairs
    return subschema_pairs


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

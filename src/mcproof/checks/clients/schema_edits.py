"""Edits of a schema that clients ask for and that accept nothing new, as changes of its text.

Each kind of edit is a function: it takes a schema and a pointer, and returns the edits, or the obstacle to them.
"""

from __future__ import annotations

import json
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

from mcproof.compat.dialect_changes import ANNOTATIONS, obstacle_to_dropping_dialect
from mcproof.core.schema.keywords import REFERENCE_KEYWORDS
from mcproof.core.schema.tree import STRICT_LEVELS, SchemaTree

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable

    from mcproof.compat.schema_text import SchemaText
    from mcproof.core.schema.references import Reference
    from mcproof.core.schema.tree import SchemaNode
    from mcproof.core.text.json_document import Edit

_REFERENCES = frozenset(REFERENCE_KEYWORDS)
_MOST_TEXT = 200_000
"""The most characters of a schema after inlining; no client takes one that large."""
_OPPOSING = frozenset({"not", "if", "oneOf", "contains"})
"""Keywords under which a schema that accepts less can make the whole accept more."""
_SAME_VALUE = frozenset({"allOf", "anyOf", "oneOf", "not", "if", "then", "else", "dependentSchemas", "dependencies"})
_MOST_REFERENCES = 500
"""The most references of a schema that is edited, so that hostile ones take no time."""
_NAMING = frozenset({"$id", "id", "$anchor", "$dynamicAnchor", "$recursiveAnchor", "$schema"})
_DEFINITIONS = ("$defs", "definitions")
_BESIDE_ROOT = frozenset({*_DEFINITIONS, "$schema"})
"""Keywords of the root that accept and reject nothing."""


class Obstacle(NamedTuple):
    """Why an edit is not made."""

    reason: str


class EditedSchema:
    """A schema with what its edits need: its text, its tree, and its nodes by pointer."""

    def __init__(self, schema: SchemaText) -> None:
        self.text = schema
        self.tree = SchemaTree(schema.value, "")
        _ = self.tree.references  # resolving them adds schemas at unusual positions to the tree
        self.nodes = {node.path: node for node in self.tree.nodes}
        self.children: dict[int, list[SchemaNode]] = {}
        for node in self.tree.nodes:
            self.children.setdefault(id(node.parent), []).append(node)

    @cached_property
    def obstacle(self) -> str | None:
        """Why nothing in this schema is edited; None if it can be."""
        if self.text.has_duplicate_keys:
            return "the schema repeats a key"
        if self.tree.deepest > STRICT_LEVELS:
            return "the schema is nested too deep"
        if len(self.tree.holders) > _MOST_REFERENCES:
            return "the schema has too many references"
        if self.tree.references.links:
            return "a `$ref` points at a value that is not a schema"
        return None

    @cached_property
    def _starts(self) -> dict[str, int]:
        return self.text.starts([*self.nodes, *(f"/{keyword}" for keyword in _DEFINITIONS)])

    def start(self, pointer: str) -> int:
        """The offset of the value at a pointer."""
        return self._starts[pointer]

    def is_referenced(self, pointer: str) -> bool:
        """Whether a reference points at this value, or into it."""
        fragments = (reference.fragment for reference in self.tree.references.all)
        return any(fragment == pointer or fragment.startswith(f"{pointer}/") for fragment in fragments)

    @cached_property
    def requiring(self) -> dict[str, list[SchemaNode | None]]:
        """The schemas that require each name; None for those that may apply to the same value as any other."""
        found: dict[str, list[SchemaNode | None]] = {}
        for node in self.tree.nodes:
            schema = node.schema
            if type(schema) is not dict:
                continue
            applies_elsewhere = node.keyword in _SAME_VALUE or "$ref" in schema or "allOf" in schema
            lists = [(schema.get("required"), None if applies_elsewhere else node)]
            for keyword in ("dependentRequired", "dependencies"):
                dependent = schema.get(keyword)
                lists += [(each, None) for each in dependent.values()] if isinstance(dependent, dict) else []
            for names, holder in lists:
                for name in names if isinstance(names, list) else ():
                    if isinstance(name, str):
                        found.setdefault(name, []).append(holder)
        return found

    @cached_property
    def opposing(self) -> set[int]:
        """The ids of the nodes that are, or may be applied, under an opposing keyword."""
        found: set[int] = set()
        unread = [node for node in self.tree.nodes if node.keyword in _OPPOSING]
        while unread:
            node = unread.pop()
            if id(node) not in found:
                found.add(id(node))
                unread += self.children.get(id(node), [])
                unread += self.tree.references.targets_from(node)
        return found

    def release(self) -> None:
        """Break the reference cycle of the tree."""
        self.tree.release()
        self.nodes.clear()
        self.children.clear()


def drop_dialect(schema: EditedSchema, node: SchemaNode) -> list[Edit] | Obstacle:
    """Remove `$schema`."""
    if node.parent is not None:
        return Obstacle("`$schema` inside a schema")
    reason = obstacle_to_dropping_dialect(schema.tree)
    if reason is not None:
        return Obstacle(reason)
    return schema.text.removing(schema.start(node.path), {"$schema"})


def add_properties(schema: EditedSchema, node: SchemaNode) -> list[Edit] | Obstacle:
    """Add `properties: {}` to the root."""
    if node.schema.get("type") != "object" or "properties" in node.schema:
        return Obstacle("the root is not `type: object`")
    return schema.text.setting("", "properties", {})


def narrow_type(schema: EditedSchema, node: SchemaNode) -> list[Edit] | Obstacle:
    """Replace `type: [T, "null"]` of an optional property with `type: T`, and a list of one type with that type."""
    kinds = node.schema.get("type")
    if not isinstance(kinds, list) or not all(isinstance(each, str) for each in kinds):
        return Obstacle("`type` is not a list of names")
    others = [each for each in kinds if each != "null"]
    if len(kinds) == 1:
        return schema.text.replacing(schema.start(node.path), "type", kinds[0])
    if len(others) != 1:
        return Obstacle("it has several types")
    if node.keyword != "properties" or node.parent is None:
        return Obstacle("null is a value here, not an absent property")
    if any(holder is None or holder is node.parent for holder in schema.requiring.get(str(node.step[1]), ())):
        return Obstacle("the property is required and may be null")
    if id(node) in schema.opposing:
        return Obstacle("a narrower type could accept more here")
    start = schema.start(node.path)
    edits = schema.text.replacing(start, "type", others[0])
    enum = node.schema.get("enum")
    if isinstance(enum, list) and None in enum and all(isinstance(each, (str, type(None))) for each in enum):
        edits += schema.text.replacing(start, "enum", [each for each in enum if each is not None])
    if "default" in node.schema and node.schema["default"] is None and not schema.is_referenced(f"{node.path}/default"):
        edits += schema.text.removing(start, {"default"})
    return edits


def const_to_enum(schema: EditedSchema, node: SchemaNode) -> list[Edit] | Obstacle:
    """Replace `const` with an `enum` of one value."""
    if "enum" in node.schema:
        return Obstacle("`enum` is beside it")
    if "draft-04" in str(schema.tree.root.get("$schema")):
        return Obstacle("its dialect has no `const`")
    if schema.is_referenced(f"{node.path}/const"):
        return Obstacle("a `$ref` points into it")
    return schema.text.enumerating(schema.start(node.path), "const", "enum")


SINGLE_EDITS: dict[str, Callable[[EditedSchema, SchemaNode], list[Edit] | Obstacle]] = {
    "$schema": drop_dialect,
    "properties": add_properties,
    "type": narrow_type,
    "const": const_to_enum,
}
"""The edit for a keyword that a client refuses, or misses."""


class Inlining:
    """One round of inlining: the references that can be replaced now, and why the others cannot."""

    def __init__(self, schema: EditedSchema, wanted: Collection[str], refused: Collection[str] = ()) -> None:
        self._schema = schema
        self._wanted = wanted
        self._refused = refused
        self._below: dict[int, list[SchemaNode]] = {}
        self.ready: dict[str, Reference] = {}
        """The references to replace, by the pointer of their schema."""
        self.obstacles: dict[str, str] = {}
        self._growth = 0
        for reference in schema.tree.references.all:
            if reference.keyword == "$ref" and reference.holder.path in wanted:
                self._judge(reference)

    def _judge(self, reference: Reference) -> None:
        pointer = reference.holder.path
        reason = self._obstacle(reference)
        if reason is not None:
            self.obstacles[pointer] = reason
        elif not self._waits(reference):
            self.ready[pointer] = reference

    def _obstacle(self, reference: Reference) -> str | None:
        holder, references = reference.holder, self._schema.tree.references
        target = references.target_node(reference)
        if not reference.is_resolved:
            return "the `$ref` cannot be resolved"
        if target is None:
            return "it points at a boolean schema"
        if references.is_cyclic(holder.schema) or self._leads_to_cycle(target):
            return "the `$ref` is recursive"
        if not holder.is_usual:
            return "it is not at the position of a schema"
        beside = next((key for key in holder.schema if not _may_be_beside(key, holder, target.schema)), None)
        if beside is not None:
            return f"`{beside}` is beside the `$ref`"
        if any(not _NAMING.isdisjoint(node.schema) for node in self._inside(target) if type(node.schema) is dict):
            return "the definition has a name of its own"
        if any(node.path in self._refused for node in self._inner(target)):
            return "the definition has a `$ref` that stays"
        self._growth += len(json.dumps(target.schema))
        if len(self._schema.text.text) + self._growth > _MOST_TEXT:
            return "the schema would become too large"
        return None

    def _waits(self, reference: Reference) -> bool:
        """Whether the definition has references that are replaced first."""
        target = self._schema.tree.references.target_node(reference)
        return target is not None and any(node.path in self._wanted for node in self._inner(target))

    def _leads_to_cycle(self, target: SchemaNode) -> bool:
        """Whether a definition has, or refers to one that has, a recursive reference."""
        references = self._schema.tree.references
        seen: set[int] = set()
        unread = [target]
        while unread:
            node = unread.pop()
            if id(node) in seen:
                continue
            seen.add(id(node))
            for inner in self._inner(node):
                if references.is_cyclic(inner.schema) or "$dynamicRef" in inner.schema:
                    return True
                unread += references.targets_from(inner)
        return False

    def _inside(self, node: SchemaNode) -> list[SchemaNode]:
        """A schema and every schema in it."""
        found = self._below.get(id(node))
        if found is None:
            found = self._below[id(node)] = [node]
            for each in found:
                found += self._schema.children.get(id(each), [])
        return found

    def _inner(self, node: SchemaNode) -> list[SchemaNode]:
        """The schemas with references in a schema."""
        inside = self._inside(node)
        return [each for each in inside if type(each.schema) is dict and not _REFERENCES.isdisjoint(each.schema)]

    def edits(self, chosen: Iterable[str]) -> list[Edit]:
        """The edits that replace these references, and remove the definitions that nothing refers to any more."""
        schema, references = self._schema, self._schema.tree.references
        replaced = [self.ready[pointer] for pointer in chosen]
        targets = {id(target): target for each in replaced if (target := references.target_node(each)) is not None}
        edits: list[Edit] = []
        for each in replaced:
            target = references.target_node(each)
            if target is not None:
                edits += schema.text.inlining(schema.start(each.holder.path), "$ref", schema.start(target.path))
        staying = [each for each in references.all if all(each is not gone for gone in replaced)]
        unused = {target.step for target in targets.values() if self._becomes_unused(target, staying)}
        emptied = set()
        for keyword in _DEFINITIONS:
            names = {str(step[1]) for step in unused if step[0] == keyword}
            if names and names == set(schema.tree.root[keyword]):
                emptied.add(keyword)
            elif names:
                edits += schema.text.removing(schema.start(f"/{keyword}"), names)
        if emptied:
            edits += schema.text.removing(schema.start(""), emptied)
        return edits

    def _becomes_unused(self, target: SchemaNode, staying: list[Reference]) -> bool:
        """Whether a schema is a definition of the root that none of these references needs."""
        if target.parent is None or target.parent.parent is not None or target.keyword not in _DEFINITIONS:
            return False
        if not target.is_usual:
            return False
        pointer = target.path
        return not any(
            each.fragment == pointer or each.fragment.startswith(f"{pointer}/")
            for each in staying
            if not _is_in(each.holder, target)
        )


def _may_be_beside(key: str, holder: SchemaNode, target: dict[str, Any]) -> bool:
    """Whether a member beside a `$ref` means the same among the members of the definition."""
    if key == "$ref" or key in ANNOTATIONS or key.startswith("x-"):
        return True
    if holder.parent is None and key in _BESIDE_ROOT and key not in target:
        return True
    return key in target and json.dumps(holder.schema[key]) == json.dumps(target[key])


def _is_in(node: SchemaNode, ancestor: SchemaNode) -> bool:
    at: SchemaNode | None = node
    while at is not None:
        if at is ancestor:
            return True
        at = at.parent
    return False

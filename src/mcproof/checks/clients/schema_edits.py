"""Edits of a schema that clients ask for and that accept nothing new, as changes of its text.

Each kind of edit is a function: it takes a schema and a pointer, and returns the edits, or the obstacle to them.
Every edit leaves all other characters as they are. Which edits are kept is decided in `fix`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Collection, Iterable
from functools import cached_property
from typing import Any

from mcproof.core.named_tuple import NamedTuple
from mcproof.core.schema.keywords import REFERENCE_KEYWORDS
from mcproof.core.schema.references import Reference
from mcproof.core.schema.tree import STRICT_LEVELS, SchemaNode, SchemaTree
from mcproof.core.text.json_document import Edit, JsonText, RevisedText, splice
from mcproof.core.text.json_positions import Member, Pointer, members_at

ANNOTATIONS = frozenset(
    {"title", "description", "default", "examples", "deprecated", "readOnly", "writeOnly", "$comment"}
)
"""Keywords that accept and reject nothing."""
_SINCE_2019 = frozenset(
    {"dependentSchemas", "dependentRequired", "unevaluatedItems", "unevaluatedProperties", "minContains"}
    | {"maxContains", "$anchor", "$recursiveRef", "$recursiveAnchor"}
)
_SINCE_2020 = frozenset({"prefixItems", "$dynamicRef", "$dynamicAnchor"})
_CONDITIONAL = frozenset({"if", "then", "else"})
_CHANGED: dict[str, frozenset[str]] = {
    "draft/2020-12": frozenset(),
    "draft/2019-09": _SINCE_2020 | {"additionalItems", "unevaluatedItems", "$recursiveRef", "$recursiveAnchor"},
    "draft-07": _SINCE_2020 | _SINCE_2019 | {"additionalItems", "dependencies", "format"},
    "draft-06": _SINCE_2020 | _SINCE_2019 | _CONDITIONAL | {"additionalItems", "dependencies", "format"},
}
"""For each dialect, the keywords that mean something else in 2020-12, or mean something in only one of the two.

Values that break a `format` may be refused up to draft-07; from 2019-09 on it is an annotation.
"""
_ADDRESS = re.compile(r"https?://json-schema\.org/([^#]+)/schema#?")


def obstacle_to_dropping_dialect(tree: SchemaTree) -> str | None:
    """Why a schema could mean something else without its `$schema`; None if it means the same."""
    address = _ADDRESS.fullmatch(str(tree.root.get("$schema")))
    changed = _CHANGED.get(address[1]) if address is not None else None
    if address is None or changed is None:
        return "its dialect has other rules than 2020-12"
    if address[1] == "draft/2020-12":
        return None
    for node in tree.nodes:
        schema = node.schema
        if type(schema) is not dict:
            continue
        keyword = next((keyword for keyword in schema if keyword in changed), None)
        if keyword is None and isinstance(schema.get("items"), list):
            keyword = "items"
        if keyword is not None:
            return f"`{keyword}` means something else in 2020-12"
        has_siblings = "$ref" in schema and not all(key == "$ref" or key in ANNOTATIONS for key in schema)
        if address[1] != "draft/2019-09" and has_siblings:
            return "keywords beside `$ref` count in 2020-12"
        if str(schema.get("$id", "")).startswith("#"):
            return "`$id` means something else in 2020-12"
    return None


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
        return _point_into(self.tree.references.all, pointer)

    @cached_property
    def requiring(self) -> dict[str, list[SchemaNode | None]]:
        """The schemas that require each name; None for those that may apply to the same value as any other."""
        holders: dict[str, list[SchemaNode | None]] = {}
        for node in self.tree.nodes:
            schema = node.schema
            if type(schema) is not dict:
                continue
            applies_elsewhere = node.keyword in _SAME_VALUE or "$ref" in schema or "allOf" in schema
            lists = [(schema.get("required"), None if applies_elsewhere else node)]
            for keyword in ("dependentRequired", "dependencies"):
                dependent = schema.get(keyword)
                lists += [(names, None) for names in dependent.values()] if isinstance(dependent, dict) else []
            for names, holder in lists:
                for name in names if isinstance(names, list) else ():
                    if isinstance(name, str):
                        holders.setdefault(name, []).append(holder)
        return holders

    @cached_property
    def opposing(self) -> set[int]:
        """The ids of the nodes that are, or may be applied, under an opposing keyword."""
        opposing: set[int] = set()
        unread = [node for node in self.tree.nodes if node.keyword in _OPPOSING]
        while unread:
            node = unread.pop()
            if id(node) not in opposing:
                opposing.add(id(node))
                unread += self.children.get(id(node), [])
                unread += self.tree.references.targets_from(node)
        return opposing

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
    if not isinstance(kinds, list) or not all(isinstance(kind, str) for kind in kinds):
        return Obstacle("`type` is not a list of names")
    others = [kind for kind in kinds if kind != "null"]
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
    if isinstance(enum, list) and None in enum and all(isinstance(value, (str, type(None))) for value in enum):
        edits += schema.text.replacing(start, "enum", [value for value in enum if value is not None])
    # Null is no value of the narrower type.
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
        self._refused = refused
        self._below: dict[int, list[SchemaNode]] = {}
        self.ready: dict[str, Reference] = {}
        """The references to replace, by the pointer of their schema."""
        self.obstacles: dict[str, str] = {}
        self._growth = 0
        for reference in schema.tree.references.all:
            pointer = reference.holder.path
            if reference.keyword != "$ref" or pointer not in wanted:
                continue
            target = schema.tree.references.target_node(reference)
            if not reference.is_resolved:
                self.obstacles[pointer] = "the `$ref` cannot be resolved"
            elif target is None:
                self.obstacles[pointer] = "it points at a boolean schema"
            elif (reason := self._obstacle(reference.holder, target)) is not None:
                self.obstacles[pointer] = reason
            # References in the definition are replaced first, so that one copy has all of it.
            elif not any(node.path in wanted for node in self._inner(target)):
                self.ready[pointer] = reference

    def _obstacle(self, holder: SchemaNode, target: SchemaNode) -> str | None:
        references = self._schema.tree.references
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
        inside = self._below.get(id(node))
        if inside is None:
            inside = self._below[id(node)] = [node]
            # The list grows while it is read: breadth first, without recursion.
            for inner in inside:
                inside += self._schema.children.get(id(inner), [])
        return inside

    def _inner(self, node: SchemaNode) -> list[SchemaNode]:
        """The schemas with references in a schema."""
        inside = self._inside(node)
        return [inner for inner in inside if type(inner.schema) is dict and not _REFERENCES.isdisjoint(inner.schema)]

    def edits(self, chosen: Iterable[str]) -> list[Edit]:
        """The edits that replace these references, and remove the definitions that nothing refers to any more."""
        schema, references = self._schema, self._schema.tree.references
        replaced = [self.ready[pointer] for pointer in chosen]
        targets: dict[int, SchemaNode] = {}
        edits: list[Edit] = []
        for reference in replaced:
            target = references.target_node(reference)
            if target is not None:
                targets[id(target)] = target
                edits += schema.text.inlining(schema.start(reference.holder.path), "$ref", schema.start(target.path))
        staying = [reference for reference in references.all if all(reference is not gone for gone in replaced)]
        unused = {target.step for target in targets.values() if self._becomes_unused(target, staying)}
        emptied = set()
        for keyword in _DEFINITIONS:
            names = {str(step[1]) for step in unused if step[0] == keyword}
            # The keyword goes with its last definition.
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
        inside = {id(node) for node in self._inside(target)}
        outer = [reference for reference in staying if id(reference.holder) not in inside]
        return target.is_usual and not _point_into(outer, target.path)


def _may_be_beside(key: str, holder: SchemaNode, target: dict[str, Any]) -> bool:
    """Whether a member beside a `$ref` means the same among the members of the definition."""
    if key == "$ref" or key in ANNOTATIONS or key.startswith("x-"):
        return True
    if holder.parent is None and key in _BESIDE_ROOT and key not in target:
        return True
    # As text: in Python, `1 == True`.
    return key in target and json.dumps(holder.schema[key]) == json.dumps(target[key])


def _point_into(references: Iterable[Reference], pointer: str) -> bool:
    """Whether a reference points at a value, or into it."""
    fragments = (reference.fragment for reference in references)
    return any(fragment == pointer or fragment.startswith(f"{pointer}/") for fragment in fragments)


class SchemaText:
    """A schema in a larger text: its revised text, its value, and the edits that change members."""

    def __init__(self, revised: RevisedText, lead: str) -> None:
        self.revised = revised
        self._lead = lead
        """The indentation of the line that the schema starts in."""
        self._document = JsonText.parse(revised.text, "")
        self.value: Any = self._document.value
        self.has_duplicate_keys = self._document.has_duplicate_keys

    @property
    def text(self) -> str:
        return self.revised.text

    def after(self, edits: Iterable[Edit]) -> SchemaText:
        """The schema after these edits."""
        return SchemaText(self.revised.revised(sorted(edits)), self._lead)

    def starts(self, pointers: Iterable[Pointer]) -> dict[Pointer, int]:
        """The offset of the value at each pointer."""
        return {pointer: span.start for pointer, span in self._document.spans(pointers).items()}

    def setting(self, pointer: Pointer, key: str, value: Any) -> list[Edit]:
        """The edits that set a member of the object at a pointer."""
        return self._document.member_edits([(pointer, key, value)])

    def replacing(self, start: int, key: str, value: Any) -> list[Edit]:
        """The edits that give a member of the object that starts here another value."""
        member = self._member(start, key)
        return [Edit(member.start, member.end, json.dumps(value, ensure_ascii=False))]

    def removing(self, start: int, keys: Collection[str]) -> list[Edit]:
        """The edits that remove members of the object that starts here."""
        members = members_at(self.text, start)
        edits: list[Edit] = []
        last_kept: Member | None = None
        first_gone: Member | None = None
        for member in members:
            if member.name in keys:
                first_gone = first_gone or member
                continue
            if first_gone is not None:
                # With the comma after the last of them; at the end of the object, with the comma before the first.
                edits.append(Edit(first_gone.key, member.key, ""))
            last_kept, first_gone = member, None
        if first_gone is not None and last_kept is not None:
            edits.append(Edit(last_kept.end, members[-1].end, ""))
        elif first_gone is not None:
            edits.append(Edit(start + 1, self.text.index("}", members[-1].end), ""))
        return edits

    def enumerating(self, start: int, key: str, new_key: str) -> list[Edit]:
        """The edits that rename a member of the object that starts here and put its value into a list."""
        member = self._member(start, key)
        name = Edit(member.key, member.key_end, json.dumps(new_key))
        return [name, Edit(member.start, member.start, "["), Edit(member.end, member.end, "]")]

    def inlining(self, start: int, key: str, target: int) -> list[Edit]:
        """The edits that replace a member of the object that starts here with the members of the object at `target`.

        Members that both objects have keep the value they have here.
        """
        members = members_at(self.text, start)
        if len(members) == 1:
            copy = self._copied(target, self._end_of(target))
            return [Edit(start, self._end_of(start), _indented(copy, self._indent_at(target), self._indent_at(start)))]
        names = {member.name for member in members}
        added = [member for member in members_at(self.text, target) if member.name not in names]
        if not added:
            return self.removing(start, {key})
        member, first = self._member(start, key), added[0].key
        copy = self._copied(first, added[-1].end, self.removing(target, names))
        return [Edit(member.key, member.end, _indented(copy, self._indent_at(first), self._indent_at(member.key)))]

    def _copied(self, start: int, end: int, removed: Iterable[Edit] = ()) -> str:
        inside = [Edit(edit.start - start, edit.end - start, "") for edit in removed if start <= edit.start < end]
        return splice(self.text[start:end], inside)

    def _member(self, start: int, key: str) -> Member:
        return next(member for member in members_at(self.text, start) if member.name == key)

    def _end_of(self, start: int) -> int:
        """The offset after the object that starts here."""
        members = members_at(self.text, start)
        return self.text.index("}", members[-1].end if members else start) + 1

    def _indent_at(self, offset: int) -> str:
        """The indentation of the line at an offset."""
        return indent_of(self.text, offset) if self.text.find("\n", 0, offset) >= 0 else self._lead


def indent_of(text: str, offset: int) -> str:
    """The indentation of the line at an offset."""
    line = text.rfind("\n", 0, offset) + 1
    end = line
    while end < offset and text[end] in " \t":
        end += 1
    return text[line:end]


def _indented(text: str, old: str, new: str) -> str:
    """A text with the indentation of its lines, except the first, moved; strings of JSON have no line ends."""
    first, *lines = text.split("\n")
    return "\n".join([first, *(f"{new}{line[len(old) :]}" if line.startswith(old) else line for line in lines)])

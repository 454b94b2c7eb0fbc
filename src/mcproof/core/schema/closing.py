"""Find the objects of a schema that can be closed without changing what other schemas accept.

Closing an object (no additional properties, all declared ones required) is safe where it alone describes a value. It is
unsafe where several schemas apply to the same value: the others' properties would become unexpected, or a value that
matched two alternatives would match only one. This module finds those objects and words the reason why each is left to
the author:

- everything inside `allOf`, `oneOf` or a condition, and everything referenced from there;
- an object beside `allOf` or a reference, or beside branches that declare properties;
- the branches and targets that apply to the same value as such an object;
- schemas of a property, or of list entries, that two schemas of one value both describe.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from mcproof.core.named_tuple import NamedTuple
from mcproof.core.schema.keywords import REFERENCE_KEYWORDS
from mcproof.core.schema.tree import CONDITIONS, SchemaNode, SchemaTree

_OWN = ("properties", "patternProperties")
_CHOICES = ("anyOf", "oneOf", "then", "else", "dependentSchemas", "dependencies")
_FREEZING = CONDITIONS | {"allOf", "oneOf"}
_SAME_VALUE = frozenset({*_CHOICES, "allOf"})
_DECLARING = frozenset({*_OWN, *REFERENCE_KEYWORDS})
_JOINING = frozenset({"allOf", *REFERENCE_KEYWORDS})
_ENTRIES = frozenset({"items", "prefixItems", "additionalItems", "unevaluatedItems"})
_ANY_NAME = frozenset({"patternProperties", "additionalProperties", "unevaluatedProperties"})

_MOST_COMPARISONS = 10_000

Blocked = list[tuple["SchemaNode", str]]
"""Schemas that must stay open, each with the reason."""


def obstacles(tree: SchemaTree) -> dict[int, str]:
    """The reason for each schema that must not be closed, by the id of its node."""
    reasons: dict[int, str] = {}
    graph = _Graph(tree)
    frozen: Blocked = [(node, "inside a value that several schemas describe") for node in _described_twice(graph)]
    frozen += [(node, f"inside `{keyword}`") for node, keyword in graph.placed() if keyword in _FREEZING]
    shared: Blocked = []
    for node in graph.combined:
        sources = graph.sources_of_properties(node)
        beside = [keyword for keyword in sources if keyword not in _OWN]
        if beside:
            reasons[id(node)] = f"beside `{beside[0]}`, which can add properties"
        together = "the schema that combines it with others applies to the same value"
        if any(keyword != "anyOf" for keyword in sources):
            shared += [(branch, together) for branch in graph.alternatives(node)]
        if len(sources) > 1:
            shared += [(target, together) for target in graph.targets(node)]
    _spread(frozen, graph, reasons, everywhere=True)
    _spread(shared, graph, reasons, everywhere=False)
    _keep_referenced_switches(tree, reasons)
    return reasons


def _spread(blocked: Blocked, graph: _Graph, reasons: dict[int, str], *, everywhere: bool) -> None:
    """Block schemas and all that follow: everything below and everything referenced, or only the same value."""
    reached: set[int] = set()
    while blocked:
        node, reason = blocked.pop()
        if id(node) in reached:
            continue
        reached.add(id(node))
        reasons.setdefault(id(node), reason)
        if everywhere:
            blocked += [(child, reason) for child in graph.below(node)]
            origin = reason.removeprefix("referenced from ")
            blocked += [(target, f"referenced from {origin}") for target in graph.targets(node)]
        else:
            blocked += [(neighbour, reason) for neighbour in graph.alternatives(node) + graph.targets(node)]


def _keep_referenced_switches(tree: SchemaTree, reasons: dict[int, str]) -> None:
    """An `additionalProperties` that a reference points at is used as a schema, so it must not be replaced."""
    for reference in tree.references.all:
        holder, slash, keyword = reference.fragment.rpartition("/")
        if reference.is_local and slash and keyword == "additionalProperties":
            node = tree.references.node_at(reference, holder)
            if node is not None:
                reasons.setdefault(id(node), "a `$ref` points at its `additionalProperties`")


class _Described(NamedTuple):
    """What a group of schemas that must all hold declares about the parts of their value."""

    names: dict[str, list[SchemaNode]]
    """The schemas of each property."""
    any_name: list[SchemaNode]
    """Schemas of properties selected by a pattern, or by not being declared."""
    entries: list[SchemaNode]
    """Schemas of list entries."""
    holders: set[int]
    """The members of the group that declare any of the above."""


def _described_twice(graph: _Graph) -> Iterable[SchemaNode]:
    """The schemas of properties and entries that more than one schema describes for the same value."""
    clashes = _Clashes()
    groups = {group: _describe(members, graph) for group, members in graph.groups().items()}
    for described in groups.values():
        clashes.find(described, described)
    for node in graph.combined:
        whole = groups.get(graph.group_of(node))
        if whole is None:
            continue
        for branch in graph.alternatives(node):
            part = groups.get(graph.group_of(branch))
            if part is not None and part is not whole:
                clashes.find(whole, part)
    return clashes.nodes.values()


def _describe(members: list[SchemaNode], graph: _Graph) -> _Described:
    described = _Described({}, [], [], set())
    for member in members:
        for child in graph.below(member):
            keyword = child.step[0]
            if child.schema == {}:  # an empty schema declares nothing
                continue
            if keyword == "properties" and len(child.step) == 2:
                described.names.setdefault(str(child.step[1]), []).append(child)
            elif keyword in _ANY_NAME:
                described.any_name.append(child)
            elif keyword in _ENTRIES:
                described.entries.append(child)
            else:
                continue
            described.holders.add(id(member))
    return described


class _Clashes:
    """The parts that several descriptions of one value have in common."""

    def __init__(self) -> None:
        self.nodes: dict[int, SchemaNode] = {}
        self._wholly_found: set[int] = set()

    def find(self, one: _Described, other: _Described) -> None:
        """Add the parts that both describe; a group clashes with itself where its members do."""
        is_same = one is other
        # A name that both have is among the fewer ones.
        fewer, more = sorted((one.names, other.names), key=len)
        for name, nodes in fewer.items():
            both = nodes if is_same else nodes + more.get(name, [])
            if len(both) > (1 if is_same else len(nodes)):
                self._add(both)
        if is_same and len(one.holders) == 1:
            self._find_patterns(one)
            return
        for side, opposite in ((one, other), (other, one)):
            if side.any_name and (opposite.names or opposite.any_name):
                self._add(side.any_name)
                self._add_names(opposite)
        if one.entries and other.entries and (not is_same or len({id(node.parent) for node in one.entries}) > 1):
            self._add(one.entries)
            self._add(other.entries)

    def _find_patterns(self, described: _Described) -> None:
        """Within one schema, a pattern may match a declared name, or two patterns the same name."""
        patterns = [node for node in described.any_name if node.step[0] == "patternProperties"]
        if len(patterns) > 1:
            self._add(patterns)
        if len(patterns) * len(described.names) > _MOST_COMPARISONS:
            # Too many pairs to compare: all of them are left to the author.
            self._add(patterns)
            self._add_names(described)
            return
        for pattern in patterns:
            for name, nodes in described.names.items():
                if _may_match(str(pattern.step[1]), name):
                    self._add([pattern, *nodes])

    def _add(self, nodes: list[SchemaNode]) -> None:
        self.nodes.update((id(node), node) for node in nodes)

    def _add_names(self, described: _Described) -> None:
        if id(described) not in self._wholly_found:
            self._wholly_found.add(id(described))
            for nodes in described.names.values():
                self._add(nodes)


def _may_match(pattern: str, name: str) -> bool:
    """Whether a pattern could match a name. The pattern is untrusted, so it is parsed, never executed."""
    prefix = re.match(r"\^([A-Za-z0-9_-]+)(?![?*{])", pattern)
    return prefix is None or "|" in pattern or name.startswith(prefix[1])


class _Graph:
    """The structure of a tree: which schema contains which, and which refers to which."""

    def __init__(self, tree: SchemaTree) -> None:
        self._nodes = tree.nodes
        self._references = tree.references
        self._below: dict[int, list[SchemaNode]] = {}
        self._leader: dict[int, SchemaNode] = {}
        for node in tree.nodes:
            self._below.setdefault(id(node.parent), []).append(node)
        for parent, node, _ in tree.references.links:
            self._below.setdefault(id(parent), []).append(node)
        self._declaring_choices: set[tuple[int, str | int]] = set()
        declaring: set[int] = set()
        structured: set[int] = set()  # schemas with a branch that has subschemas; most unions are of plain types
        for node in reversed(tree.nodes):  # children before parents
            parent_node, step = node.parent, node.step
            if step and step[0] in _SAME_VALUE:
                if id(node) in self._below:
                    structured.add(id(parent_node))
                if id(node) in declaring or _declares(node.schema):
                    declaring.add(id(parent_node))
                    self._declaring_choices.add((id(parent_node), step[0]))
        structured |= declaring
        self.combined = [
            node
            for node in tree.nodes
            if id(node) in structured or (type(node.schema) is dict and not _JOINING.isdisjoint(node.schema))
        ]
        """The schemas that apply to a value together with others."""

    def placed(self) -> Iterable[tuple[SchemaNode, str | int]]:
        """Every node with the keyword that holds it, once for each position it is used at."""
        for node in self._nodes:
            if node.step:
                yield node, node.step[0]
        for _, node, keyword in self._references.links:
            yield node, keyword

    def below(self, node: SchemaNode) -> list[SchemaNode]:
        return self._below.get(id(node), [])

    def alternatives(self, node: SchemaNode) -> list[SchemaNode]:
        return [child for child in self.below(node) if child.step[0] == "anyOf"]

    def targets(self, node: SchemaNode) -> list[SchemaNode]:
        return self._references.targets_from(node)

    def sources_of_properties(self, node: SchemaNode) -> list[str]:
        """The keywords of one schema that can declare properties of its value."""
        schema = node.schema
        own = [keyword for keyword in _OWN if schema.get(keyword)]
        joined = [keyword for keyword in schema if keyword in _JOINING]
        return own + joined + [keyword for keyword in _CHOICES if (id(node), keyword) in self._declaring_choices]

    def groups(self) -> dict[int, list[SchemaNode]]:
        """The schemas that apply to the same value, grouped under the id of a leader; most schemas are in no group.

        A schema is grouped with its branches, except those of `anyOf`, and with the schemas it refers to. Two schemas
        that refer to one target share a group even if they never apply together: that errs on the safe side.
        """
        members: dict[int, SchemaNode] = {
            id(node): node
            for node in self._nodes
            if type(node.schema) is dict and "patternProperties" in node.schema and "properties" in node.schema
        }
        for node in self.combined:
            branches = [child for child in self.below(node) if child.step[0] in _SAME_VALUE]
            targets = self.targets(node)
            members.update((id(member), member) for member in (node, *branches, *targets))
            for other in [child for child in branches if child.step[0] != "anyOf"] + targets:
                leader, follower = self._find(node), self._find(other)
                if leader is not follower:
                    self._leader[id(follower)] = leader
        grouped: dict[int, list[SchemaNode]] = {}
        for node in members.values():
            if id(node) in self._below:  # a schema without subschemas describes no parts
                grouped.setdefault(self.group_of(node), []).append(node)
        return grouped

    def group_of(self, node: SchemaNode) -> int:
        return id(self._find(node))

    def _find(self, node: SchemaNode) -> SchemaNode:
        """The leader of a node's group, with path compression."""
        leader = node
        while id(leader) in self._leader:
            leader = self._leader[id(leader)]
        while node is not leader:
            self._leader[id(node)], node = leader, self._leader[id(node)]
        return leader


def _declares(schema: object) -> bool:
    """Whether a schema declares properties itself, or has a reference that may."""
    return (
        type(schema) is dict
        and not _DECLARING.isdisjoint(schema)
        and any(schema.get(keyword) for keyword in _DECLARING)
    )

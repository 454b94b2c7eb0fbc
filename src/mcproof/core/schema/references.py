"""Resolve the references of a schema: to a schema of the document, to nothing, or in a circle.

References are only recognised where a schema is expected: a property named `$ref`, or a `$ref` inside an `enum` or
a `default`, is data. Nothing recurses, because the depth and number of references are not under our control.
Why schemas are followed without recursion: docs/decisions/0010-hostile-input.md.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from mcproof.core.named_tuple import NamedTuple
from mcproof.core.schema.keywords import NAMING, REFERENCE_KEYWORDS
from mcproof.core.text.json_positions import resolve, unescape

if TYPE_CHECKING:
    from collections.abc import Iterator

    from mcproof.core.schema.tree import SchemaNode, SchemaTree

_MOST_ANCHORS = 100
"""The most anchors of one name a `$dynamicRef` is followed to; real schemas have a handful."""
_NOWHERE = object()


class Reference(NamedTuple):
    """One `$ref` or `$dynamicRef`: the schema that contains it, its text, and its target."""

    holder: SchemaNode
    keyword: str
    text: str
    target: Any
    resource: dict[str, Any] | None
    """The document it points into: the schema itself, or a part with its own `$id`; None if neither."""
    fragment: str
    """The pointer or anchor it names there."""

    @property
    def is_local(self) -> bool:
        return self.resource is not None

    @property
    def is_resolved(self) -> bool:
        return self.target is not _NOWHERE


class References:
    """All references of a schema, each resolved once."""

    def __init__(self, tree: SchemaTree) -> None:
        self.all: list[Reference] = []
        self.links: list[tuple[SchemaNode, SchemaNode, str | int]] = []
        """Schemas used at a second position, because a reference points at a value that is not a schema by itself: the
        parent there, the schema, and the keyword.
        """
        self._tree = tree
        self._pointers: list[tuple[Reference, str]] | None = None
        self._on_cycles: list[Reference] | None = None
        self._cyclic: set[int] | None = None
        self._held_by: dict[int, list[Reference]] = {}
        self._targets: dict[int, Any] = {}
        self._nodes: dict[int, SchemaNode] = {}
        self._resources: dict[str, Any] = {"": tree.root}  # by address: schemas with their own `$id`
        self._resource_of: dict[int, dict[str, Any]] = {}
        self._base_of: dict[int, str] = {}  # the base address of each schema's references
        self._anchors: dict[tuple[int, str], Any] = {}
        self._dynamic: dict[str, list[dict[str, Any]]] = {}
        if tree.holders:
            self._register(tree.nodes, tree.root)
        resolved: set[int] = set()
        for holder in tree.holders:  # read while it grows: a target at an unusual position may contain more references
            if id(holder.schema) not in resolved:
                resolved.add(id(holder.schema))
                for keyword in REFERENCE_KEYWORDS:
                    text = holder.schema.get(keyword)
                    if isinstance(text, str):
                        self._add(holder, keyword, text)

    def _register(self, nodes: list[SchemaNode], resource: dict[str, Any]) -> None:
        """Record the document and the anchors of these nodes; parents come before children."""
        if not self._tree.has_names and self._are_new(nodes):
            return  # all are of one document
        for node in nodes:
            schema = node.schema
            if type(schema) is not dict:
                continue
            first_node = self._nodes.setdefault(id(schema), node)
            if first_node is not node:  # already reached by another path
                if node.parent is not None and self._nodes[id(node.parent.schema)] is node.parent:
                    self.links.append((node.parent, first_node, node.step[0]))
                continue
            above = id(node.parent.schema) if node.parent is not None else 0
            own, base = self._resource_of.get(above, resource), self._base_of.get(above, "")
            if not NAMING.isdisjoint(schema):
                identifier = schema.get("$id")
                if isinstance(identifier, str) and identifier and not identifier.startswith("#"):
                    base = _join(base, identifier).partition("#")[0]
                    self._resources.setdefault(base, schema)
                    own = schema
                for name in _anchor_names(schema):
                    self._anchors.setdefault((id(own), name), schema)
                if isinstance(schema.get("$dynamicAnchor"), str):
                    same_name = self._dynamic.setdefault(schema["$dynamicAnchor"], [])
                    if len(same_name) < _MOST_ANCHORS:
                        same_name.append(schema)
            self._resource_of[id(schema)] = own
            self._base_of[id(schema)] = base

    def _are_new(self, nodes: list[SchemaNode]) -> bool:
        """Record nodes, if none of their schemas was already reached by another path."""
        by_schema = {id(node.schema): node for node in nodes if type(node.schema) is dict}
        is_repeated = len(by_schema) < sum(type(node.schema) is dict for node in nodes)
        if is_repeated or not self._nodes.keys().isdisjoint(by_schema):
            return False
        self._nodes.update(by_schema)
        return True

    def target(self, schema: dict[str, Any]) -> Any:
        """The target of a schema's `$ref`; None if it has none or the reference is unresolvable."""
        return self._targets.get(id(schema))

    def target_node(self, reference: Reference) -> SchemaNode | None:
        """The node a reference points at; None if it is unresolvable, or a boolean schema."""
        return self._nodes.get(id(reference.target))

    def targets_from(self, node: SchemaNode) -> list[SchemaNode]:
        """The nodes a node's own references point at, or may point at during validation."""
        targets = []
        for reference in self._held_by.get(id(node), ()):
            targets.append(self.target_node(reference))
            if reference.keyword == "$dynamicRef":  # it resolves to the outermost anchor of that name
                targets += [self._nodes.get(id(schema)) for schema in self._dynamic.get(reference.fragment, ())]
        return [target for target in targets if target is not None]

    def _add(self, holder: SchemaNode, keyword: str, text: str) -> None:
        is_local = text.startswith("#")
        resource = self._resource_of.get(id(holder.schema), self._tree.root) if is_local else self._named(holder, text)
        fragment = text.partition("#")[2]
        if "%" in fragment:
            from urllib.parse import unquote

            fragment = unquote(fragment)
        target = _NOWHERE if resource is None else self._look_up(resource, fragment)
        reference = Reference(holder, keyword, text, target, resource, fragment)
        self.all.append(reference)
        self._held_by.setdefault(id(holder), []).append(reference)
        if keyword == "$ref" and target is not _NOWHERE:
            self._targets[id(holder.schema)] = target
        if resource is not None and type(target) is dict and id(target) not in self._nodes:
            path = tuple(map(unescape, fragment.split("/")[1:]))
            self._register(self._tree.admit(target, self._nodes[id(resource)], path), resource)

    def node_at(self, reference: Reference, pointer: str) -> SchemaNode | None:
        """The node at a pointer in the document that a reference points into."""
        try:
            return self._nodes.get(id(resolve(reference.resource, pointer)))
        except LookupError:
            return None

    def _named(self, holder: SchemaNode, text: str) -> dict[str, Any] | None:
        """The schema of this document whose `$id` a reference names, if there is one."""
        if len(self._resources) == 1:  # no `$id` anywhere
            return None
        uri = _join(self._base_of.get(id(holder.schema), ""), text).partition("#")[0]
        return self._resources.get(uri) if uri else None

    def _look_up(self, resource: dict[str, Any], fragment: str) -> Any:
        if not fragment:
            return resource
        if fragment.startswith("/"):
            try:
                return resolve(resource, fragment)
            except LookupError:
                return _NOWHERE
        return self._anchors.get((id(resource), fragment), _NOWHERE)

    @property
    def placed(self) -> list[tuple[Reference, str]]:
        """Every `$ref`, with its pointer from the tool."""
        if self._pointers is None:
            references = [reference for reference in self.all if reference.keyword == "$ref"]
            self._pointers = [(reference, f"{reference.holder.pointer}/$ref") for reference in references]
        return self._pointers

    def on_cycles(self) -> list[Reference]:
        """The references on a cycle of containment and reference, in document order."""
        if self._on_cycles is None:
            self._on_cycles = self._find_cycles() if self._may_be_cyclic() else []
        return self._on_cycles

    def _find_cycles(self) -> list[Reference]:
        components = self._components()
        cyclic = [
            reference
            for reference in self.all
            if (target := self.target_node(reference)) is not None
            and components[id(reference.holder)] == components[id(target)]
        ]
        order = self._order_of_text() if cyclic else {}
        return sorted(cyclic, key=lambda reference: order[id(reference.holder)])

    def _order_of_text(self) -> dict[int, int]:
        """The index of each node in document order."""
        children = self._children()
        order: dict[int, int] = {}
        unread = [self._tree.nodes[0]]
        while unread:
            node = unread.pop()
            order[id(node)] = len(order)
            unread += reversed(children.get(id(node), []))
        return order

    def _children(self) -> dict[int, list[SchemaNode]]:
        children: dict[int, list[SchemaNode]] = {}
        for node in self._tree.nodes:
            if node.parent is not None:
                children.setdefault(id(node.parent), []).append(node)
        return children

    def is_cyclic(self, schema: dict[str, Any]) -> bool:
        """Whether a schema contains a reference that leads back to the schema itself."""
        if self._cyclic is None:
            self._cyclic = {id(reference.holder.schema) for reference in self.on_cycles()}
        return id(schema) in self._cyclic

    def _may_be_cyclic(self) -> bool:
        """Whether any reference is inside the target of one; without that, which is common, there is no cycle."""
        if self.links:
            return True
        targets = {id(self.target_node(reference)) for reference in self.all}
        for holder in self._tree.holders:
            at: SchemaNode | None = holder
            while at is not None:
                if id(at) in targets:
                    return True
                at = at.parent
        return False

    def _components(self) -> dict[int, int]:
        """The strongly connected component of each node of the schema graph (Tarjan's algorithm)."""
        follows: dict[int, list[SchemaNode]] = {id(node): [] for node in self._tree.nodes}
        for parent, children in self._children().items():
            follows[parent] += children
        for parent_node, child, _ in self.links:
            follows[id(parent_node)].append(child)
        for holder in self._tree.holders:
            follows[id(holder)] += self.targets_from(holder)
        order: dict[int, int] = {}
        lowest: dict[int, int] = {}
        component: dict[int, int] = {}
        unassigned: list[int] = []
        for start in self._tree.nodes:
            if id(start) in order:
                continue
            # A path instead of recursion, as a chain of references may be longer than Python's stack is deep.
            path: list[tuple[int, Iterator[SchemaNode]]] = []
            entering: SchemaNode | None = start
            while entering is not None or path:
                if entering is not None:
                    at = id(entering)
                    order[at] = lowest[at] = len(order)
                    unassigned.append(at)
                    path.append((at, iter(follows[at])))
                    entering = None
                at, following = path[-1]
                for following_node in following:
                    to = id(following_node)
                    if to not in order:
                        entering = following_node
                        break
                    if to not in component:
                        lowest[at] = min(lowest[at], order[to])
                else:
                    path.pop()
                    if path:
                        lowest[path[-1][0]] = min(lowest[path[-1][0]], lowest[at])
                    if lowest[at] == order[at]:
                        while True:
                            member = unassigned.pop()
                            component[member] = order[at]
                            if member == at:
                                break
        return component


def _join(base: str, reference: str) -> str:
    from urllib.parse import urljoin

    try:
        return urljoin(base, reference)
    except ValueError:  # not a URI; it only matches an identical `$id`
        return reference


def _anchor_names(schema: dict[str, Any]) -> Iterator[str]:
    for keyword in ("$anchor", "$dynamicAnchor"):
        name = schema.get(keyword)
        if isinstance(name, str):
            yield name
    identifier = schema.get("$id")
    if isinstance(identifier, str) and identifier.startswith("#"):  # in draft-07, such an id is an anchor
        yield identifier[1:]

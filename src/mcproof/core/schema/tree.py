"""The tree of one JSON Schema: every schema inside it, found once.

A tool's input schema is walked once, breadth first and without recursion; all rules read the result, and nothing
here judges. Nodes know their parent, so a pointer is only built for what is reported.
Why one walk serves all rules: docs/decisions/0014-one-schema-walk.md.
"""

from __future__ import annotations

import marshal
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, Literal

from mcproof.core.schema.acceptance import accepts_nothing
from mcproof.core.schema.keywords import DECLARED_MAPS, MAPS, NAMING, SCHEMA_LISTS, SINGLES, marks_of
from mcproof.core.text.json_positions import escape

if TYPE_CHECKING:
    from mcproof.core.schema.references import References


STRICT_LEVELS = 500
"""Rules about single schemas stop at this depth, because pointers grow with depth."""

CONDITIONS = frozenset({"not", "if", "then", "else", "contains", "propertyNames", "dependentSchemas", "dependencies"})
"""Keywords whose schemas test an instance rather than declare it."""

_DECLARED_SINGLES = frozenset({"items", "additionalProperties"})
_DIALECTS = ("json-schema.org/draft/2020-12", "json-schema.org/draft-07", "json-schema.org/draft-06")
_ENTANGLING = CONDITIONS | {"anyOf", "oneOf", "allOf"}


class SchemaNode:
    """A schema at its position: its JSON, its parent, and the step from there."""

    __slots__ = ("declaring", "level", "parent", "schema", "step", "tree")

    def __init__(
        self,
        tree: SchemaTree,
        schema: Any,
        parent: SchemaNode | None,
        step: tuple[str | int, ...],
        level: int,
        declaring: bool,
    ) -> None:
        self.tree = tree
        self.schema = schema
        self.parent = parent
        self.step = step
        self.level = level
        self.declaring = declaring

    @property
    def path(self) -> str:
        """The pointer from the root of the schema; empty for the root."""
        pieces: list[str] = []
        node = self
        while node.parent is not None:
            pieces.append("/".join(["", *(escape(str(token)) for token in node.step)]))
            node = node.parent
        return "".join(reversed(pieces))

    @property
    def pointer(self) -> str:
        """The pointer from the tool."""
        return self.tree.base + self.path

    @property
    def obstacle(self) -> str | None:
        """Why this object cannot be closed automatically; None if it can."""
        return self.tree.obstacles.get(id(self))

    def requirable(self) -> list[str]:
        """Declared properties, except those that no finite or valid instance can have: recursive and forbidden ones."""
        tree = self.tree
        return [
            name
            for name, schema in self.properties.items()
            if not (isinstance(schema, dict) and "$ref" in schema and tree.references.is_cyclic(schema))
            and not accepts_nothing(schema, tree)
        ]

    @property
    def keyword(self) -> str:
        """The keyword of the parent that holds this schema; empty for the root."""
        return str(self.step[0]) if self.step else ""

    @property
    def is_usual(self) -> bool:
        """Whether keywords make it a schema: it is not a schema only because a reference points at it."""
        node = self
        while node.parent is not None:
            keyword, *key = node.step
            kinds = SINGLES if not key else SCHEMA_LISTS if type(key[0]) is int else MAPS
            if keyword not in kinds or len(key) > 1:
                return False
            node = node.parent
        return True

    @property
    def properties(self) -> dict[str, Any]:
        """The declared properties; empty if the keyword is absent or malformed."""
        declared = self.schema.get("properties")
        return declared if isinstance(declared, dict) else {}


class Property(SchemaNode):
    """An entry of a `properties` object, whatever its value."""

    __slots__ = ("name",)

    def __init__(self, tree: SchemaTree, schema: Any, parent: SchemaNode, name: str, level: int) -> None:
        super().__init__(tree, schema, parent, ("properties", name), level, True)
        self.name = name


class SchemaTree:
    """A schema and all schemas below it, each visited once."""

    __slots__ = (
        "_by_keyword",
        "_marks",
        "_most_bytes",
        "_obstacles",
        "_references",
        "answers",
        "base",
        "cut",
        "deepest",
        "explanation",
        "holders",
        "nodes",
        "objects",
        "properties",
    )

    def __init__(self, schema: dict[str, Any], base: str = "/inputSchema") -> None:
        self.base = base
        self.nodes: list[SchemaNode] = []
        self.objects: list[SchemaNode] = []
        """Schemas at declaring positions that describe an object: by their `type`, or by having `properties`."""
        self.properties: list[Property] = []
        """Properties at declaring positions, those of the root first."""
        self.holders: list[SchemaNode] = []
        """Schemas that contain a `$ref` or a `$dynamicRef`."""
        self.cut: SchemaNode | None = None
        """The first schema below STRICT_LEVELS, if there is one."""
        self.answers: dict[int, Any] = {}
        """Results of `acceptance`, by the id of the schema."""
        self.explanation = ""
        """The description of the tool that has this schema, which may explain parameters."""
        self._references: References | None = None
        self._obstacles: dict[int, str] | None = None
        self._by_keyword: dict[str, list[SchemaNode]] | None = None
        self._most_bytes: float | None = None
        self._marks: frozenset[str] | Literal["unknown"] | None = "unknown"
        self.nodes.append(SchemaNode(self, schema, None, (), 1, True))
        self.deepest = _walk(self, self.nodes)
        """The nesting depth of objects and arrays; the root is level 1."""

    def admit(self, schema: dict[str, Any], ancestor: SchemaNode, path: tuple[str, ...]) -> list[SchemaNode]:
        """Add a schema at a position that no keyword makes a schema, because a reference points at it."""
        nodes = [SchemaNode(self, schema, ancestor, path, ancestor.level + len(path), False)]
        _walk(self, nodes)
        self.nodes += nodes
        if self._by_keyword is not None:  # extended, as a chain of references admits a schema at a time
            _add_keywords(self._by_keyword, nodes)
        return nodes

    def release(self) -> None:
        """Break the reference cycle between tree and nodes, since garbage collection may be disabled."""
        for nodes in (self.nodes, self.objects, self.properties, self.holders):
            nodes.clear()
        self._references = self._by_keyword = None

    @property
    def root(self) -> dict[str, Any]:
        schema: dict[str, Any] = self.nodes[0].schema
        return schema

    @property
    def parameters(self) -> list[Property]:
        """The properties of the root: a call's arguments."""
        return self.properties[: len(self.nodes[0].properties)]

    @property
    def references(self) -> References:
        """The resolved references, computed on first use."""
        if self._references is None:
            from mcproof.core.schema.references import References

            self._references = References(self)
        return self._references

    @property
    def by_keyword(self) -> dict[str, list[SchemaNode]]:
        """The schemas that use each keyword, computed on first use."""
        if self._by_keyword is None:
            # On first use: runs of rules that look at no keyword need no index.
            self._by_keyword = {}
            _add_keywords(self._by_keyword, self.nodes)
        return self._by_keyword

    @property
    def has_names(self) -> bool:
        """Whether references can name a schema in it, other than by a pointer."""
        return not NAMING.isdisjoint(self.by_keyword)

    @property
    def marks(self) -> frozenset[str] | None:
        """What it uses, as `marks_of` has it; computed on first use."""
        if self._marks == "unknown":
            self._marks = marks_of(self.root)
        return self._marks

    @property
    def most_bytes(self) -> float:
        """A bound for the bytes of its compact JSON; computed on first use."""
        if self._most_bytes is None:
            try:
                # JSON takes at most six times as many bytes as this, which is written four times faster: `false,` takes
                # six for one, an escaped control character, too. Few schemas are long enough to be encoded.
                self._most_bytes = len(marshal.dumps(self.root, 2)) * 6
            except ValueError:  # nested too deep for it
                self._most_bytes = float("inf")
        return self._most_bytes

    @property
    def is_plain(self) -> bool:
        """Whether the types of its values show that every dialect accepts it."""
        return self.marks is not None

    @property
    def obstacles(self) -> dict[int, str]:
        """The objects that must not be closed automatically, with the reasons; computed on first use."""
        if self._obstacles is None:
            dialect = self.root.get("$schema", "")
            if dialect and not any(supported in str(dialect) for supported in _DIALECTS):
                reason = "its `$schema` dialect is not supported"
                self._obstacles = {id(node): reason for node in self.objects}
            elif self._is_entangled():
                from mcproof.core.schema.closing import obstacles

                self._obstacles = obstacles(self)
            else:
                self._obstacles = {}
        return self._obstacles

    def _is_entangled(self) -> bool:
        """Whether any object could be affected by another schema; usually none is."""
        if self.holders:
            return True
        for node in self.objects:
            if not _ENTANGLING.isdisjoint(node.schema) or "patternProperties" in node.schema:
                return True
            at = node
            while at.parent is not None:
                if at.step[0] in _ENTANGLING:
                    return True
                at = at.parent
        return False


def _walk(tree: SchemaTree, nodes: list[SchemaNode]) -> int:
    """Append every schema below those in `nodes` to the list; return the nesting depth.

    The list grows while it is iterated, which makes the order breadth first: parents before children, siblings in
    document order.
    """
    deepest = 1
    for node in nodes:
        schema, level, declaring = node.schema, node.level, node.declaring
        if type(schema) is not dict:
            if type(schema) is list:
                deepest = max(deepest, level - 1 + nesting(schema))
            continue
        if level > deepest:
            deepest = level
        if declaring and _describes_object(schema):
            if level <= STRICT_LEVELS:
                tree.objects.append(node)
            # Remembered, so that a rule can say where it stopped: what is not judged is not clean.
            elif tree.cut is None:
                tree.cut = node
        if "$ref" in schema or "$dynamicRef" in schema:
            tree.holders.append(node)
        for keyword, value in schema.items():
            kind = type(value)
            inside = 1
            if kind is dict:
                if keyword in SINGLES:
                    below = declaring and keyword in _DECLARED_SINGLES
                    nodes.append(SchemaNode(tree, value, node, (keyword,), level + 1, below))
                    continue
                if keyword == "properties" and declaring:
                    entries = [Property(tree, subschema, node, name, level + 2) for name, subschema in value.items()]
                    nodes += entries
                    if level <= STRICT_LEVELS:
                        tree.properties += entries
                elif keyword in MAPS:
                    inside += _add(nodes, node, keyword, value.items(), declaring and keyword in DECLARED_MAPS)
                else:
                    inside = nesting(value)
            elif kind is list:
                if keyword in SCHEMA_LISTS:
                    inside += _add(nodes, node, keyword, enumerate(value), declaring)
                else:
                    inside = nesting(value)
            else:
                continue
            if level + inside > deepest:
                deepest = level + inside
    return deepest


def _describes_object(schema: dict[str, Any]) -> bool:
    """Whether a schema describes an object: by its `type`, or by having `properties`."""
    kind = schema.get("type")
    return kind == "object" or (type(kind) is list and "object" in kind) or type(schema.get("properties")) is dict


def _add(
    nodes: list[SchemaNode], parent: SchemaNode, keyword: str, members: Iterable[tuple[str | int, Any]], declaring: bool
) -> int:
    """Add the schemas in the value of a keyword; return the nesting depth of members that are no schemas."""
    deepest = 0
    for key, member in members:
        if type(member) is dict:
            nodes.append(SchemaNode(parent.tree, member, parent, (keyword, key), parent.level + 2, declaring))
        else:
            deepest = max(deepest, nesting(member))
    return deepest


def _add_keywords(by_keyword: dict[str, list[SchemaNode]], nodes: list[SchemaNode]) -> None:
    for node in nodes:
        for keyword in node.schema if type(node.schema) is dict else ():
            by_keyword.setdefault(keyword, []).append(node)


def nesting(value: Any) -> int:
    """The nesting depth of objects and arrays in a value; 0 for a scalar."""
    deepest = 0
    level = [value]
    while level:
        containers = [container for container in level if type(container) is dict or type(container) is list]
        if not containers:
            break
        deepest += 1
        level = [
            child
            for container in containers
            for child in (container.values() if type(container) is dict else container)
        ]
    return deepest

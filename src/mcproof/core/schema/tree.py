"""The tree of one JSON Schema: every schema inside it, found once.

A tool's input schema is walked once, breadth first and without recursion; all rules read the result, and nothing
here judges. Nodes know their parent, so a pointer is only built for what is reported.
Why one walk serves all rules: docs/decisions/0014-one-schema-walk.md.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from mcproof.core.schema.acceptance import accepts_nothing
from mcproof.core.schema.keywords import (
    DECLARED_MAPS,
    DEEP,
    ENUM,
    EXTERNAL,
    KNOWN_SHAPES,
    LIST,
    LISTS,
    MAPS,
    ODD,
    ODD_ENUM,
    ODD_KEY,
    PROPERTIES,
    REFERENCE_KEYWORDS,
    REQUIRED,
    SINGLE,
    SINGLES,
    UNDECLARED,
    UNTYPED,
    SchemaShape,
    distinct_texts,
    is_unusual_dialect,
    shape_of,
)
from mcproof.core.text.json_positions import escape

if TYPE_CHECKING:
    from mcproof.core.schema.references import References


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
    return any(type(text) is str and not text.startswith("#") for text in texts)


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
        parent = self.parent
        if parent is None:
            return ""
        tree = self.tree
        if tree.last_parent is not parent:  # siblings are usually visited one after the other
            tree.last_parent, tree.last_path = parent, parent._path_from_root()
        return tree.last_path + _piece(self.step)

    def _path_from_root(self) -> str:
        pieces = []
        node = self
        while node.parent is not None:
            pieces.append(_piece(node.step))
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
            if not (keyword in (SINGLES if not key else LISTS if type(key[0]) is int else MAPS) and len(key) < 2):
                return False
            node = node.parent
        return True

    @property
    def properties(self) -> dict[str, Any]:
        """The declared properties; empty if the keyword is absent or malformed."""
        declared = self.schema.get("properties")
        return declared if isinstance(declared, dict) else {}


def _piece(step: tuple[str | int, ...]) -> str:
    """A step as part of a pointer."""
    if len(step) == 2 and type(name := step[1]) is str and "~" not in name and "/" not in name:
        return f"/{step[0]}/{name}"
    return "/" + "/".join([escape(token) if type(token) is str else str(token) for token in step])


class Property(SchemaNode):
    """An entry of a `properties` object, whatever its value."""

    __slots__ = ("name",)

    def __init__(self, tree: SchemaTree, schema: Any, parent: SchemaNode, name: str, level: int) -> None:
        self.tree = tree
        self.schema = schema
        self.parent = parent
        self.step = ("properties", name)
        self.level = level
        self.declaring = True
        self.name = name

    @property
    def pointer(self) -> str:
        """The pointer from the tool; optimised, because most findings need it."""
        tree, name = self.tree, self.name
        if "~" in name or "/" in name:
            name = escape(name)
        if tree.last_parent is not self.parent:
            return tree.base + self.path
        return f"{tree.base}{tree.last_path}/properties/{name}"


class SchemaTree:
    """A schema and all schemas below it, each visited once."""

    __slots__ = (
        "_marks",
        "_obstacles",
        "_references",
        "answers",
        "base",
        "cut",
        "deepest",
        "explanation",
        "has_names",
        "holders",
        "last_parent",
        "last_path",
        "nodes",
        "objects",
        "properties",
        "shapes",
        "untyped",
        "unusual",
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
        self.shapes: set[SchemaShape] = set()
        self.untyped: list[SchemaNode] = []
        """Schemas without any of TYPE_KEYWORDS."""
        self.unusual: set[str] = set()
        """The marks that shapes do not show."""
        self.has_names = False
        """Whether references can name a schema in it, other than by a pointer."""
        self.cut: SchemaNode | None = None
        """The first schema below STRICT_LEVELS, if there is one."""
        self.answers: dict[int, Any] = {}
        """Results of `acceptance`, by the id of the schema."""
        self.explanation = ""
        """The description of the tool that has this schema, which may explain parameters."""
        self.last_parent: SchemaNode | None = None
        self.last_path = ""
        self._references: References | None = None
        self._obstacles: dict[int, str] | None = None
        self._marks: frozenset[str] | None = None
        self.nodes.append(SchemaNode(self, schema, None, (), 1, True))
        self.deepest = _walk(self, self.nodes)
        """The nesting depth of objects and arrays; the root is level 1."""

    def admit(self, schema: dict[str, Any], ancestor: SchemaNode, path: tuple[str, ...]) -> list[SchemaNode]:
        """Add a schema at a position that no keyword makes a schema, because a reference points at it."""
        nodes = [SchemaNode(self, schema, ancestor, path, ancestor.level + len(path), False)]
        _walk(self, nodes)
        self.nodes += nodes
        self._marks = None
        return nodes

    def release(self) -> None:
        """Break the reference cycle between tree and nodes, since garbage collection may be disabled."""
        for nodes in (self.nodes, self.objects, self.properties, self.holders):
            nodes.clear()
        self.untyped.clear()
        self.last_parent = self._references = None

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
    def marks(self) -> frozenset[str]:
        """Its keywords, and marks for everything unusual (see `marks_in`); computed on first use."""
        if self._marks is None:
            self._marks = marks_in(self)
        return self._marks

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
    objects, properties, unusual = tree.objects, tree.properties, tree.unusual
    # Looked up once, because the loop runs for every schema.
    shapes, add_shape = KNOWN_SHAPES, tree.shapes.add
    for node in nodes:
        current = node.schema
        if type(current) is not dict:
            unusual.update((ODD, UNTYPED))
            if type(current) is list:
                deepest = max(deepest, node.level - 1 + nesting(current))
            continue
        try:
            shape = shapes[current.get("type"), *current, *map(type, current.values())]
        except (KeyError, TypeError):  # TypeError: `type` is a list
            shape = shape_of(current)
        add_shape(shape)
        level = node.level
        if level > deepest:
            deepest = level
        if shape.is_leaf:
            continue
        declaring = node.declaring
        if declaring and shape.describes_object:
            if level <= STRICT_LEVELS:
                objects.append(node)
            elif tree.cut is None:
                tree.cut = node
        if shape.has_reference:
            tree.holders.append(node)
        if shape.has_name:
            tree.has_names = True
        if shape.lacks_type:
            tree.untyped.append(node)
        if shape.counts:
            mark_counts(current, shape.counts, unusual)
        for keyword, descent in shape.containers:
            value = current[keyword]
            inside = 1
            if descent == PROPERTIES and declaring:
                entries = [Property(tree, subschema, node, name, level + 2) for name, subschema in value.items()]
                nodes += entries
                if level <= STRICT_LEVELS:
                    properties += entries
                mark_names(value, unusual)
            elif descent == SINGLE:
                below = declaring and keyword in _DECLARED_SINGLES
                nodes.append(SchemaNode(tree, value, node, (keyword,), level + 1, below))
                continue
            elif descent == LIST:
                if not value:
                    unusual.add(ODD)
                for index, subschema in enumerate(value):
                    if type(subschema) is dict:
                        nodes.append(SchemaNode(tree, subschema, node, (keyword, index), level + 2, declaring))
                    else:
                        unusual.add(ODD)
                        inside = max(inside, 1 + nesting(subschema))
            elif descent >= REQUIRED:
                if not is_list_of_scalars(descent, value, current, unusual):
                    inside = nesting(value)
            else:
                below = declaring and keyword in DECLARED_MAPS
                if descent == PROPERTIES:
                    mark_names(value, unusual)
                for name, subschema in value.items():
                    if type(subschema) is dict:
                        nodes.append(SchemaNode(tree, subschema, node, (keyword, name), level + 2, below))
                    else:
                        unusual.add(ODD)
                        inside = max(inside, 1 + nesting(subschema))
            if level + inside > deepest:
                deepest = level + inside
    return deepest


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

"""Which objects of a schema can be closed without changing what another schema accepts.

Closing an object (no further properties, all declared ones required) is safe where the object stands alone.
It is not where the object is one of several schemas that judge the same value: the others' properties would
become unexpected, or a value that matched two alternatives would come to match one. This module finds those
places and says, in words, why each is left to the author.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from mcproof.references import REFERENCE_KEYWORDS
from mcproof.schemas import CONDITIONS

if TYPE_CHECKING:
    from mcproof.schemas import SchemaNode, SchemaTree

_OWN = ("properties", "patternProperties")
_CHOICES = ("anyOf", "oneOf", "then", "else", "dependentSchemas", "dependencies")
_FREEZING = CONDITIONS | {"allOf", "oneOf"}
_SAME_VALUE = frozenset({*_CHOICES, "allOf"})
_DECLARING = frozenset({*_OWN, *REFERENCE_KEYWORDS})
_COMBINING = frozenset({*_SAME_VALUE, *REFERENCE_KEYWORDS})

Blocked = list[tuple["SchemaNode", str]]
"""Schemas that must stay open, each with the reason, to be read after "because"."""


def obstacles(tree: SchemaTree) -> dict[int, str]:
    """Why each schema that must not be closed must not be, by the id of its node."""
    reasons: dict[int, str] = {}
    graph = _Graph(tree)
    frozen: Blocked = []
    shared: Blocked = []
    for node in tree.nodes:
        if node.step and node.step[0] in _FREEZING:
            frozen.append((node, f"it stands under `{node.step[0]}`"))
        if type(node.schema) is not dict or _COMBINING.isdisjoint(node.schema):
            continue
        sources = graph.sources_of_properties(node)
        beside = [keyword for keyword in sources if keyword not in _OWN]
        if beside:
            reasons[id(node)] = f"it stands beside `{beside[0]}`, which can bring properties of its own"
        together = "its value is also judged by the schema that combines it with others"
        if any(keyword != "anyOf" for keyword in sources):
            shared += [(branch, together) for branch in graph.alternatives(node)]
        if any(keyword not in REFERENCE_KEYWORDS for keyword in sources):
            shared += [(target, together) for target in graph.targets(node)]
    _spread(frozen, graph, reasons, everywhere=True)
    _spread(shared, graph, reasons, everywhere=False)
    _keep_referenced_switches(tree, reasons)
    return reasons


def _spread(blocked: Blocked, graph: _Graph, reasons: dict[int, str], *, everywhere: bool) -> None:
    """Block these and what follows from them: all that lies below and all they refer to, or only the same value."""
    reached: set[int] = set()
    while blocked:
        node, reason = blocked.pop()
        if id(node) in reached:
            continue
        reached.add(id(node))
        reasons.setdefault(id(node), reason)
        if everywhere:
            blocked += [(child, reason) for child in graph.below(node)]
            from_there = f"it is referred to from where {reason.rpartition(' from where ')[2]}"
            blocked += [(target, from_there) for target in graph.targets(node)]
        else:
            blocked += [(each, reason) for each in graph.alternatives(node) + graph.targets(node)]


def _keep_referenced_switches(tree: SchemaTree, reasons: dict[int, str]) -> None:
    """An `additionalProperties` that a reference points at is somebody's schema, not only a switch."""
    end = "/additionalProperties"
    pointed_at = {each.text[1:] for each in tree.references.all if each.is_local and each.text.endswith(end)}
    for node in tree.objects if pointed_at else []:
        if node.path + end in pointed_at:
            reasons.setdefault(id(node), "a `$ref` points at its `additionalProperties`")


class _Graph:
    """How the schemas of a tree hang together: what lies below what, and what refers to what."""

    def __init__(self, tree: SchemaTree) -> None:
        self._nodes = tree.nodes
        self._references = tree.references
        self._below: dict[int, list[SchemaNode]] | None = None
        self._declaring_choices: set[tuple[int, str | int]] = set()
        declaring: set[int] = set()
        for node in reversed(tree.nodes):  # children before parents
            parent, step = node.parent, node.step
            if step and step[0] in _SAME_VALUE and (id(node) in declaring or _declares(node.schema)):
                declaring.add(id(parent))
                self._declaring_choices.add((id(parent), step[0]))

    def below(self, node: SchemaNode) -> list[SchemaNode]:
        if self._below is None:
            self._below = {}
            for each in self._nodes:
                self._below.setdefault(id(each.parent), []).append(each)
        return self._below.get(id(node), [])

    def alternatives(self, node: SchemaNode) -> list[SchemaNode]:
        return [child for child in self.below(node) if child.step[0] == "anyOf"]

    def targets(self, node: SchemaNode) -> list[SchemaNode]:
        return self._references.targets_from(node)

    def sources_of_properties(self, node: SchemaNode) -> list[str]:
        """The keywords of one schema through which its value can get properties."""
        schema = node.schema
        own = [keyword for keyword in _OWN if schema.get(keyword)]
        joined = [keyword for keyword in ("allOf", *REFERENCE_KEYWORDS) if keyword in schema]
        return own + joined + [keyword for keyword in _CHOICES if (id(node), keyword) in self._declaring_choices]


def _declares(schema: object) -> bool:
    """Whether a schema itself brings properties, or a reference that may."""
    return (
        type(schema) is dict
        and not _DECLARING.isdisjoint(schema)
        and any(schema.get(keyword) for keyword in _DECLARING)
    )

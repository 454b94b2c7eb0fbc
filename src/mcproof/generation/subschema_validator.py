"""Validate values against the subschemas of one schema, with a single compiled validator.

A validator for each subschema would repeat everything that it refers to: definitions that refer to each other take
memory of the fourth power of their number. Here every subschema is compiled once. The compiled schema is a tree of
`properties` whose leaves refer to the subschemas; the path to a leaf selects the subschema to apply.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from mcproof.schema.tree import SchemaTree

if TYPE_CHECKING:
    from collections.abc import Callable

    from mcproof.schema.tree import SchemaNode

_FANOUT = 32
"""The properties of one level: the validator looks for each of them in the value."""
_DEFINITIONS = ("$defs", "definitions")
_BASE = "https://schema.invalid/"
"""The address of a schema without an absolute `$id`; never accessed."""


class SubschemaValidator:
    """Selects and applies the subschemas of one schema. Raises an exception of the validator if it does not compile."""

    def __init__(self, schema: dict[str, Any]) -> None:
        import jsonschema_rs

        base = _address(schema)
        pointers = [node.path for node in _reachable(SchemaTree(schema))]
        self._leaves = {pointer: number for number, pointer in enumerate(pointers)}
        level: list[dict[str, Any]] = [{"$ref": f"{base}#{_fragment(pointer)}"} for pointer in pointers]
        self._depth = 0
        while self._depth == 0 or len(level) > 1:
            level = [_selector(level[first : first + _FANOUT]) for first in range(0, len(level), _FANOUT)]
            self._depth += 1
        registry = jsonschema_rs.Registry([(base, schema)])
        self._validator = jsonschema_rs.validator_for(level[0], registry=registry, validate_formats=True, offline=True)

    def check_at(self, pointer: str) -> Callable[[Any], bool] | None:
        """Return a check against the subschema at a pointer; None if nothing refers to it."""
        leaf = self._leaves.get(pointer)
        if leaf is None:
            return None
        steps = []
        for _ in range(self._depth):
            leaf, step = divmod(leaf, _FANOUT)
            steps.append(str(step))

        def check(value: Any) -> bool:
            for step in steps:
                value = {step: value}
            return bool(self._validator.is_valid(value))

        return check


def _selector(schemas: list[dict[str, Any]]) -> dict[str, Any]:
    return {"properties": {str(number): schema for number, schema in enumerate(schemas)}}


def _reachable(tree: SchemaTree) -> list[SchemaNode]:
    """The subschemas that apply to some part of a value; unused definitions may be invalid."""
    references = tree.references
    below: dict[int, list[SchemaNode]] = {}
    for node in tree.nodes:
        if node.parent is not None and node.keyword not in _DEFINITIONS:
            below.setdefault(id(node.parent), []).append(node)
    found = {id(tree.nodes[0]): tree.nodes[0]}
    waiting = [tree.nodes[0]]
    while waiting:
        node = waiting.pop()
        for each in (*below.get(id(node), ()), *references.targets_from(node)):
            if id(each) not in found:
                found[id(each)] = each
                waiting.append(each)
    return [node for node in found.values() if type(node.schema) is dict]


def _address(schema: dict[str, Any]) -> str:
    """The address that the references of a schema are relative to."""
    from urllib.parse import urldefrag, urljoin

    identifier = schema.get("$id")
    return urldefrag(urljoin(_BASE, identifier)).url if type(identifier) is str else _BASE


def _fragment(pointer: str) -> str:
    from urllib.parse import quote

    return quote(pointer)

"""One of the two schemas of a comparison."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from mcproof.diff.property_names import declared, demanded
from mcproof.schema.tree import SchemaTree

if TYPE_CHECKING:
    from collections.abc import Iterator

    from mcproof.schema.references import Reference

_DRAFTS = {"2020-12": 20, "2019-09": 19, "draft-07": 7, "draft-06": 6, "draft-04": 4}
DEFAULT_DRAFT = 20
"""What MCP says a schema without `$schema` is written in: draft 2020-12."""


class Side:
    """One of the two schemas of a comparison, with its references."""

    def __init__(self, root: dict[str, Any], base: str) -> None:
        self.root = root
        self.base = base
        self._tree = SchemaTree(root, base)
        self._references: dict[int, Reference] | None = None
        self._names: frozenset[str] | None = None

    @property
    def draft(self) -> int | None:
        """The number of the draft that it is written in; None for one that is unknown."""
        dialect = self.root.get("$schema")
        if dialect is None:
            return DEFAULT_DRAFT
        return next((number for name, number in _DRAFTS.items() if f"/{name}/schema" in str(dialect)), None)

    @property
    def ignores_siblings(self) -> bool:
        """Whether a `$ref` makes its siblings mean nothing, as in the drafts before 2019-09."""
        return (self.draft or DEFAULT_DRAFT) < 19

    def reference(self, schema: dict[str, Any]) -> Reference | None:
        """The `$ref` of a schema, if it leads somewhere."""
        if self._references is None:
            self._references = {
                id(each.holder.schema): each
                for each in self._tree.references.all
                if each.keyword == "$ref" and each.is_resolved
            }
        return self._references.get(id(schema))

    def pointer_of(self, reference: Reference) -> str | None:
        """Where the target of a reference stands, from the item; None for `true` and `false`."""
        node = self._tree.references.target_node(reference)
        return None if node is None else node.pointer

    def schemas(self) -> Iterator[dict[str, Any]]:
        """Every schema of the document that is an object."""
        return (node.schema for node in self._tree.nodes if isinstance(node.schema, dict))

    @property
    def names(self) -> frozenset[str]:
        """Every name that any object of the schema declares or asks for."""
        if self._names is None:
            self._names = frozenset(
                name for schema in self.schemas() for name in (*declared(schema), *demanded(schema))
            )
        return self._names

    def release(self) -> None:
        """Let go of the walk, which refers to itself."""
        self._references = None
        self._tree.release()

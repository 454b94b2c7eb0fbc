"""One of the two schema documents of a comparison, and its subschemas."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from mcproof.core.schema.keywords import assertions, unknown_keywords
from mcproof.core.schema.tree import SchemaTree
from mcproof.core.text.json_positions import escape
from mcproof.diff.property_names import declared_properties, mentioned_names

if TYPE_CHECKING:
    from collections.abc import Iterator

    from mcproof.core.schema.references import Reference

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
                id(each.holder.schema): each
                for each in self._tree.references.all
                if each.keyword == "$ref" and each.is_resolved
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
        found = [self]
        current = self
        for _ in range(_MAX_REFERENCES):
            following = current._following()
            if following is None:
                break
            current = following
            found.append(current)
        return found

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
    for each in reversed(chain):
        if type(each.schema) is dict and not ("$ref" in each.schema and each.document.ignores_ref_siblings):
            keywords |= unknown_keywords(each.schema)
    return keywords

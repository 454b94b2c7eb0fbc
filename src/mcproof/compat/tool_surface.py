"""What clients see of a tool and of a server: members, and schemas as trees with the keywords they use."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from mcproof.core.schema.keywords import ODD

if TYPE_CHECKING:
    from collections.abc import Iterator

    from mcproof.core.catalog.model import Catalog, Tool
    from mcproof.core.schema.tree import SchemaNode


class ToolSurface:
    """One tool as client constraints check it. Each part is computed on first use."""

    __slots__ = ("_using", "fields", "output_schema", "schema", "server_key", "tool", "tree")

    def __init__(self, tool: Tool, server_key: str = "") -> None:
        self.tool = tool
        self.server_key = server_key
        """The name of the server in a client's configuration, which clients put before the tool's name."""
        self.fields = tool.fields
        self._using: dict[str, list[SchemaNode]] = {}
        self.schema = tool.schema
        self.tree = tool.tree
        self.output_schema: Any = tool.fields.get("outputSchema")

    @property
    def nodes(self) -> list[SchemaNode]:
        """The input schema and every schema inside it."""
        return self.tree.nodes if self.tree is not None else []

    def using(self, keyword: str) -> list[SchemaNode]:
        """The schemas that use a keyword."""
        found = self._using.get(keyword)
        if found is None:
            if self.tree is None or keyword not in self.tree.marks:
                return []
            nodes = self.tree.nodes
            found = [node for node in nodes if type(node.schema) is dict and keyword in node.schema]
            self._using[keyword] = found
        return found

    def untyped(self) -> list[SchemaNode]:
        """The schemas without any of TYPE_KEYWORDS, and perhaps others."""
        tree = self.tree
        return self.nodes if tree is None or ODD in tree.marks else tree.untyped

    def declared(self) -> Iterator[tuple[SchemaNode, dict[str, Any]]]:
        """The schemas that declare properties, with those."""
        for node in self.using("properties"):
            declared = node.schema["properties"]
            if isinstance(declared, dict) and declared:
                yield node, declared


def optional_names(node: SchemaNode, declared: dict[str, Any]) -> list[str]:
    """The declared properties of a schema that it does not require."""
    required = node.schema.get("required")
    names = required if isinstance(required, list) else []
    return [name for name in declared if name not in names]


class ServerSurface(NamedTuple):
    """A server as client constraints check it."""

    tools: list[Tool]
    instructions: str
    instructions_at: str
    """The pointer of the instructions from the server; empty if there are none."""
    pages: int | None
    """The number of pages of `tools/list`; None if the catalog is not from a live server."""


def server_surface(catalog: Catalog) -> ServerSurface:
    """Return what clients see of a server as a whole."""
    greetings = ((key, catalog.server.fields.get(key)) for key in ("initialize", "discover"))
    texts = ((f"/{key}/instructions", each.get("instructions")) for key, each in greetings if isinstance(each, dict))
    at, instructions = next(((at, text) for at, text in texts if isinstance(text, str)), ("", ""))
    pages = catalog.connection.tool_pages if catalog.connection is not None else None
    return ServerSurface(catalog.tools, instructions, at, pages)

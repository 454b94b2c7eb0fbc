"""What clients see of a tool and of a server: members, and schemas as trees with the keywords they use."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from mcproof.compat.surface_marks import marks_of
from mcproof.schema.tree import SchemaTree

if TYPE_CHECKING:
    from collections.abc import Iterator

    from mcproof.catalog.model import Catalog, Tool
    from mcproof.schema.tree import SchemaNode


class ToolSurface:
    """One tool as client constraints check it. Each part is computed on first use."""

    __slots__ = ("_output", "fields", "marks", "output_schema", "schema", "server_key", "tool", "tree")

    def __init__(self, tool: Tool, server_key: str = "", marks: frozenset[str] | None = None) -> None:
        self.tool = tool
        self.server_key = server_key
        """The name of the server in a client's configuration, which clients put before the tool's name."""
        self.fields = tool.fields
        self.schema = tool.schema
        self.tree = tool.tree
        self.output_schema: Any = tool.fields.get("outputSchema")
        self.marks = marks_of(tool, server_key) if marks is None else marks
        """The keywords of the input schema, and what is unusual about the tool."""
        self._output: SchemaTree | None = None

    @property
    def nodes(self) -> list[SchemaNode]:
        """The input schema and every schema inside it."""
        return self.tree.nodes if self.tree is not None else []

    def using(self, keyword: str) -> list[SchemaNode]:
        """The schemas that use a keyword."""
        if keyword not in self.marks:
            return []
        return [node for node in self.nodes if type(node.schema) is dict and keyword in node.schema]

    def declared(self) -> Iterator[tuple[SchemaNode, dict[str, Any]]]:
        """The schemas that declare properties, with those."""
        for node in self.using("properties"):
            declared = node.schema["properties"]
            if isinstance(declared, dict) and declared:
                yield node, declared

    @property
    def output_tree(self) -> SchemaTree | None:
        """The output schema as a tree; None if it is absent or not an object."""
        if self._output is None and isinstance(self.output_schema, dict):
            self._output = SchemaTree(self.output_schema, "/outputSchema")
        return self._output

    def release(self) -> None:
        """Break the reference cycle of the output tree; the tool releases that of the input schema."""
        if self._output is not None:
            self._output.release()
            self._output = None


def optional_names(node: SchemaNode, declared: dict[str, Any]) -> list[str]:
    """The declared properties of a schema that it does not require."""
    required = node.schema.get("required")
    names = required if isinstance(required, list) else []
    return [name for name in declared if name not in names]


class ServerSurface(NamedTuple):
    """A server as client constraints check it."""

    tools: list[Tool]
    instructions: str
    pages: int | None
    """The number of pages of `tools/list`; None if the catalog is not from a live server."""


def server_surface(catalog: Catalog) -> ServerSurface:
    """Return what clients see of a server as a whole."""
    greetings = (catalog.server.fields.get(key) for key in ("initialize", "discover"))
    texts = (each.get("instructions") for each in greetings if isinstance(each, dict))
    instructions = next((text for text in texts if isinstance(text, str)), "")
    pages = catalog.connection.tool_pages if catalog.connection is not None else None
    return ServerSurface(catalog.tools, instructions, pages)

"""What `mcproof tools` shows: each tool with its parameters, hints and token cost; and its JSON document."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from mcproof.checks.scores.tokens import tool_tokens
from mcproof.runs.records import SCHEMA_VERSION, encode, listed, printable

if TYPE_CHECKING:
    from collections.abc import Iterator

    from mcproof.core.catalog.model import Catalog, Tool
    from mcproof.runs.records import Record

HINTS = {
    "readOnlyHint": ("read-only", "not read-only"),
    "destructiveHint": ("destructive", "not destructive"),
    "idempotentHint": ("idempotent", "not idempotent"),
    "openWorldHint": ("open-world", "closed-world"),
}
"""The annotations of a tool, each in words for true and for false."""


class ListedParameter(NamedTuple):
    """A parameter of a tool."""

    name: str
    required: bool


class ListedTool(NamedTuple):
    """A tool as a listing shows it."""

    name: str
    description: str | None
    parameters: list[ListedParameter]
    hints: dict[str, bool]
    """The declared annotations, by their key."""
    tokens: int


class ToolListing(NamedTuple):
    """The tools of a catalog."""

    target: str
    server: str
    """The name and version of the server; empty if unknown."""
    tools: list[ListedTool]

    @property
    def tokens(self) -> int:
        return sum(each.tokens for each in self.tools)


def tool_listing(catalog: Catalog) -> ToolListing:
    """List the tools of a catalog, in its order."""
    info = catalog.server_info
    named = [info[key] for key in ("name", "version") if isinstance(info.get(key), str) and info[key]]
    return ToolListing(catalog.name, " ".join(named), [_listed_tool(tool) for tool in catalog.tools])


def _listed_tool(tool: Tool) -> ListedTool:
    given = tool.fields.get("annotations")
    hints = given if isinstance(given, dict) else {}
    return ListedTool(
        name=tool.label,
        description=tool.description or None,
        parameters=_parameters(tool),
        hints={key: hints[key] for key in HINTS if isinstance(hints.get(key), bool)},
        tokens=tool_tokens(tool),
    )


def _parameters(tool: Tool) -> list[ListedParameter]:
    """The declared parameters, then those that are only required."""
    named = tool.schema.get("required") if tool.schema is not None else None
    required = [name for name in named if isinstance(name, str)] if isinstance(named, list) else []
    return [ListedParameter(name, name in required) for name in dict.fromkeys([*tool.parameters, *required])]


def listing_document(listing: ToolListing) -> Iterator[str]:
    """Write the document of `mcproof tools --format json`, one tool a line."""
    head = {"schema_version": SCHEMA_VERSION, "target": listing.target, "server": listing.server or None}
    yield "{" + "".join(f"{encode(key)}: {printable(encode(value))},\n" for key, value in head.items())
    yield from listed("tools", (encode(_record(each)) for each in listing.tools))
    yield f',\n"tokens": {listing.tokens}}}\n'


def _record(tool: ListedTool) -> Record:
    return {**tool._asdict(), "parameters": [each._asdict() for each in tool.parameters]}

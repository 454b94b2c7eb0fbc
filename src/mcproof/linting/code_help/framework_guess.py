"""The framework of a server: known from its source, or recognised in what a live server sends."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from mcproof.core.catalog.model import Tool

if TYPE_CHECKING:
    from collections.abc import Iterable

    from mcproof.core.catalog.model import Catalog, Item

MCP2, MCP1, FASTMCP, LOW_LEVEL, ZOD, LITERAL = "mcp", "mcp1", "fastmcp", "lowlevel", "zod", "literal"
FRAMEWORKS = {
    MCP2: "MCPServer of mcp 2",
    MCP1: "FastMCP of mcp 1",
    FASTMCP: "fastmcp",
    LOW_LEVEL: "low-level Server of mcp",
    ZOD: "TypeScript SDK with zod",
    LITERAL: "TypeScript SDK with JSON Schema",
}
"""The frameworks that snippets exist for, with their names."""
_COMMONEST = (MCP2, ZOD)
_OF_LANGUAGE = {"python": (FASTMCP, LOW_LEVEL), "javascript": (ZOD, LITERAL)}
"""Of a server that shows only its language: FastMCP of mcp is recognised by its schemas."""
_PYTHON_LAUNCHERS = ("python", "uv", "uvx", "pipx", "poetry", "hatch", "fastmcp")
_JAVASCRIPT = ("node", "npx", "tsx", "ts-node", "bun", "bunx", "deno", "npm", "pnpm", "yarn")
_DIALECTS = ("http://json-schema.org/draft-07/schema#", "https://json-schema.org/draft/2020-12/schema")
"""What zod writes as `$schema`, in its third and fourth version."""


def frameworks_of(catalog: Catalog, item: Item) -> tuple[str, ...]:
    """Return the frameworks that an item may be written with: of its source, as recognised, or the two commonest."""
    if catalog.source is None:
        return live_frameworks(catalog)
    facts = item.source if isinstance(item, Tool) else next((tool.source for tool in catalog.tools), None)
    if facts is None:
        return ()
    is_literal = facts.schema_is_explicit and isinstance(item, Tool)
    return (LOW_LEVEL,) if is_literal else (facts.framework,) if facts.framework in FRAMEWORKS else ()


def recognised_frameworks(catalog: Catalog) -> tuple[str, ...]:
    """Return the frameworks that what a server sends shows; empty if it shows none."""
    found = live_frameworks(catalog)
    return () if found == _COMMONEST else found


def live_frameworks(catalog: Catalog) -> tuple[str, ...]:
    """Return the frameworks that a live server may be written with."""
    schemas = [tool.schema for tool in catalog.tools if tool.schema is not None and tool.parameters]
    language = _language(catalog.server.fields.get("server"))
    if any(map(_is_of_fastmcp, catalog.tools)):
        return (FASTMCP,)
    if schemas and all(map(_is_of_signature, schemas)):
        return (MCP2, MCP1)
    if schemas and language != "python" and all(map(_is_of_zod, schemas)):
        return (ZOD,)
    return _OF_LANGUAGE.get(language, _COMMONEST)


def _is_of_fastmcp(tool: Tool) -> bool:
    meta = tool.fields.get("_meta")
    return isinstance(meta, dict) and not {"fastmcp", "_fastmcp"}.isdisjoint(meta)


def _is_of_signature(schema: dict[str, Any]) -> bool:
    """Whether FastMCP derived a schema: the class of a function's arguments has this title."""
    title = schema.get("title")
    return isinstance(title, str) and title.endswith("Arguments")


def _is_of_zod(schema: dict[str, Any]) -> bool:
    """Whether zod wrote a schema: with a dialect, and unlike schemars of Rust without a title."""
    return schema.get("$schema") in _DIALECTS and "title" not in schema


def _language(server: Any) -> str:
    """Return the language of a server by the command that starts it; empty if unknown."""
    command = server.get("command") if isinstance(server, dict) else None
    words = command if isinstance(command, list) else [command]
    names = [os.path.basename(word) for word in words[:3] if isinstance(word, str)]
    if not names:
        return ""
    if _starts_with(names[0], _PYTHON_LAUNCHERS) or any(name.endswith(".py") for name in names):
        return "python"
    is_script = any(name.endswith((".js", ".mjs", ".cjs", ".ts", ".mts")) for name in names)
    return "javascript" if is_script or names[0] in _JAVASCRIPT else ""


def _starts_with(name: str, programs: Iterable[str]) -> bool:
    """Whether a program is one of these, perhaps with a version such as `python3.12`."""
    return name.rstrip("0123456789.") in programs

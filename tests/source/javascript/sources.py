"""Small projects in JavaScript and TypeScript, and what is discovered in them."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from mcproof.source.javascript.pipeline import discover

if TYPE_CHECKING:
    from pathlib import Path

    from mcproof.core.catalog.model import SourceMap

SDK = """
import { McpServer } from "@modelcontextprotocol/sdk/server/mcp.js";
import { Server } from "@modelcontextprotocol/sdk/server/index.js";
import { ListToolsRequestSchema } from "@modelcontextprotocol/sdk/types.js";
import { z } from "zod";
"""
SERVER = SDK + 'const server = new McpServer({ name: "harbour", version: "1.2.3" });\n'
"""A server, to which the text of a test adds what it registers."""
PACKAGE = {
    "name": "harbour",
    "type": "module",
    "bin": "index.js",
    "dependencies": {"@modelcontextprotocol/sdk": "1.20.0", "zod": "3.25.76"},
}


def project(folder: Path, files: dict[str, str], **declared: Any) -> SourceMap:
    """Write files and a `package.json`, and discover what they serve."""
    folder.mkdir(exist_ok=True)
    (folder / "package.json").write_text(json.dumps({**PACKAGE, **declared}), encoding="utf-8")
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return discover(str(folder), whole=True)


def served(folder: Path, text: str, **files: str) -> list[dict[str, Any]]:
    """The tools of a server that `text` registers on; further modules are given by their names without `.js`."""
    return tools(project(folder, {"index.js": SERVER + text, **{f"{name}.js": code for name, code in files.items()}}))


def tools(source: SourceMap) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = source.document["tools"]
    return found


def names(found: list[dict[str, Any]]) -> list[str]:
    """The names of tools; those that are served under a condition end with `?`."""
    return [f"{tool['name']}{'?' if tool.get('_meta', {}).get('mcproof/conditional') else ''}" for tool in found]


def evaluated(folder: Path, expression: str, before: str = "") -> Any:
    """The value of an expression, as the description of a tool; None if it is not known."""
    text = f'{before}\nserver.registerTool("value", {{ description: {expression} }}, async () => ({{ content: [] }}));'
    (tool,) = served(folder, text)
    return tool.get("description")

"""Frameworks on top of the SDK, and several servers in one folder."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from mcproof.source.javascript.pipeline import discover_servers
from source.javascript.sources import SDK, SERVER, names, project, tools

if TYPE_CHECKING:
    from pathlib import Path


def test_fastmcp(tmp_path: Path) -> None:
    text = """
    import { FastMCP } from "fastmcp";
    import { z } from "zod";
    const server = new FastMCP({ name: "harbour", version: "1.0.0" });
    server.addTool({
      name: "moor", description: "Moors.", parameters: z.object({ berth: z.string() }),
      annotations: { readOnlyHint: true }, execute: async () => "",
    });
    """
    source = project(tmp_path, {"index.js": text}, dependencies={"fastmcp": "3.0.0", "zod": "3.25.76"})
    (tool,) = tools(source)
    assert (tool["name"], tool["description"], tool["annotations"]) == ("moor", "Moors.", {"readOnlyHint": True})
    assert tool["inputSchema"]["required"] == ["berth"]


def test_mastra(tmp_path: Path) -> None:
    text = """
    import { MCPServer } from "@mastra/mcp";
    import { createTool } from "@mastra/core/tools";
    import { z } from "zod";
    const moor = createTool({ id: "moor-a-boat", description: "Moors.", inputSchema: z.object({ berth: z.string() }) });
    new MCPServer({ name: "harbour", version: "1.0.0", tools: { moor } });
    """
    (tool,) = tools(project(tmp_path, {"index.js": text}, dependencies={"@mastra/mcp": "0.10.0", "zod": "3.25.76"}))
    assert (tool["name"], tool["description"]) == ("moor", "Moors.")


def test_a_handler_that_changes_what_is_registered_makes_it_conditional(tmp_path: Path) -> None:
    text = """
    import { ListToolsRequestSchema } from "@modelcontextprotocol/sdk/types.js";
    server.tool("moor", async () => {});
    const inner = server.server._requestHandlers.get("tools/list");
    server.server.setRequestHandler(ListToolsRequestSchema, async (request) => inner(request));
    """
    assert names(tools(project(tmp_path, {"index.js": SERVER.replace("ListTools", "CallTool") + text}))) == ["moor?"]


def test_a_disabled_tool_is_not_listed(tmp_path: Path) -> None:
    text = 'server.tool("moor", async () => {});\nserver.tool("cast_off", async () => {}).disable();'
    assert names(tools(project(tmp_path, {"index.js": SERVER + text}))) == ["moor"]


def test_each_server_of_a_folder_has_a_catalog(tmp_path: Path) -> None:
    for name in ("weather", "notes"):
        project(tmp_path / name, {"index.js": SERVER + f'server.tool("{name}", async () => {{}});'})
    found = {
        name: [tool["name"] for tool in source.document["tools"]] for name, source in discover_servers(str(tmp_path))
    }
    assert found == {str(tmp_path / "weather"): ["weather"], str(tmp_path / "notes"): ["notes"]}


def test_tmcp(tmp_path: Path) -> None:
    text = """
    import { McpServer } from "tmcp";
    import { ValibotJsonSchemaAdapter } from "@tmcp/adapter-valibot";
    import * as v from "valibot";
    const server = new McpServer({ name: "harbour" }, { adapter: new ValibotJsonSchemaAdapter() }).withContext();
    server.tool({ name: "moor", description: "Moors.", schema: v.object({ berth: v.string() }) }, async () => ({}));
    server.template({ uri: "harbour://{berth}", name: "berth" }, async () => ({}));
    """
    source = project(tmp_path, {"index.js": text}, dependencies={"tmcp": "1.20.0", "valibot": "1.1.0"})
    (tool,) = tools(source)
    assert (tool["name"], tool["title"]) == ("moor", "Moors.")
    assert "inputSchema" not in tool  # of a library that is not read
    assert "/inputSchema" in source.tools[0].unknown
    assert [template["uriTemplate"] for template in source.document["resourceTemplates"]] == ["harbour://{berth}"]


def test_mcp_framework_serves_the_classes_in_its_folders(tmp_path: Path) -> None:
    start = 'import { MCPServer } from "mcp-framework";\nnew MCPServer().start();\n'
    tool = """
import { MCPTool } from "mcp-framework";
import { z } from "zod";
const schema = z.object({ berth: z.string().describe("Where"), days: z.number().default(3).describe("How long") });
export default class MoorTool extends MCPTool<typeof schema> {
  name = "moor";
  description = "Moors.";
  schema = schema;
}
"""
    files = {"src/index.ts": start, "src/tools/MoorTool.ts": tool, "src/other/Other.ts": tool.replace("moor", "other")}
    source = project(tmp_path, files, bin="src/index.ts", dependencies={"mcp-framework": "^0.2.22"})
    (found,) = tools(source)
    assert found["inputSchema"] == {
        "type": "object",
        "properties": {
            "berth": {"type": "string", "description": "Where"},
            "days": {"type": "number", "description": "How long", "default": 3},
        },
        "required": ["berth", "days"],
    }
    assert source.locations["/tools/0/description"].line == 7


def test_xmcp_serves_the_modules_in_its_folder(tmp_path: Path) -> None:
    tool = """
import { z } from "zod";
export const schema = { berth: z.string().describe("Where") };
export const metadata = { name: "moor", description: "Moors.", annotations: { readOnlyHint: false } };
export default async function moor({ berth }) { return berth; }
"""
    files = {
        "src/tools/moor.ts": tool,
        "src/tools/cast-off.ts": "export default () => 'done';",
        "src/tools/text.ts": "",
    }
    source = project(tmp_path, files, bin=None, dependencies={"xmcp": "^1.1.3", "zod": "^4.0.0"})
    assert [(tool["name"], tool["description"]) for tool in tools(source)] == [
        ("cast-off", "No description provided"),
        ("moor", "Moors."),
    ]
    assert all("/inputSchema" in tool.unknown for tool in source.tools)


def test_typebox_writes_json_schemas(tmp_path: Path) -> None:
    text = """
    import { Type } from "@sinclair/typebox";
    const Berth = Type.Object({
      name: Type.String({ minLength: 1 }),
      depth: Type.Optional(Type.Number({ default: 3 })),
      side: Type.Union([Type.Literal("port"), Type.Literal(2)]),
      ropes: Type.Array(Type.Integer()),
      marks: Type.Record(Type.String(), Type.Any()),
      only: Type.Union([Type.Null()]),
      numbered: Type.Record(Type.Integer(), Type.Any()),
      later: Type.Partial(Type.Object({})),
    }, { additionalProperties: false });
    const server = new Server({ name: "harbour", version: "1" }, { capabilities: { tools: {} } });
    server.setRequestHandler(ListToolsRequestSchema, async () => ({ tools: [{ name: "moor", inputSchema: Berth }] }));
    """
    source = project(tmp_path, {"index.js": SDK + text})
    assert tools(source)[0]["inputSchema"] == {
        "type": "object",
        "required": ["name", "side", "ropes", "marks", "only", "numbered", "later"],
        "properties": {
            "name": {"type": "string", "minLength": 1},
            "depth": {"type": "number", "default": 3},
            "side": {"anyOf": [{"const": "port", "type": "string"}, {"const": 2, "type": "number"}]},
            "ropes": {"type": "array", "items": {"type": "integer"}},
            "marks": {"type": "object", "patternProperties": {"^(.*)$": {}}},
            "only": {"type": "null"},
            "numbered": {},
            "later": {},
        },
        "additionalProperties": False,
    }
    assert source.tools[0].unknown == {f"/inputSchema/properties/{name}" for name in ("numbered", "later")}


@pytest.mark.parametrize(("sdk", "expected"), [("1.23.0", None), ("1.24.0", {"taskSupport": "forbidden"})])
def test_the_sdk_says_that_a_tool_is_no_task(sdk: str, expected: dict[str, str] | None, tmp_path: Path) -> None:
    text = SERVER + 'server.registerTool("moor", {}, async () => ({ content: [] }));'
    (tool,) = tools(project(tmp_path, {"index.js": text}, dependencies={"@modelcontextprotocol/sdk": sdk}))
    assert tool.get("execution") == expected

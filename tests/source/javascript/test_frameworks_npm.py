"""Servers of frameworks, live against their source: the frameworks themselves are the judge."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from typing import TYPE_CHECKING, Any

import pytest

from mcproof.source.javascript.pipeline import discover
from script_modules import script

if TYPE_CHECKING:
    import pathlib

PACKAGES = {
    "mcp-framework": ["mcp-framework@0.2.22", "zod@3.25.76"],
    "tmcp": ["tmcp@1.20.0", "@tmcp/transport-stdio@0.5.0", "@tmcp/adapter-zod@0.1.7", "zod@4.6.7"],
    "fastmcp": ["fastmcp@4.20.16", "zod@4.6.7"],
    "fastmcp-3": ["fastmcp@3.23.1", "zod@3.25.76"],
    "mastra": ["@mastra/mcp@1.18.0", "@mastra/core@1.71.0", "zod@4.6.7"],
}
ASK = """
import { spawn } from "node:child_process";
const child = spawn(process.execPath, [process.argv[2]], { stdio: ["pipe", "pipe", "ignore"] });
const send = (message) => child.stdin.write(JSON.stringify({ jsonrpc: "2.0", ...message }) + "\\n");
let rest = "", list = {};
child.stdout.on("data", (data) => {
  const lines = (rest + data).split("\\n");
  rest = lines.pop();
  for (const line of lines) {
    let message;
    try { message = JSON.parse(line); } catch { continue; }
    if (message.id === 1) {
      send({ method: "notifications/initialized" });
      send({ id: 2, method: "tools/list" });
      send({ id: 3, method: "prompts/list" });
    } else if (message.id === 2) list.tools = message.result.tools;
    else if (message.id === 3) list.prompts = message.result?.prompts ?? [];
    if (list.tools && list.prompts) {
      console.log(JSON.stringify(list));
      process.exit(0);
    }
  }
});
send({ id: 1, method: "initialize", params: {
  protocolVersion: "2025-06-18", capabilities: {}, clientInfo: { name: "test", version: "1" } } });
"""
CLASSES = {
    "dist/index.js": 'import { MCPServer } from "mcp-framework";\nawait new MCPServer().start();\n',
    "dist/tools/MoorTool.js": """
import { MCPTool } from "mcp-framework";
import { z } from "zod";
const schema = z.object({
  berth: z.string().min(2).max(8).describe("Where"),
  days: z.number().int().positive().max(9).default(3).describe("How long"),
  flags: z.array(z.enum(["a", "b"])).optional().describe("Flags"),
  boat: z.object({
    name: z.string().regex(/^[a-z]+$/).describe("Its name"),
    mail: z.string().email().optional().describe("Of its owner"),
  }).describe("The boat"),
  kind: z.union([z.string(), z.number()]).describe("Either"),
  five: z.literal(5).describe("Five"),
  depth: z.number().gt(2).lt(4).nullable().describe("In metres"),
});
export default class MoorTool extends MCPTool {
  name = "moor";
  description = "Moors a boat.";
  schema = schema;
  annotations = { readOnlyHint: false };
  async execute() { return ""; }
}
""",
    "dist/tools/CastTool.js": """
import { MCPTool } from "mcp-framework";
import { z } from "zod";
class CastTool extends MCPTool {
  name = "cast_off";
  description = "Casts off.";
  schema = {
    berth: { type: z.string(), description: "Where" },
    days: { type: z.number().optional(), description: "How long" },
    side: { type: z.enum(["port"]).default("port"), description: "Which side" },
  };
  async execute() { return ""; }
}
export default CastTool;
""",
    "dist/prompts/PlanPrompt.js": """
import { MCPPrompt } from "mcp-framework";
import { z } from "zod";
export default class PlanPrompt extends MCPPrompt {
  name = "plan";
  description = "Plans.";
  schema = {
    day: { type: z.string(), description: "When", required: true },
    who: { type: z.string().optional(), description: "Who" },
  };
  async generateMessages() { return []; }
}
""",
}
TMCP = """
import { McpServer } from "tmcp";
import { ZodJsonSchemaAdapter } from "@tmcp/adapter-zod";
import { StdioTransport } from "@tmcp/transport-stdio";
import { defineTool } from "tmcp/tool";
import { z } from "zod";
const server = new McpServer(
  { name: "harbour", version: "1.0.0", description: "A harbour" },
  { adapter: new ZodJsonSchemaAdapter(), capabilities: { tools: {}, prompts: {} } },
);
const schema = z.object({ berth: z.string().min(2).describe("Where"), days: z.number().default(3) });
server.tool({ name: "moor", description: "Moors.", schema, annotations: { readOnlyHint: false } }, async () => ({}));
const cast = defineTool({ name: "cast_off", title: "Cast off", description: "Casts off." }, async () => ({}));
server.tools([cast]);
const asked = z.object({ day: z.string().describe("When") });
server.prompt({ name: "plan", description: "Plans.", schema: asked }, () => ({}));
new StdioTransport(server).listen();
"""
FASTMCP = """
import { FastMCP } from "fastmcp";
import { z } from "zod";
const server = new FastMCP({ name: "harbour", version: "1.0.0" });
server.addTool({
  name: "moor", description: "Moors.", annotations: { readOnlyHint: true, title: "Moor" },
  parameters: z.object({
    berth: z.string(), rest: z.object({ length: z.number().int() }).passthrough(), days: z.number().default(3),
  }),
  execute: async () => "",
});
server.addTool({ name: "cast_off", description: "Casts off.", execute: async () => "" });
server.addPrompts([{ name: "plan", description: "Plans.", arguments: [], load: async () => "" }]);
server.start({ transportType: "stdio" });
"""
MASTRA = """
import { MCPServer } from "@mastra/mcp";
import { createTool } from "@mastra/core/tools";
import { z } from "zod";
const moor = createTool({
  id: "moor", description: "Moors.",
  inputSchema: z.object({ berth: z.string().describe("Where"), days: z.number().optional() }),
  execute: async () => ({}),
});
await new MCPServer({ name: "harbour", version: "1.0.0", tools: { moor } }).startStdio();
"""
SERVERS = {
    "mcp-framework": CLASSES,
    "tmcp": {"dist/index.js": TMCP},
    "fastmcp": {"dist/index.js": FASTMCP},
    "fastmcp-3": {"dist/index.js": FASTMCP},
    "mastra": {"dist/index.js": MASTRA},
}


@pytest.mark.slow
@pytest.mark.parametrize("name", SERVERS)
def test_source_gives_what_the_framework_lists(name: str, tmp_path: pathlib.Path) -> None:
    folder = _installed(name)
    for path, text in SERVERS[name].items():
        file = tmp_path / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")
    packages = dict(package.rsplit("@", 1) for package in PACKAGES[name] if package.rfind("@") > 0)
    declared = {
        "name": "harbour",
        "version": "1.2.3",
        "type": "module",
        "main": "dist/index.js",
        "dependencies": packages,
    }
    (tmp_path / "package.json").write_text(json.dumps({**declared, "dependencies": packages}), encoding="utf-8")
    found = discover(str(tmp_path), whole=True).document
    (tmp_path / "ask.mjs").write_text(ASK, encoding="utf-8")
    (tmp_path / "node_modules").symlink_to(folder / "node_modules")
    node = shutil.which("node")
    assert node is not None
    done = subprocess.run(
        [node, "ask.mjs", "dist/index.js"], cwd=tmp_path, capture_output=True, text=True, check=False, timeout=120
    )
    live = json.loads(done.stdout)
    assert _by_name(found["tools"]) == _by_name(live["tools"])
    assert _by_name(found["prompts"]) == _by_name(live["prompts"])


def _by_name(items: list[dict[str, Any]]) -> dict[str, dict[str, Any]]:
    return {item["name"]: item for item in items}


def _installed(name: str) -> pathlib.Path:
    """The folder with a framework; skips the test where it cannot be installed."""
    package_cache = script("package_cache")
    folder: pathlib.Path = package_cache.cache_folder("frameworks") / name
    try:
        if not (folder / "node_modules" / ".package-lock.json").is_file():
            package_cache.install_npm(folder, PACKAGES[name])
    except (package_cache.InstallError, subprocess.TimeoutExpired) as error:
        if os.environ.get("MCPROOF_REQUIRE_SERVERS"):
            pytest.fail(f"{name} cannot be installed, and MCPROOF_REQUIRE_SERVERS is set: {error}")
        pytest.skip(f"{name} cannot be installed: {error}")
    return folder

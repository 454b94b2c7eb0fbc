"""The help for findings about JavaScript source: code for zod or a literal schema, and no fix that is not made."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from mcproof.cli.main import main

if TYPE_CHECKING:
    from pathlib import Path

SERVER = """
import { McpServer } from "@modelcontextprotocol/sdk/server/mcp.js";
import { Server } from "@modelcontextprotocol/sdk/server/index.js";
import { ListToolsRequestSchema } from "@modelcontextprotocol/sdk/types.js";
import { z } from "zod";
"""
ZOD = """
const server = new McpServer({ name: "harbour", version: "1.0.0" });
server.tool("moor", "Moors a boat at a berth.", { berth: z.string() }, async () => ({ content: [] }));
"""
LITERAL = """
const server = new Server({ name: "harbour", version: "1.0.0" }, {});
server.setRequestHandler(ListToolsRequestSchema, async () => ({ tools: [
  { name: "moor", description: "Moors a boat.", inputSchema: {
    type: "object", properties: { berth: { type: "string" } } } },
] }));
"""


@pytest.mark.parametrize(
    ("text", "code"),
    [
        (ZOD, 'TypeScript SDK with zod, in the inputSchema of `moor`:\n         berth: z.string().describe("…")'),
        (LITERAL, "TypeScript SDK with JSON Schema, in the inputSchema of `moor`:\n         "),
    ],
    ids=["zod", "literal"],
)
def test_findings_about_javascript_show_code_of_their_kind(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], text: str, code: str
) -> None:
    (tmp_path / "package.json").write_text('{"name": "harbour", "main": "index.js"}', encoding="utf-8")
    (tmp_path / "index.js").write_text(SERVER + text, encoding="utf-8")
    main(["lint", str(tmp_path)])
    output = capsys.readouterr().out
    assert code in output
    assert ("fixed automatically" in output) == (text == LITERAL)
    assert "FastMCP" not in output

"""Schemas in the source of servers: which version of zod they are of, and what servers make of them by themselves."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from source.javascript.sources import SDK, SERVER, project, served, tools

if TYPE_CHECKING:
    from pathlib import Path

RUN = "async () => ({ content: [] })"
CONVERTED = """
const server = new Server({ name: "harbour", version: "1" }, {});
function converted(schema) {
  const definition = schema._def;
  if (definition.typeName === "ZodOptional") return converted(definition.innerType);
  if (definition.typeName === "ZodObject") {
    const properties = {};
    for (const [name, member] of Object.entries(definition.shape())) properties[name] = converted(member);
    return { type: "object", properties };
  }
  if (definition.typeName === "ZodArray") return { type: "array", items: converted(definition.type) };
  if (definition.typeName === "ZodEnum") return { type: "string", enum: definition.values };
  return { type: definition.typeName === "ZodNumber" ? "number" : "string" };
}
const inputSchema = converted(z.object({
  berth: z.string().optional(), tags: z.array(z.enum(["a", "b"])), length: z.number().min(1),
}));
server.setRequestHandler(ListToolsRequestSchema, async () => ({ tools: [{ name: "moor", inputSchema }] }));
"""


def test_a_converter_of_the_source_is_followed(tmp_path: Path) -> None:
    (tool,) = tools(project(tmp_path / "project", {"index.js": SDK + CONVERTED}))
    assert tool["inputSchema"]["properties"] == {
        "berth": {"type": "string"},
        "tags": {"type": "array", "items": {"type": "string", "enum": ["a", "b"]}},
        "length": {"type": "number"},
    }


@pytest.mark.parametrize(
    ("dependencies", "draft"),
    [
        ({"@modelcontextprotocol/sdk": "^1.29.0", "zod": "^3.25.0"}, False),
        ({"@modelcontextprotocol/sdk": "^1.29.0", "zod": "^4.1.0"}, True),
        ({"@modelcontextprotocol/sdk": "^1.29.0"}, True),
        ({"@modelcontextprotocol/sdk": "1.10.0"}, False),
    ],
)
def test_the_declared_versions_decide_what_is_listed(tmp_path: Path, dependencies: dict[str, str], draft: bool) -> None:
    text = SERVER + f'server.registerTool("moor", {{ inputSchema: {{ berth: z.any() }} }}, {RUN});'
    (tool,) = tools(project(tmp_path / "project", {"index.js": text}, dependencies=dependencies))
    assert ("additionalProperties" not in tool["inputSchema"]) == draft


def schema_of(tmp_path: Path, shape: str, before: str = "") -> Any:
    text = f'{before}\nserver.registerTool("moor", {{ inputSchema: {shape} }}, {RUN});'
    (tool,) = served(tmp_path / "project", text)
    return tool["inputSchema"]


def test_a_default_of_the_environment_is_the_one_without_it(tmp_path: Path) -> None:
    shape = '{ port: z.string().default(process.env.PORT || "80"), host: z.string().default(process.env.HOST) }'
    schema = schema_of(tmp_path, shape)
    assert schema["properties"] == {"port": {"type": "string", "default": "80"}, "host": {"type": "string"}}
    assert schema["required"] == ["host"]  # zod 3 does not accept a missing default


def test_a_default_may_be_computed(tmp_path: Path) -> None:
    schema = schema_of(tmp_path, '{ berth: z.string().default(() => ["a", "b"].join("-")) }')
    assert schema["properties"]["berth"] == {"type": "string", "default": "a-b"}


def test_members_that_a_compiler_copies_by_descriptors_are_read(tmp_path: Path) -> None:
    before = "const add = (one, two) => Object.defineProperties(one, Object.getOwnPropertyDescriptors(two));"
    schema = schema_of(tmp_path, "add({ berth: z.string() }, { length: z.number() })", before)
    assert list(schema["properties"]) == ["berth", "length"]


def test_tools_of_mastra_may_name_their_schema_parameters(tmp_path: Path) -> None:
    text = """
    import { MCPServer } from "@mastra/mcp";
    import { z } from "zod";
    const moor = { description: "Moors.", parameters: z.object({ berth: z.string() }), execute: async () => "" };
    new MCPServer({ name: "harbour", version: "1", tools: { moor } });
    """
    (tool,) = tools(project(tmp_path / "project", {"index.js": text}, dependencies={"@mastra/mcp": "0.13.5"}))
    assert tool["inputSchema"]["required"] == ["berth"]


def test_both_sides_of_a_preprocessed_schema_of_zod_4_are_known(tmp_path: Path) -> None:
    text = """
    const schema = z.preprocess((value) => value, z.number().optional());
    const isOptional = (one) => one instanceof z.ZodOptional || (one.in ? isOptional(one.out) : false);
    server.registerTool("value", { description: String(isOptional(schema)) }, async () => ({ content: [] }));
    """
    declared = {"@modelcontextprotocol/sdk": "1.29.0", "zod": "4.1.13"}
    (tool,) = tools(project(tmp_path, {"index.js": SERVER + text}, dependencies=declared))
    assert tool["description"] == "true"

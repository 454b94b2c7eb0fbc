"""What registers a tool, a resource or a prompt, and what is known of it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from source.javascript.sources import SDK, SERVER, names, project, served, tools

if TYPE_CHECKING:
    from pathlib import Path

FIELDS = 'title: "Moor", description: "Moors.", inputSchema: { berth: z.string() }'
RUN = "async () => ({ content: [] })"


@pytest.mark.parametrize(
    ("call", "expected"),
    [
        (f'server.tool("moor", {RUN})', {}),
        (f'server.tool("moor", "Moors.", {RUN})', {"description": "Moors."}),
        (
            f'server.tool("moor", "Moors.", {{ berth: z.string() }}, {RUN})',
            {"description": "Moors.", "schema": "berth"},
        ),
        (f'server.tool("moor", {{ berth: z.string() }}, {RUN})', {"schema": "berth"}),
        (
            f'server.tool("moor", "Moors.", {{ berth: z.string() }}, {{ readOnlyHint: true }}, {RUN})',
            {"description": "Moors.", "schema": "berth", "annotations": {"readOnlyHint": True}},
        ),
        (f'server.tool("moor", {{ readOnlyHint: true }}, {RUN})', {"annotations": {"readOnlyHint": True}}),
        (
            f'server.registerTool("moor", {{ {FIELDS} }}, {RUN})',
            {"title": "Moor", "description": "Moors.", "schema": "berth"},
        ),
        (
            f'server.registerTool("moor", {{ inputSchema: z.object({{ berth: z.string() }}) }}, {RUN})',
            {"schema": "berth"},
        ),
    ],
)
def test_each_way_to_register_a_tool(tmp_path: Path, call: str, expected: dict[str, object]) -> None:
    (tool,) = served(tmp_path, call)
    assert tool["name"] == "moor"
    properties = list(tool["inputSchema"].get("properties", {}))
    assert properties == ([expected["schema"]] if "schema" in expected else [])
    for key in ("title", "description", "annotations"):
        assert tool.get(key) == expected.get(key)


def test_a_handler_lists_tools_with_literal_schemas(tmp_path: Path) -> None:
    text = """
    const schema = { type: "object", properties: { berth: { type: "string" } }, required: ["berth"] };
    const server = new Server({ name: "harbour", version: "1" }, { capabilities: { tools: {} } });
    server.setRequestHandler(ListToolsRequestSchema, async () => ({
      tools: [{ name: "moor", description: "Moors.", inputSchema: schema }],
    }));
    """
    (tool,) = tools(project(tmp_path, {"index.js": SDK + text}))
    assert tool == {
        "name": "moor",
        "description": "Moors.",
        "inputSchema": {"type": "object", "properties": {"berth": {"type": "string"}}, "required": ["berth"]},
    }


def test_a_tool_that_a_schema_of_the_sdk_has_parsed(tmp_path: Path) -> None:
    text = """
    import { ToolSchema } from "@modelcontextprotocol/sdk/types.js";
    const moor = ToolSchema.parse({ name: "moor", description: "Moors.", inputSchema: { type: "object" } });
    const server = new Server({ name: "harbour", version: "1" }, { capabilities: { tools: {} } });
    server.setRequestHandler(ListToolsRequestSchema, async () => ({ tools: Object.values({ moor }) }));
    """
    (tool,) = tools(project(tmp_path, {"index.js": SDK + text}))
    assert (tool["name"], tool["description"]) == ("moor", "Moors.")


def test_a_method_with_types_is_awaited_with_its_object(tmp_path: Path) -> None:
    text = """
    class Names { first = "moor"; async get<T>() { return this.first; } }
    const names = new Names();
    server.registerTool(await names.get<string>(), {}, async () => ({ content: [] }));
    """
    assert names(tools(project(tmp_path, {"index.ts": SERVER + text}, bin="index.ts"))) == ["moor"]


def test_resources_templates_and_prompts(tmp_path: Path) -> None:
    text = """
    import { ResourceTemplate } from "@modelcontextprotocol/sdk/server/mcp.js";
    server.registerResource("tides", "tide://today", { title: "Tides", mimeType: "text/plain" }, async () => {});
    server.resource("berths", new ResourceTemplate("berth://{id}", { list: undefined }), async () => {});
    server.prompt("plan", "Plans a trip.", { day: z.string().describe("When") }, () => {});
    """
    document = project(tmp_path, {"index.js": SERVER + text}).document
    assert document["resources"] == [
        {"uri": "tide://today", "name": "tides", "title": "Tides", "mimeType": "text/plain"}
    ]
    assert document["resourceTemplates"] == [{"uriTemplate": "berth://{id}", "name": "berths"}]
    assert document["prompts"] == [
        {
            "name": "plan",
            "description": "Plans a trip.",
            "arguments": [{"name": "day", "description": "When", "required": True}],
        }
    ]
    assert document["initialize"]["serverInfo"] == {"name": "harbour", "version": "1.2.3"}


@pytest.mark.parametrize(
    ("condition", "expected"),
    [
        ("true", ["moor"]),
        ("false", []),
        ("process.env.TOOLS", ["moor?"]),
        ("process.argv.includes('--tools')", ["moor?"]),
        ("(process.env.TOOLS || 'on') === 'on'", ["moor"]),
        ("!process.env.READ_ONLY", ["moor"]),
        ("!process.env.HIDDEN?.split(',').map((word) => word.trim()).includes('moor')", ["moor"]),
        ("!process.argv.includes('--read-only')", ["moor"]),
    ],
)
def test_a_tool_that_only_a_flag_adds_is_conditional(tmp_path: Path, condition: str, expected: list[str]) -> None:
    assert names(served(tmp_path, f'if ({condition}) {{ server.tool("moor", {RUN}); }}')) == expected


def test_what_follows_the_end_of_the_program_is_certain(tmp_path: Path) -> None:
    text = f'if (!process.env.KEY) {{ process.exit(1); }} server.tool("moor", {RUN});'
    assert names(served(tmp_path, text)) == ["moor"]


def test_tools_are_located_where_they_are_written(tmp_path: Path) -> None:
    text = """server.registerTool("moor", {
      description: "Moors.",
      inputSchema: {
        berth: z.string(),
      },
    }, async () => {});"""
    source = project(tmp_path, {"index.js": SERVER + text})
    first = SERVER.count("\n") + 1
    assert source.locations["/tools/0/description"].line == first + 1
    assert source.locations["/tools/0/inputSchema/properties/berth"].line == first + 3
    assert source.locations["/tools/0"].line == first


def test_a_tool_without_a_known_name_is_an_omission(tmp_path: Path) -> None:
    source = project(tmp_path, {"index.js": SERVER + f"server.tool(globalThis.unheardOf(), {RUN});"})
    assert tools(source) == []
    assert [omission.what for omission in source.omissions] == [
        "the name of a tool is not known statically, so it is not checked"
    ]
    assert "tools" in source.incomplete_lists


def test_a_null_byte_in_a_text_hides_nothing(tmp_path: Path) -> None:
    assert names(served(tmp_path, f'const key = "a\0b";\nserver.tool("moor", {RUN});')) == ["moor"]


def test_flags_that_a_program_reads_by_itself_count_as_not_given(tmp_path: Path) -> None:
    text = """
    const args = process.argv.slice(2);
    const flags = {};
    for (let i = 0; i < args.length; i++) {
      const [key, value] = args[i].slice(2).split("=");
      if (value) flags[key] = value; else flags[key] = args[++i];
    }
    for (const arg of args) if (arg.startsWith("--")) flags[arg.slice(2)] = true;
    const description = flags.fast ? "Moors fast." : "Moors.";
    server.registerTool("moor", { description }, async () => ({ content: [] }));
    """
    (tool,) = served(tmp_path, text)
    assert tool["description"] == "Moors."


def test_what_is_made_within_a_doubtful_branch_is_known_in_it(tmp_path: Path) -> None:
    text = """
    function shown(tools) {
      return tools.map((tool) => {
        const made = { ...tool };
        made.annotations = { readOnlyHint: true };
        const names = [];
        names.push(tool.name, "is listed");
        made.description = names.join(" ");
        return made;
      });
    }
    const low = new Server({ name: "low", version: "1" }, { capabilities: { tools: {} } });
    const all = [{ name: "moor", inputSchema: { type: "object" } }];
    const some = unknown() ? shown(all) : shown(all.filter((tool) => unknown(tool)));
    low.setRequestHandler(ListToolsRequestSchema, async () => ({ tools: some }));
    """
    (tool,) = served(tmp_path, text)
    assert (tool["description"], tool["annotations"]) == ("moor is listed", {"readOnlyHint": True})

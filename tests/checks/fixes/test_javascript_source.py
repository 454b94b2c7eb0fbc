"""`--fix` on TypeScript and JavaScript: literal schemas are edited as text, and only where the effect is certain."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from cli.running import run

if TYPE_CHECKING:
    from pathlib import Path

BEFORE = """import { Server } from "@modelcontextprotocol/sdk/server/index.js";
import { ListToolsRequestSchema } from "@modelcontextprotocol/sdk/types.js";
const server = new Server({ name: "harbour", version: "1.2.3" }, { capabilities: { tools: {} } });
"""


def handler(tools: str) -> str:
    return f"{BEFORE}server.setRequestHandler(ListToolsRequestSchema, async () => ({{ tools: [{tools}] }}));\n"


def fixed(folder: Path, text: str, name: str = "index.ts", *options: str) -> str:
    """The text after `schema-lint --fix --write`."""
    (folder / "package.json").write_text(json.dumps({"name": "harbour", "type": "module", "bin": name}))
    file = folder / name
    file.write_bytes(text.encode())
    run("schema-lint", str(file), "--fix", "--write", *options, cwd=folder)
    return file.read_bytes().decode()


MOOR = '{ name: "moor", description: "Moors.", inputSchema: SCHEMA }'


@pytest.mark.parametrize(
    ("schema", "expected"),
    [
        (
            '{ type: "object", properties: { a: { type: "string" } } }',
            '{ type: "object", properties: { a: { type: "string" } }, required: ["a"], additionalProperties: false }',
        ),
        (
            "{ 'type': 'object', 'properties': { 'a': { 'type': 'string' } }, 'additionalProperties': true, }",
            "{ 'type': 'object', 'properties': { 'a': { 'type': 'string' } }, 'additionalProperties': false,"
            " 'required': ['a'], }",
        ),
        (
            "{\n    type: 'object', // größer 🚢\n    properties: { a: { type: 'string' } } // last\n  }",
            "{\n    type: 'object', // größer 🚢\n    properties: { a: { type: 'string' } }, // last\n"
            "    required: ['a'],\n    additionalProperties: false\n  }",
        ),
        (
            '{\r\n\ttype: "object",\r\n\tproperties: { a: { type: "string" } },\r\n} as const',
            '{\r\n\ttype: "object",\r\n\tproperties: { a: { type: "string" } },\r\n\trequired: ["a"],\r\n'
            "\tadditionalProperties: false,\r\n} as const",
        ),
    ],
)
def test_a_literal_schema_gets_members_in_its_own_style(tmp_path: Path, schema: str, expected: str) -> None:
    text = handler(MOOR)
    assert fixed(tmp_path, text.replace("SCHEMA", schema)) == text.replace("SCHEMA", expected)


def test_a_constant_that_one_tool_uses_is_edited(tmp_path: Path) -> None:
    text = 'const SCHEMA = { type: "object", properties: { a: { type: "string" } } };\n' + handler(MOOR)
    assert 'required: ["a"], additionalProperties: false };' in fixed(tmp_path, text)


@pytest.mark.parametrize(
    ("other", "is_edited"),
    [
        ("", True),
        ('import { SCHEMA } from "./schemas.js";\nvalidate(SCHEMA);\n', False),
        ('import * as all from "./schemas.js";\nvalidate(all.SCHEMA);\n', False),
        ('import { SCHEMA as same } from "./schemas.js";\nvalidate(same);\n', False),
    ],
)
def test_an_exported_constant_that_one_tool_uses_is_edited(other: str, is_edited: bool, tmp_path: Path) -> None:
    text = 'export const SCHEMA = { type: "object", properties: { a: { type: "string" } } };\n'
    (tmp_path / "schemas.ts").write_text(text)
    (tmp_path / "other.ts").write_text(other)
    head = 'import { SCHEMA } from "./schemas.js";\nimport "./other.js";\n'
    (tmp_path / "index.ts").write_text(head + handler(MOOR))
    (tmp_path / "package.json").write_text(json.dumps({"name": "harbour", "type": "module", "bin": "index.ts"}))
    run("schema-lint", ".", "--fix", "--write", cwd=tmp_path)
    assert ("additionalProperties: false" in (tmp_path / "schemas.ts").read_text()) is is_edited


@pytest.mark.parametrize(
    "text",
    [
        'const SCHEMA = { type: "object", properties: { a: { type: "string" } } };\n'
        + handler(f"{MOOR}, {MOOR.replace('moor', 'sail')}"),
        'export const SCHEMA = { type: "object", properties: { a: { type: "string" } } };\n' + handler(MOOR),
        'const REST = { required: ["a"] };\n'
        + handler(MOOR.replace("SCHEMA", '{ type: "object", properties: { a: { type: "string" } }, ...REST }')),
        handler(MOOR.replace("SCHEMA", 'merge({ type: "object", properties: { a: { type: "string" } } })')),
        handler(MOOR.replace("SCHEMA", '{ type: "object", ["properties"]: { a: { type: "string" } } }')),
        BEFORE.replace("Server }", "McpServer }")
        + 'import { z } from "zod";\nserver.registerTool("moor", { inputSchema: { a: z.string() } }, () => ({}));\n',
    ],
)
def test_what_is_not_certain_stays_as_it_is(tmp_path: Path, text: str) -> None:
    assert fixed(tmp_path, text) == text


def test_fixing_twice_changes_nothing(tmp_path: Path) -> None:
    once = fixed(tmp_path, handler(MOOR.replace("SCHEMA", '{ type: "object", properties: { a: {} } }')), "index.js")
    assert "required" in once
    assert fixed(tmp_path, once, "index.js") == once


def test_a_difference_shows_lines_of_the_source(tmp_path: Path) -> None:
    text = handler(MOOR.replace("SCHEMA", '{ type: "object", properties: { a: { type: "string" } } }'))
    (tmp_path / "index.ts").write_text(text)
    shown = run("schema-lint", "index.ts", "--diff", cwd=tmp_path)
    assert "+++ index.ts (fixed)" in shown.stdout
    assert (tmp_path / "index.ts").read_text() == text

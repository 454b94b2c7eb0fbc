"""Snapshots compared with Python source code: unknown parts are not changes."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from mcproof.checks.diff.items import compare_catalogs
from mcproof.targets.folders import read_source
from mcproof.targets.snapshots import read_snapshot

if TYPE_CHECKING:
    from pathlib import Path

Verdicts = list[tuple[str, bool | None, str]]

HEAD = """\
import os
from elsewhere import Strange, TextContent, names
from mcp.server.fastmcp import FastMCP
from pydantic import BaseModel

mcp = FastMCP("shop")
"""
LOWLEVEL = """\
from elsewhere import names
from mcp.server import Server
from mcp.types import Tool

server = Server("shop")


@server.list_tools()
async def list_tools():
"""


def changes(folder: Path, old: dict[str, Any], source: str, *, reverse: bool = False) -> Verdicts:
    (folder / "server.py").write_text(source, encoding="utf-8")
    snapshot, read = read_snapshot(json.dumps(old).encode(), "old.json"), read_source(str(folder))
    found = compare_catalogs(read, snapshot) if reverse else compare_catalogs(snapshot, read)
    return [(change.kind.id, change.breaking, change.message) for change in found]


def served(folder: Path, source: str) -> dict[str, Any]:
    """The catalog discovered from source code, to be modified and compared."""
    (folder / "server.py").write_text(source, encoding="utf-8")
    document: dict[str, Any] = json.loads(read_source(str(folder)).document.text)
    return document


def test_an_unknown_output_schema_is_not_removed(tmp_path: Path) -> None:
    source = HEAD + "@mcp.tool()\ndef find() -> list[TextContent]: ...\n"
    old = served(tmp_path, source)
    old["tools"][0]["outputSchema"] = {"type": "object", "properties": {"result": {"type": "array"}}}
    assert changes(tmp_path, old, source) == []
    assert changes(tmp_path, old, source, reverse=True) == []


def test_removing_a_known_output_schema_is_breaking(tmp_path: Path) -> None:
    source = HEAD + "@mcp.tool()\ndef find(): ...\n"
    old = served(tmp_path, source)
    old["tools"][0]["outputSchema"] = {"type": "object", "properties": {"result": {"type": "array"}}}
    assert [change[:2] for change in changes(tmp_path, old, source)] == [("output-schema-removed", True)]


FIELD = HEAD + "class Found(BaseModel):\n    v: Strange\n    n: int\n@mcp.tool()\ndef find(a: Strange) -> Found: ...\n"


def test_an_unknown_part_of_a_schema_is_not_compared(tmp_path: Path) -> None:
    old = served(tmp_path, FIELD)
    old["tools"][0]["outputSchema"]["properties"]["v"] = {"type": "string"}
    old["tools"][0]["inputSchema"]["properties"]["a"] = {"type": "string", "maxLength": 3}
    assert changes(tmp_path, old, FIELD) == []
    assert changes(tmp_path, old, FIELD, reverse=True) == []


def test_known_parts_beside_an_unknown_part_are_compared(tmp_path: Path) -> None:
    old = served(tmp_path, FIELD)
    old["tools"][0]["outputSchema"]["properties"]["gone"] = {"type": "string"}
    assert changes(tmp_path, old, FIELD) == [("field-removed", True, "`gone` was removed")]


def test_a_new_required_parameter_of_unknown_type_is_breaking(tmp_path: Path) -> None:
    old = served(tmp_path, HEAD + "@mcp.tool()\ndef find(): ...\n")
    found = changes(tmp_path, old, HEAD + "@mcp.tool()\ndef find(a: Strange): ...\n")
    assert [breaking for _, breaking, _ in found] == [True]


def test_changes_of_a_renamed_definition_with_unknown_parts_are_not_certain(tmp_path: Path) -> None:
    source = HEAD + "class Box(BaseModel):\n    v: Strange\n@mcp.tool()\ndef find(a: Box): ...\n"
    old = served(tmp_path, source)
    schema = old["tools"][0]["inputSchema"]
    schema["$defs"]["Other"] = {**schema["$defs"].pop("Box"), "properties": {"v": {"type": "string"}, "w": {}}}
    schema["properties"]["a"] = {"$ref": "#/$defs/Other"}
    assert True not in [breaking for _, breaking, _ in changes(tmp_path, old, source)]


def test_removals_from_an_incomplete_list_are_not_certain(tmp_path: Path) -> None:
    source = (
        LOWLEVEL + '    return [Tool(name="b", inputSchema={}), *[Tool(name=n, inputSchema={}) for n in names()]]\n'
    )
    found = changes(tmp_path, {"tools": [{"name": "a", "inputSchema": {}}, {"name": "b", "inputSchema": {}}]}, source)
    message = "is not in the new catalog, whose source code was only partly analysed"
    assert found == [("tool-removed", None, message)]


def test_a_tool_with_an_unknown_name_may_be_the_missing_one(tmp_path: Path) -> None:
    source = HEAD + '@mcp.tool(name=os.environ["NAME"])\ndef find(): ...\n@mcp.tool()\ndef other(): ...\n'
    old = served(tmp_path, source)
    old["tools"].append({"name": "find", "inputSchema": {}})
    assert [change[:2] for change in changes(tmp_path, old, source)] == [("tool-removed", None)]


def test_an_unreadable_file_may_contain_the_missing_tool(tmp_path: Path) -> None:
    source = HEAD + "@mcp.tool()\ndef other(): ...\n"
    old = served(tmp_path, source)
    old["tools"].append({"name": "find", "inputSchema": {}})
    (tmp_path / "broken.py").write_text("@mcp.tool()\ndef find(:\n", encoding="utf-8")
    assert [change[:2] for change in changes(tmp_path, old, source)] == [("tool-removed", None)]


def test_a_tool_missing_from_a_complete_list_was_removed(tmp_path: Path) -> None:
    source = LOWLEVEL + '    return [Tool(name="b", inputSchema={})]\n'
    found = changes(tmp_path, {"tools": [{"name": "a", "inputSchema": {}}, {"name": "b", "inputSchema": {}}]}, source)
    assert found == [("tool-removed", True, "was removed")]


CONDITIONAL = HEAD + 'if os.environ.get("MORE"):\n    @mcp.tool()\n    def find(): ...\n@mcp.tool()\ndef other(): ...\n'


def test_the_mark_of_a_conditional_tool_is_not_a_change(tmp_path: Path) -> None:
    old = served(tmp_path, CONDITIONAL)
    (marked,) = (tool for tool in old["tools"] if "_meta" in tool)
    del marked["_meta"]
    assert changes(tmp_path, old, CONDITIONAL) == []
    marked["_meta"] = {"own": 1}
    assert changes(tmp_path, old, CONDITIONAL) == [("metadata-changed", False, "`_meta` changed")]


def test_the_removal_of_a_conditional_tool_is_not_certain(tmp_path: Path) -> None:
    old = served(tmp_path, CONDITIONAL)
    found = changes(tmp_path, old, HEAD + "@mcp.tool()\ndef other(): ...\n")
    assert found == [("tool-removed", None, "was removed; it was only served under a condition")]


TOLD = {"serverInfo": {"name": "shop", "version": "1.2.3"}, "instructions": "Ask first.", "capabilities": {"tools": {}}}


def test_framework_defaults_are_not_changes_of_the_server(tmp_path: Path) -> None:
    source = HEAD + "@mcp.tool()\ndef f() -> str: ..."
    live = {**served(tmp_path, source), "server": {"command": "python"}, "initialize": TOLD}
    assert changes(tmp_path, live, source) == []
    assert changes(tmp_path, live, source, reverse=True) == []


def test_another_server_name_in_source_is_a_change(tmp_path: Path) -> None:
    source = 'from fastmcp import FastMCP\nmcp = FastMCP("store", "Ask nobody.")\n@mcp.tool\ndef f() -> str: ...'
    live = {**served(tmp_path, source), "initialize": TOLD}
    assert [kind for kind, _, _ in changes(tmp_path, live, source)] == ["server-name-changed", "instructions-changed"]


def test_the_indentation_of_a_docstring_is_not_a_change(tmp_path: Path) -> None:
    source = HEAD + '@mcp.tool()\ndef buy():\n    """Buy it.\n\n    At once.\n    """\n'
    old = served(tmp_path, source)
    assert old["tools"][0]["description"] == "Buy it.\n\n    At once.\n    "
    old["tools"][0]["description"] = "Buy it.\n\nAt once.\n"
    assert changes(tmp_path, old, source) == []
    assert changes(tmp_path, old, source, reverse=True) == []
    old["tools"][0]["description"] = "Buy it.\n\nLater.\n"
    assert [kind for kind, _, _ in changes(tmp_path, old, source)] == ["description-changed"]

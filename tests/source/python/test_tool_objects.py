"""Tool objects that exist before they are registered, and wrapped functions."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from .sources import found, is_conditional, names, tool

if TYPE_CHECKING:
    from pathlib import Path

SERVER = """
import os
from functools import wraps
from textwrap import dedent
from somewhere import flag
from fastmcp import FastMCP
from fastmcp.tools import FunctionTool, Tool
mcp = FastMCP("demo")
def add(a: int, b: int) -> int:
    '''
    Add two numbers.

    Args:
        a: One.
    '''
"""

MADE = {
    "a class of the project that inherits": "class Own(FunctionTool): ...\nmcp.add_tool(Own.from_function(add))",
    "a class that makes it itself": """
class Own(FunctionTool):
    @classmethod
    def from_function(cls, fn, **kwargs):
        return super().from_function(fn, **kwargs)
mcp.add_tool(Own.from_function(add))
""",
    "a copy": "mcp.add_tool(FunctionTool.from_function(add).model_copy())",
    "a server class that looks at it": """
class Server(FastMCP):
    def add_tool(self, tool):
        if tool.description:
            said = dedent(tool.description).strip()
            if said != tool.description:
                tool = tool.model_copy(update={"description": said})
        super().add_tool(tool)
own = Server("own")
own.add_tool(FunctionTool.from_function(add))
""",
}


@pytest.mark.parametrize("made", MADE.values(), ids=MADE)
def test_a_tool_is_created_from_a_function_by(made: str, tmp_path: Path) -> None:
    result = found(tmp_path, SERVER + made)
    assert names(result) == ["add"]
    assert not is_conditional(result, "add")
    assert list(tool(result)["inputSchema"]["properties"]) == ["a", "b"]
    assert tool(result)["description"] == "Add two numbers."


def test_a_copy_has_the_updated_values(tmp_path: Path) -> None:
    copied = "mcp.add_tool(FunctionTool.from_function(add).model_copy(update={'name': 'sum', 'description': 'Sums.'}))"
    result = found(tmp_path, SERVER + copied)
    assert (names(result), tool(result)["description"]) == (["sum"], "Sums.")


def test_an_unknown_update_makes_the_name_unknown(tmp_path: Path) -> None:
    assert (
        names(found(tmp_path, SERVER + "mcp.add_tool(FunctionTool.from_function(add).model_copy(update=flag()))")) == []
    )


def test_a_tool_that_is_put_into_the_table_of_a_server_is_registered(tmp_path: Path) -> None:
    result = found(tmp_path, f"{SERVER}mcp._tool_manager._tools['sum'] = FunctionTool.from_function(add)")
    assert (names(result), tool(result)["description"]) == (["sum"], "Add two numbers.")


@pytest.mark.parametrize(
    "change",
    [
        "made.parameters['properties'].clear()\nmcp.add_tool(made)",
        "made.parameters = {'type': 'object'}\nmcp.add_tool(made)",
        "mcp.add_tool(made)\nmade.parameters['properties'].clear()",
        "def change(tool):\n    tool.parameters['properties'].clear()\n    return tool\nmcp.add_tool(change(made))",
    ],
)
def test_the_schema_of_a_tool_whose_parameters_are_accessed_is_unknown(change: str, tmp_path: Path) -> None:
    result = found(tmp_path, f"{SERVER}made = FunctionTool.from_function(add)\n{change}")
    assert names(result) == ["add"]
    assert tool(result)["description"] == "Add two numbers."
    assert [sorted(known.unknown) for known in result.tools] == [["/inputSchema", "/outputSchema"]]


WRAPPING = """
def logged(fn):
    @wraps(fn)
    def wrapper(*args, **kwargs):
        return fn(*args, **kwargs)
    return wrapper
wrapped = logged(add)
if flag():
    wrapped = logged(wrapped)
"""


def test_a_conditionally_wrapped_function_is_still_exposed(tmp_path: Path) -> None:
    result = found(tmp_path, SERVER + WRAPPING + "mcp.add_tool(wrapped)")
    assert names(result) == ["add"]
    assert not is_conditional(result, "add")
    assert list(tool(result)["inputSchema"]["properties"]) == ["a", "b"]


def test_one_of_two_functions_is_unknown(tmp_path: Path) -> None:
    either = "def other(c: str): ...\nchosen = add\nif flag():\n    chosen = other\nmcp.add_tool(chosen)"
    assert names(found(tmp_path, SERVER + either)) == []


@pytest.mark.parametrize(
    ("chosen", "certain", "conditional"),
    [
        ("[each for each in (add, other)]", ["add", "other"], []),
        ("[each for each in (add, other) if each.__name__ != 'add']", ["other"], []),
        ("[each for each in (add, other) if each.__name__ not in flag()]", [], ["add", "other"]),
        ("[each for each in ([add] if flag() else [add, other])]", ["add"], ["other"]),
    ],
)
def test_what_a_comprehension_keeps_is_registered(
    chosen: str, certain: list[str], conditional: list[str], tmp_path: Path
) -> None:
    result = found(tmp_path, SERVER + f"def other(): ...\nfor one in {chosen}:\n    mcp.tool(one)\n")
    assert names(result) == sorted([*certain, *conditional])
    assert [name for name in names(result) if is_conditional(result, name)] == conditional


@pytest.mark.parametrize(
    "named",
    ["f'n{len(xs)}'", "xs[-1]", "'_'.join(xs)", "'yes' if xs == ['a', 'b'] else 'no'", "f'{len([x for x in xs])}'"],
)
def test_only_common_items_of_two_lists_are_certain(named: str, tmp_path: Path) -> None:
    source = (
        SERVER
        + f"xs = ['a']\nif flag():\n    xs = ['a', 'b']\nmcp.add_tool(FunctionTool.from_function(add, name={named}))"
    )
    assert names(found(tmp_path, source)) == []


def test_a_tool_of_googles_kit_has_name_and_description(tmp_path: Path) -> None:
    source = """
        from google.adk.tools.function_tool import FunctionTool
        from google.adk.tools.mcp_tool.conversion_utils import adk_to_mcp_tool_type
        from mcp.server.lowlevel import Server
        def report(day: str) -> str:
            '''Report of a day.'''
        def other(day: str) -> str: ...
        tools = [FunctionTool(report), FunctionTool(func=other)]
        tools[1].description = "Something else."
        server = Server("x")
        @server.list_tools()
        async def listed():
            return [adk_to_mcp_tool_type(each) for each in tools]
    """
    result = found(tmp_path, source)
    said = [(each["name"], each["description"], "inputSchema" in each) for each in result.document["tools"]]
    assert said == [("report", "Report of a day.", False), ("other", "Something else.", False)]
    assert "/inputSchema" in result.tools[0].unknown


MIXIN = """
from fastmcp import FastMCP
from fastmcp.contrib.mcp_mixin import MCPMixin, mcp_prompt, mcp_resource, mcp_tool
class Files(MCPMixin):
    @mcp_tool(description="Write it.")
    def write(self, path: str) -> str: ...
    @mcp_tool("get")
    def read(self, path: str) -> str:
        '''Read it.'''
    @mcp_tool(enabled=False)
    def gone(self): ...
    @mcp_resource("notes://all")
    def notes(self) -> str: ...
    @mcp_prompt()
    def ask(self) -> str: ...
    def plain(self): ...
mcp = FastMCP("x")
"""


@pytest.mark.parametrize(
    ("registered", "tools", "resources", "prompts"),
    [
        ("Files().register_all(mcp)", ["get", "write"], ["notes://all"], ["ask"]),
        ("Files().register_all(mcp, 'my')", ["my_get", "my_write"], ["my+notes://all"], ["my_ask"]),
        ("Files().register_tools(mcp, prefix='my', separator='-')", ["my-get", "my-write"], [], []),
        ("Files().register_resources(mcp_server=mcp)", [], ["notes://all"], []),
        ("Files().register_all(mcp, prefix=unheard_of())", [], [], []),
        ("Files()", [], [], []),
    ],
)
def test_a_mixin_registers_marked_methods(
    registered: str, tools: list[str], resources: list[str], prompts: list[str], tmp_path: Path
) -> None:
    document = found(tmp_path, MIXIN + registered).document
    assert [each["name"] for each in document["tools"]] == tools
    assert [each["uri"] for each in document["resources"]] == resources
    assert [each["name"] for each in document["prompts"]] == prompts


def test_a_method_that_a_mixin_marks_has_no_self(tmp_path: Path) -> None:
    result = found(tmp_path, MIXIN + "Files().register_all(mcp)")
    assert [list(each["inputSchema"]["properties"]) for each in result.document["tools"]] == [["path"], ["path"]]
    assert [each["description"] for each in result.document["tools"]] == ["Read it.", "Write it."]


@pytest.mark.parametrize(
    "code",
    [
        "schema['properties']['path'] = flag()",
        "made = flag()\n    made['description'] = 'Where.'\n    schema['properties'].update({'path': made})",
        "for name in ('path',):\n        schema['properties'][name] = flag(name)",
    ],
)
def test_a_parameter_whose_schema_is_unknown_is_a_parameter_nevertheless(code: str, tmp_path: Path) -> None:
    source = f"""
from somewhere import flag
from mcp.server import Server
from mcp.types import Tool
server = Server("demo")
@server.list_tools()
async def list_tools():
    schema = {{"type": "object", "properties": {{}}, "required": ["path"]}}
    {code}
    return [Tool(name="read", inputSchema=schema)]
"""
    result = found(tmp_path, source)
    assert tool(result)["inputSchema"]["properties"] == {"path": {}}
    assert "/inputSchema/properties/path" in result.tools[0].unknown

"""Where each part of the catalog is written."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mcproof.targets.python_source import discover

from .sources import found, write

if TYPE_CHECKING:
    from pathlib import Path

    from mcproof.targets.python_source import Discovered


def text_at(result: Discovered, pointer: str) -> str:
    """The text that a place marks."""
    place = result.places[pointer]
    with open(place.file, encoding="utf-8") as file:
        line = file.read().split("\n")[place.line - 1]
    end = None if place.end_column is None else place.end_column - 1
    return line[place.column - 1 : end]


def test_the_parts_of_a_decorated_function_are_located(tmp_path: Path) -> None:
    result = found(
        tmp_path,
        '''
        from fastmcp import FastMCP
        mcp = FastMCP("x")
        @mcp.tool(name="äöü", description="What it does.")
        async def f(first: int, second: "str" = "x"): ...
        @mcp.tool()
        def g(third: bool):
            """A docstring."""
        ''',
    )
    assert text_at(result, "/tools/0") == 'mcp.tool(name="äöü", description="What it does.")'
    assert text_at(result, "/tools/0/name") == '"äöü"'
    assert text_at(result, "/tools/0/description") == '"What it does."'
    assert text_at(result, "/tools/0/inputSchema") == "f"
    assert text_at(result, "/tools/0/inputSchema/properties/second") == "second"
    assert text_at(result, "/tools/1/name") == "g"
    assert text_at(result, "/tools/1/description") == '"""A docstring."""'
    assert text_at(result, "/tools/1/inputSchema/properties/third") == "third"


def test_the_keys_of_a_literal_schema_are_located_wherever_they_are_written(tmp_path: Path) -> None:
    result = found(
        tmp_path,
        """
        from mcp.server import Server
        from mcp.types import Tool
        from shared import COMMON
        server = Server("x")
        @server.list_tools()
        async def listing():
            return [
                Tool(
                    name="a",
                    inputSchema={
                        "type": "object",
                        "properties": {"own": {"anyOf": [{"type": "null"}]}, **COMMON},
                        "required": ["own"],
                    },
                )
            ]
        """,
        shared='COMMON = {"shared": {"type": "string"}}\n',
    )
    properties = "/tools/0/inputSchema/properties"
    assert text_at(result, "/tools/0/name") == '"a"'
    assert text_at(result, "/tools/0/inputSchema") == "{"
    assert text_at(result, f"{properties}/own") == '"own"'
    assert text_at(result, f"{properties}/own/anyOf/0/type") == '"type"'
    assert text_at(result, f"{properties}/shared") == '"shared"'
    assert result.places[f"{properties}/shared"].file.endswith("shared.py")
    assert text_at(result, "/tools/0/inputSchema/required/0") == '"own"'


def test_the_fields_of_a_model_are_located(tmp_path: Path) -> None:
    result = found(
        tmp_path,
        """
        from mcp.server.fastmcp import FastMCP
        from models import Args
        mcp = FastMCP("x")
        @mcp.tool()
        def f(args: Args): ...
        """,
        models="from pydantic import BaseModel\nclass Args(BaseModel):\n    inner: int = 1\n",
    )
    assert text_at(result, "/tools/0/inputSchema/properties/args") == "args"
    assert text_at(result, "/tools/0/inputSchema/$defs/Args/properties/inner") == "inner"


def test_every_tool_knows_the_lines_that_comments_about_it_stand_on(tmp_path: Path) -> None:
    result = found(
        tmp_path,
        """from fastmcp import FastMCP
mcp = FastMCP("x")
@mcp.tool(
    name="a",  # mcproof: ignore[MP001]
)
def f(
    x: int,
):
    return 1
""",
    )
    assert result.lines["/tools/0"] == (3, 4, 5, 6, 7, 8)
    assert result.comments == {result.files[0]: [(4, "# mcproof: ignore[MP001]")]}


def test_what_the_signature_requires_is_known(tmp_path: Path) -> None:
    source = 'from fastmcp import FastMCP\nmcp = FastMCP("x")\n@mcp.tool\ndef f(a, b=1, *, c, d=None): ...\n'
    (tool,) = found(tmp_path, source).tools
    assert tool.required_by_signature == ("a", "c")
    assert not tool.schema_is_explicit


def test_files_are_named_as_the_target_was(tmp_path: Path) -> None:
    write(tmp_path, {"server.py": 'from fastmcp import FastMCP\nmcp = FastMCP("x")\n@mcp.tool\ndef f(): ...\n'})
    file = str(tmp_path / "server.py")
    assert discover(file).files == [file]
    assert discover(file).places["/tools/0"].file == file

"""Locations of the parts of a catalog."""

from __future__ import annotations

import tracemalloc
from typing import TYPE_CHECKING

import pytest

from mcproof.source.python.pipeline import discover

from .sources import found, write

if TYPE_CHECKING:
    from pathlib import Path

    from mcproof.core.catalog.model import SourceMap


def text_at(result: SourceMap, pointer: str) -> str:
    """The text at a location."""
    place = result.locations[pointer]
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
    assert result.locations[f"{properties}/shared"].file.endswith("shared.py")
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


def test_every_tool_has_the_lines_where_comments_apply(tmp_path: Path) -> None:
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
    assert result.lines["/tools/0"] == tuple((result.files[0], line) for line in range(3, 9))
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
    assert discover(file).locations["/tools/0"].file == file


HEAD = "from fastmcp import FastMCP\nfrom textwrap import dedent\nimport inspect\nmcp = FastMCP('x')\n"


@pytest.mark.parametrize(
    ("made", "used", "text"),
    [
        ('D = "Adds it up."', "D", '"Adds it up."'),
        ('D = {"d": "Adds it up."}', 'D["d"]', '"Adds it up."'),
        ('D = [{"d": "Adds it up."}]', 'D[0].get("d")', '"Adds it up."'),
        ('class D:\n    text = "Adds it up."', "D.text", '"Adds it up."'),
        ('class D:\n    def __init__(self, t):\n        self.t = t\nd = D("Adds it.")', "d.t", '"Adds it."'),
        ('def d(text): return text\nD = d("Adds it up.")', "D", '"Adds it up."'),
        ('A = "Adds"\nD = f"{A} it up."', "D", 'f"{A} it up."'),
        ('A = "Adds"\nD = A + " it up."', "D", 'A + " it up."'),
        ('D = "   Adds it up."', "D.strip()", '"   Adds it up."'),
        ('D = "   Adds it up."', "dedent(D)", '"   Adds it up."'),
        ('D = "Adds {}."', 'D.format("it up")', '"Adds {}."'),
        ('def d():\n    """Adds it up."""', "d.__doc__", '"""Adds it up."""'),
        ('def d():\n    """Adds it up."""', "inspect.getdoc(d)", '"""Adds it up."""'),
        ('D = "Adds it up."', '"Adds" + D', '"Adds" + D'),
        ("", '"Adds it up."', '"Adds it up."'),
    ],
)
def test_a_description_is_located_at_its_text(tmp_path: Path, made: str, used: str, text: str) -> None:
    result = found(tmp_path, f"{HEAD}{made}\n@mcp.tool(description={used})\ndef f(): ...\n")
    assert text_at(result, "/tools/0/description") == text


def test_a_text_from_another_module_is_located_there(tmp_path: Path) -> None:
    result = found(
        tmp_path,
        f"{HEAD}from texts import NAME, ADDS\n@mcp.tool(NAME, description=ADDS)\ndef f(): ...\n",
        texts='NAME, ADDS = "add_up", "Adds it up."\n',
    )
    assert result.locations["/tools/0/description"].file.endswith("texts.py")
    assert text_at(result, "/tools/0/description") == '"Adds it up."'
    assert text_at(result, "/tools/0/name") == '"add_up"'


def test_tools_of_a_table_are_located_in_the_table(tmp_path: Path) -> None:
    result = found(
        tmp_path,
        """
        from mcp.server import Server
        from mcp.types import Tool
        server = Server("x")
        TABLE = {
            "add": {"d": "Adds it up.", "s": {"type": "object"}},
            "cut": {"d": "Cuts it down.", "s": dict(type="object")},
        }
        @server.list_tools()
        async def list_tools():
            return [Tool(name=name, description=each["d"], inputSchema=each["s"]) for name, each in TABLE.items()]
        """,
    )
    assert [text_at(result, f"/tools/{at}") for at in (0, 1)] == ['"add"', '"cut"']
    assert [text_at(result, f"/tools/{at}/description") for at in (0, 1)] == ['"Adds it up."', '"Cuts it down."']
    assert [text_at(result, f"/tools/{at}/inputSchema") for at in (0, 1)] == [
        '{"type": "object"}',
        'dict(type="object")',
    ]


def test_functions_registered_in_a_loop_are_located_at_their_definition(tmp_path: Path) -> None:
    result = found(tmp_path, f"{HEAD}def f(): ...\ndef g(): ...\nfor each in (f, g):\n    mcp.tool()(each)\n")
    assert [text_at(result, f"/tools/{at}") for at in (0, 1)] == ["f", "g"]


def test_origins_keep_a_bounded_amount_of_text(tmp_path: Path) -> None:
    source = f"{HEAD}big = 'x' * 1000000\nfor i in range(60):\n    last = f'{{big}}{{i}}'\n@mcp.tool\ndef f(): ...\n"
    tracemalloc.start()
    try:
        assert [tool["name"] for tool in found(tmp_path, source).document["tools"]] == ["f"]
        assert tracemalloc.get_traced_memory()[1] < 50 << 20
    finally:
        tracemalloc.stop()

"""The interpreter follows a program as Python runs it; what is not known statically is uncertain."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from mcproof.source.python.pipeline import discover

from .sources import found, is_conditional, names, tool

if TYPE_CHECKING:
    from pathlib import Path

    from mcproof.core.catalog.model import SourceMap

SERVER = """
import contextlib
import os
from collections import defaultdict, namedtuple
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any
from somewhere import flag, others
from fastmcp import FastMCP
mcp = FastMCP("demo")
def f(a: int) -> str:
    '''Do it.'''
"""


def registered(tmp_path: Path, body: str) -> tuple[list[str], list[str]]:
    """The names of certain tools, and of conditional ones."""
    result = found(tmp_path, SERVER + body)
    conditional = [name for name in names(result) if is_conditional(result, name)]
    return [name for name in names(result) if name not in conditional], conditional


def is_reported(result: SourceMap) -> bool:
    """Whether an omission is reported, and the list counts as incomplete."""
    return bool(result.omissions) and "tools" in result.incomplete_lists


CERTAIN = {
    "a loop that counts": ("i = 0\nwhile i < 3:\n    mcp.tool(f, name=f'n{i}')\n    i += 1", ["n0", "n1", "n2"]),
    "a loop that breaks": (
        "i = 0\nwhile True:\n    mcp.tool(f, name=f'n{i}')\n    if True:\n        break",
        ["n0"],
    ),
    "a loop that never begins": ("while False:\n    mcp.tool(f)\nelse:\n    mcp.tool(f, name='other')", ["other"]),
    "a counter of the function around": (
        "def make():\n    count = 0\n    def register(fn):\n        nonlocal count\n        count += 1\n"
        "        mcp.tool(fn, name=f'n{count}')\n    return register\nregister = make()\nregister(f)\nregister(f)",
        ["n1", "n2"],
    ),
    "a dictionary that is changed in place": (
        "a = {'x': f}\nb = a\na |= {'y': f}\nfor name, fn in b.items():\n    mcp.tool(fn, name=name)",
        ["x", "y"],
    ),
    "a class that is notified of its subclasses": (
        "every = []\nclass Base:\n    def __init_subclass__(cls, **given):\n        every.append(cls)\n"
        "class One(Base):\n    name = 'one'\nclass Two(One):\n    name = 'two'\n"
        "for each in every:\n    mcp.tool(f, name=each.name)",
        ["one", "two"],
    ),
    "an iterator that gives each item once": (
        "names = iter(['a', 'b', 'c'])\nnext(names)\nfor name in names:\n    mcp.tool(f, name=name)",
        ["b", "c"],
    ),
    "a function that calls itself": (
        "def register(n):\n    if n:\n        mcp.tool(f, name=f'n{n}')\n        register(n - 1)\nregister(3)",
        ["n3", "n2", "n1"],
    ),
    "an object with the fields that it is given": (
        "made = SimpleNamespace(fn=f, name='x')\nmcp.tool(made.fn, name=made.name)",
        ["x"],
    ),
    "a tuple with names": (
        "Made = namedtuple('Made', 'name fn')\nfor each in [Made('x', f), Made(fn=f, name='y')]:\n"
        "    mcp.tool(each.fn, name=each.name)",
        ["x", "y"],
    ),
    "a dictionary that makes what it lacks": (
        "groups = defaultdict(list)\ngroups['x'].append(f)\nfor name, each in groups.items():\n"
        "    mcp.tool(each[0], name=name)",
        ["x"],
    ),
    "a dictionary of the project's own": (
        "class Registry(dict):\n    def register(self, name):\n        def keep(fn):\n            self[name] = fn\n"
        "            return fn\n        return keep\nregistry = Registry()\nregistry.register('x')(f)\n"
        "for name in registry:\n    mcp.tool(registry[name], name=name)",
        ["x"],
    ),
    "a list of the project's own": (
        "class Tools(list):\n    pass\ntools = Tools()\ntools.append(f)\nfor each in tools:\n    mcp.tool(each)",
        ["f"],
    ),
    "a namespace": (
        "from fastmcp.server.transforms import Namespace\nmcp.tool(f)\nmcp.add_transform(Namespace('acme'))",
        ["acme_f"],
    ),
    "a switch": (
        "from fastmcp.server.transforms import Visibility\nmcp.tool(f, tags={'x'})\nmcp.tool(f, name='g')\n"
        "mcp.add_transform(Visibility(False, tags={'x'}))",
        ["g"],
    ),
    "a provider": (
        "from fastmcp.server.providers import LocalProvider\nlocal = LocalProvider()\nlocal.tool(f)\n"
        "whole = FastMCP('whole', providers=[local])",
        ["f"],
    ),
    "what is caught only where something is not installed": (
        "try:\n    from fastmcp import Context\n    named = 'x'\nexcept ImportError:\n    named = 'y'\n"
        "mcp.tool(f, name=named)",
        ["x"],
    ),
    "what is returned only where something fails": (
        "def make():\n    try:\n        return [f]\n    except ValueError:\n        return []\n"
        "for each in make():\n    mcp.tool(each)",
        ["f"],
    ),
}


@pytest.mark.parametrize(("body", "expected"), CERTAIN.values(), ids=CERTAIN)
def test_a_program_registers_by(body: str, expected: list[str], tmp_path: Path) -> None:
    assert registered(tmp_path, body) == (expected, [])


UNSETTLED = {
    "names that a failure changes": (
        "try:\n    open('x')\n    mode = 'full'\nexcept OSError:\n    mode = 'lite'\nif mode == 'full':\n"
        "    mcp.tool(f, name='a')\nelse:\n    mcp.tool(f, name='b')",
        ["a", "b"],
    ),
    "an import that is not missed": (
        "has = False\nwith contextlib.suppress(ImportError):\n    import pandas\n    has = True\nif has:\n"
        "    mcp.tool(f, name='a')",
        ["a"],
    ),
    "what a round of a loop leaves behind": (
        "keep = True\nfor each in ['x']:\n    if flag():\n        keep = False\n        continue\n    keep = True\n"
        "if keep:\n    mcp.tool(f, name='a')\nelse:\n    mcp.tool(f, name='b')",
        ["a", "b"],
    ),
    "one of two objects": (
        "class One:\n    def run(self, a: int): ...\nclass Two:\n    def run(self, b: int): ...\n"
        "made = One() if flag() else Two()\nif flag():\n    mcp.tool(made.run, name='a')",
        ["a"],
    ),
    "a middleware that lists others": (
        "from fastmcp.server.middleware import Middleware\nclass Own(Middleware):\n"
        "    async def on_list_tools(self, context, call_next):\n        return []\n"
        "mcp.add_middleware(Own())\nmcp.tool(f)",
        ["f"],
    ),
    "an unknown transform": ("mcp.tool(f)\nmcp.add_transform(flag())", ["f"]),
}


@pytest.mark.parametrize(("body", "expected"), UNSETTLED.values(), ids=UNSETTLED)
def test_nothing_is_certain_after(body: str, expected: list[str], tmp_path: Path) -> None:
    assert registered(tmp_path, body) == ([], expected)


TOLD = {
    "a loop that nobody counts": "while flag():\n    mcp.tool(f)",
    "an unknown function": "for each in others():\n    mcp.tool(each)",
    "an unknown server": "mcp.tool(f)\nmcp.mount(others())",
    "an unknown provider": "mcp.tool(f)\nmcp.add_provider(others())",
    "a specification": "api = FastMCP.from_openapi(others())\napi.tool(f)",
    "a recursion without an end in sight": (
        "def register(n):\n    mcp.tool(f, name=f'n{n}')\n    register(n + 1)\nregister(0)"
    ),
    "other names for a mounted server": "sub = FastMCP('sub')\nsub.tool(f)\nmcp.mount(sub, tool_names={'f': 'g'})",
}


@pytest.mark.parametrize("body", TOLD.values(), ids=TOLD)
def test_an_omission_is_reported_for(body: str, tmp_path: Path) -> None:
    assert is_reported(found(tmp_path, SERVER + body))


def test_only_the_given_name_of_an_unknown_function_is_known(tmp_path: Path) -> None:
    result = found(tmp_path, SERVER + "mcp.tool(flag(), name='x')")
    assert names(result) == ["x"]
    assert {"/inputSchema", "/outputSchema"} <= result.tools[0].unknown


def test_the_running_branch_wins_over_type_checking(tmp_path: Path) -> None:
    source = (
        SERVER
        + """
if TYPE_CHECKING:
    Payload = dict[str, int]
else:
    Payload = Any
@mcp.tool
def take(p: Payload): ...
"""
    )
    assert tool(found(tmp_path, source))["inputSchema"]["properties"] == {"p": {}}


@pytest.mark.parametrize("other", ["flag()", "{'s': str}[flag()]"])
def test_one_of_two_types_is_unknown(other: str, tmp_path: Path) -> None:
    source = SERVER + f"Kind = int\nif flag():\n    Kind = {other}\n@mcp.tool\ndef take(k: Kind): ...\n"
    assert any(pointer.startswith("/inputSchema/properties/k") for pointer in found(tmp_path, source).tools[0].unknown)


def test_one_of_two_servers_has_their_common_info(tmp_path: Path) -> None:
    source = """
from somewhere import flag
from fastmcp import FastMCP
if flag():
    mcp = FastMCP("one", version="2")
else:
    mcp = FastMCP("two", version="2")
@mcp.tool
def f(): ...
"""
    assert found(tmp_path, source).document["initialize"]["serverInfo"] == {"version": "2"}


def test_auto_of_a_string_enumeration_is_unknown(tmp_path: Path) -> None:
    source = (
        SERVER
        + """
from enum import Enum, auto
class Color(str, Enum):
    RED = "red"
    BLUE = auto()
@mcp.tool
def paint(color: Color): ...
"""
    )
    assert found(tmp_path, source).tools[0].unknown


REMEMBERED = {
    "objects that come and go": (
        "class Named:\n    def __init__(self, name):\n        self.name = name\n"
        "    def full(self):\n        return 'x_' + self.name\n"
        "for each in ('a', 'b', 'c', 'd'):\n    mcp.tool(f, name=Named(each).full())",
        ["x_a", "x_b", "x_c", "x_d"],
    ),
    "a name of the module that changes": (
        "def named(name):\n    return prefix + name\nprefix = 'a_'\nmcp.tool(f, name=named('x'))\nprefix = 'b_'\n"
        "mcp.tool(f, name=named('x'))",
        ["a_x", "b_x"],
    ),
    "a counter": (
        "count = 0\ndef another():\n    global count\n    count += 1\n    return count\n"
        "mcp.tool(f, name=f'n{another()}')\nmcp.tool(f, name=f'n{another()}')",
        ["n1", "n2"],
    ),
    "a default that is bound anew": (
        "for each in ('a', 'b'):\n    def named(name=each):\n        return name\n    mcp.tool(f, name=named())",
        ["a", "b"],
    ),
    "an attribute that changes": (
        "class Named:\n    prefix = 'a_'\n    def full(self):\n        return self.prefix + 'x'\nnamed = Named()\n"
        "mcp.tool(f, name=named.full())\nnamed.prefix = 'b_'\nmcp.tool(f, name=named.full())",
        ["a_x", "b_x"],
    ),
}


@pytest.mark.parametrize(("body", "expected"), REMEMBERED.values(), ids=REMEMBERED)
def test_results_are_not_reused_after(body: str, expected: list[str], tmp_path: Path) -> None:
    assert registered(tmp_path, body) == (expected, [])


FURTHER = {
    "a decorator that may do nothing": (
        "deco = mcp.tool() if flag() else (lambda fn: fn)\n@deco\ndef a(): ...",
        ([], ["a"]),
    ),
    "a package that may not be there": (
        "def have(name):\n    try:\n        __import__(name)\n        return True\n"
        "    except ImportError:\n        return False\n"
        "if have('nope'):\n    mcp.tool(f, name='a')",
        ([], ["a"]),
    ),
    "an unknown name to remove": (
        "mcp.tool(f, name='a')\nfor each in flag():\n    mcp.remove_tool(each)\nmcp.tool(f, name='b')",
        (["b"], ["a"]),
    ),
    "a part of the server that takes away": (
        "mcp.tool(f, name='a')\nmcp.tool(f, name='b')\nmcp.local_provider.remove_tool('a')",
        (["b"], []),
    ),
    "something else that exits": ("span = flag()\nspan.exit()\nmcp.tool(f, name='a')", (["a"], [])),
    "what is not done where it is started": ("if __name__ != '__main__':\n    mcp.tool(f, name='a')", ([], ["a"])),
    "the else of a loop that may break": (
        "for each in range(3):\n    if flag():\n        break\nelse:\n    mcp.tool(f, name='a')\nmcp.tool(f, name='b')",
        (["b"], ["a"]),
    ),
    "another name of a member": (
        "from enum import Enum\nclass Kind(Enum):\n    ISSUE = 'issue'\n    TICKET = 'issue'\n"
        "for each in Kind:\n    mcp.tool(f, name=each.name)",
        (["ISSUE"], []),
    ),
    "members that count themselves": (
        "from enum import Enum, auto\nclass Step(Enum):\n    A = auto()\n    B = auto()\n"
        "for each in Step:\n    mcp.tool(f, name=f'n{each.value}')",
        (["n1", "n2"], []),
    ),
    "a copy that is notified of itself": (
        "from dataclasses import dataclass, replace\nevery = []\n@dataclass\nclass Made:\n    name: str\n"
        "    def __post_init__(self):\n        every.append(self.name)\nreplace(Made('a'), name='b')\n"
        "for each in every:\n    mcp.tool(f, name=each)",
        (["a", "b"], []),
    ),
}


@pytest.mark.parametrize(("body", "expected"), FURTHER.values(), ids=FURTHER)
def test_a_program_is_followed_through(body: str, expected: tuple[list[str], list[str]], tmp_path: Path) -> None:
    assert registered(tmp_path, body) == expected


@pytest.mark.parametrize("change", ["fn.__annotations__ = {'a': str}", "fn.__defaults__ = (3,)"])
def test_an_overwritten_signature_is_unknown(change: str, tmp_path: Path) -> None:
    source = SERVER + f"def change(fn):\n    {change}\n    return fn\nmcp.tool(change(f))"
    assert "/inputSchema" in found(tmp_path, source).tools[0].unknown


def test_imports_of_unknown_modules_are_reported(tmp_path: Path) -> None:
    source = SERVER + "import importlib\nmcp.tool(f)\nfor each in flag():\n    importlib.import_module(each)\n"
    (tmp_path / "server.py").write_text(source, encoding="utf-8")
    assert is_reported(discover(str(tmp_path / "server.py"), whole=True))
    assert not is_reported(discover(str(tmp_path)))


def test_a_customized_schema_is_unknown(tmp_path: Path) -> None:
    source = (
        SERVER
        + """
from pydantic import BaseModel
class Own(BaseModel):
    x: int
    @classmethod
    def __get_pydantic_json_schema__(cls, core, handler):
        return {"type": "string"}
@mcp.tool
def take(own: Own): ...
"""
    )
    result = found(tmp_path, source)
    assert "/inputSchema/properties/own" in result.tools[0].unknown


INLINED = """
from mcp.server import Server
from mcp.types import Tool
from pydantic import BaseModel

class Place(BaseModel):
    city: str
    near: list[str] = []

class Trip(BaseModel):
    start: Place
    stops: list[Place]

def flat(schema):
    definitions = schema.get("$defs", {})

    def visit(node, path):
        if isinstance(node, list):
            return [visit(item, path) for item in node]
        if not isinstance(node, dict):
            return node
        if "$ref" in node:
            name = node["$ref"].rsplit("/", 1)[-1]
            return visit(definitions[name], path + (name,))
        return {key: visit(value, path) for key, value in node.items() if key != "$defs"}

    return visit(schema, ())

app = Server("demo")

@app.list_tools()
async def tools():
    return [Tool(name="plan", description="Plan a trip.", inputSchema=flat(Trip.model_json_schema()))]
"""


def test_a_function_that_inlines_references_by_recursion_keeps_nested_properties(tmp_path: Path) -> None:
    (tool,) = found(tmp_path, INLINED).document["tools"]
    schema = tool["inputSchema"]
    city = {"title": "City", "type": "string"}
    assert schema["properties"]["start"]["properties"]["city"] == city
    assert schema["properties"]["stops"]["items"]["properties"]["city"] == city
    assert schema["properties"]["stops"]["items"]["required"] == ["city"]
    assert "$defs" not in schema


def test_a_handler_that_calls_another_server_is_reported(tmp_path: Path) -> None:
    source = (
        SERVER
        + """
from mcp.server import Server
mcp.tool(f)
server = Server("x")
@server.list_tools()
async def listed():
    return await mcp.list_tools()
"""
    )
    result = found(tmp_path, source)
    assert names(result) == ["f"]
    assert is_reported(result)


def test_items_that_a_list_handler_adds_under_a_condition_are_conditional(tmp_path: Path) -> None:
    source = """
from mcp.server import Server
from mcp.types import Tool
from somewhere import flag
class Own(Tool): ...
server = Server("x")
@server.list_tools()
async def listed():
    tools = [Own(name="a", inputSchema={})]
    if flag():
        tools.append(Own(name="b", inputSchema={}))
        tools.append({"name": "c", "inputSchema": {}})
    return tools
"""
    result = found(tmp_path, source)
    assert [name for name in names(result) if is_conditional(result, name)] == ["b", "c"]


def test_an_unknown_list_makes_every_tool_conditional(tmp_path: Path) -> None:
    source = """
from mcp.server import Server
from mcp.types import Tool
from somewhere import chosen
ONE = Tool(name="one", inputSchema={})
server = Server("x")
@server.list_tools()
async def listed():
    return chosen(ONE)
"""
    result = found(tmp_path, source)
    assert is_conditional(result, "one")
    assert is_reported(result)


CHANGED = {
    "a tool under a condition": ("if flag():\n    made.description = 'Other.'", "made.description"),
    "a part of a list": ("texts = ['One.', 'Two.']\ntexts[0:1] = ['Other.']", "texts[0]"),
    "what a setter changes": (
        "class Text:\n    @property\n    def it(self):\n        return self.own\n    @it.setter\n"
        "    def it(self, value):\n        self.own = value + '!'\ntext = Text()\ntext.it = 'Other.'",
        "text.it",
    ),
}


@pytest.mark.parametrize(("change", "read"), CHANGED.values(), ids=CHANGED)
def test_a_text_is_unknown_after_changing(change: str, read: str, tmp_path: Path) -> None:
    made = "from mcp.types import Tool\nmade = Tool(name='x', description='One.', inputSchema={})\n"
    result = found(tmp_path, SERVER + made + change + f"\nmcp.tool(f, description={read})\n")
    assert "/description" in result.tools[-1].unknown


def test_tools_on_a_server_parameter_may_belong_to_any_server(tmp_path: Path) -> None:
    result = found(
        tmp_path,
        examples__one="from fastmcp import FastMCP\nmcp = FastMCP('example')\n@mcp.tool\ndef a(): ...\n",
        app=(
            "from elsewhere import connected\nfrom fastmcp import FastMCP\nfrom kit import install\n"
            "main = FastMCP('main')\ninstall(connected(main))\n"
        ),
        kit="from fastmcp import FastMCP\ndef install(server: FastMCP):\n    @server.tool\n    def b(): ...\n",
    )
    assert "initialize" not in result.document


def test_a_file_that_registers_on_an_imported_server_needs_no_mention_of_mcp(tmp_path: Path) -> None:
    (tmp_path / "core.py").write_text("from base import app\n", encoding="utf-8")
    (tmp_path / "base.py").write_text("from mcp.server.fastmcp import FastMCP\napp = FastMCP('x')\n", encoding="utf-8")
    books = tmp_path / "books.py"
    books.write_text("from core import app\n\n@app.tool()\ndef find(title: str): ...\n", encoding="utf-8")
    assert [tool["name"] for tool in discover(str(books)).document["tools"]] == ["find"]

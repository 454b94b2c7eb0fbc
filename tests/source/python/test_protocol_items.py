"""Items of the low-level server, as objects of the protocol's types."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from .sources import found, is_conditional, names, tool

if TYPE_CHECKING:
    from pathlib import Path

LOW_LEVEL = """
from mcp.server import Server
import mcp.types as types
from mcp.types import Tool, ToolAnnotations
server = Server("demo")
"""


def served(tools: str, before: str = "") -> str:
    """A low-level server that lists these tools."""
    return f"{LOW_LEVEL}{before}\n@server.list_tools()\nasync def listing():\n    return [{tools}]\n"


def test_a_tool_is_served_as_it_is_written(tmp_path: Path) -> None:
    source = served(
        """Tool(
            name="a",
            title="The A",
            description="Does"
            " a.",
            inputSchema={"type": "object", "properties": {"x": {"type": "integer"}}, "required": ["x"]},
            outputSchema={"type": "object"},
            annotations=ToolAnnotations(readOnlyHint=True),
        )"""
    )
    result = found(tmp_path, source)
    assert tool(result) == {
        "name": "a",
        "title": "The A",
        "description": "Does a.",
        "inputSchema": {"type": "object", "properties": {"x": {"type": "integer"}}, "required": ["x"]},
        "outputSchema": {"type": "object"},
        "annotations": {"readOnlyHint": True},
    }
    assert result.tools[0].schema_is_explicit
    assert not result.tools[0].unknown


VALUES = {
    '"x"': "x",
    '"x" "y"': "xy",
    '"x" + "y"': "xy",
    'f"x{1 + 1}"': "x2",
    '"{} {name}".format("a", name="b")': "a b",
    '"%s-%s" % ("a", "b")': "a-b",
    '", ".join(["a", "b"])': "a, b",
    '", ".join(str(n) for n in (1, 2))': "1, 2",
    "TEXT": "constant",
    "TEXTS['one']": "first",
    'TEXTS.get("two", "second")': "second",
    "Names.A.value": "alpha",
    "Names.A": "alpha",
    "Holder.text": "of a class",
    "Holder().own": "of an object",
    'textwrap.dedent("""\\n    x\\n    """).strip()': "x",
    '"A".lower()': "a",
    "describe('me')": "It is me.",
    "'yes' if len(TEXT) > 3 else 'no'": "yes",
    "TEXT[:4]": "cons",
    "None or 'x'": "x",
    "(lambda: 'called')()": "called",
}
BEFORE = """
import textwrap
from enum import Enum
TEXT = "constant"
TEXTS = {"one": "first"}
class Names(str, Enum):
    A = "alpha"
class Holder:
    text = "of a class"
    def __init__(self):
        self.own = "of an object"
def describe(what):
    return f"It is {what}."
"""


@pytest.mark.parametrize("expression", VALUES)
def test_a_description_can_be_computed(expression: str, tmp_path: Path) -> None:
    source = served(f'Tool(name="a", description={expression}, inputSchema={{}})', BEFORE)
    assert tool(found(tmp_path, source))["description"] == VALUES[expression]


@pytest.mark.parametrize(
    "expression",
    [
        "os.environ['X']",
        "open('x').read()",
        "f'{os.getcwd()}'",
        "unheard_of",
        "'x' * 10**12",
        "9**9**9",
        "str(object())",
    ],
)
def test_an_unknown_description_is_left_out_and_marked(expression: str, tmp_path: Path) -> None:
    result = found(tmp_path, served(f'Tool(name="a", description={expression}, inputSchema={{}})', "import os\n"))
    assert "description" not in tool(result)
    assert result.tools[0].unknown == {"/description"}


def test_an_unknown_part_of_a_schema_is_left_out_and_marked(tmp_path: Path) -> None:
    schema = '{"type": "object", "properties": {"x": {"type": "string", "default": os.getcwd()}, "y": load()}}'
    result = found(tmp_path, served(f'Tool(name="a", inputSchema={schema})', "import os\nfrom z import load\n"))
    assert tool(result)["inputSchema"] == {"type": "object", "properties": {"x": {"type": "string"}, "y": {}}}
    assert result.tools[0].unknown == {"/inputSchema/properties/x/default", "/inputSchema/properties/y"}


def test_a_schema_that_is_accessed_after_registration_is_marked(tmp_path: Path) -> None:
    source = """
        from mcp.server.fastmcp import FastMCP
        mcp = FastMCP("x")
        @mcp.tool()
        def a(x: int): ...
        @mcp.tool()
        def b(x: int): ...
        mcp._tool_manager.get_tool("a").parameters["properties"].clear()
        """
    result = found(tmp_path, source)
    assert [bool(each.unknown) for each in result.tools] == [True, False]


def test_schemas_can_be_merged(tmp_path: Path) -> None:
    before = """
BASE = {"a": {"type": "string"}}
MORE = BASE | {"b": {"type": "integer"}}
def schema(**properties):
    return {"type": "object", "properties": {**MORE, **properties}}
"""
    result = found(tmp_path, served('Tool(name="a", inputSchema=schema(c={"type": "null"}))', before))
    assert tool(result)["inputSchema"] == {
        "type": "object",
        "properties": {"a": {"type": "string"}, "b": {"type": "integer"}, "c": {"type": "null"}},
    }


def test_a_schema_can_come_from_a_model(tmp_path: Path) -> None:
    before = """
from pydantic import BaseModel, Field
class Inner(BaseModel):
    z: bool
class Args(BaseModel):
    \"\"\"Arguments.\"\"\"
    x: int = Field(description="An x.")
    inner: Inner | None = None
"""
    result = found(tmp_path, served('Tool(name="a", inputSchema=Args.model_json_schema())', before))
    assert tool(result)["inputSchema"] == {
        "$defs": {
            "Inner": {
                "properties": {"z": {"title": "Z", "type": "boolean"}},
                "required": ["z"],
                "title": "Inner",
                "type": "object",
            }
        },
        "description": "Arguments.",
        "properties": {
            "x": {"description": "An x.", "title": "X", "type": "integer"},
            "inner": {"anyOf": [{"$ref": "#/$defs/Inner"}, {"type": "null"}], "default": None},
        },
        "required": ["x"],
        "title": "Args",
        "type": "object",
    }


HANDLERS = {
    "a decorated handler": "@server.list_tools()\nasync def f():\n    return [Tool(name='a', inputSchema={})]",
    "a result object": (
        "async def f(ctx, params):\n    return types.ListToolsResult(tools=[Tool(name='a', inputSchema={})])\n"
        "server = Server('x', on_list_tools=f)"
    ),
    "a constant": "TOOLS = [Tool(name='a', inputSchema={})]\n@server.list_tools()\nasync def f():\n    return TOOLS",
    "appended": (
        "@server.list_tools()\nasync def f():\n    tools = []\n    tools.append(Tool(name='a', inputSchema={}))\n"
        "    return tools"
    ),
    "made of dictionaries": (
        "SPECS = [{'name': 'a', 'inputSchema': {}}]\n@server.list_tools()\nasync def f():\n"
        "    return [Tool(**spec) for spec in SPECS]"
    ),
    "read from JSON": (
        """import json\n@server.list_tools()\nasync def f():\n"""
        """    return [Tool(**spec) for spec in json.loads('[{"name": "a", "inputSchema": {}}]')]"""
    ),
    "validated": "@server.list_tools()\nasync def f():\n    return [Tool.model_validate({'name': 'a'})]",
    "a request handler": (
        "async def f(request):\n    tools = [Tool(name='a', inputSchema={})]\n"
        "    return types.ServerResult(types.ListToolsResult(tools=tools))\n"
        "server.request_handlers[types.ListToolsRequest] = f"
    ),
    "a data class": (
        "from dataclasses import dataclass\n@dataclass\nclass Spec:\n    name: str\n    schema: dict\n"
        "SPECS = [Spec('a', {})]\n@server.list_tools()\nasync def f():\n"
        "    return [Tool(name=s.name, inputSchema=s.schema) for s in SPECS]"
    ),
    "made by objects": (
        "class Handler:\n    name = 'a'\n    def tool(self):\n        return Tool(name=self.name, inputSchema={})\n"
        "HANDLERS = {h.name: h for h in [Handler()]}\n@server.list_tools()\nasync def f():\n"
        "    return [h.tool() for h in HANDLERS.values()]"
    ),
    "inside a class": (
        "class App:\n    def __init__(self):\n        self.server = Server('x')\n"
        "        self.server.list_tools()(self.listing)\n"
        "    async def listing(self):\n        return [Tool(name='a', inputSchema={})]\nApp()"
    ),
    "inside main": (
        "async def main():\n    app = Server('x')\n    @app.list_tools()\n    async def f():\n"
        "        return [Tool(name='a', inputSchema={})]\n"
    ),
}


@pytest.mark.parametrize("form", HANDLERS)
def test_the_list_of_a_low_level_server_is_found_in(form: str, tmp_path: Path) -> None:
    assert names(found(tmp_path, LOW_LEVEL + HANDLERS[form])) == ["a"]


def test_a_conditionally_listed_tool_is_marked(tmp_path: Path) -> None:
    source = f"""{LOW_LEVEL}
import os
@server.list_tools()
async def listing():
    tools = [Tool(name="a", inputSchema={{}})]
    if os.environ.get("MORE"):
        tools.append(Tool(name="b", inputSchema={{}}))
    return tools
"""
    result = found(tmp_path, source)
    assert names(result) == ["a", "b"]
    assert not is_conditional(result, "a")
    assert is_conditional(result, "b")


def test_a_tool_that_is_never_listed_is_not_served(tmp_path: Path) -> None:
    source = f"""{LOW_LEVEL}
UNUSED = Tool(name="b", inputSchema={{}})
@server.list_tools()
async def listing():
    return [Tool(name="a", inputSchema={{}})]
"""
    assert names(found(tmp_path, source)) == ["a"]


def test_resources_templates_and_prompts_are_found(tmp_path: Path) -> None:
    source = """
        from mcp.server.fastmcp import FastMCP
        mcp = FastMCP("x")
        @mcp.resource("data://one", mime_type="application/json")
        def one() -> str:
            "The one."
        @mcp.resource("data://{name}/many", name="many", description="Many of them.")
        def many(name: str) -> str: ...
        @mcp.prompt()
        def ask(question: str, tone: str = "kind") -> str:
            "Asks."
        """
    document = found(tmp_path, source).document
    assert document["resources"] == [
        {"uri": "data://one", "name": "one", "description": "The one.", "mimeType": "application/json"}
    ]
    assert document["resourceTemplates"] == [
        {"uriTemplate": "data://{name}/many", "name": "many", "description": "Many of them.", "mimeType": "text/plain"}
    ]
    assert document["prompts"] == [
        {
            "name": "ask",
            "description": "Asks.",
            "arguments": [{"name": "question", "required": True}, {"name": "tone", "required": False}],
        }
    ]


def test_prompts_and_resources_of_a_low_level_server_are_found(tmp_path: Path) -> None:
    source = f"""{LOW_LEVEL}
from pydantic import AnyUrl
@server.list_resources()
async def resources():
    return [types.Resource(uri=AnyUrl("memo://x"), name="x", mimeType="text/plain")]
@server.list_prompts()
async def prompts():
    return [types.Prompt(name="p", arguments=[types.PromptArgument(name="topic", required=True)])]
"""
    document = found(tmp_path, source).document
    assert document["resources"] == [{"uri": "memo://x", "name": "x", "mimeType": "text/plain"}]
    assert document["prompts"] == [{"name": "p", "arguments": [{"name": "topic", "required": True}]}]


@pytest.mark.parametrize(
    "change",
    ['given.append("b")', 'given.extend(["b"])', 'given += ["b"]', 'given = ["a", "b"]', 'given.insert(0, "b")'],
)
def test_a_doubtful_list_item_is_left_out_and_marked(change: str, tmp_path: Path) -> None:
    result = found(
        tmp_path,
        f"""
        import os
        from mcp.server import Server
        from mcp.types import Tool
        server = Server("x")
        given = ["a"]
        if os.environ.get("B"):
            {change}
        @server.list_tools()
        async def list_tools():
            return [Tool(name="t", inputSchema={{"properties": {{"a": {{}}}}, "required": given}})]
        """,
    )
    assert "b" not in tool(result)["inputSchema"].get("required", [])
    assert result.tools[0].unknown == {"/inputSchema/required"}


CHOICES = {
    "an expression": "schema = {one} if os.environ.get('X') else {other}",
    "a statement": "if os.environ.get('X'):\n    schema = {one}\nelse:\n    schema = {other}",
    "a function": "def pick():\n    if os.environ.get('X'):\n        return {one}\n    return {other}\nschema = pick()",
}


@pytest.mark.parametrize("form", CHOICES)
@pytest.mark.parametrize(
    ("one", "other", "unknown"),
    [
        (
            '{"properties": {"a": {"type": "string"}, "c": {}}, "required": ["a", "c"]}',
            '{"properties": {"b": {"type": "string"}, "c": {}}, "required": ["b", "c"]}',
            {"/properties/a", "/properties/b", "/required"},
        ),
        (
            '{"properties": {"a": {"type": "string"}}}',
            '{"properties": {"a": {"type": "integer"}}}',
            {"/properties/a/type"},
        ),
        ('{"properties": {"a": {}}}', '{"properties": {"a": {}}, "required": ["a"]}', {"/required"}),
        ('{"properties": {"a": {}}}', '{"properties": {"a": {}}, **sometimes}', {"/title"}),
        ('{"properties": {"a": {}}}', '{"properties": {"a": {}}, **unheard_of()}', {""}),
        ('{"properties": {"a": {}}, "required": ["a"]}', '{"properties": {"a": {}}, "required": ["a"]}', set()),
    ],
)
def test_differences_of_two_schemas_are_marked(
    form: str, one: str, other: str, unknown: set[str], tmp_path: Path
) -> None:
    before = "import os\nfrom elsewhere import unheard_of\nsometimes = {}\n"
    before += "if os.environ.get('Y'):\n    sometimes['title'] = 'X'\n"
    choice = CHOICES[form].replace("{one}", one).replace("{other}", other)
    result = found(tmp_path, served('Tool(name="a", inputSchema=schema)', before + choice))
    assert result.tools[0].unknown == {f"/inputSchema{each}" for each in unknown}


UNSETTLED = """
import json
import os
env = os.environ.get("X")
extra = ["b"] if env else []
letters = ["a", *extra]
options = {"k": "x"} if env else {}
class Kit:
    kind = "plain"
    def __init__(self):
        self.size = "small"
        if env:
            self.kind, self.size, self.only = "fancy", "large", "o"
kit = Kit()
class Kind:
    label = "one"
def function():
    "One."
current = "one"
def choose():
    global current
    if env:
        current = "two"
choose()
if env:
    Kind.label = "two"
    function.__doc__ = "Two."
firsts = ["x", "y"]
if env:
    firsts[0] = "z"
words = ["b", "a"]
words.sort(key=os.environ.get)
sometimes = ["b", "a"]
if env:
    sometimes.sort()
moved = ["b", *extra]
moved.insert(0, "a")
updated = {"k": "one"}
if env:
    updated.update(k="two")
def either():
    if env:
        yield "a"
    yield "b"
"""


@pytest.mark.parametrize(
    "expression",
    [
        '", ".join(letters)', "letters[1]", "str(len(letters))", '"".join(letters[:2])', '"".join(sorted(letters))',
        '"".join(letters.copy())', '"".join(tuple(letters))', '"".join(dict.fromkeys(letters))', "json.dumps(letters)",
        'f"{letters}"', 'str(letters == ["a", "b"])',
        'str(any([each == "b" for each in letters]))',
        'options.get("k", "y")', 'dict(options).pop("k", "y")', "json.dumps(options)", 'updated["k"]',
        "kit.kind", "kit.size", 'getattr(kit, "kind", "d")', 'getattr(kit, "only", "d")', 'str(hasattr(kit, "only"))',
        "Kind.label", "function.__doc__", "current", "firsts[0]", "words[0]", '"".join(words)', '"".join(sometimes)',
        '"".join(moved)', '"".join({"a", "b"})', 'next(iter({"a", "b"}))', '"".join(either())',
        '"".join(sorted(["b", "a"], key=unheard_of))',
    ],
)  # fmt: skip
def test_conditional_values_are_not_certain(expression: str, tmp_path: Path) -> None:
    result = found(tmp_path, served(f'Tool(name="a", description={expression}, inputSchema={{}})', UNSETTLED))
    assert "description" not in tool(result)
    assert "/description" in result.tools[0].unknown


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        ("words.sort()", "a,bb,ccc"),
        ("words.sort(reverse=True)", "ccc,bb,a"),
        ("words.sort(key=len)", "a,bb,ccc"),
        ("words.sort(key=lambda each: -len(each))", "ccc,bb,a"),
        ("words = sorted(words, key=len, reverse=True)", "ccc,bb,a"),
        ("words = sorted(set(words))", "a,bb,ccc"),
        ("words.reverse()", "a,ccc,bb"),
    ],
)
def test_lists_are_sorted_as_python_does(change: str, expected: str, tmp_path: Path) -> None:
    before = f'words = ["bb", "ccc", "a"]\n{change}'
    result = found(tmp_path, served('Tool(name="a", description=",".join(words), inputSchema={})', before))
    assert tool(result)["description"] == expected


def test_attributes_set_in_a_conditional_constructor_are_certain(tmp_path: Path) -> None:
    before = """
import os
class Kit:
    def __init__(self):
        self.label = None
        self.label = "Known."
kit = Kit() if os.environ.get("X") else None
"""
    result = found(tmp_path, served('Tool(name="a", description=kit.label, inputSchema={})', before))
    assert tool(result)["description"] == "Known."


def test_only_the_given_name_of_one_of_two_functions_is_certain(tmp_path: Path) -> None:
    source = """
import os
from mcp.server.fastmcp import FastMCP
mcp = FastMCP("x")
def one(a: int):
    "One."
def two(b: str):
    "Two."
either = one if os.environ.get("X") else two
mcp.add_tool(either, name="given")
mcp.add_tool(either)
"""
    result = found(tmp_path, source)
    assert names(result) == ["given"]
    assert result.tools[0].unknown >= {"/description", "/inputSchema", "/outputSchema"}
    assert result.tools[0].required_by_signature == ()

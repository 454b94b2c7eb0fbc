"""Values are followed through the functions, classes and modules of a project."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest

from .flow_sources import IMPORTS, flows_in, kinds_in, tool

if TYPE_CHECKING:
    from pathlib import Path

FOLLOWED = {
    "an assignment": "y = x\nz = y.strip()\nos.system(z)",
    "a tuple": "y, z = x, 1\nos.system(y)",
    "a dictionary": "d = {'cmd': x}\nos.system(d['cmd'])",
    "a changed dictionary": "d = {}\nd['cmd'] = x\nos.system(d.get('cmd'))",
    "a list": "words = ['ls']\nwords.append(x)\nos.system(' '.join(words))",
    "a comprehension": "os.system(' '.join([w for w in x.split()]))",
    "a loop": "for word in x.split():\n    os.system(word)",
    "a condition": "y = 'ls' if not x else x\nos.system(y)",
    "a default": "os.system(x or 'ls')",
    "a walrus": "if (y := x.strip()):\n    os.system(y)",
    "try": "try:\n    y = x.lower()\nexcept ValueError:\n    y = ''\nos.system(y)",
    "with": "with open('log') as log:\n    os.system(x)",
    "match": "match x:\n    case str() as y:\n        os.system(y)",
    "a function": "helper(x)",
    "a function by keyword": "helper(command=x)",
    "a function that returns it": "os.system(same(x))",
    "a function that embeds it": "os.system(greeting(x))",
    "a chain of functions": "outer(x)",
    "variadic arguments": "variadic('ls', x)",
    "variadic keywords": "keywords(command=x)",
    "a function with a default": "defaulted('a', x)",
    "a coroutine": "await later(x)",
    "a thread": "await asyncio.to_thread(helper, x)",
    "an executor": "loop = asyncio.get_event_loop()\nawait loop.run_in_executor(None, helper, x)",
    "a lambda": "run = lambda: os.system(x)\nrun()",
    "a library function in a thread": "await asyncio.to_thread(os.system, x)",
    "a deferred lambda": "await asyncio.to_thread(lambda: os.system(x))",
    "a nested function": "def inner():\n    return os.system(x)\ninner()",
    "a generator": "for each in parts(x):\n    os.system(each)",
    "a method": "Runner().run(x)",
    "a method of a global": "runner.run(x)",
    "an inherited method": "Child().run(x)",
    "a mixin": "Mixed().run_all(x)",
    "super": "Child().louder(x)",
    "an attribute of an object": "Task(x).start()",
    "an attribute that a method sets": "t = Task('')\nt.command = x\nt.start()",
    "a static method": "Runner.fixed(x)",
    "a class method": "Runner.made(x)",
    "a dataclass": "Job(command=x).start()",
    "an object of a function": "get_runner().run(x)",
    "an annotated object": "use(Runner(), x)",
    "an import inside": "from os import system\nsystem(x)",
}
HELPERS = """
def helper(command):
    os.system(command)

def same(value: str) -> str:
    return value

def greeting(name):
    return f"echo hello {name}"

def outer(value):
    middle(value.strip())

def middle(value):
    helper(value)

def variadic(*words):
    os.system(" ".join(words))

def keywords(**given):
    os.system(given["command"])

def defaulted(a, b="", c=""):
    os.system(b)

async def later(value):
    proc = await asyncio.create_subprocess_shell(value)

def parts(value):
    for each in value.split():
        yield each

class Runner:
    def run(self, command):
        os.system(command)

    @staticmethod
    def fixed(command):
        os.system(command)

    @classmethod
    def made(cls, command):
        cls().run(command)

class Child(Runner):
    def louder(self, command):
        super().run(command.upper())

class RunMixin:
    def run_all(self, command):
        self.runner.run(command)

class Mixed(RunMixin):
    def __init__(self):
        self.runner = Runner()

class Task:
    def __init__(self, command):
        self.command = command

    def start(self):
        os.system(self.command)

@dataclass
class Job:
    command: str

    def start(self):
        os.system(self.command)

def get_runner() -> Runner:
    return registry["runner"]

def use(each: Runner, command):
    each.run(command)

runner = Runner()
"""


@pytest.mark.parametrize("name", FOLLOWED)
def test_a_value_is_followed(name: str, tmp_path: Path) -> None:
    assert kinds_in(tmp_path, tool(FOLLOWED[name], before=HELPERS)) == ["shell"]


def test_the_path_has_every_step_with_its_line(tmp_path: Path) -> None:
    [flow] = flows_in(
        tmp_path,
        commands="""
            import subprocess

            def run(command):
                return subprocess.run(command, shell=True)
        """,
        server="""
            from commands import run
            from mcp.server.fastmcp import FastMCP

            mcp = FastMCP("demo")

            @mcp.tool()
            def ping(host: str) -> str:
                line = f"ping {host}"
                return run(line)
        """,
    )
    assert flow.tools == ("ping",)
    assert flow.parameters == ("host",)
    assert flow.function == "run"
    assert flow.call == "subprocess.run"
    assert (flow.location.file, flow.location.line) == (str(tmp_path / "commands.py"), 5)
    steps = [(step.file.rpartition("/")[2], step.line, step.what) for step in flow.steps]
    assert steps == [
        ("server.py", 8, "parameter `host` of ping()"),
        ("server.py", 9, "line = f'ping {host}'"),
        ("server.py", 10, "run()"),
        ("commands.py", 5, "subprocess.run(command, shell=True)"),
    ]


LOW_LEVEL = """
import os, subprocess
from enum import Enum
from mcp.server import Server
from mcp.types import TextContent, Tool
from pydantic import BaseModel

class Names(str, Enum):
    READ = "read"
    RUN = "run"

class RunArguments(BaseModel):
    command: str
    times: int

server = Server("demo")

@server.list_tools()
async def list_tools() -> list[Tool]:
    return [
        Tool(name="read", inputSchema={"properties": {"path": {"type": "string"}, "line": {"type": "integer"}}}),
        Tool(name="run", inputSchema=RunArguments.model_json_schema()),
    ]

@server.call_tool()
async def call_tool(name: str, arguments: dict) -> list[TextContent]:
"""


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("    if name == 'read':\n        open(arguments['path'])", [("path", ("path",), ("read",))]),
        ("    if name == Names.READ:\n        open(arguments.get('path'))", [("path", ("path",), ("read",))]),
        (
            "    match name:\n        case Names.RUN:\n            os.system(arguments['command'])",
            [("shell", ("command",), ("run",))],
        ),
        ("    open(f'data/{arguments[\"line\"]}')", []),
        ("    args = RunArguments(**arguments)\n    os.system(args.command)", [("shell", ("command",), ("run",))]),
        (
            "    args = RunArguments.model_validate(arguments)\n    os.system(args.command)",
            [("shell", ("command",), ("run",))],
        ),
        ("    args = RunArguments(**arguments)\n    os.system(f'echo {args.times}')", []),
        (
            "    return await dispatch(name, arguments)\n\nasync def dispatch(tool, given):\n"
            "    if tool == 'read':\n        open(given['path'])",
            [("path", ("path",), ("read",))],
        ),
        (
            "    return await HANDLERS[name](arguments)\n\nasync def read(given):\n    open(given['path'])\n\n"
            "HANDLERS = {'read': read}",
            [("path", ("path",), ("read",))],
        ),
        (
            "    handler = next((each.handle for each in HANDLERS if each.name == name), None)\n"
            "    return await handler(arguments)\n\nclass Reader:\n    name = 'read'\n\n"
            "    async def handle(self, given):\n"
            "        open(given['path'])\n\nHANDLERS = [Reader()]",
            [("path", ("path",), ("read",))],
        ),
        (
            "    handler = HANDLERS.get(name)\n    if not handler:\n        raise ValueError(name)\n"
            "    return handler.handle(arguments)\n\nclass Reader:\n    def handle(self, given):\n"
            "        open(given['path'])\n\nHANDLERS = {}\n\n"
            "def add(handler):\n    HANDLERS['read'] = handler\n\nadd(Reader())",
            [("path", ("path",), ("read",))],
        ),
        (
            "    for each in HANDLERS:\n        if each.name == name:\n            return await each(**arguments)\n\n"
            "class Reader:\n    name = 'read'\n\n    async def __call__(self, path):\n"
            "        open(path)\n\nHANDLERS = [Reader()]",
            [("path", ("path",), ("read",))],
        ),
        ("    getattr(os, name)()", [("attribute", ("name",), ())]),
        ("    handlers = {'read': read}\n    handlers[name](arguments)\n\ndef read(given):\n    pass", []),
    ],
)
def test_the_handler_of_a_low_level_server(body: str, expected: list[object], tmp_path: Path) -> None:
    flows = flows_in(tmp_path, server=f"{LOW_LEVEL}{body}\n")
    assert [(flow.kind, flow.parameters, flow.tools) for flow in flows] == expected


@pytest.mark.parametrize(
    "body",
    [
        "    if name == 'stat':\n        return []\n"
        "    elif name == 'hash':\n        return [hash(arguments['path'])]\n"
        "    return open(arguments['path'])",
        "    return HANDLERS[name](arguments)\n\ndef harmless(given):\n    return []\n\ndef read(given):\n"
        "    return open(given['path'])\n\nHANDLERS = {'stat': harmless, 'hash': harmless, 'read': read}",
        "    handler = HANDLERS.get(name)\n    return handler.handle(arguments)\n\n"
        "class Stat:\n    def handle(self, given):\n        return []\n\n"
        "class Read:\n    def handle(self, given):\n        return open(given['path'])\n\n"
        "HANDLERS = {'stat': Stat(), 'hash': Stat(), 'read': Read()}",
        "    if name in ('read',):\n        return open(arguments['path'])",
    ],
)
def test_a_finding_names_the_tool_whose_branch_or_function_has_the_call(body: str, tmp_path: Path) -> None:
    tool = 'Tool(name="{}", inputSchema={{"properties": {{"path": {{"type": "string"}}}}}})'
    listed = f"return [{', '.join(map(tool.format, ('stat', 'hash', 'read')))}]"
    source = re.sub(r"return \[.*?\n    \]", listed, LOW_LEVEL, count=1, flags=re.DOTALL)
    [flow] = flows_in(tmp_path, server=f"{source}{body}\n")
    assert flow.tools == ("read",)


def test_the_handler_of_a_server_inside_a_function(tmp_path: Path) -> None:
    source = """
        import git
        from mcp.server import Server
        from mcp.types import Tool

        def checkout(repo: git.Repo, branch: str):
            repo.git.checkout(branch)

        async def serve():
            server = Server("demo")

            @server.list_tools()
            async def list_tools():
                return [Tool(name="checkout", inputSchema={"properties": {"branch": {"type": "string"}}})]

            @server.call_tool()
            async def call_tool(name, arguments):
                checkout(git.Repo("."), arguments["branch"])
    """
    [flow] = flows_in(tmp_path, server=source)
    assert (flow.kind, flow.parameters, flow.tools) == ("argument", ("branch",), ("checkout",))


def test_a_registered_closure_knows_the_values_around_it(tmp_path: Path) -> None:
    source = f"""{IMPORTS}
class Shell:
    def run(self, command):
        os.system(command)

def register(server: FastMCP, shell):
    @server.tool()
    def act(x: str) -> str:
        shell.run(x)

register(mcp, Shell())
"""
    assert kinds_in(tmp_path, source) == ["shell"]


def test_a_model_as_a_parameter(tmp_path: Path) -> None:
    before = "class Query(BaseModel):\n    table: str\n    limit: int\n"
    unsafe = "sqlite3.connect('d').execute(f'SELECT * FROM {x.table}')"
    harmless = "sqlite3.connect('d').execute(f'SELECT * FROM t LIMIT {x.limit}')"
    assert kinds_in(tmp_path, tool(unsafe, "x: Query", before)) == ["sql"]
    assert kinds_in(tmp_path, tool(harmless, "x: Query", before)) == []


def test_the_context_is_not_a_parameter(tmp_path: Path) -> None:
    assert kinds_in(tmp_path, tool("open(x.path)", "x: Context")) == []


def test_a_method_of_an_unknown_object_is_found_by_its_name_if_only_one_class_has_it(tmp_path: Path) -> None:
    one = "class Store:\n    def load_file(self, path):\n        return open(path).read()\n"
    two = one + "class Other:\n    def load_file(self, path):\n        pass\n"
    body = "x0 = unknown()\nx0.load_file(x)"
    assert kinds_in(tmp_path, tool(body, before=one)) == ["path"]
    assert kinds_in(tmp_path, tool(body, before=two)) == []


def test_a_method_that_no_tool_calls_is_reported_if_tools_use_its_class(tmp_path: Path) -> None:
    before = """
        class Store:
            def size(self, key):
                return len(key)

            def save(self, path):
                open(path, "w")

        class Unrelated:
            def save(self, path):
                open(path, "w")
    """
    [flow] = flows_in(tmp_path, server=tool("Store().size(x)", before=before))
    assert (flow.parameters, flow.tools, flow.is_used) == (("path",), (), False)
    [flow] = flows_in(tmp_path, server=tool("Store().save(x)", before=before))
    assert (flow.parameters, flow.tools, flow.is_used) == (("x",), ("act",), True)


def test_a_query_is_reported_where_its_text_is_made(tmp_path: Path) -> None:
    before = "def query(sql):\n    return sqlite3.connect('d').execute(sql).fetchall()\n"
    [flow] = flows_in(tmp_path, server=tool("return query(f'SELECT * FROM {x}')", before=before))
    assert flow.function == "act"
    assert flow.steps[-1].what == "sqlite3.connect('d').execute(sql)"


def test_calls_of_one_function_with_one_parameter_are_one_flow(tmp_path: Path) -> None:
    body = "os.makedirs(os.path.dirname(x))\nwith open(x, 'w') as file:\n    file.write('')\nos.chmod(x, 0o600)"
    [flow] = flows_in(tmp_path, server=tool(body))
    assert flow.call == "builtins.open"
    assert [step.what for step in flow.further] == ["os.makedirs(os.path.dirname(x))", "os.chmod(x, 384)"]


def test_calls_that_a_parameter_of_one_name_reaches_are_one_fact(tmp_path: Path) -> None:
    source = f"""{IMPORTS}
@mcp.tool()
def read(path: str) -> str:
    return open(path).read()

@mcp.tool()
def write(path: str, text: str) -> None:
    Path(path).write_text(text)

@mcp.tool()
def copy(source: str) -> None:
    shutil.copy(source, "backup")
"""
    paths, copies = flows_in(tmp_path, server=source)
    assert (paths.tools, [step.what for step in paths.further]) == (("read", "write"), ["Path(path).write_text(text)"])
    assert (copies.parameters, copies.further) == (("source",), ())


def test_a_call_that_several_tools_reach_is_one_flow(tmp_path: Path) -> None:
    source = f"""{IMPORTS}
def run(command):
    os.system(command)

@mcp.tool()
def one(a: str) -> str:
    run(a)

@mcp.tool()
def two(b: str) -> str:
    run(b)
"""
    [flow] = flows_in(tmp_path, server=source)
    assert (flow.tools, flow.parameters) == (("one", "two"), ("a", "b"))

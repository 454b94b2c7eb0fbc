"""How far a condition applies: to the end of an iteration, a loop, a call, and to modules that nothing imports."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from .sources import found, is_conditional, names, tool

if TYPE_CHECKING:
    from pathlib import Path

SERVER = """
from dataclasses import dataclass, replace
from enum import Enum
from somewhere import flag
from fastmcp import FastMCP
from fastmcp.server.middleware import Middleware
mcp = FastMCP("demo")
def a(): ...
def b(): ...
def c(): ...
def serve(*functions):
    for function in functions:
        mcp.tool(function)
"""


@pytest.mark.parametrize(
    ("body", "conditional"),
    [
        (
            "for each in (a, b):\n        if flag(each):\n            continue\n        mcp.tool(each)\n    serve(c)",
            ["a", "b"],
        ),
        ("for each in (a, b):\n        mcp.tool(each)\n        if flag(each):\n            continue\n    serve(c)", []),
        ("for each in (a, b):\n        mcp.tool(each)\n        if flag(each):\n            break\n    serve(c)", ["b"]),
        (
            "for each in (a, b):\n        mcp.tool(each)\n        if flag(each):\n            return\n    serve(c)",
            ["b", "c"],
        ),
        (
            "for each in (a, b):\n        if flag():\n            return\n        else:\n            break\n"
            "    serve(a, b, c)",
            ["a", "b", "c"],
        ),
        ("while flag():\n        if flag(a):\n            break\n        serve(a)\n    serve(b, c)", ["a"]),
        ("for each in flag():\n        if flag(a):\n            continue\n        serve(a)\n    serve(b, c)", ["a"]),
        ("for each in [a, b] if flag() else [a]:\n        mcp.tool(each)\n    serve(c)", ["b"]),
    ],
)
def test_a_condition_applies_until_the_end_of_its_block(body: str, conditional: list[str], tmp_path: Path) -> None:
    result = found(tmp_path, SERVER + f"def main():\n    {body}\nmain()\n")
    assert names(result) == ["a", "b", "c"]
    assert [name for name in "abc" if is_conditional(result, name)] == conditional


def test_an_optional_import_does_not_certainly_fail(tmp_path: Path) -> None:
    source = (
        SERVER
        + """
def main():
    wrong = [each for each in ("x",) if flag(each)]
    for each in wrong:
        raise ValueError(each)
    serve(a)
main()
"""
    )
    assert names(found(tmp_path, source)) == ["a"]


def test_the_result_of_a_call_that_always_raises_is_unknown(tmp_path: Path) -> None:
    source = (
        SERVER
        + """
def fails():
    raise ValueError
mcp.tool(a, name="x" if fails() is None else "y")
"""
    )
    assert names(found(tmp_path, source)) == []


def test_an_item_added_to_one_of_two_sets_may_be_in_either(tmp_path: Path) -> None:
    source = (
        SERVER
        + """
serve(a, b, c)
on, off = set(), set()
for name in ("a", "b"):
    (on if flag(name) else off).add(name)
mcp.disable(names=off)
"""
    )
    result = found(tmp_path, source)
    assert names(result) == ["a", "b", "c"]
    assert [name for name in "abc" if is_conditional(result, name)] == ["a", "b"]


def test_values_of_different_types_are_never_identical(tmp_path: Path) -> None:
    source = (
        SERVER
        + """
class Mark(Enum):
    HIDDEN = 1
for each in (a, Mark.HIDDEN):
    if each is not Mark.HIDDEN:
        mcp.tool(each)
"""
    )
    result = found(tmp_path, source)
    assert names(result) == ["a"]
    assert not is_conditional(result, "a")


def test_dataclasses_replace_returns_a_changed_copy(tmp_path: Path) -> None:
    source = (
        SERVER
        + """
@dataclass
class Definition:
    fn: object
    name: str
    description: str
first = Definition(a, "first", "One.")
for each in (first, replace(first, name="second")):
    mcp.tool(each.fn, name=each.name, description=each.description)
"""
    )
    result = found(tmp_path, source)
    assert [(each["name"], each["description"]) for each in result.document["tools"]] == [
        ("first", "One."),
        ("second", "One."),
    ]


FLATTENING = """
class Flattening(Middleware):
    async def on_list_tools(self, context, call_next):
        return [each.model_copy(update={"parameters": flag(each.parameters)}) for each in await call_next(context)]
"""
LOGGING = """
class Logging(Middleware):
    async def on_list_tools(self, context, call_next):
        return flag(await call_next(context))
"""


@pytest.mark.parametrize(
    ("said", "is_known"),
    [
        (FLATTENING + "mcp.add_middleware(Flattening())\nserve(a)", False),
        (FLATTENING + "own = FastMCP('own', middleware=[Flattening()])\nown.tool(a)", False),
        (LOGGING + "mcp.add_middleware(Logging())\nserve(a)", True),
        ("class Own(FastMCP):\n    async def list_tools(self): return flag('inputSchema')\nOwn('x').tool(a)", False),
        ("class Own(FastMCP):\n    async def list_tools(self): return flag()\nOwn('x').tool(a)", True),
    ],
)
def test_schemas_that_a_middleware_may_change_are_unknown(said: str, is_known: bool, tmp_path: Path) -> None:
    result = found(tmp_path, SERVER + said)
    assert "inputSchema" in tool(result)
    assert ("/inputSchema" not in result.tools[0].unknown) is is_known


ELSEWHERE = "from app import mcp\n@mcp.tool\ndef lonely(): ...\n"


@pytest.mark.parametrize(
    ("more", "is_known"),
    [
        ({}, False),
        ({"main": "import extra\nfrom app import mcp\nmcp.run()\n"}, True),
        ({"main": "import importlib\nfor each in open('x'):\n    importlib.import_module(each)\n"}, True),
        ({"extra": ELSEWHERE + "if __name__ == '__main__':\n    mcp.run()\n"}, True),
        ({"extra": ELSEWHERE + "mcp.run()\n"}, True),
    ],
)
def test_tools_in_a_module_that_nothing_imports_are_conditional(
    more: dict[str, str], is_known: bool, tmp_path: Path
) -> None:
    app = "from fastmcp import FastMCP\nmcp = FastMCP('x')\n@mcp.tool\ndef own(): ...\n"
    result = found(tmp_path, **{"app": app, "extra": ELSEWHERE, **more})
    assert sorted(names(result)) == ["lonely", "own"]
    assert not is_conditional(result, "own")
    assert is_conditional(result, "lonely") is not is_known

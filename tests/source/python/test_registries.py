"""Registries that go through the names of a module, a class or an object."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from .sources import found, is_conditional, names, tool

if TYPE_CHECKING:
    from pathlib import Path

MARKS = """
    from dataclasses import dataclass

    @dataclass(frozen=True)
    class Marked:
        name: str
        options: dict

    def tool(name, **options):
        def decorate(function):
            setattr(function, "_cargo_tool", Marked(name, options))
            return function
        return decorate
    """
CARGO = """
    import json
    import logging
    from os.path import join
    from pathlib import Path
    from typing import Any

    from pydantic import BaseModel, Field
    from marks import Marked, tool
    import marks

    log = logging.getLogger(__name__)
    LIMITS = {"a": 1}
    NAMES = ["a"]

    class Box(BaseModel):
        size: int

    def helper(x: int) -> int: ...

    @tool("load_cargo", description="Loads.")
    def load(box: Box) -> str: ...

    @tool("unload_cargo")
    async def unload(number: int = Field(description="Which one.")) -> str:
        '''Unloads.'''
    """
SERVER = """
    import inspect
    import sys
    from fastmcp import FastMCP
    from marks import Marked, tool
    import cargo

    mcp = FastMCP("x")

    def register(module):
        {loop}

    register(cargo)
    """
GUARDS = [
    "isinstance(mark, Marked)",
    "mark is not None",
    "mark",
    "hasattr(value, '_cargo_tool')",
    "not (mark is None)",
]
LOOPS = [
    "for value in vars(module).values():",
    "for name, value in vars(module).items():",
    "for value in module.__dict__.values():",
    "for name, value in inspect.getmembers(module):",
    "for name, value in inspect.getmembers(module, inspect.isfunction):",
    "for name, value in inspect.getmembers(module, callable):",
    "for value in [getattr(module, name) for name in dir(module)]:",
    "for value in (getattr(module, name) for name in dir(module) if not name.startswith('_')):",
    "for value in map(lambda name: getattr(module, name), sorted(vars(module))):",
]


def loop_over(first: str, guard: str) -> str:
    lines = [
        first,
        "    mark = getattr(value, '_cargo_tool', None)",
        f"    if {guard}:",
        "        mcp.tool(mark.name, **mark.options)(value)",
    ]
    return "\n        ".join(lines)


@pytest.mark.parametrize("guard", GUARDS)
@pytest.mark.parametrize("first", LOOPS)
def test_marked_functions_of_a_module_are_registered(first: str, guard: str, tmp_path: Path) -> None:
    result = found(tmp_path, SERVER.format(loop=loop_over(first, guard)), marks=MARKS, cargo=CARGO)
    assert sorted(names(result)) == ["load_cargo", "unload_cargo"]
    assert not is_conditional(result, "load_cargo")
    assert tool(result, "load_cargo")["description"] == "Loads."
    assert tool(result, "unload_cargo")["inputSchema"]["properties"]["number"]["description"] == "Which one."
    assert not result.omissions


@pytest.mark.parametrize("names_here", ["globals()", "vars()", "vars(sys.modules[__name__])", "dict(globals())"])
def test_marked_functions_of_the_same_module_are_registered(names_here: str, tmp_path: Path) -> None:
    source = f"""
        import sys
        from fastmcp import FastMCP

        mcp = FastMCP("x")

        def exposed(function):
            function.is_exposed = True
            return function

        @exposed
        def anchor(): ...

        def helper(): ...

        for value in list({names_here}.values()):
            if getattr(value, "is_exposed", False):
                mcp.add_tool(value)
        """
    result = found(tmp_path, source)
    assert names(result) == ["anchor"]
    assert not result.omissions


def test_functions_that_a_module_defines_itself_are_registered(tmp_path: Path) -> None:
    source = """
        import inspect
        from fastmcp import FastMCP
        import cargo

        mcp = FastMCP("x")
        for name, function in inspect.getmembers(cargo, inspect.isfunction):
            if function.__module__ == cargo.__name__:
                mcp.tool(function)
        """
    result = found(tmp_path, source, marks=MARKS, cargo=CARGO)
    assert names(result) == ["helper", "load", "unload"]
    assert not result.omissions


def test_marked_methods_of_an_object_are_registered(tmp_path: Path) -> None:
    source = """
        import inspect
        from fastmcp import FastMCP

        mcp = FastMCP("x")

        def exposed(method):
            method._exposed = True
            return method

        class Base:
            @exposed
            def inherited(self, x: int): ...

        class Crane(Base):
            def __init__(self):
                self.load = 0

            @exposed
            def lift(self, kilos: int): ...

            def helper(self): ...

        crane = Crane()
        for name, method in inspect.getmembers(crane, predicate=inspect.ismethod):
            if hasattr(method, "_exposed"):
                mcp.tool(method)
        """
    result = found(tmp_path, source)
    assert names(result) == ["inherited", "lift"]
    assert not is_conditional(result, "lift")
    assert list(tool(result, "lift")["inputSchema"]["properties"]) == ["kilos"]


@pytest.mark.parametrize(
    "registration",
    [
        "for value in vars(load()).values():\n    mcp.tool(value.name)(value)",
        "for value in load():\n    mcp.tool(getattr(value, 'mark').name)(value)",
        "mcp.add_tool(library.search)",
        "mcp.tool(library.client().search)",
        "mcp.tool()(library.search)",
    ],
)
def test_a_registration_of_something_unknown_is_reported(registration: str, tmp_path: Path) -> None:
    result = found(
        tmp_path,
        f"import library\nfrom library import load\nfrom fastmcp import FastMCP\nmcp = FastMCP('x')\n{registration}\n",
    )
    assert names(result) == []
    assert [each.what for each in result.omissions] == [
        "the name of a tool is not known statically, so it is not checked"
    ]


def test_a_server_that_a_library_makes_has_tools(tmp_path: Path) -> None:
    source = """
        from corporate_mcp import make_server
        from agents import Agent

        server = make_server("x")
        agent = Agent("y")

        @server.tool
        def a(): ...

        @server.tool()
        def b(): ...

        @agent.tool
        def of_an_agent(): ...
        """
    assert names(found(tmp_path, source)) == ["a", "b"]

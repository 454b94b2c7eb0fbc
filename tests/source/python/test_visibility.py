"""Switches that show and hide tools."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from .sources import found, is_conditional, names

if TYPE_CHECKING:
    from pathlib import Path

TOOLS = """
import os
from somewhere import flag
from fastmcp import FastMCP
mcp = FastMCP("main", {})
sub = FastMCP("sub")
mcp.mount(sub, "sub")
@mcp.tool(tags={{"write", "files"}})
def save(): ...
@mcp.tool(tags={{"read"}})
def load(): ...
@mcp.tool
def plain(): ...
@sub.tool(tags={{"write"}})
def send(): ...
"""
EVERY = ["save", "load", "plain", "sub_send"]


@pytest.mark.parametrize(
    ("said", "shown"),
    [
        ("", EVERY),
        ('mcp.disable(tags={"write"})', ["load", "plain"]),
        ('mcp.disable(names={"plain", "sub_send"})', ["save", "load"]),
        ('mcp.disable(names={"send"})', EVERY),
        ('sub.disable(names={"sub_send"})', EVERY),
        ('sub.disable(names={"send"})', ["save", "load", "plain"]),
        ('mcp.disable(names={"save", "load"}, tags={"read"})', ["save", "plain", "sub_send"]),
        ('mcp.disable(keys={"tool:plain@"})', ["save", "load", "sub_send"]),
        ('mcp.disable(components={"tool"})', []),
        ('mcp.disable(components={"prompt"})', EVERY),
        ("mcp.disable()", EVERY),
        ('mcp.disable(tags={"write"}).enable(names={"save"})', ["save", "load", "plain"]),
        ('mcp.enable(tags={"read"}, only=True)', ["load"]),
        ('WRITING = {"write"}\nmcp.disable(tags=WRITING | {"read"})', ["plain"]),
    ],
)
def test_switches_show_and_hide_tools(said: str, shown: list[str], tmp_path: Path) -> None:
    result = found(tmp_path, TOOLS.format("") + said)
    assert names(result) == shown
    assert not any(is_conditional(result, name) for name in shown)


@pytest.mark.parametrize(
    ("told", "shown"),
    [
        ('include_tags={"read"}', ["load"]),
        ('exclude_tags={"write"}', ["load", "plain"]),
        ("include_tags=None", EVERY),
    ],
)
def test_constructor_arguments_show_and_hide_tools(told: str, shown: list[str], tmp_path: Path) -> None:
    assert names(found(tmp_path, TOOLS.format(told))) == shown


@pytest.mark.parametrize(
    ("said", "doubtful"),
    [
        ('if flag():\n    mcp.disable(tags={"write"})', ["save", "sub_send"]),
        ("mcp.disable(names=flag())", EVERY),
        ('mcp.disable(names=flag(), tags={"read"})', ["load"]),
        ('off = set()\nif flag():\n    off.add("plain")\nmcp.disable(names=off)', ["plain"]),
        ('mcp.disable(tags={"read"})\nif flag():\n    mcp.enable(tags={"read"})', ["load"]),
        ('mcp.enable(tags={"write"}, only=flag())', ["load", "plain"]),
        ("mcp.disable(**flag())", []),
    ],
)
def test_tools_that_may_be_hidden_are_conditional(said: str, doubtful: list[str], tmp_path: Path) -> None:
    result = found(tmp_path, TOOLS.format("") + said)
    assert names(result) == EVERY
    expected = doubtful or EVERY
    assert [name for name in EVERY if is_conditional(result, name)] == expected


def test_unknown_tags_may_be_none(tmp_path: Path) -> None:
    result = found(tmp_path, TOOLS.format("include_tags=flag()"))
    assert [name for name in EVERY if is_conditional(result, name)] == EVERY


ASKING = """
import inspect
from functools import wraps
from fastmcp import FastMCP
def handled(func):
    @wraps(func)
    async def wrapper(*args, **kwargs):
        return await func(*args, **kwargs)
    return wrapper
class Handling(FastMCP):
    def tool(self, name_or_fn=None, **kwargs):
        if {}(name_or_fn):
            return super().tool(handled(name_or_fn), **kwargs)
        if isinstance(name_or_fn, str):
            kwargs = {{**kwargs, "name": name_or_fn}}
        def decorator(fn):
            return super(Handling, self).tool(handled(fn), **kwargs)
        return decorator
mcp = Handling("x")
@mcp.tool
async def a(q: str) -> str: ...
@mcp.tool()
async def b(q: str) -> str: ...
@mcp.tool("c")
async def other(q: str) -> str: ...
"""


@pytest.mark.parametrize("asked", ["inspect.isroutine", "inspect.isfunction", "callable"])
def test_a_server_class_may_inspect_what_it_decorates(asked: str, tmp_path: Path) -> None:
    result = found(tmp_path, ASKING.format(asked))
    assert names(result) == ["a", "b", "c"]
    assert not any(is_conditional(result, name) for name in "abc")
    assert [list(each["inputSchema"]["properties"]) for each in result.document["tools"]] == [["q"]] * 3


def test_a_wrapper_of_an_unknown_function_has_no_name(tmp_path: Path) -> None:
    assert "wrapper" not in names(found(tmp_path, ASKING.format("nobody.knows")))


@pytest.mark.parametrize(
    ("question", "served"),
    [
        ("inspect.iscoroutinefunction(later)", True),
        ("inspect.iscoroutinefunction(now)", False),
        ("asyncio.iscoroutinefunction(later)", True),
        ("inspect.isclass(Kind)", True),
        ("inspect.isclass(now)", False),
        ("inspect.isfunction(Kind)", False),
        ("inspect.isfunction('now')", False),
    ],
)
def test_types_can_be_tested(question: str, served: bool, tmp_path: Path) -> None:
    source = f"""
import asyncio
import inspect
from fastmcp import FastMCP
mcp = FastMCP("x")
class Kind: ...
async def later(): ...
def now(): ...
if {question}:
    mcp.tool(now)
"""
    result = found(tmp_path, source)
    assert names(result) == (["now"] if served else [])
    assert not (served and is_conditional(result, "now"))

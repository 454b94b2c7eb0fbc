"""Parameters that a program hides, adds and changes through `inspect`, as frameworks see them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from .sources import found, tool

if TYPE_CHECKING:
    from pathlib import Path

SERVER = """
import inspect
from functools import wraps
from somewhere import flag
from fastmcp import FastMCP
mcp = FastMCP("demo")
"""
TOOL = """
@mcp.tool
@inject
async def read(service, email: str, path: str, limit: int = 5) -> str:
    '''Read a file.'''
"""
INJECT = """
def inject(func):
    signature = inspect.signature(func)
    parameters = list(signature.parameters.values())
    @wraps(func)
    async def wrapper(*args, **kwargs):
        return await func(make(), *args, **kwargs)
    {}
    return wrapper
"""


def schema_of(tmp_path: Path, change: str) -> tuple[Any, frozenset[str]]:
    source = SERVER + INJECT.format(change.replace("\n", "\n    ")) + TOOL
    result = found(tmp_path, source)
    return tool(result, "read")["inputSchema"], result.tools[0].unknown


@pytest.mark.parametrize(
    ("change", "names", "required"),
    [
        ("pass", ["service", "email", "path", "limit"], ["service", "email", "path"]),
        (
            "wrapper.__signature__ = signature.replace(parameters=parameters[1:])",
            ["email", "path", "limit"],
            ["email", "path"],
        ),
        (
            "wrapper.__signature__ = signature.replace("
            "parameters=[p for name, p in signature.parameters.items() if name not in ('service', 'email')])",
            ["path", "limit"],
            ["path"],
        ),
        (
            "kept = [p for p in parameters if p.default is not inspect.Parameter.empty]\n"
            "wrapper.__signature__ = inspect.Signature(kept)",
            ["limit"],
            [],
        ),
        (
            "more = inspect.Parameter('count', inspect.Parameter.KEYWORD_ONLY, default=3, annotation=int)\n"
            "wrapper.__signature__ = signature.replace(parameters=[*parameters[2:], more])",
            ["path", "limit", "count"],
            ["path"],
        ),
        (
            "wrapper.__signature__ = signature.replace(parameters=[p.replace(default='x') for p in parameters[1:]])",
            ["email", "path", "limit"],
            [],
        ),
    ],
)
def test_a_changed_signature_determines_the_parameters(
    change: str, names: list[str], required: list[str], tmp_path: Path
) -> None:
    schema, unknown = schema_of(tmp_path, change)
    assert list(schema["properties"]) == names
    assert schema.get("required", []) == required
    assert not unknown


def test_a_created_parameter_has_its_type_and_default(tmp_path: Path) -> None:
    more = "inspect.Parameter('count', inspect.Parameter.KEYWORD_ONLY, default=3, annotation=int)"
    schema, _ = schema_of(tmp_path, f"wrapper.__signature__ = inspect.Signature([{more}])")
    assert schema["properties"] == {"count": {"default": 3, "type": "integer"}}


@pytest.mark.parametrize(
    "change",
    ["wrapper.__signature__ = flag()", "wrapper.__signature__ = signature.replace(parameters=flag())"],
)
def test_an_unknown_signature_makes_the_schema_unknown(change: str, tmp_path: Path) -> None:
    _, unknown = schema_of(tmp_path, change)
    assert {"/inputSchema", "/outputSchema"} <= unknown


@pytest.mark.parametrize(
    "change",
    [
        "if flag():\n    kept = signature.replace(parameters=parameters[2:])\n"
        "else:\n    kept = signature.replace(parameters=parameters[1:])\nwrapper.__signature__ = kept",
        "wrapper.__signature__ = signature.replace(parameters=parameters[1:])\n"
        "if flag():\n    wrapper.__signature__ = signature.replace(parameters=parameters[2:])",
    ],
)
def test_a_parameter_of_one_of_two_signatures_is_unknown(change: str, tmp_path: Path) -> None:
    schema, unknown = schema_of(tmp_path, change)
    assert list(schema["properties"]) == ["email", "path", "limit"]
    assert "/inputSchema/properties/email" in unknown
    assert "/inputSchema/required" in unknown
    assert "/inputSchema/properties/path" not in unknown


def test_the_return_type_can_be_changed(tmp_path: Path) -> None:
    result = found(
        tmp_path, SERVER + INJECT.format("wrapper.__signature__ = signature.replace(return_annotation=int)") + TOOL
    )
    assert tool(result, "read")["outputSchema"]["properties"]["result"] == {"type": "integer"}


def test_a_docstring_that_is_changed_under_a_condition_is_kept_and_unknown(tmp_path: Path) -> None:
    result = found(tmp_path, SERVER + INJECT.format("if flag():\n        wrapper.__doc__ = 'Other.'") + TOOL)
    assert tool(result, "read")["description"] == "Read a file."
    assert "/description" in result.tools[0].unknown

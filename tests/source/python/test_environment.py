"""Values from the environment: names and texts take the default; what only a variable adds is conditional."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from .sources import found, is_conditional, names, tool

if TYPE_CHECKING:
    from pathlib import Path

HEAD = """
import os
from os import environ, getenv
from dataclasses import dataclass, field
from fastmcp import FastMCP
from pydantic import Field
from pydantic_settings import BaseSettings

mcp = FastMCP("x")
"""


@pytest.mark.parametrize(
    ("code", "name"),
    [
        ('P = os.environ.get("P", "")\ndef named(n): return f"{P}_{n}" if P else n', "a"),
        ('P = os.environ.get("P", "")\ndef named(n):\n    if P:\n        return f"{P}_{n}"\n    return n', "a"),
        ('P = os.environ.get("P", "")\ndef named(n):\n    if not P:\n        return n\n    return P + "_" + n', "a"),
        ('P = os.environ.get("P", "")\ndef named(n):\n    if P:\n        n = P + n\n    return n', "a"),
        ('P = os.getenv("P")\ndef named(n): return f"{P}_{n}" if P is not None else n', "a"),
        ('P = os.getenv("P") or "fleet"\ndef named(n): return f"{P}_{n}"', "fleet_a"),
        ('P = getenv("P", "Fleet").strip().lower()\ndef named(n): return P + "_" + n', "fleet_a"),
        ('P = environ.get("P", default="fleet")\ndef named(n): return "_".join([P, n])', "fleet_a"),
        ('P = os.getenv("P", "fleet")\ndef named(n): return "{}_{}".format(P, n)', "fleet_a"),
        ('P = os.getenv("P", "fleet")\ndef named(n): return "%s_%s" % (P.upper(), n) if not P else P', "fleet"),
        ('P = os.getenv("P", "")\nif P:\n    P += "_"\ndef named(n): return P + n', "a"),
        ('def env(k, d=""): return os.environ.get(k, d)\ndef named(n): return env("P") and "p_" + n or n', "a"),
        (
            'def flag(k, d):\n    v = os.getenv(k)\n    if v is None:\n        return d\n    return v == "1"\n'
            'def named(n): return n if flag("P", True) else "b"',
            "a",
        ),
        ('@dataclass\nclass C:\n    p: str = "my_"\nc = C()\ndef named(n): return c.p + n', "my_a"),
        (
            '@dataclass\nclass C:\n    p: str = field(default_factory=lambda: os.getenv("P", "my_"))\nc = C()\n'
            "def named(n): return c.p + n",
            "my_a",
        ),
        ('class S(BaseSettings):\n    p: str = "my_"\ns = S()\ndef named(n): return s.p + n', "my_a"),
        ('class S(BaseSettings):\n    p: str = Field("", alias="P")\ns = S()\ndef named(n): return s.p + n', "a"),
    ],
)
def test_a_name_takes_the_default_of_an_unset_variable(code: str, name: str, tmp_path: Path) -> None:
    result = found(tmp_path, f"{HEAD}\n{code}\n\n@mcp.tool(name=named('a'))\ndef f(): ...\n")
    assert names(result) == [name]
    assert not is_conditional(result, name)
    assert not result.omissions


@pytest.mark.parametrize(
    ("condition", "default"),
    [
        ('os.getenv("ON", "false").lower() == "true"', False),
        ('os.environ.get("ON")', False),
        ('os.environ.get("ON") is None', True),
        ('not os.environ.get("ON", "")', True),
        ('int(os.getenv("ON", "0")) > 0', False),
        ('bool(os.getenv("ON", "1"))', True),
        ('"write" in os.getenv("ON", "read")', False),
        ('os.getenv("ON", "a") in ("a", "b")', True),
        ("settings.on", False),
        ("settings.level > 3", True),
        ('settings.mode == "all" and settings.on', False),
        ('settings.mode == "all" or settings.on', True),
        ('len(os.getenv("ON", "")) == 0', True),
        ('os.getenv("ON", "0") + "1" == "01"', True),
        ('os.getenv("ON", "a,b").split(",")[0] == "a"', None),
        ('"a" in os.getenv("ON", "a,b").split(",")', None),
        ('(True if os.getenv("ON") else False)', False),
    ],
)
def test_what_the_environment_adds_is_conditional(condition: str, default: bool | None, tmp_path: Path) -> None:
    settings = (
        'class S(BaseSettings):\n    on: bool = False\n    level: int = 5\n    mode: str = "all"\nsettings = S()\n'
    )
    code = f"if {condition}:\n    @mcp.tool\n    def a(): ...\nelse:\n    @mcp.tool\n    def b(): ...\n"
    result = found(tmp_path, f"{HEAD}\n{settings}\n{code}")
    assert names(result) == ["a", "b"]
    assert [is_conditional(result, name) for name in ("a", "b")] == [default is not True, default is not False]


@pytest.mark.parametrize(
    ("code", "conditional"),
    [
        ("if not os.getenv('READ_ONLY'):\n    tools.append(b)", [False, False]),
        ("if os.getenv('WRITE'):\n    tools.append(b)", [False, True]),
        ("if os.getenv('READ_ONLY'):\n    tools = [a]\nelse:\n    tools = [a, b]", [False, False]),
        ("tools = [a] if os.getenv('READ_ONLY') else [a, b]", [False, False]),
        ("tools = [a, b] if os.getenv('WRITE') else [a]", [False, True]),
        ("def pick():\n    if os.getenv('READ_ONLY'):\n        return\n    tools.append(b)\npick()", [False, False]),
        ("def pick():\n    if not os.getenv('WRITE'):\n        return\n    tools.append(b)\npick()", [False, True]),
    ],
)
def test_what_only_a_flag_removes_is_certain(code: str, conditional: list[bool], tmp_path: Path) -> None:
    text = f"{HEAD}\ndef a(): ...\ndef b(): ...\ntools = [a]\n{code}\nfor one in tools:\n    mcp.tool(one)\n"
    assert [is_conditional(found(tmp_path, text), name) for name in ("a", "b")] == conditional


def test_a_required_variable_has_no_default(tmp_path: Path) -> None:
    result = found(tmp_path, f'{HEAD}\n@mcp.tool(name=os.environ["P"] + "_a")\ndef f(): ...\n')
    assert names(result) == []
    assert len(result.omissions) == 1


def test_texts_and_defaults_in_schemas_take_the_default(tmp_path: Path) -> None:
    code = """
        LIMIT = int(os.getenv("LIMIT", "10"))
        DB = os.getenv("DB", "postgres")

        @mcp.tool(description=f"Query {DB}.")
        def query(
            sql: str = Field(description=f"SQL for {DB}"),
            limit: int = LIMIT,
            dry: bool = os.getenv("DRY", "1") == "1",
        ) -> str: ...
        """
    made = tool(found(tmp_path, HEAD + "\n".join(line[8:] for line in code.split("\n"))))
    properties = made["inputSchema"]["properties"]
    assert made["description"] == "Query postgres."
    assert properties["sql"]["description"] == "SQL for postgres"
    assert properties["limit"]["default"] == 10
    assert properties["dry"]["default"] is True


def test_a_selection_by_the_environment_is_unknown(tmp_path: Path) -> None:
    """Which entry of a table is used decides what is registered, so it is not assumed."""
    code = """
def a(): ...
def b(): ...
PROFILES = {"small": [a], "large": [a, b]}
for each in PROFILES[os.getenv("PROFILE", "small")]:
    mcp.tool()(each)
"""
    result = found(tmp_path, HEAD + code)
    assert all(is_conditional(result, name) for name in names(result))
    assert len(result.omissions) == 1


def test_settings_that_are_passed_are_certain(tmp_path: Path) -> None:
    code = "class S(BaseSettings):\n    on: bool = False\nif S(on=True).on:\n    @mcp.tool\n    def a(): ...\n"
    result = found(tmp_path, f"{HEAD}\n{code}")
    assert names(result) == ["a"]
    assert not is_conditional(result, "a")


def test_a_tool_that_the_environment_may_remove_is_conditional(tmp_path: Path) -> None:
    code = '@mcp.tool\ndef a(): ...\n@mcp.tool\ndef b(): ...\nmcp.remove_tool(os.getenv("WITHOUT", "b"))\n'
    result = found(tmp_path, f"{HEAD}\n{code}")
    assert [is_conditional(result, name) for name in ("a", "b")] == [False, True]


def test_an_assigned_name_takes_the_default(tmp_path: Path) -> None:
    code = 'def f(): ...\nf.__name__ = os.getenv("P", "my") + "_tool"\nmcp.add_tool(f)\n'
    assert names(found(tmp_path, f"{HEAD}\n{code}")) == ["my_tool"]

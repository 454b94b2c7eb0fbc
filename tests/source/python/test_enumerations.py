"""Members of enumerations in texts, as Python formats them since 3.11."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from .sources import found

if TYPE_CHECKING:
    from pathlib import Path

ENUMS = """
import enum
from enum import Enum, IntEnum, StrEnum
from fastmcp import FastMCP
mcp = FastMCP("x")
class Mixed(str, Enum):
    X = "x"
    ALIAS = "x"
class Count(int, Enum):
    X = 7
class Bare(enum.Enum):
    X = "x"
class Text(StrEnum):
    X = "x"
class Number(IntEnum):
    X = 7
class Told(str, Enum):
    X = "x"
    def __str__(self) -> str:
        return self.value
class Above(str, Enum):
    def __str__(self) -> str:
        return str(self.value)
class Below(Above):
    Y = "y"
class Odd(str, Enum):
    X = "x"
    def __str__(self) -> str:
        return self.value * 2
class Formatted(str, Enum):
    X = "x"
    def __format__(self, spec: str) -> str:
        return "?"
"""


@pytest.mark.parametrize(
    ("member", "expected"),
    [
        ("Mixed.X", "Mixed.X"),
        ("Mixed.ALIAS", "Mixed.X"),
        ("Count.X", "Count.X"),
        ("Bare.X", "Bare.X"),
        ("Text.X", "x"),
        ("Number.X", "7"),
        ("Told.X", "x"),
        ("Below.Y", "y"),
    ],
)
@pytest.mark.parametrize("form", ['f"{M}"', 'f"{M!s}"', "str(M)", '"%s" % M', '"%s" % (M,)', '"{}".format(M)'])
def test_members_are_formatted_as_in_python(form: str, member: str, expected: str, tmp_path: Path) -> None:
    source = f"{ENUMS}@mcp.tool\ndef a(b: str = {form.replace('M', member)}): ...\n"
    (tool,) = found(tmp_path, source).document["tools"]
    assert tool["inputSchema"]["properties"]["b"]["default"] == expected


@pytest.mark.parametrize(
    "text",
    ['f"{Odd.X}"', "str(Odd.X)", 'f"{Formatted.X}"', 'f"{Mixed.X!r}"', '"%r" % Mixed.X', '"{!r}".format(Mixed.X)'],
)
def test_a_custom_format_is_unknown(text: str, tmp_path: Path) -> None:
    result = found(tmp_path, f"{ENUMS}@mcp.tool\ndef a(b: str = {text}): ...\n")
    assert result.tools[0].unknown == {"/inputSchema/properties/b/default"}


@pytest.mark.parametrize("text", ['"" + Mixed.X', '"".join([Mixed.X])', "Mixed.X.value"])
def test_a_string_member_equals_its_value(text: str, tmp_path: Path) -> None:
    (tool,) = found(tmp_path, f"{ENUMS}@mcp.tool\ndef a(b: str = {text}): ...\n").document["tools"]
    assert tool["inputSchema"]["properties"]["b"]["default"] == "x"

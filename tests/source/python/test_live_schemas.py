"""Differential test: derived schemas equal those that the SDK serves for the same source."""

from __future__ import annotations

import json
import subprocess
import sys
from inspect import cleandoc
from typing import TYPE_CHECKING, Any

import pytest

from mcproof.source.python.pipeline import discover

from .live_table import PARAMETERS, RETURNS, source

if TYPE_CHECKING:
    from pathlib import Path

LISTING = """
import asyncio, importlib.util, json, sys
spec = importlib.util.spec_from_file_location("table", sys.argv[1])
module = importlib.util.module_from_spec(spec)
sys.modules["table"] = module
spec.loader.exec_module(module)
tools = asyncio.run(module.mcp.list_tools())
print(json.dumps([tool.model_dump(by_alias=True, exclude_none=True, mode="json") for tool in tools]))
"""


class Sides:
    """The served and the discovered tools, by name."""

    def __init__(self, folder: Path) -> None:
        file = folder / "table.py"
        file.write_text(source(), encoding="utf-8")
        done = subprocess.run(
            [sys.executable, "-W", "ignore", "-c", LISTING, str(file)], capture_output=True, text=True, check=True
        )
        self.live = {tool["name"]: tool for tool in json.loads(done.stdout)}
        result = discover(str(file))
        self.read: dict[str, Any] = {tool["name"]: tool for tool in result.document["tools"]}
        self.unknown = {
            tool["name"]: known.unknown for tool, known in zip(result.document["tools"], result.tools, strict=True)
        }


@pytest.fixture(scope="module")
def sides(tmp_path_factory: pytest.TempPathFactory) -> Sides:
    return Sides(tmp_path_factory.mktemp("table"))


@pytest.mark.slow
@pytest.mark.parametrize("number", range(len(PARAMETERS)), ids=PARAMETERS)
def test_the_input_schema_equals_the_served_one(number: int, sides: Sides) -> None:
    name = f"takes_{number}"
    assert sides.read[name]["inputSchema"] == sides.live[name]["inputSchema"]
    assert not sides.unknown[name]


@pytest.mark.parametrize("number", range(len(RETURNS)), ids=RETURNS)
def test_the_output_schema_equals_the_served_one(number: int, sides: Sides) -> None:
    name = f"returns_{number}"
    assert sides.read[name].get("outputSchema") == sides.live[name].get("outputSchema")
    assert not sides.unknown[name]


def test_names_descriptions_and_order_equal_the_served_ones(sides: Sides) -> None:
    """From Python 3.13 on, a docstring has no indentation of its own."""
    layout = cleandoc if sys.version_info >= (3, 13) else str
    served, read = (
        [(name, layout(tool["description"])) for name, tool in side.items()] for side in (sides.live, sides.read)
    )
    assert read == served


def test_annotations_and_titles_equal_the_served_ones(sides: Sides) -> None:
    for key in ("title", "annotations", "description"):
        assert sides.read["annotated"][key] == sides.live["annotated"][key]

"""`mcproof tools`: a table of any target's tools, and its document."""

from __future__ import annotations

import io
import json
from typing import TYPE_CHECKING, Any

import pytest

from mcproof.core.console import Style, display_width, print_lines
from mcproof.report.listings import ListedParameter, ListedTool, ToolListing, listing_document, tool_table
from probing.running import CONTRACT
from report.readers import acts

from .running import CLEAN_TOOL, FAULTY_TOOL, LOOSE_TOOL, document_of, error_of, fails, run, write
from .serving import raw

if TYPE_CHECKING:
    from pathlib import Path

LIBRARY = ("--", *CONTRACT, "good")
TABLE = """\
tool          parameters          hints                   tokens
find_book     query*, limit       read-only                   93
count_books   -                   read-only                   32
list_shelves  genre*, tags, near  -                          193
add_book      title*              -                           61
delete_book   title*              destructive                 66
archive       title*              read-only, destructive      65

6 tools, 510 tokens in every request; * required
"""


def test_a_live_server_is_listed_in_a_table() -> None:
    done = run("tools", *LIBRARY)
    assert (done.returncode, done.stderr) == (0, "")
    title, table = done.stdout.split("\n\n", 1)
    assert title.startswith("library 1.0  ")
    assert table == TABLE


def test_the_document_of_a_live_server() -> None:
    document = document_of(run("tools", "--format", "json", *LIBRARY), "tools")
    assert document["server"] == "library 1.0"
    assert document["tokens"] == 510
    archive = document["tools"][-1]
    assert archive["hints"] == {"readOnlyHint": True, "destructiveHint": True}
    assert archive["parameters"] == [{"name": "title", "required": True}]


def test_a_snapshot_and_source_are_listed(tmp_path: Path) -> None:
    odd: list[Any] = [CLEAN_TOOL, FAULTY_TOOL, None, {"name": "x", "inputSchema": {"required": ["a", 1]}}]
    document = document_of(run("tools", write(tmp_path / "tools.json", odd), "--format", "json"), "tools")
    assert [each["name"] for each in document["tools"]] == ["find_book", "burn_book", "tools[2]", "x"]
    assert document["tools"][3]["parameters"] == [{"name": "a", "required": True}]
    assert document["server"] is None
    source = tmp_path / "server.py"
    source.write_text(
        "from mcp.server.fastmcp import FastMCP\nmcp = FastMCP('shop')\n\n"
        "@mcp.tool()\ndef buy(item: str, count: int = 1) -> str:\n    'Buy an item.'\n"
    )
    done = run("tools", str(source))
    assert "buy   item*, count  -" in done.stdout, done


def test_a_catalog_without_tools_is_no_error(tmp_path: Path) -> None:
    capture = write(tmp_path / "empty.json", {"initialize": {"serverInfo": {"name": "empty"}}, "tools": []})
    assert run("tools", capture).stdout == f"empty  {capture}\nno tools\n"


def test_a_list_that_is_not_served_does_not_hide_the_tools() -> None:
    done = run("tools", *raw("not-served"))
    assert done.returncode == 0, done
    assert "not the whole catalog: `resources/list` is not served" in done.stderr
    assert "2 tools" in done.stdout


def test_bad_arguments_are_reported() -> None:
    assert "nothing to list" in fails("tools")
    assert "--all names several servers" in fails("tools", "--all", "x.json")
    assert "no such file" in error_of("tools", "missing.json", "--format", "json")["message"]


def _listing(**changes: Any) -> ToolListing:
    parameters = [ListedParameter(name, number % 2 == 0) for number, name in enumerate(("city", "days", "language"))]
    hints = {"readOnlyHint": True, "idempotentHint": False, "openWorldHint": True}
    short = ListedTool("get", None, parameters, hints, 12)
    long = ListedTool("a_tool_with_" + "very_" * 9 + "long_name", None, parameters * 5, {}, 123_456)
    wide = ListedTool("検索", "", [ListedParameter("検" * 40, False)], {"destructiveHint": False}, 1)
    return ToolListing("weather.json", "weather 1.0", [short, long, wide])._replace(**changes)


@pytest.mark.parametrize("width", [40, 60, 80, 120])
def test_the_table_fits_the_terminal(width: int) -> None:
    lines = "".join(tool_table(_listing(), Style(width=width))).splitlines()
    name = next(line for line in lines if line.startswith("a_tool"))
    assert name.split()[0] == "a_tool_with_" + "very_" * 9 + "long_name"
    wide = [line for line in lines if display_width(line) > width]
    assert set(wide) <= {name, lines[-1]}
    for parameter in ("city*", "days", "language*"):
        assert any(parameter in line for line in lines)


def test_hostile_text_does_nothing() -> None:
    evil = "\x1b[31m\n::error::x\r##[group]\u202e"
    tool = ListedTool(evil, evil, [ListedParameter(evil, True)], {}, 1)
    listing = _listing(target=evil, server=evil, tools=[tool])
    for pieces in (tool_table(listing, Style()), listing_document(listing)):
        out = io.StringIO()
        print_lines(pieces, out)
        assert not acts(out.getvalue())


def test_one_tool_is_shown_whole(tmp_path: Path) -> None:
    target = write(tmp_path / "tools.json", {"tools": [CLEAN_TOOL, LOOSE_TOOL]})
    printed = run("tools", target, "list_books").stdout
    assert LOOSE_TOOL["description"] in printed
    assert '"description": "The number of the shelf."' in printed
    assert CLEAN_TOOL["description"] not in printed
    assert json.loads(run("tools", target, "list_books", "--format", "json").stdout) == LOOSE_TOOL


def test_an_unknown_tool_names_the_nearest(tmp_path: Path) -> None:
    target = write(tmp_path / "tools.json", {"tools": [LOOSE_TOOL]})
    assert "unknown tool `list_book` (did you mean `list_books`?)" in fails("tools", target, "list_book")

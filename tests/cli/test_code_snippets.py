"""Snippets for servers in code, in what commands print and store."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from .running import LOOSE_TOOL, run, validator, write
from .serving import GOOD

if TYPE_CHECKING:
    from pathlib import Path

SOURCE = """
from mcp.server.mcpserver import MCPServer
mcp = MCPServer("library")

@mcp.tool()
def search(query: str, author: str) -> str:
    return query

@mcp.tool()
def lend(book: str) -> str:
    return book
"""
SNIPPET = 'query: Annotated[str, Field(description="…")]'


def source(folder: Path) -> str:
    file = folder / "server.py"
    file.write_text(SOURCE, encoding="utf-8")
    return str(file)


def test_text_shows_the_snippet_of_a_rule_once(tmp_path: Path) -> None:
    done = run("lint", "--select", "prop-no-description", source(tmp_path))
    assert done.stdout.count(SNIPPET) == 1
    assert "MCPServer of mcp 2, in the signature of `search`:" in done.stdout


def test_a_live_server_has_snippets_for_what_it_is_written_in() -> None:
    done = run("lint", "--ruleset", "strict", *GOOD)
    assert '"additionalProperties": False' in done.stdout


def test_a_file_that_can_be_fixed_has_none(tmp_path: Path) -> None:
    done = run("lint", "--ruleset", "strict", write(tmp_path / "tools.json", {"tools": [LOOSE_TOOL]}))
    assert "SCH-002" in done.stdout
    assert "low-level Server" not in done.stdout
    assert "MCPServer" not in done.stdout


def test_a_suppressed_finding_has_none(tmp_path: Path) -> None:
    file = source(tmp_path)
    ignored = SOURCE.replace("str, author", "str,  # mcproof: ignore[prop-no-description] -- obvious\n  author")
    (tmp_path / "server.py").write_text(ignored, encoding="utf-8")
    done = run("lint", "--select", "prop-no-description", file)
    assert SNIPPET not in done.stdout
    assert 'Annotated[str, Field(description="…")]' in done.stdout


def test_the_stored_run_has_them_and_every_format_can_show_them(tmp_path: Path) -> None:
    report = tmp_path / "run.json"
    direct = run("lint", "--select", "prop-no-description", "--report", str(report), source(tmp_path)).stdout
    document = json.loads(report.read_text(encoding="utf-8"))
    validator("run").validate(document)
    assert [each["rule"] for each in document["targets"][0]["code_help"]] == ["prop-no-description"]
    assert run("report", str(report)).stdout == direct
    page = run("report", str(report), "--format", "html").stdout
    assert "query: Annotated[str, Field(description=&#34;…&#34;)]" in page


def test_explain_shows_the_snippets_of_every_framework() -> None:
    shown = run("explain", "SCH-004").stdout
    assert "query: Annotated[str, Field(max_length=200)]" in shown
    assert "query: z.string().max(200)" in shown
    assert '"query": {"type": "string", "maxLength": 200}' in shown

"""`mcproof compat`."""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING, Any

import pytest

from mcproof.checks.clients.hits import ClientChecks
from mcproof.checks.clients.verdicts import client_effects
from mcproof.core.console import display_width
from mcproof.runs.stored import read_run

from .running import CLEAN_TOOL, document_of, run, write

if TYPE_CHECKING:
    from pathlib import Path

    from mcproof.core.catalog.model import Tool

DRAFT_7 = "http://json-schema.org/draft-07/schema#"


def tool(name: str, schema: dict[str, Any] | None = None, **members: Any) -> dict[str, Any]:
    schema = schema or {"type": "object", "properties": {"id": {"type": "integer"}}}
    return {"name": name, "description": "Look something up.", "inputSchema": schema, **members}


def several() -> list[dict[str, Any]]:
    """Tools that break different clients."""
    union = {"type": "object", "properties": {"a": {"type": ["string", "integer"]}}}
    reference = {"type": "object", "properties": {"a": {"$ref": "#/$defs/a"}}, "$defs": {"a": {"type": "string"}}}
    return [
        tool("find"),
        tool("list_of_types", union),
        tool("referring", reference),
        *(
            tool(f"dialect_{n}", outputSchema={"$schema": DRAFT_7, "type": "object", "properties": {}})
            for n in range(7)
        ),
    ]


@pytest.fixture
def catalog(tmp_path: Path) -> str:
    return write(tmp_path / "tools.json", several())


def test_the_headline_counts_clients(tmp_path: Path) -> None:
    done = run("compat", write(tmp_path / "tools.json", [CLEAN_TOOL]))
    first, second, *_ = done.stdout.splitlines()
    assert first.startswith("Works in all ")
    assert first.endswith(" clients")
    assert second.startswith("Works in all ")
    assert "What to change" not in done.stdout
    assert done.returncode == 0


def test_the_changes_name_what_is_gained(catalog: str) -> None:
    text = run("compat", catalog).stdout
    assert "drop `$schema` from 7 output schemas (CMP-051): Claude Desktop, Claude Code +7 tools" in text


@pytest.mark.parametrize("width", [60, 80, 120])
def test_every_line_of_the_matrix_fits(catalog: str, width: int) -> None:
    text = run("compat", catalog, env={"COLUMNS": str(width)}).stdout
    shown = text.partition("What to change")[0]
    assert "Claude Desktop" in shown
    assert max(map(display_width, shown.splitlines())) <= width


def test_clients_with_the_same_result_share_a_line_and_tools_a_column(catalog: str) -> None:
    lines = run("compat", catalog).stdout.splitlines()
    assert sum("Claude Desktop" in line and "breaks: 7 of 10 tools" in line for line in lines) == 1
    assert any(line.endswith("7 tools: dialect_0, dialect_1, dialect_2, dialect_3 and 3 more") for line in lines)


def test_a_tool_that_breaks_the_list_takes_its_neighbours_along(tmp_path: Path) -> None:
    catalog = write(tmp_path / "tools.json", [tool("bad", {"type": "string"}), tool("good")])
    done = run("compat", catalog, "--client", "cursor,claude-code")
    assert "lost with its neighbours" in done.stdout
    assert "breaks: all 2 tools" in done.stdout


def test_the_text_names_the_command_that_has_edits(tmp_path: Path) -> None:
    dialect = tool("a", outputSchema={"type": "object", "$schema": "http://json-schema.org/draft-07/schema#"})
    fixable, other = write(tmp_path / "fixable.json", [dialect]), write(tmp_path / "other.json", [tool("a.b")])
    command, report = f"    mcproof compat {fixable} --diff", str(tmp_path / "run.json")
    done = run("compat", fixable, "--report", report, env={"COLUMNS": "70"})
    assert f"fixed automatically, at no cost for any client:\n{command}\n" in done.stdout
    assert run("report", report, env={"COLUMNS": "70"}).stdout == done.stdout
    assert f"{command} --for claude-code\n" in run("compat", fixable, "--client", "claude-code").stdout
    assert "fixed automatically" not in run("compat", other).stdout


def test_named_clients_are_the_only_ones_shown(catalog: str) -> None:
    text = run("compat", catalog, "--client", "cursor").stdout
    assert text.startswith("Works in 0 of 1 client, breaks in 1\n")
    assert "Claude" not in text.partition("error[")[0]


def test_the_last_line_gives_the_reason_of_failed_gates(catalog: str) -> None:
    gates = ("--require", "claude-code,zed", "--min-clients", "29", "--fail-on", "never")
    done = run("compat", catalog, *gates, env={"COLUMNS": "140"})
    assert done.returncode == 1
    assert "\n✗ failed: breaks in claude-code, which is required; does not break in " in done.stdout
    met = run("compat", catalog, "--require", "zed", "--fail-on", "never")
    assert met.returncode == 0
    assert met.stdout.splitlines()[-1].startswith("passed: does not break in zed, as required")


def test_more_clients_than_there_are_is_refused_before_anything_starts(tmp_path: Path) -> None:
    started = tmp_path / "started"
    server = (sys.executable, "-c", f"open({str(started)!r}, 'w')")
    done = run("compat", "--min-clients", "1000", "--", *server)
    assert done.returncode == 2
    assert done.stderr.startswith("mcproof: --min-clients 1000: there are ")
    assert not started.exists()


def test_verdicts_and_findings_come_from_one_look_at_each_tool(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    looked: dict[ClientChecks, list[str]] = {}
    find = ClientChecks.find_on_tool

    def counted(checks: ClientChecks, tool: Tool, server_key: str) -> Any:
        looked.setdefault(checks, []).append(tool.name)
        return find(checks, tool, server_key)

    monkeypatch.setattr(ClientChecks, "find_on_tool", counted)
    tools = several()
    document = document_of(run("compat", write(tmp_path / "t.json", tools), "--format", "json"), "compat")
    of_verdicts, *of_fixes = looked.values()
    assert of_verdicts == [each["name"] for each in tools]
    assert len(of_fixes) <= 1
    assert {each["rule"] for each in document["findings"]} == {"CMP-023", "CMP-030", "CMP-051"}
    assert any(each["hits"] for each in document["clients"].values())


def test_a_required_client_has_no_version(catalog: str) -> None:
    done = run("compat", catalog, "--require", "zed,cursor@1.0")
    assert done.returncode == 2
    assert done.stderr == "mcproof: --require takes no version: use `--client cursor@1.0 --require cursor`\n"
    assert run("compat", catalog, "--client", "cursor@1.0", "--require", "cursor").returncode == 1


def test_the_option_that_the_text_names_shows_everything(tmp_path: Path) -> None:
    catalog = write(tmp_path / "tools.json", [tool(f"find.{name}") for name in "abcde"])
    some, everything = (run("compat", catalog, "--show", amount).stdout for amount in ("1", "all"))
    assert "--show all" in some
    assert "--show all" not in everything
    assert len(everything.splitlines()) > len(some.splitlines())


def test_gates_are_in_every_format_that_shows_gates(catalog: str) -> None:
    for each in ("junit", "tap", "github", "markdown", "html"):
        text = run("compat", catalog, "--require", "claude-code", "--format", each).stdout
        assert "breaks in claude-code, which is required" in text, each


def test_the_document_keeps_to_its_schema(catalog: str) -> None:
    document = document_of(run("compat", catalog, "--min-clients", "1", "--format", "json"), "compat")
    first = document["improvements"][0]
    assert first["remedy"]
    assert first["gains"][0].keys() == {"client", "name", "kind", "tools", "before", "after"}


@pytest.mark.parametrize("form", ["text", "json", "markdown", "sarif", "junit"])
def test_a_stored_run_renders_the_same(tmp_path: Path, catalog: str, form: str) -> None:
    report = str(tmp_path / "run.json")
    first = run("compat", catalog, "--require", "cursor", "--report", report, "--format", form)
    assert run("report", report, "--format", form).stdout == first.stdout


def test_a_stored_page_is_the_same(tmp_path: Path, catalog: str) -> None:
    report, page = tmp_path / "run.json", tmp_path / "page.html"
    run("compat", catalog, "--report", str(report), "--output", str(page))
    assert run("report", str(report), "--format", "html").stdout == page.read_text(encoding="utf-8")


def test_a_report_without_clients_is_refused(tmp_path: Path, catalog: str) -> None:
    report = tmp_path / "run.json"
    run("compat", catalog, "--report", str(report))
    document = json.loads(report.read_text(encoding="utf-8"))
    del document["targets"][0]["clients"]
    report.write_text(json.dumps(document), encoding="utf-8")
    done = run("report", str(report))
    assert done.returncode == 2
    assert "no `clients`" in done.stderr


def test_the_effects_on_tools_agree_with_the_verdict(tmp_path: Path, catalog: str) -> None:
    """The matrix and the changes are computed from the effects; the document has the verdict."""
    report = tmp_path / "run.json"
    run("compat", catalog, "--report", str(report))
    payload = read_run(report.read_bytes(), "run.json").targets[0].payload
    assert payload.kind == "compat"
    assert [each.verdict for each in client_effects(payload.outcomes)] == [each.verdict for each in payload.outcomes]


def test_names_of_tools_do_not_reach_the_terminal_unescaped(tmp_path: Path) -> None:
    catalog = write(tmp_path / "tools.json", [tool("a\x1b[31m\n::error::x", {"type": "string"})])
    text = run("compat", catalog).stdout
    assert "\x1b" not in text
    assert "\n::error" not in text


@pytest.mark.parametrize("beside", [{}, {"properties": {}}])
def test_names_below_the_parameters_do_not_count_as_parameters(tmp_path: Path, beside: dict[str, Any]) -> None:
    nested = {"type": "object", "properties": {"filter[id]": {"type": "string"}}}
    schema = {"type": "object", **beside, "anyOf": [nested]}
    write(tmp_path / "tools.json", [tool("find", schema), tool("search", nested)])
    ended = run("lint", str(tmp_path / "tools.json"), "--select", "CMP-013", "--format", "json")
    assert [each["tool"] for each in json.loads(ended.stdout)["findings"]] == ["search"]

"""What `scan` and `lint` report of risky tools."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .running import document_of, run, write

if TYPE_CHECKING:
    from pathlib import Path

SHELL = {
    "name": "bash",
    "description": "Run a command in a shell.",
    "inputSchema": {"type": "object", "properties": {"command": {"type": "string"}}, "required": ["command"]},
}


def test_scan_reports_a_shell_and_does_not_block_a_file(tmp_path: Path) -> None:
    target = write(tmp_path / "tools.json", {"tools": [SHELL]})
    document = document_of(run("scan", target, "--format", "json"), "scan")
    messages = {finding["rule"]: finding["message"] for finding in document["findings"]}
    assert (
        messages["no_public_code_execution_tools"] == "1 tool can run code: `bash` (`run a command` in its description)"
    )
    assert document["trust"]["hard_fails"] == []


def test_lint_leaves_capabilities_to_scan(tmp_path: Path) -> None:
    target = write(tmp_path / "tools.json", {"tools": [SHELL]})
    by_default = document_of(run("lint", target, "--format", "json"), "lint")["summary"]["by_rule"]
    assert "no_broad_schema_risk" in by_default
    assert "no_public_code_execution_tools" not in by_default
    by_ruleset = document_of(run("lint", target, "--ruleset", "trust", "--format", "json"), "lint")["summary"][
        "by_rule"
    ]
    assert "no_public_code_execution_tools" in by_ruleset


def test_rules_about_the_server_are_not_judged_on_a_list_of_tools(tmp_path: Path) -> None:
    target = write(tmp_path / "tools.json", {"tools": [SHELL]})
    outcomes = {
        each["rule"]: each["outcome"]
        for each in document_of(run("scan", target, "--format", "json"), "scan")["trust"]["rules"]
    }
    assert outcomes["initialize_advertises_server_info"] == "not observed"
    assert outcomes["no_dangerous_resource_uris"] == "not applicable"
    assert outcomes["tool_count_is_reasonable"] == "passed"

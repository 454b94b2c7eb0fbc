"""Text that is grouped by rule, `--show` and `--statistics`."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from .running import CLEAN_TOOL, document_of, fails, report_of, run, write

if TYPE_CHECKING:
    from pathlib import Path

_FILTER = {"type": "object", "properties": {"limit": {"type": "string"}}, "required": [], "additionalProperties": False}


def _tool(name: str, properties: dict[str, Any], **more: Any) -> dict[str, Any]:
    schema = {"type": "object", "properties": properties, "required": [], "additionalProperties": False, **more}
    return {"name": name, "description": "Search the index for documents that match.", "inputSchema": schema}


def _own(number: int) -> dict[str, Any]:
    """A tool with an unbounded string of its own."""
    return _tool(f"find_{number}", {f"words_{number}": {"type": "string", "description": "The words."}})


def _sharing(number: int, definition: dict[str, Any] = _FILTER) -> dict[str, Any]:
    """A tool that carries the shared definition."""
    properties = {"filter": {"$ref": "#/$defs/Filter", "description": "What to leave out."}}
    return _tool(f"list_{number}", properties, **{"$defs": {"Filter": definition}})


@pytest.fixture
def habit(tmp_path: Path) -> str:
    """Thirteen findings of one rule, each of a tool of its own."""
    return write(tmp_path / "habit.json", {"tools": [_own(number) for number in range(13)]})


@pytest.fixture
def shared(tmp_path: Path) -> str:
    """One definition in twelve tools."""
    return write(tmp_path / "shared.json", {"tools": [_sharing(number) for number in range(12)]})


def test_findings_of_one_rule_have_one_headline_three_examples_and_a_count(habit: str) -> None:
    text = run("schema-lint", habit).stdout
    assert text.count("SCH-004") == 1
    assert "warning[SCH-004] 13 findings: A string has no `maxLength`, or an array no `maxItems`\n" in text
    assert text.count("= help: ") == 1
    assert text.count("-->") == 3
    assert [f"find_{number}: `words_{number}` is a string" in text for number in range(4)] == [True, True, True, False]
    assert "\n  and 10 more in find_3, find_4, find_5 and 7 more\n" in text
    assert "\n10 findings not shown: --show all lists everything, --statistics counts by rule\n" in text
    assert "\n13 warnings in 13 tools" in text


def test_show_all_shows_every_finding_and_show_a_number_as_many(habit: str) -> None:
    everything = run("schema-lint", habit, "--show", "all").stdout
    assert everything.count("-->") == 13
    assert " more" not in everything
    assert "not shown" not in everything
    assert run("schema-lint", habit, "--show", "5").stdout.count("-->") == 5


@pytest.mark.parametrize("amount", ["0", "-1", "none", "1.5", "9" * 20])
def test_show_takes_a_number_or_all(habit: str, amount: str) -> None:
    assert "is neither a number from 1 on nor `all`" in fails("schema-lint", habit, f"--show={amount}")


def test_a_shared_definition_is_one_finding_with_the_names_of_its_tools(shared: str) -> None:
    text = run("schema-lint", shared).stdout
    assert text.count("-->") == 1
    assert "`limit` is a string without `maxLength`, in 12 tools: list_0, list_1, list_2 and 9 more\n" in text
    assert "12 warnings in 12 tools" in text
    assert run("schema-lint", shared, "--show", "all").stdout.count("-->") == 12


def test_machine_formats_keep_every_finding(shared: str) -> None:
    assert len(document_of(run("schema-lint", shared, "--format", "json"), "lint")["findings"]) == 12
    assert len(run("schema-lint", shared, "--format", "concise").stdout.splitlines()) == 12


def test_a_definition_with_other_content_is_a_finding_of_its_own(tmp_path: Path) -> None:
    other = _sharing(2, {**_FILTER, "properties": {"limit": {"type": "string", "description": "How many."}}})
    text = run("schema-lint", write(tmp_path / "x.json", {"tools": [_sharing(0), _sharing(1), other]})).stdout
    assert "`limit` is a string without `maxLength`, in 2 tools: list_0, list_1\n" in text
    assert "list_2: `limit` is a string without `maxLength`\n" in text


def test_the_worst_level_comes_first_and_then_the_most_frequent_rule(tmp_path: Path) -> None:
    untyped = _tool("burn", {"anything": {"description": "Whatever else is known."}})
    loose = _tool("lend", {"id": {"type": "integer", "description": "The number."}})
    del loose["inputSchema"]["additionalProperties"]
    name = write(tmp_path / "x.json", {"tools": [loose, _own(1), _own(2), untyped]})
    heads = [line for line in run("schema-lint", name).stdout.splitlines() if "[SCH-" in line]
    assert [head.split()[0] for head in heads] == ["error[SCH-003]", "warning[SCH-004]", "warning[SCH-002]"]


def test_a_stored_run_is_grouped_as_the_run_was(shared: str, tmp_path: Path) -> None:
    report_of(tmp_path, "schema-lint", "shared.json")
    assert run("report", "report.json", cwd=tmp_path).stdout == run("schema-lint", "shared.json", cwd=tmp_path).stdout
    assert run("report", "report.json", "--show", "all", cwd=tmp_path).stdout.count("-->") == 12


def test_a_text_file_shows_as_much_as_the_terminal(habit: str, tmp_path: Path) -> None:
    done = run("schema-lint", "habit.json", "--show", "4", "--output", "findings.txt", cwd=tmp_path)
    assert (tmp_path / "findings.txt").read_text(encoding="utf-8") == done.stdout


def test_statistics_count_the_findings_of_all_targets_by_rule(habit: str, shared: str, tmp_path: Path) -> None:
    loose = _tool("lend", {"id": {"type": "integer", "description": "The number."}})
    del loose["inputSchema"]["additionalProperties"]
    write(tmp_path / "loose.json", {"tools": [loose]})
    done = run("schema-lint", "habit.json", "shared.json", "loose.json", "--statistics", cwd=tmp_path)
    assert done.returncode == 1
    assert done.stdout == (
        "25  warning  SCH-004  [ ] unbounded-size\n"
        " 1  warning  SCH-002  [*] open-object\n"
        "26 findings of 2 rules in 3 targets\n"
        "[*] 1 can be fixed automatically\n"
        "✗ failed: 3 of 3 targets; 26 warnings (gate: all findings)\n"
    )


def test_statistics_of_a_clean_catalog_are_one_line(tmp_path: Path) -> None:
    name = write(tmp_path / "x.json", {"tools": [CLEAN_TOOL]})
    done = run("lint", name, "--statistics")
    assert (done.returncode, done.stdout) == (0, "no findings in 1 target\n✓ passed: no findings (gate: errors)\n")


def test_statistics_are_text(habit: str) -> None:
    done = run("lint", habit, "--statistics", "--format", "json")
    assert done.returncode == 2
    assert "--statistics prints text" in json.loads(done.stdout)["error"]["message"]

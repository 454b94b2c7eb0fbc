from __future__ import annotations

import json
from typing import TYPE_CHECKING

from .running import document_of, fails, run, validator

if TYPE_CHECKING:
    from pathlib import Path

GOOD = "servers: {a: {command: [x]}}\ntools: [{name: n, server: a, tool: t}]\n"
BAD = "servers: {a: {command: [x]}}\ntools: [{name: n, server: b, tool: t}]\nprompt: []\n"


def test_a_good_suite_is_counted_and_nothing_is_started(tmp_path: Path) -> None:
    (tmp_path / "mcproof.yaml").write_text(GOOD, encoding="utf-8")
    done = run("validate", cwd=tmp_path)
    assert (done.returncode, done.stdout, done.stderr) == (0, "✓ mcproof.yaml: 1 test on 1 server\n", "")


def test_a_suite_has_as_many_tests_as_a_run_of_it_has_results(tmp_path: Path) -> None:
    (tmp_path / "mcproof.yaml").write_text(
        "servers: {a: {command: [no-such-program]}}\n"
        "tools:\n"
        "- {name: n, server: a, tool: t, expect: [{target: result.isError, matcher: {exact: false}}],\n"
        "   negative_path: {checks: [unknown_tool]}, fuzz: {cases: 1}}\n"
        "- {name: m, server: a, tool: t}\n",
        encoding="utf-8",
    )
    assert run("validate", cwd=tmp_path).stdout == "✓ mcproof.yaml: 4 tests on 1 server\n"
    assert len(json.loads(run("run", "--format", "json", cwd=tmp_path).stdout)["tests"]) == 4


def test_every_mistake_is_a_line_with_its_place(tmp_path: Path) -> None:
    (tmp_path / "bad.yaml").write_text(BAD, encoding="utf-8")
    (tmp_path / "good.yaml").write_text(GOOD, encoding="utf-8")
    done = run("validate", "bad.yaml", "good.yaml", cwd=tmp_path)
    assert done.returncode == 2
    assert done.stdout.splitlines() == [
        "bad.yaml:2:27: unknown server `b`; expected one of a",
        "bad.yaml:3:1: unknown key `prompt` in a suite (did you mean `prompts`?); expected one of servers, variables, "
        "imports, setup, teardown, answers, tools, resources, prompts, tool_quality",
        "✓ good.yaml: 1 test on 1 server",
    ]


def test_json_has_every_problem_and_the_first_as_the_error(tmp_path: Path) -> None:
    (tmp_path / "bad.yaml").write_text(BAD, encoding="utf-8")
    done = run("validate", "bad.yaml", "--format", "json", cwd=tmp_path)
    document = document_of(done, "validate")
    assert done.returncode == 2
    assert document["error"] == document["suites"][0]["problems"][0]
    assert [each["line"] for each in document["suites"][0]["problems"]] == [2, 3]


def test_where_there_is_no_suite_the_usual_names_are_told(tmp_path: Path) -> None:
    said = fails("validate", cwd=tmp_path)
    assert "tried mcproof.yaml, mcproof.yml, mcptest.yaml, mcptest.yml" in said


def test_the_names_of_another_tool_are_found_as_well(tmp_path: Path) -> None:
    (tmp_path / "mcptest.yml").write_text(GOOD, encoding="utf-8")
    assert run("validate", cwd=tmp_path).stdout == "✓ mcptest.yml: 1 test on 1 server\n"


def test_the_schema_is_printed_as_it_is_shipped(tmp_path: Path) -> None:
    document = json.loads(run("schema", cwd=tmp_path).stdout)
    assert document["title"] == "A suite of mcproof"
    assert validator("validate") is not None

"""`[[ignore-for]]` and `[severity]`: what the configuration makes of findings that are there."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from mcproof.checks.rule import RULESETS

from .running import CLEAN_TOOL, FAULTY_TOOL, LOOSE_TOOL, document_of, fails, report_of, rules_in, run, write

if TYPE_CHECKING:
    from pathlib import Path

FROZEN = """\
[[ignore-for]]
tool = "burn_*"
rules = ["grade", "compat", "SCH-003", "no_broad_schema_risk"]
reason = "frozen until v3"
"""


@pytest.fixture
def project(tmp_path: Path) -> Path:
    write(tmp_path / "tools.json", {"tools": [FAULTY_TOOL, LOOSE_TOOL]})
    return tmp_path


def configure(cwd: Path, text: str) -> None:
    (cwd / "mcproof.toml").write_text(text)


def ignore(*rules: str, **scope: str) -> str:
    lines = [f"{key} = {json.dumps(value)}" for key, value in scope.items()]
    return "\n".join(["[[ignore-for]]", *lines, f"rules = {json.dumps(rules)}", ""])


# --- findings that do not count -----------------------------------------------------------------------------------


def test_a_suppressed_finding_does_not_fail(project: Path) -> None:
    assert run("lint", "tools.json", cwd=project).returncode == 1
    configure(project, FROZEN)
    done = run("lint", "tools.json", cwd=project)
    assert done.returncode == 0
    assert "burn_book" not in done.stdout
    assert "(7 suppressed)" in done.stdout


def test_other_tools_and_other_rules_still_fail(project: Path) -> None:
    configure(project, ignore("grade", tool="list_*"))
    assert run("lint", "tools.json", cwd=project).returncode == 1
    configure(project, ignore("prop-no-type", tool="burn_*"))
    done = run("lint", "tools.json", "--format", "json", cwd=project)
    assert done.returncode == 1
    assert "prop-no-type" not in rules_in(done)
    assert "tool-no-description" in rules_in(done)


def test_an_entry_without_a_scope_is_about_the_server_too(tmp_path: Path) -> None:
    write(tmp_path / "tools.json", {"tools": [CLEAN_TOOL, CLEAN_TOOL]})
    found = ["CMP-004", "SPEC-003", "server-duplicate-tools"]
    assert sorted(rules_in(run("lint", "tools.json", "--format", "json", cwd=tmp_path))) == found
    configure(tmp_path, ignore("CMP-004", "server-duplicate-tools"))
    done = run("lint", "tools.json", "--format", "json", cwd=tmp_path)
    assert (done.returncode, rules_in(done)) == (0, [])


UNNAMED = {"initialize": {"serverInfo": {"name": "s", "version": ""}}, "tools": [{**CLEAN_TOOL, "description": ""}]}


@pytest.mark.parametrize(
    ("settings", "left"),
    [
        ("", {"server-no-version", "SPEC-202", "tool-no-description", "MP001", "CMP-005"}),
        ('ignore = ["server-no-version", "tool-no-description"]', {"CMP-005"}),
        (ignore("server-no-version", "tool-no-description"), {"CMP-005"}),
        ('ignore = ["grade"]', {"SPEC-202", "MP001", "CMP-005"}),
        (ignore("grade"), {"SPEC-202", "MP001", "CMP-005"}),
        ('ignore = ["SPEC-202", "MP001"]', {"server-no-version", "tool-no-description", "CMP-005"}),
        ('select = ["SPEC-202"]\nignore = ["server-no-version"]', {"SPEC-202"}),
    ],
)
def test_ignoring_a_rule_ignores_what_repeats_it(tmp_path: Path, settings: str, left: set[str]) -> None:
    """Not in clients, which are another matter; and not if a whole ruleset is left out."""
    write(tmp_path / "tools.json", UNNAMED)
    configure(
        tmp_path, settings if "select" in settings else f'rulesets = ["grade", "spec", "polish", "compat"]\n{settings}'
    )
    assert set(rules_in(run("lint", "tools.json", "--format", "json", cwd=tmp_path))) == left


def test_a_tool_without_a_name_goes_by_its_place(tmp_path: Path) -> None:
    write(tmp_path / "tools.json", {"tools": [CLEAN_TOOL, "no tool", "nor this"]})
    configure(tmp_path, ignore("CAT-001", tool="tools[1]"))
    done = run("lint", "tools.json", "--format", "json", cwd=tmp_path)
    assert [finding["tool"] for finding in document_of(done, "lint")["findings"]] == ["tools[2]"]


def test_a_tool_does_not_hide_the_resource_of_its_name(tmp_path: Path) -> None:
    capture = {"tools": [{**CLEAN_TOOL, "description": ""}], "resources": [{"name": "find_book", "uri": "x://y"}]}
    write(tmp_path / "capture.json", {**capture, "server": {"name": "s", "version": "1"}})
    configure(tmp_path, ignore("grade", tool="find_book"))
    left = rules_in(run("lint", "capture.json", "--format", "json", cwd=tmp_path))
    assert "resource-no-description" in left
    assert "tool-no-description" not in left


def test_a_configuration_that_suppresses_everything_is_no_error(project: Path) -> None:
    configure(project, ignore(*RULESETS))
    for command in ("lint", "schema-lint", "grade"):
        done = run(command, "tools.json", "--fail-on", "note", cwd=project)
        assert (done.returncode, done.stderr) == (0, ""), command


def test_an_entry_for_everything_is_refused_as_an_ignore_of_everything_is(project: Path) -> None:
    configure(project, ignore("all"))
    assert "mcproof.toml:1:3: `ignore-for[0]` ignores everything" in fails("lint", "tools.json", cwd=project)


def test_select_does_not_lift_it(project: Path) -> None:
    configure(project, FROZEN)
    assert run("lint", "tools.json", "--select", "tool-no-description", cwd=project).returncode == 0
    assert run("lint", "tools.json", "--select", "tool-no-description", "--no-config", cwd=project).returncode == 1


def test_the_run_report_keeps_what_is_suppressed_with_reason_and_place(project: Path) -> None:
    configure(project, "# the first line\n" + FROZEN)
    (target,) = report_of(project, "lint", "tools.json")["targets"]
    assert {finding["rule"] for finding in target["suppressed"]} == {
        "CMP-005",
        "CMP-024",
        "no_broad_schema_risk",
        "prop-no-description",
        "prop-no-type",
        "tool-no-description",
        "tool-no-required",
    }
    assert [finding["suppression"] for finding in target["suppressed"]] == [
        {"by": "ignore-for", "reason": "frozen until v3", "file": "mcproof.toml", "line": 2}
    ] * 7
    assert {finding["suppression"] for finding in target["findings"]} == {None}
    assert {finding["tool"] for finding in target["findings"]} == {"list_books"}


def test_an_entry_without_a_reason_has_none(project: Path) -> None:
    configure(project, ignore("grade", tool="burn_book"))
    (target,) = report_of(project, "lint", "tools.json")["targets"]
    assert {finding["suppression"]["reason"] for finding in target["suppressed"]} == {None}


def test_a_stored_report_renders_what_was_printed(project: Path) -> None:
    configure(project, FROZEN + ignore("CAT-001") + '[severity]\nall = "note"\n')
    arguments = ("lint", "tools.json", "--ruleset", "all", "--format", "json")
    done = run(*arguments, "--report", "report.json", cwd=project)
    assert run("report", "report.json", "--format", "json", cwd=project).stdout == done.stdout


# --- what it costs ------------------------------------------------------------------------------------------------


def _grade(cwd: Path, *arguments: str) -> Any:
    return document_of(run("grade", "tools.json", "--format", "json", *arguments, cwd=cwd), "grade")


def test_a_suppressed_finding_costs_no_points(project: Path) -> None:
    before = _grade(project)
    configure(project, FROZEN)
    after = _grade(project)
    assert after["score"] > before["score"]
    assert "tool-no-description" in before["rules"]
    assert "tool-no-description" not in after["rules"]


def test_the_card_says_how_many_findings_were_ignored(project: Path) -> None:
    assert "ignored" not in run("grade", "tools.json", cwd=project).stdout
    configure(project, FROZEN)
    done = run("grade", "tools.json", cwd=project)
    assert done.returncode == 0
    assert "4 findings ignored by the configuration" in done.stdout


def test_a_suppressed_finding_can_meet_a_gate(project: Path) -> None:
    arguments = ("grade", "tools.json", "--min-grade", "A", "--fail-on", "never")
    assert run(*arguments, cwd=project).returncode == 1
    configure(project, FROZEN)
    assert run(*arguments, cwd=project).returncode == 0


# --- the fix ------------------------------------------------------------------------------------------------------


def test_what_is_suppressed_is_not_fixed(project: Path) -> None:
    before = json.loads((project / "tools.json").read_text())["tools"]
    configure(project, ignore("SCH-001", "SCH-002", tool="list_books"))
    done = run("schema-lint", "tools.json", "--fix", "--write", cwd=project)
    burn, books = json.loads((project / "tools.json").read_text())["tools"]
    assert books == before[1]
    assert burn["inputSchema"]["additionalProperties"] is False
    assert "fixed 2 findings" in done.stderr


def test_a_fix_with_everything_suppressed_changes_nothing_and_passes(project: Path) -> None:
    before = (project / "tools.json").read_bytes()
    configure(project, ignore("all", tool="*"))
    done = run("schema-lint", "tools.json", "--fix", "--write", cwd=project)
    assert done.returncode == 0
    assert "fixed 0 findings" in done.stderr
    assert (project / "tools.json").read_bytes() == before
    assert run("schema-lint", "tools.json", "--diff", cwd=project).stdout == ""
    assert run("schema-lint", "tools.json", "--fix", cwd=project).stdout.encode() == before


def test_what_is_suppressed_is_not_left_for_the_author_either(project: Path) -> None:
    done = run("schema-lint", "tools.json", "--fix", "--write", cwd=project)
    assert done.returncode == 1
    assert "left for the author: SCH-003" in done.stderr
    configure(project, FROZEN)
    done = run("schema-lint", "tools.json", "--fix", "--write", cwd=project)
    assert done.returncode == 0
    assert "nothing is left" in done.stderr


# --- entries that nothing needs -----------------------------------------------------------------------------------


def test_an_entry_that_matches_nothing_is_told_and_fails_nothing(project: Path) -> None:
    write(project / "tools.json", [CLEAN_TOOL])
    configure(project, "\n" + FROZEN.replace('"grade", "compat", "SCH-003"', '"grade"'))
    done = run("lint", "tools.json", "--fail-on", "note", cwd=project)
    assert done.returncode == 0
    assert done.stderr == (
        "mcproof: mcproof.toml:2: unused: `ignore-for` of grade, no_broad_schema_risk for tool `burn_*` matched "
        "nothing in this run\n"
    )
    (notice,) = report_of(project, "lint", "tools.json")["notices"]
    assert (notice["kind"], notice["level"], notice["file"], notice["line"]) == (
        "unused-ignore",
        "warning",
        "mcproof.toml",
        2,
    )
    document = document_of(run("lint", "tools.json", "--format", "json", cwd=project), "lint")
    assert [each["kind"] for each in document["notices"]] == ["unused-ignore"]


def test_an_entry_that_is_needed_is_not_told(project: Path) -> None:
    configure(project, ignore("grade", tool="burn_*"))
    assert run("lint", "tools.json", cwd=project).stderr == ""


def test_of_two_entries_that_say_the_same_the_second_is_not_needed(project: Path) -> None:
    configure(project, ignore("grade", tool="burn_*") + ignore("grade", tool="burn_book"))
    done = run("lint", "tools.json", cwd=project)
    assert done.stderr.splitlines() == [
        "mcproof: mcproof.toml:4: unused: `ignore-for` of grade for tool `burn_book` matched nothing in this run"
    ]


@pytest.mark.parametrize("command", ["lint", "grade"])
def test_an_entry_is_not_told_unless_all_of_its_rules_ran(project: Path, command: str) -> None:
    """The strict rule that it is there for did not run, so that is unknown."""
    configure(project, ignore("SCH-001", "tool-long-description", tool="list_books") + ignore("strict"))
    done = run(command, "tools.json", cwd=project)
    assert done.stderr == ""
    assert run("lint", "tools.json", "--ruleset", "all", cwd=project).stderr == ""


def test_an_entry_for_one_of_several_targets_is_needed(project: Path) -> None:
    write(project / "clean.json", [CLEAN_TOOL])
    configure(project, ignore("grade", tool="burn_*"))
    for targets in (["tools.json", "clean.json"], ["clean.json", "tools.json"]):
        assert run("lint", *targets, cwd=project).stderr == ""


def test_an_entry_is_not_told_where_a_target_could_not_be_read(project: Path) -> None:
    write(project / "clean.json", [CLEAN_TOOL])
    (project / "tools.json").write_text("{")
    configure(project, ignore("grade", tool="burn_*"))
    done = run("lint", "clean.json", "tools.json", cwd=project)
    assert done.returncode == 2
    assert "unused" not in done.stderr
    assert len(done.stderr.splitlines()) == 1


def test_a_hostile_reason_and_pattern_write_nothing_odd(project: Path) -> None:
    configure(project, '[[ignore-for]]\ntool = "\\u001b[31m\\n::error::x"\nrules = ["grade"]\nreason = "\\u001b[0m"\n')
    done = run("lint", "tools.json", cwd=project)
    assert "unused" in done.stderr
    assert "\x1b" not in done.stderr
    assert len(done.stderr.splitlines()) == 1


# --- severity -----------------------------------------------------------------------------------------------------


def test_a_severity_changes_whether_a_finding_fails(project: Path) -> None:
    configure(project, '[severity]\ntool-no-description = "note"\n')
    assert run("lint", "tools.json", cwd=project).returncode == 0
    configure(project, '[severity]\ntool-no-description = "note"\nprop-no-type = "high"\n')
    assert run("lint", "tools.json", cwd=project).returncode == 1


@pytest.mark.parametrize(("command", "schema"), [("lint", "lint"), ("schema-lint", "lint"), ("grade", "grade")])
def test_a_severity_is_the_findings_severity_and_level(project: Path, command: str, schema: str) -> None:
    configure(project, '[severity]\nall = "medium"\n')
    findings = document_of(run(command, "tools.json", "--format", "json", cwd=project), schema)["findings"]
    assert findings
    assert {(finding["severity"], finding["level"]) for finding in findings} == {("medium", "warning")}


def test_a_severity_colours_the_finding(project: Path) -> None:
    colour = {"FORCE_COLOR": "1"}
    arguments = ("lint", "tools.json", "--select", "tool-no-description", "--format", "concise")
    before = run(*arguments, cwd=project, env=colour).stdout
    configure(project, '[severity]\ntool-no-description = "warn"\n')
    after = run(*arguments, cwd=project, env=colour).stdout
    assert "\x1b[" in before
    assert before.partition("error")[0] != after.partition("warning")[0]


@pytest.mark.parametrize("severity", ["note", "critical"])
def test_a_severity_never_changes_the_points(project: Path, severity: str) -> None:
    before = _grade(project)
    configure(project, f'[severity]\nall = "{severity}"\n')
    after = _grade(project)
    for key in ("score", "grade", "counts", "rules"):
        assert after[key] == before[key]
    report = report_of(project, "grade", "tools.json")
    (target,) = report["targets"]
    assert {each["severity"] for each in target["scores"]["grade"]["deductions"]} <= {"error", "warning", "info"}
    assert {rule["severity"] for rule in report["rules"]} == {severity}


def test_a_severity_holds_for_findings_about_clients_whatever_the_level_of_the_client(project: Path) -> None:
    configure(project, '[severity]\nCMP-005 = "error"\n')
    found = document_of(run("lint", "tools.json", "--select", "compat", "--format", "json", cwd=project), "lint")
    assert {each["rule"]: each["level"] for each in found["findings"]} == {"CMP-005": "error", "CMP-024": "warning"}


def test_each_target_has_the_severities_of_its_own_configuration(tmp_path: Path) -> None:
    for name, severity in (("one", "note"), ("two", "error")):
        (tmp_path / name).mkdir()
        write(tmp_path / name / "tools.json", [FAULTY_TOOL])
        configure(tmp_path / name, f'[severity]\nall = "{severity}"\n')
    done = run("lint", "one", "two", "--format", "json", "--report", "report.json", cwd=tmp_path)
    first, second = document_of(done, "lint")["targets"]
    assert {finding["level"] for finding in first["findings"]} == {"note"}
    assert {finding["level"] for finding in second["findings"]} == {"error"}
    assert run("report", "report.json", "--format", "json", cwd=tmp_path).stdout == done.stdout


# --- rules that are left out --------------------------------------------------------------------------------------


def test_leaving_out_every_rule_of_a_command_is_an_error(project: Path) -> None:
    configure(project, 'fail-on = "note"\nignore = ["strict", "catalog"]\n')
    assert "no rules left to run: `ignore`" in fails("schema-lint", "tools.json", cwd=project)


def test_leaving_out_the_whole_grade_leaves_nothing_to_grade(project: Path) -> None:
    configure(project, 'fail-on = "note"\nignore = ["grade"]\n')
    for arguments in (("tools.json",), (".",), ("tools.json", "--min-grade", "A")):
        told = fails("grade", *arguments, cwd=project)
        assert told == "mcproof: mcproof.toml:2: nothing to grade: `ignore` names every rule of the grade\n"
    configure(project, 'fail-on = "note"\nignore = ["grade", "compat", "trust"]\n')
    done = run("lint", "tools.json", "--output", "report.md", cwd=project)
    assert (done.returncode, done.stderr) == (0, "")

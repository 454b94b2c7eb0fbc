"""How the checking commands use the configuration, and what the command line makes of it."""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING, Any

import pytest

from .running import (
    CLEAN_TOOL,
    FAULTY_TOOL,
    LOOSE_TOOL,
    document_of,
    error_of,
    fails,
    rules_in,
    run,
    validator,
    write,
)

if TYPE_CHECKING:
    from pathlib import Path

GRADE = ["prop-no-description", "prop-no-type", "tool-no-description", "tool-no-required"]
STRICT = ["SCH-001", "SCH-002", "SCH-003"]
COMPAT = ["CMP-005", "CMP-024"]
DEFAULT = sorted([*GRADE, *COMPAT, "no_broad_schema_risk"])


@pytest.fixture
def project(tmp_path: Path) -> Path:
    path = tmp_path / "project"
    path.mkdir()
    write(path / "tools.json", {"tools": [FAULTY_TOOL]})
    return path


def configure(cwd: Path, text: str, name: str = "mcproof.toml") -> None:
    (cwd / name).write_text(text)


def lint(cwd: Path, *arguments: str) -> list[str]:
    """The rules that `lint` reports."""
    return rules_in(run("lint", *(arguments or ("tools.json",)), "--format", "json", cwd=cwd))


# --- which configuration ------------------------------------------------------------------------------------------


def test_the_nearest_configuration_above_the_target_holds(project: Path) -> None:
    configure(project.parent, 'select = ["SCH-001"]\n')
    assert lint(project) == ["SCH-001"]
    configure(project, 'select = ["SCH-002"]\n')
    assert lint(project) == ["SCH-002"]
    assert lint(project.parent, "project/tools.json") == ["SCH-002"]


def test_the_configuration_of_the_working_directory_is_not_that_of_a_target_elsewhere(project: Path) -> None:
    elsewhere = project.parent / "elsewhere"
    elsewhere.mkdir()
    configure(elsewhere, 'select = ["SCH-001"]\n')
    assert lint(elsewhere, "../project/tools.json") == DEFAULT


def test_standard_input_has_that_of_the_working_directory(project: Path) -> None:
    configure(project, 'select = ["SCH-001"]\n')
    text = (project / "tools.json").read_text()
    assert rules_in(run("lint", "-", "--format", "json", stdin=text, cwd=project)) == ["SCH-001"]


def test_a_folder_has_its_own(project: Path) -> None:
    configure(project, 'select = ["SCH-001"]\n')
    done = run("lint", "project", "--format", "json", cwd=project.parent)
    (target,) = document_of(done, "lint")["targets"]
    assert {finding["rule"] for finding in target["findings"]} == {"SCH-001"}


def test_a_table_of_pyproject_holds_like_a_file_of_its_own(project: Path) -> None:
    configure(project, '[tool.mcproof]\nselect = ["SCH-001"]\n', "pyproject.toml")
    assert lint(project) == ["SCH-001"]


def test_each_of_several_targets_has_its_own(project: Path) -> None:
    other = project.parent / "other"
    other.mkdir()
    write(other / "tools.json", [FAULTY_TOOL])
    configure(project, 'select = ["SCH-001"]\nfail-on = "never"\n')
    configure(other, 'select = ["SCH-002"]\nfail-on = "never"\n')
    done = run("lint", "project", "other/tools.json", "--format", "json", cwd=project.parent)
    targets = document_of(done, "lint")["targets"]
    assert [{finding["rule"] for finding in target["findings"]} for target in targets] == [{"SCH-001"}, {"SCH-002"}]
    assert done.returncode == 0
    configure(other, 'select = ["SCH-002"]\nfail-on = "warning"\n')
    assert run("lint", "project", "other", cwd=project.parent).returncode == 1


def test_home_is_no_end_of_the_search(project: Path) -> None:
    configure(project.parent, 'select = ["SCH-001"]\n')
    done = run("lint", "tools.json", "--format", "json", cwd=project, env={"HOME": str(project)})
    assert rules_in(done) == ["SCH-001"]


@pytest.mark.skipif(sys.platform == "win32", reason="symbolic links")
def test_a_target_that_is_a_link_has_the_configuration_beside_the_link(project: Path) -> None:
    linked = project.parent / "linked"
    linked.mkdir()
    (linked / "tools.json").symlink_to(project / "tools.json")
    configure(linked, 'select = ["SCH-001"]\n')
    configure(project, 'select = ["SCH-002"]\n')
    assert lint(linked) == ["SCH-001"]


def test_config_names_the_one_that_holds_for_all(project: Path) -> None:
    configure(project, 'select = ["SCH-001"]\n')
    configure(project.parent, 'select = ["SCH-003"]\n', "other.toml")
    assert lint(project, "tools.json", "--config", "../other.toml") == ["SCH-003"]


def test_no_config_reads_none_even_a_broken_one(project: Path) -> None:
    configure(project, "select = [")
    assert lint(project, "tools.json", "--no-config") == DEFAULT
    assert fails("lint", "tools.json", cwd=project).startswith("mcproof: mcproof.toml:1:")


def test_config_and_no_config_exclude_each_other(project: Path) -> None:
    configure(project, "")
    told = fails("lint", "tools.json", "--config", "mcproof.toml", "--no-config", cwd=project)
    assert "exclude each other" in told


def test_a_config_that_is_not_there_is_an_error(project: Path) -> None:
    assert "none.toml" in fails("lint", "tools.json", "--config", "none.toml", cwd=project)
    assert error_of("lint", "tools.json", "--config", "none.toml", "--format", "json", cwd=project)["message"]


def test_a_mistake_in_the_last_configuration_is_told_before_anything_is_done(project: Path) -> None:
    other = project.parent / "other"
    other.mkdir()
    write(other / "tools.json", [LOOSE_TOOL])
    configure(other, 'fail-on = "sometimes"\n')
    before = (project / "tools.json").read_bytes()
    targets = ("project/tools.json", "other/tools.json")
    assert fails("lint", *targets, cwd=project.parent).startswith("mcproof: other/mcproof.toml:1:")
    fails("schema-lint", *targets, "--fix", "--write", cwd=project.parent)
    assert (project / "tools.json").read_bytes() == before
    assert error_of("lint", *targets, "--format", "json", cwd=project.parent)["file"] == "other/mcproof.toml"


def test_windows_line_ends_and_a_mark_are_fine(project: Path) -> None:
    (project / "mcproof.toml").write_bytes('\ufeffselect = ["SCH-001"]\r\nfail-on = "never"\r\n'.encode())
    assert lint(project) == ["SCH-001"]
    assert run("lint", "tools.json", cwd=project).returncode == 0


# --- which rules --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("settings", "options", "expected"),
    [
        ('rulesets = ["strict"]', (), STRICT),
        ('rulesets = "all"', (), [*STRICT, *DEFAULT, "all_tools_have_descriptions", "MP001", "MP002", "MP004"]),
        ('rulesets = ["strict"]', ("--ruleset", "grade"), GRADE),
        ('rulesets = ["strict"]', ("--select", "prop-no-type"), ["prop-no-type"]),
        ('select = ["SCH-001", "prop-no-type"]', (), ["SCH-001", "prop-no-type"]),
        ('select = ["SCH-001"]', ("--ruleset", "grade"), GRADE),
        ('select = ["SCH-001"]', ("--select", "SCH-002"), ["SCH-002"]),
        ('select = ["strict"]', ("--ignore", "SCH-001"), ["SCH-002", "SCH-003"]),
        ('ignore = ["prop-no-type"]', (), [rule for rule in DEFAULT if rule != "prop-no-type"]),
        ('ignore = ["prop-no-type"]', ("--ignore", "tool-no-required,compat,trust"), [GRADE[0], GRADE[2]]),
        ('ignore = ["prop-no-type"]', ("--ruleset", "grade"), [rule for rule in GRADE if rule != "prop-no-type"]),
        ('ignore = ["prop-no-type"]', ("--select", "prop-no-type"), ["prop-no-type"]),
        ('ignore = ["prop-no-type"]', ("--select", "grade"), GRADE),
        ('ignore = ["grade"]', ("--select", "grade", "--ignore", "prop-no-type"), [GRADE[0], *GRADE[2:]]),
    ],
)
def test_the_command_line_wins(project: Path, settings: str, options: tuple[str, ...], expected: list[str]) -> None:
    configure(project, settings)
    assert lint(project, "tools.json", *options) == sorted(expected)


def test_select_and_rulesets_steer_lint_only(project: Path) -> None:
    configure(project, 'select = ["CAT-001"]\nrulesets = ["catalog"]\n')
    assert lint(project) == []
    assert rules_in(run("schema-lint", "tools.json", "--format", "json", cwd=project)) == STRICT
    graded = document_of(run("grade", "tools.json", "--format", "json", cwd=project), "grade")
    assert sorted(graded["rules"]) == GRADE


def test_ignore_holds_for_every_checking_command(project: Path) -> None:
    configure(project, 'ignore = ["tool-no-description", "SCH-003"]\n')
    assert "tool-no-description" not in lint(project)
    assert rules_in(run("schema-lint", "tools.json", "--format", "json", cwd=project)) == ["SCH-001", "SCH-002"]
    done = run("grade", "tools.json", "--format", "json", cwd=project)
    assert done.returncode == 0
    assert "tool-no-description" not in document_of(done, "grade")["rules"]


def test_the_run_report_says_who_left_a_rule_out(project: Path) -> None:
    configure(project, '\nignore = ["tool-no-description"]\n')
    run("lint", "tools.json", "--ignore", "prop-no-type", "--report", "report.json", cwd=project)
    report = json.loads((project / "report.json").read_text())
    validator("run").validate(report)
    left_out = {each["what"]: each["why"] for each in report["targets"][0]["not_tested"]}
    assert left_out["prop-no-type"] == "left out by --ignore"
    assert left_out["tool-no-description"] == "left out by mcproof.toml:2"
    assert left_out["ruleset strict"] == "not selected"


# --- gates --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("command", ["lint", "schema-lint", "grade"])
def test_fail_on_holds_for_every_checking_command_unless_the_command_line_says_more(
    project: Path, command: str
) -> None:
    assert run(command, "tools.json", cwd=project).returncode == 1
    configure(project, 'fail-on = "never"\n')
    assert run(command, "tools.json", cwd=project).returncode == 0
    assert run(command, "tools.json", "--fail-on", "note", cwd=project).returncode == 1
    assert run(command, "tools.json", "--no-config", cwd=project).returncode == 1


def test_without_fail_on_each_command_has_its_own(project: Path) -> None:
    configure(project, "max-tokens = 100000\n")
    write(project / "tools.json", [LOOSE_TOOL])
    assert run("lint", "tools.json", cwd=project).returncode == 0
    assert run("schema-lint", "tools.json", cwd=project).returncode == 1


def _gates(cwd: Path, *options: str) -> Any:
    done = run("grade", "tools.json", "--fail-on", "never", "--format", "json", *options, cwd=cwd)
    gates = document_of(done, "grade")["gates"]
    assert done.returncode == (0 if all(gate["passed"] for gate in gates) else 1)
    return [(gate["gate"], gate["limit"], gate["passed"]) for gate in gates]


def test_the_gates_of_the_configuration_hold_for_grade_unless_the_command_line_has_others(project: Path) -> None:
    assert _gates(project) == []
    configure(project, 'min-grade = "a"\nmax-tokens = 1\n')
    assert _gates(project) == [("min-grade", "A", False), ("max-tokens", 1, False)]
    assert _gates(project, "--min-grade", "F") == [("min-grade", "F", True), ("max-tokens", 1, False)]
    assert _gates(project, "--max-tokens", "0") == [("min-grade", "A", False), ("max-tokens", 0, False)]
    assert _gates(project, "--no-config") == []


def test_the_gates_are_for_grade_alone(project: Path) -> None:
    write(project / "tools.json", [CLEAN_TOOL])
    configure(project, "max-tokens = 1\n")
    assert run("lint", "tools.json", cwd=project).returncode == 0
    assert run("schema-lint", "tools.json", cwd=project).returncode == 0
    assert run("grade", "tools.json", cwd=project).returncode == 1


# --- names for targets --------------------------------------------------------------------------------------------


@pytest.fixture
def named(project: Path) -> Path:
    (project / "catalogs").mkdir()
    write(project / "catalogs" / "clean.json", [CLEAN_TOOL])
    configure(project, '[targets]\nfaulty = "tools.json"\nclean = "catalogs/clean.json"\n')
    return project


def _targets(done: Any) -> list[str]:
    return [entry["target"] for entry in document_of(done, "lint")["targets"]]


def test_without_a_target_all_that_have_a_name_are_checked(named: Path) -> None:
    done = run("lint", "--format", "json", cwd=named)
    assert done.returncode == 1
    assert _targets(done) == ["tools.json", "catalogs/clean.json"]


def test_without_a_target_they_are_found_from_below_too(named: Path) -> None:
    done = run("lint", "--format", "json", cwd=named / "catalogs")
    assert done.returncode == 1
    assert [name.rpartition("/")[2] for name in _targets(done)] == ["tools.json", "clean.json"]


def test_a_name_stands_for_its_target(named: Path) -> None:
    assert run("lint", "clean", cwd=named).returncode == 0
    assert run("lint", "faulty", cwd=named).returncode == 1
    assert run("schema-lint", "faulty", "--diff", cwd=named).stdout.startswith("--- tools.json\n")


def test_a_file_of_that_name_wins(named: Path) -> None:
    write(named / "faulty", [CLEAN_TOOL])
    assert run("lint", "faulty", cwd=named).returncode == 0


def test_a_word_that_is_neither_is_told(named: Path) -> None:
    assert "other" in fails("lint", "other", cwd=named)


def test_a_name_and_its_file_are_one_target(named: Path) -> None:
    assert run("lint", "faulty", "tools.json", "--format", "concise", cwd=named).stdout == (
        run("lint", "tools.json", "--format", "concise", cwd=named).stdout
    )


def test_config_brings_its_names(named: Path) -> None:
    done = run("lint", "--config", "project/mcproof.toml", "--format", "json", cwd=named.parent)
    assert _targets(done) == ["project/tools.json", "project/catalogs/clean.json"]


def test_no_config_brings_none(named: Path) -> None:
    write(named / "other.json", [CLEAN_TOOL])
    targets = _targets(run("lint", "--no-config", "--format", "json", cwd=named))
    assert any(name.endswith("other.json") for name in targets)


@pytest.mark.parametrize("command", ["lint", "schema-lint", "grade"])
def test_without_a_target_and_without_names_the_folder_is_checked(tmp_path: Path, command: str) -> None:
    assert ".: nothing to check: no source of an MCP server" in fails(command, cwd=tmp_path)
    write(tmp_path / "tools.json", [CLEAN_TOOL])
    done = run(command, cwd=tmp_path)
    assert done.returncode == 0
    assert "tools.json" in done.stdout


@pytest.mark.parametrize("command", ["probe", "prove", "fuzz"])
def test_a_command_that_calls_tools_needs_a_server(tmp_path: Path, command: str) -> None:
    write(tmp_path / "tools.json", [CLEAN_TOOL])
    said = fails(command, cwd=tmp_path)
    assert "nothing to test: name a live server" in said
    assert f"`mcproof {command} -- python server.py`" in said


def test_a_named_target_that_is_not_there_does_not_hide_the_others(named: Path) -> None:
    (named / "tools.json").unlink()
    done = run("lint", cwd=named)
    assert done.returncode == 2
    assert "tools.json" in done.stderr
    assert "no findings in 1 tool of catalogs/clean.json" in done.stdout


def test_a_name_that_an_overeager_shell_would_break_is_only_a_name(named: Path) -> None:
    configure(named, '[targets]\n"*" = "tools.json"\n"https://x.example" = "catalogs/clean.json"\n')
    assert run("lint", "*", cwd=named).returncode == 1
    assert run("lint", "https://x.example", cwd=named).returncode == 0

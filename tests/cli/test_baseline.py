"""`--baseline` and `--update-baseline`: what was accepted passes, what is new fails, what is gone is reported."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
from typing import TYPE_CHECKING, Any

import pytest

from .running import (
    CLEAN_TOOL,
    COMMAND,
    FAULTY_TOOL,
    LOOSE_TOOL,
    TIMEOUT,
    document_of,
    environment,
    error_of,
    fails,
    report_of,
    run,
    validator,
    write,
)

if TYPE_CHECKING:
    from pathlib import Path

RULESETS = "catalog,strict,grade,trust"
GRADE = ["prop-no-description", "prop-no-type", "tool-no-description", "tool-no-required"]
FOUND = ["CMP-005", "CMP-024", "no_broad_schema_risk", *GRADE]
"""What `lint` finds in the faulty tool."""


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A folder with one snapshot, whose findings are accepted."""
    write(tmp_path / "tools.json", {"tools": [FAULTY_TOOL, LOOSE_TOOL]})
    accept(tmp_path, "lint", "tools.json", "--ruleset", RULESETS)
    return tmp_path


def accept(cwd: Path, *arguments: str, baseline: str = "base.json") -> str:
    """Accept everything, and return what is reported."""
    done = run(*arguments, "--baseline", baseline, "--update-baseline", cwd=cwd)
    assert done.returncode == 0, done
    return done.stderr


def lint(cwd: Path, *arguments: str, baseline: str = "base.json") -> subprocess.CompletedProcess[str]:
    return run(
        "lint",
        "--ruleset",
        RULESETS,
        "--fail-on",
        "note",
        "--baseline",
        baseline,
        *arguments,
        cwd=cwd,
    )


def entries(path: Path) -> list[dict[str, str]]:
    """The entries of a baseline, which must keep to its schema."""
    document = json.loads(path.read_text(encoding="utf-8"))
    validator("baseline").validate(document)
    listed: list[dict[str, str]] = document["entries"]
    return listed


def rules_of(path: Path, target: str | None = None) -> list[str]:
    return sorted({entry["rule"] for entry in entries(path) if target in (None, entry["target"])})


# --- what is accepted, what is new, what is gone ------------------------------------------------------------------


def test_without_a_baseline_the_findings_fail(project: Path) -> None:
    assert run("lint", "tools.json", cwd=project).returncode == 1


def test_what_was_accepted_does_not_fail(project: Path) -> None:
    done = lint(project, "tools.json")
    assert done.returncode == 0
    assert done.stderr == ""
    assert f"({len(entries(project / 'base.json'))} suppressed)" in done.stdout


def test_a_new_finding_fails_and_is_the_only_one_shown(project: Path) -> None:
    new = {**CLEAN_TOOL, "description": ""}
    write(project / "tools.json", {"tools": [FAULTY_TOOL, LOOSE_TOOL, new]})
    done = lint(project, "tools.json", "--format", "json")
    assert done.returncode == 1
    found = {(finding["rule"], finding["tool"]) for finding in document_of(done, "lint")["findings"]}
    assert found == {("all_tools_have_descriptions", None), ("tool-no-description", "find_book")}


def test_a_new_finding_below_the_level_that_fails_does_not_fail(project: Path) -> None:
    write(project / "tools.json", {"tools": [FAULTY_TOOL, LOOSE_TOOL, {**CLEAN_TOOL, "description": ""}]})
    assert run("lint", "tools.json", "--baseline", "base.json", "--fail-on", "never", cwd=project).returncode == 0


def test_a_second_finding_like_an_accepted_one_is_new(project: Path) -> None:
    """Two tools of one name are two: the baseline has accepted one of them."""
    write(project / "tools.json", {"tools": [FAULTY_TOOL, LOOSE_TOOL, FAULTY_TOOL, FAULTY_TOOL]})
    done = lint(project, "tools.json", "--select", "tool-no-description", "--format", "json")
    assert done.returncode == 1
    assert len(document_of(done, "lint")["findings"]) == 2


def test_two_tools_of_one_name_stay_two(tmp_path: Path) -> None:
    write(tmp_path / "tools.json", [FAULTY_TOOL, FAULTY_TOOL])
    accept(tmp_path, "lint", "tools.json")
    assert lint(tmp_path, "tools.json", "--select", "tool-no-description").returncode == 0
    write(tmp_path / "tools.json", [FAULTY_TOOL])
    done = lint(tmp_path, "tools.json", "--select", "tool-no-description")
    assert done.returncode == 1
    assert done.stderr.count("stale") == 1


def test_what_is_gone_is_told_with_its_line_and_fails(project: Path) -> None:
    write(project / "tools.json", {"tools": [{**FAULTY_TOOL, "description": "Burn a book, for good."}, LOOSE_TOOL]})
    done = lint(project, "tools.json")
    assert done.returncode == 1
    lines = (project / "base.json").read_text().splitlines()
    gone = {"all_tools_have_descriptions": "server", "tool-no-description": "tool:burn_book"}
    numbers = {rule: next(at for at, line in enumerate(lines, 1) if f'"{rule}"' in line) for rule in gone}
    assert done.stderr.splitlines() == [
        f"mcproof: base.json:{numbers[rule]}: stale: {rule} at {subject} of tools.json no longer occurs; "
        "`--update-baseline` removes it"
        for rule, subject in gone.items()
    ]


def test_what_is_gone_fails_even_where_nothing_else_could(project: Path) -> None:
    write(project / "tools.json", [CLEAN_TOOL])
    assert lint(project, "tools.json", "--fail-on", "never").returncode == 1


def test_machines_are_told_what_is_gone(project: Path) -> None:
    write(project / "tools.json", [CLEAN_TOOL])
    done = lint(project, "tools.json", "--format", "json")
    notices = document_of(done, "lint")["notices"]
    assert {(notice["kind"], notice["level"], notice["file"]) for notice in notices} == {
        ("stale-baseline", "error", "base.json")
    }
    assert len(notices) == len(entries(project / "base.json"))


def test_an_entry_of_a_rule_that_did_not_run_is_not_gone(project: Path) -> None:
    write(project / "tools.json", [CLEAN_TOOL])
    done = lint(project, "tools.json", "--select", "CAT-001")
    assert (done.returncode, done.stderr) == (0, "")


def test_an_entry_of_a_target_that_was_not_checked_is_not_gone(project: Path) -> None:
    write(project / "other.json", [CLEAN_TOOL])
    done = lint(project, "other.json")
    assert (done.returncode, done.stderr) == (0, "")


def test_an_entry_of_a_target_that_cannot_be_read_is_not_gone(project: Path) -> None:
    write(project / "other.json", [CLEAN_TOOL])
    (project / "tools.json").write_text("{")
    done = lint(project, "other.json", "tools.json")
    assert done.returncode == 2
    assert "stale" not in done.stderr


def test_an_accepted_finding_that_the_configuration_ignores_now_is_not_gone(project: Path) -> None:
    (project / "mcproof.toml").write_text('[[ignore-for]]\ntool = "burn_book"\nrules = ["tool-no-description"]\n')
    done = lint(project, "tools.json")
    assert (done.returncode, done.stderr) == (0, "")
    accept(project, "lint", "tools.json", "--ruleset", RULESETS)
    assert "tool-no-description" not in rules_of(project / "base.json")
    assert lint(project, "tools.json").returncode == 0


def test_targets_with_the_same_tools_have_entries_of_their_own(project: Path) -> None:
    shutil.copy(project / "tools.json", project / "twin.json")
    done = lint(project, "tools.json", "twin.json", "--format", "json")
    assert done.returncode == 1
    first, second = document_of(done, "lint")["targets"]
    assert not first["findings"]
    assert len(second["findings"]) == len(entries(project / "base.json"))


# --- what may change and what not ---------------------------------------------------------------------------------


def _reordered(value: Any) -> Any:
    """Every list and every object back to front."""
    if isinstance(value, dict):
        return {key: _reordered(member) for key, member in reversed(value.items())}
    return [_reordered(each) for each in reversed(value)] if isinstance(value, list) else value


@pytest.mark.parametrize("indent", [None, 1, "\t"])
@pytest.mark.parametrize("end", ["\n", "\r\n"])
@pytest.mark.parametrize("mark", ["", "\ufeff"], ids=["plain", "BOM"])
def test_order_and_layout_of_the_snapshot_do_not_matter(
    tmp_path: Path, indent: int | str | None, end: str, mark: str
) -> None:
    schema = {"type": "object", "properties": {"a": {}, "b": {}}, "required": ["b", "x", "a", "y"]}
    value = {"tools": [FAULTY_TOOL, {"name": "two", "inputSchema": schema}, LOOSE_TOOL, FAULTY_TOOL]}
    write(tmp_path / "tools.json", value)
    accept(tmp_path, "lint", "tools.json", "--ruleset", RULESETS)
    assert "required-not-in-properties" in " ".join(rules_of(tmp_path / "base.json"))
    text = mark + json.dumps(_reordered(value), indent=indent).replace("\n", end)
    (tmp_path / "tools.json").write_bytes(text.encode())
    done = lint(tmp_path, "tools.json")
    assert (done.returncode, done.stderr) == (0, "")


def test_a_renamed_tool_is_another_tool(project: Path) -> None:
    write(project / "tools.json", {"tools": [{**FAULTY_TOOL, "name": "burn_all"}, LOOSE_TOOL]})
    done = lint(project, "tools.json")
    assert done.returncode == 1
    assert "stale" in done.stderr
    assert "burn_all" in done.stdout


def test_the_baseline_survives_windows_line_ends_a_mark_and_another_layout(project: Path) -> None:
    path = project / "base.json"
    document = json.loads(path.read_text())
    path.write_bytes(b"\xef\xbb\xbf" + json.dumps(document, indent=4).replace("\n", "\r\n").encode())
    assert lint(project, "tools.json").returncode == 0
    write(project / "tools.json", {"tools": [FAULTY_TOOL]})
    done = lint(project, "tools.json", "--select", "SCH-001")
    assert "base.json:" in done.stderr
    number = int(done.stderr.split(":")[2])
    assert path.read_bytes().split(b"\n")[number - 1].strip() == b"{"


def test_a_severity_of_ones_own_changes_no_identity(project: Path) -> None:
    (project / "mcproof.toml").write_text('[severity]\nall = "error"\n')
    done = lint(project, "tools.json")
    assert (done.returncode, done.stderr) == (0, "")


# --- from where ---------------------------------------------------------------------------------------------------


def test_it_works_from_any_working_directory(project: Path) -> None:
    above, name = project.parent, project.name
    assert lint(above, f"{name}/tools.json", baseline=f"{name}/base.json").returncode == 0
    below = project / "below"
    below.mkdir()
    assert lint(below, "../tools.json", baseline="../base.json").returncode == 0
    assert lint(above, str(project / "tools.json"), baseline=str(project / "base.json")).returncode == 0


def test_an_update_from_another_working_directory_changes_nothing(project: Path) -> None:
    before = (project / "base.json").read_bytes()
    below = project / "below"
    below.mkdir()
    told = accept(below, "lint", "--ruleset", RULESETS, "../tools.json", baseline="../base.json")
    assert "0 new, 0 gone" in told
    assert (project / "base.json").read_bytes() == before


def test_a_baseline_in_another_folder_names_its_targets_from_there(project: Path) -> None:
    (project / "ci").mkdir()
    accept(project, "lint", "tools.json", baseline="ci/base.json")
    assert {entry["target"] for entry in entries(project / "ci" / "base.json")} == {"../tools.json"}
    assert lint(project / "ci", "../tools.json", "--select", "grade").returncode == 0


def test_a_project_that_moves_takes_its_baseline_with_it(project: Path) -> None:
    moved = project.with_name("moved")
    project.rename(moved)
    assert lint(moved, "tools.json").returncode == 0


@pytest.mark.skipif(sys.platform == "win32", reason="symbolic links")
def test_a_folder_that_is_named_through_a_link_is_the_same_folder(project: Path) -> None:
    """As where a system has its temporary folder behind a link: the working directory is real, what is typed is not."""
    link = project.with_name("link")
    link.symlink_to(project)
    for target, baseline in (
        (str(link / "tools.json"), "base.json"),
        ("tools.json", str(link / "base.json")),
        (str(link / "tools.json"), str(link / "base.json")),
    ):
        done = lint(project, target, baseline=baseline)
        assert (done.returncode, done.stderr) == (0, ""), (target, baseline)


@pytest.mark.skipif(sys.platform == "win32", reason="symbolic links")
def test_a_link_below_the_baseline_keeps_its_name(tmp_path: Path) -> None:
    """`current` leads to the newest release, whichever that is."""
    for release in ("one", "two"):
        (tmp_path / release).mkdir()
        write(tmp_path / release / "tools.json", [FAULTY_TOOL])
    (tmp_path / "current").symlink_to("one")
    accept(tmp_path, "lint", "current/tools.json")
    (tmp_path / "current").unlink()
    (tmp_path / "current").symlink_to("two")
    assert lint(tmp_path, "current/tools.json", "--select", "grade").returncode == 0


@pytest.mark.skipif(sys.platform == "win32", reason="symbolic links")
def test_an_update_through_a_link_keeps_the_link(project: Path) -> None:
    (project / "link.json").symlink_to("base.json")
    write(project / "tools.json", [CLEAN_TOOL])
    accept(project, "lint", "tools.json", "--ruleset", RULESETS, baseline="link.json")
    assert (project / "link.json").is_symlink()
    assert entries(project / "base.json") == []


def test_standard_input_is_a_target_of_its_own(project: Path) -> None:
    text = (project / "tools.json").read_text()
    assert run("lint", "-", "--baseline", "base.json", stdin=text, cwd=project).returncode == 1
    done = run("lint", "-", "--baseline", "base.json", "--update-baseline", stdin=text, cwd=project)
    assert done.returncode == 0
    assert rules_of(project / "base.json", "<stdin>") == FOUND
    assert run("lint", "-", "--baseline", "base.json", stdin=text, cwd=project).returncode == 0
    assert run("lint", "-", "--baseline", "base.json", stdin=json.dumps([CLEAN_TOOL]), cwd=project).returncode == 1


def test_standard_input_is_never_gone(project: Path) -> None:
    text = (project / "tools.json").read_text()
    run("lint", "-", "--baseline", "base.json", "--update-baseline", stdin=text, cwd=project)
    accept(project, "lint", "--ruleset", RULESETS, "tools.json")
    assert rules_of(project / "base.json", "<stdin>") == FOUND


@pytest.mark.skipif(sys.platform != "linux", reason="file names of any bytes")
def test_a_name_that_is_no_text_is_accepted_all_the_same(tmp_path: Path) -> None:
    name = os.fsdecode(b"caf\xe9 \xe2\x80\xa8.json")
    write(tmp_path / name, [FAULTY_TOOL])
    accept(tmp_path, "lint", name)
    assert lint(tmp_path, name, "--select", "grade").returncode == 0
    (tmp_path / "base.json").read_text(encoding="ascii")


# --- updating -----------------------------------------------------------------------------------------------------


def test_an_update_tells_how_much_came_and_went(project: Path) -> None:
    count = len(entries(project / "base.json"))
    told = accept(project, "lint", "--ruleset", RULESETS, "tools.json")
    assert told == f"mcproof: base.json: {count} findings accepted, 0 new, 0 gone\n"
    write(project / "tools.json", [{**CLEAN_TOOL, "description": ""}])
    told = accept(project, "lint", "--ruleset", RULESETS, "tools.json")
    assert told == f"mcproof: base.json: 2 findings accepted, 2 new, {count} gone\n"


def test_two_updates_write_the_same_bytes(project: Path) -> None:
    before = (project / "base.json").read_bytes()
    accept(project, "lint", "--ruleset", RULESETS, "tools.json")
    assert (project / "base.json").read_bytes() == before


def test_an_update_accepts_whatever_fails_otherwise(project: Path) -> None:
    (project / "base.json").unlink()
    done = run("lint", "tools.json", "--fail-on", "note", "--baseline", "base.json", "--update-baseline", cwd=project)
    assert done.returncode == 0
    assert rules_of(project / "base.json") == FOUND


def test_an_update_keeps_what_it_did_not_look_at(project: Path) -> None:
    write(project / "other.json", [FAULTY_TOOL])
    accept(project, "lint", "other.json")
    assert rules_of(project / "base.json", "other.json") == FOUND
    write(project / "tools.json", [CLEAN_TOOL])
    accept(project, "lint", "tools.json", "--select", "SCH-001,SCH-002")
    left = rules_of(project / "base.json", "tools.json")
    assert "SCH-001" not in left
    assert {"SCH-003", *GRADE} <= set(left)
    assert rules_of(project / "base.json", "other.json") == FOUND


def test_an_update_drops_a_target_that_is_gone(project: Path) -> None:
    shutil.copy(project / "tools.json", project / "other.json")
    accept(project, "lint", "other.json")
    (project / "other.json").unlink()
    accept(project, "lint", "--ruleset", RULESETS, "tools.json")
    assert {entry["target"] for entry in entries(project / "base.json")} == {"tools.json"}


def test_nothing_is_updated_where_a_target_cannot_be_read(project: Path) -> None:
    before = (project / "base.json").read_bytes()
    write(project / "other.json", [FAULTY_TOOL])
    (project / "tools.json").write_text("{")
    done = run("lint", "other.json", "tools.json", "--baseline", "base.json", "--update-baseline", cwd=project)
    assert done.returncode == 2
    assert "base.json: not updated" in done.stderr
    assert (project / "base.json").read_bytes() == before


def test_nothing_is_updated_where_an_output_cannot_be_written(project: Path) -> None:
    before = (project / "base.json").read_bytes()
    write(project / "tools.json", [CLEAN_TOOL])
    arguments = ("--baseline", "base.json", "--update-baseline", "--output", "html:/dev/full")
    assert run("lint", "tools.json", *arguments, cwd=project).returncode == 2
    assert (project / "base.json").read_bytes() == before


def test_an_update_keeps_the_entries_of_a_file_that_holds_no_catalog_now(project: Path) -> None:
    before = entries(project / "base.json")
    write(project / "other.json", [CLEAN_TOOL])
    write(project / "tools.json", {"name": "package"})
    done = run("lint", ".", "--baseline", "base.json", "--update-baseline", cwd=project)
    assert done.returncode == 0
    assert entries(project / "base.json") == before


def test_a_gate_that_is_not_met_fails_an_update_which_is_written_all_the_same(project: Path) -> None:
    (project / "base.json").unlink()
    arguments = ("grade", "tools.json", "--baseline", "base.json", "--update-baseline")
    assert run(*arguments, "--min-grade", "A", cwd=project).returncode == 1
    assert "tool-no-description" in rules_of(project / "base.json")
    assert run(*arguments, "--min-grade", "F", cwd=project).returncode == 0


def test_an_update_needs_a_file(project: Path) -> None:
    assert "--update-baseline needs a file" in fails("lint", "tools.json", "--update-baseline", cwd=project)


def test_an_update_writes_the_file_of_each_targets_own_configuration(tmp_path: Path) -> None:
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        write(tmp_path / name / "tools.json", [FAULTY_TOOL])
        (tmp_path / name / "mcproof.toml").write_text('baseline = "known.json"\n')
    done = run("lint", "one/tools.json", "two/tools.json", "--update-baseline", cwd=tmp_path)
    assert done.returncode == 0, done
    for name in ("one", "two"):
        assert {entry["target"] for entry in entries(tmp_path / name / "known.json")} == {"tools.json"}
    assert run("lint", "one", "two", cwd=tmp_path).returncode == 0


def test_an_update_is_refused_where_one_target_has_no_file_for_it(project: Path) -> None:
    (project / "sub").mkdir()
    write(project / "sub" / "tools.json", [FAULTY_TOOL])
    (project / "sub" / "mcproof.toml").write_text('baseline = "known.json"\n')
    told = fails("lint", "sub/tools.json", "tools.json", "--update-baseline", cwd=project)
    assert "--update-baseline needs a file" in told
    assert not (project / "sub" / "known.json").exists()


def test_two_configurations_can_share_one_file(tmp_path: Path) -> None:
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        write(tmp_path / name / "tools.json", [FAULTY_TOOL])
    (tmp_path / "one" / "mcproof.toml").write_text('baseline = "../known.json"\n')
    (tmp_path / "two" / "mcproof.toml").write_text('baseline = "../one/../known.json"\n')
    targets = ("one/tools.json", "two/tools.json")
    for _ in range(2):
        accept(tmp_path, "lint", *targets, baseline="known.json")  # by its name: it is outside both folders
        assert {entry["target"] for entry in entries(tmp_path / "known.json")} == set(targets)
    assert run("lint", *targets, cwd=tmp_path).returncode == 0


# --- commands, reports, folders -----------------------------------------------------------------------------------


def test_what_is_accepted_still_costs_points(project: Path) -> None:
    bare = document_of(run("grade", "tools.json", "--format", "json", cwd=project), "grade")
    accepted = run("grade", "tools.json", "--format", "json", "--baseline", "base.json", cwd=project)
    assert accepted.returncode == 0
    document = document_of(accepted, "grade")
    assert (document["score"], document["rules"]) == (bare["score"], bare["rules"])
    assert document["findings"] == []
    assert bare["score"] < 100


def test_a_gate_fails_whatever_was_accepted(project: Path) -> None:
    assert run("grade", "tools.json", "--baseline", "base.json", "--min-grade", "A", cwd=project).returncode == 1


def test_schema_lint_accepts_too_and_fixes_all_the_same(project: Path) -> None:
    assert run("schema-lint", "tools.json", cwd=project).returncode == 1
    assert run("schema-lint", "tools.json", "--baseline", "base.json", cwd=project).returncode == 0
    done = run("schema-lint", "tools.json", "--baseline", "base.json", "--fix", "--write", cwd=project)
    assert done.returncode == 0
    fixed = json.loads((project / "tools.json").read_text())["tools"]
    assert all(tool["inputSchema"]["additionalProperties"] is False for tool in fixed)


def test_commands_share_a_baseline_without_calling_each_others_entries_gone(project: Path) -> None:
    for command in ("lint", "schema-lint", "grade"):
        done = run(command, "tools.json", "--baseline", "base.json", cwd=project)
        assert (done.returncode, done.stderr) == (0, ""), command


def test_the_run_report_says_which_line_accepted_what(project: Path) -> None:
    report = report_of(project, "lint", "tools.json", "--ruleset", RULESETS, "--baseline", "base.json")
    (target,) = report["targets"]
    assert (target["passed"], target["findings"]) == (True, [])
    lines = (project / "base.json").read_text().splitlines()
    for finding in target["suppressed"]:
        suppression = finding["suppression"]
        assert (suppression["by"], suppression["reason"], suppression["file"]) == ("baseline", None, "base.json")
        assert finding["fingerprint"] in lines[suppression["line"] - 1]
    assert len(target["suppressed"]) == target["summary"]["suppressed"] > 0


def test_the_run_report_of_an_update_holds_everything_as_accepted(project: Path) -> None:
    (project / "base.json").unlink()
    report = report_of(project, "lint", "tools.json", "--baseline", "base.json", "--update-baseline")
    (target,) = report["targets"]
    assert target["findings"] == []
    assert {each["rule"] for each in target["suppressed"]} == set(FOUND)


def test_the_run_report_holds_what_is_gone(project: Path) -> None:
    write(project / "tools.json", [CLEAN_TOOL])
    report = report_of(project, "lint", "tools.json", "--baseline", "base.json")
    assert {notice["kind"] for notice in report["notices"]} == {"stale-baseline"}
    assert report["exit_code"] == 1


def test_a_folder_may_hold_its_own_baseline_and_other_json(project: Path) -> None:
    write(project / "package.json", {"name": "package"})
    write(project / "clean.json", [CLEAN_TOOL])
    done = lint(project, ".")
    assert done.returncode == 0
    assert done.stderr == "mcproof: skipped package.json (not a catalog)\n"


# --- what cannot be read or written -------------------------------------------------------------------------------

ENTRY = {"target": "tools.json", "rule": "SCH-001", "subject": "tool:x", "pointer": "", "fingerprint": "0" * 16}


def _document(**members: Any) -> bytes:
    return json.dumps({"schema_version": 1, "kind": "baseline", "entries": [], **members}).encode()


BAD = {
    "empty": (b"", "not JSON"),
    "cut": (_document()[:-5], "not JSON"),
    "conflict": (b"<<<<<<< HEAD\n" + _document(), "not JSON"),
    "nested": (b"[" * 200_000, "nested too deeply"),
    "latin": (b'{"kind": "caf\xe9"}', "not UTF-8"),
    "wide": ("\ufeff{}".encode("utf-16-le"), "not UTF-8"),
    "foreign": (b'{"name": "package", "version": "1.0.0"}', "not a baseline"),
    "list": (b"[]", "not a baseline"),
    "snapshot": (json.dumps({"tools": [FAULTY_TOOL]}).encode(), "not a baseline"),
    "newer": (_document(schema_version=2), "baseline of version 2; this mcproof reads version 1"),
    "boolean version": (_document(schema_version=True), "baseline of an unknown version"),
    "huge version": (b'{"kind": "baseline", "schema_version": ' + b"9" * 5_000 + b"}", "of an unknown version"),
    "long version": (_document(schema_version="x" * 10_000), "baseline of an unknown version"),
    "no entries": (b'{"schema_version": 1, "kind": "baseline"}', "damaged baseline"),
    "entries no list": (_document(entries={}), "damaged baseline"),
    "entry no object": (_document(entries=["x"]), "damaged baseline: entry 1"),
    "entry without rule": (_document(entries=[ENTRY, {**ENTRY, "rule": None}]), "damaged baseline: entry 2"),
}


@pytest.mark.parametrize("update", [(), ("--update-baseline",)], ids=["read", "update"])
@pytest.mark.parametrize("name", BAD)
def test_what_is_no_baseline_is_refused_and_left_alone(project: Path, name: str, update: tuple[str, ...]) -> None:
    data, told = BAD[name]
    (project / "base.json").write_bytes(data)
    line = fails("lint", "tools.json", "--baseline", "base.json", *update, cwd=project)
    assert line.startswith("mcproof: base.json:")
    assert told in line
    assert len(line) < 300
    assert (project / "base.json").read_bytes() == data


@pytest.mark.parametrize("name", ["foreign", "newer", "no entries", "cut"])
def test_a_machine_is_told_once_that_the_baseline_is_none(project: Path, name: str) -> None:
    shutil.copy(project / "tools.json", project / "other.json")
    (project / "base.json").write_bytes(BAD[name][0])
    error = error_of("lint", "tools.json", "other.json", "--baseline", "base.json", "--format", "json", cwd=project)
    assert error["file"] == "base.json"


@pytest.mark.parametrize("command", ["lint", "schema-lint", "grade"])
def test_a_baseline_that_is_not_there_is_told_once_however_many_targets(project: Path, command: str) -> None:
    shutil.copy(project / "tools.json", project / "other.json")
    line = fails(command, "tools.json", "other.json", "--baseline", "none.json", cwd=project)
    assert line == "mcproof: none.json: no such baseline; `--update-baseline` creates it\n"


def test_a_baseline_of_the_configuration_that_is_not_there_is_an_error(project: Path) -> None:
    (project / "mcproof.toml").write_text('baseline = "none.json"\n')
    assert "no such baseline" in fails("lint", "tools.json", cwd=project)


def test_a_fix_is_not_begun_where_the_baseline_of_a_later_target_is_none(project: Path) -> None:
    (project / "sub").mkdir()
    shutil.copy(project / "tools.json", project / "sub" / "tools.json")
    (project / "sub" / "mcproof.toml").write_text('baseline = "none.json"\n')
    before = (project / "tools.json").read_bytes()
    assert "no such baseline" in fails("schema-lint", "tools.json", "sub", "--fix", "--write", cwd=project)
    assert (project / "tools.json").read_bytes() == before


@pytest.mark.parametrize("update", [(), ("--update-baseline",)], ids=["read", "update"])
def test_a_baseline_that_is_a_folder_is_refused(project: Path, update: tuple[str, ...]) -> None:
    (project / "folder").mkdir()
    line = fails("lint", "tools.json", "--baseline", "folder", *update, cwd=project)
    assert line.startswith("mcproof: folder: cannot be read")


def test_an_empty_name_is_not_taken_for_no_baseline(project: Path) -> None:
    (project / "mcproof.toml").write_text('baseline = "base.json"\n')
    assert "no such baseline" in fails("lint", "tools.json", "--baseline", "", cwd=project)


def test_a_read_only_baseline_stays_as_it_is(project: Path) -> None:
    path = project / "base.json"
    before = path.read_bytes()
    path.chmod(0o444)
    write(project / "tools.json", [CLEAN_TOOL])
    arguments = ("lint", "tools.json", "--baseline", "base.json", "--update-baseline")
    done = run(*arguments, cwd=project)
    assert done.returncode == 2
    assert done.stderr == "mcproof: base.json: is read-only; nothing was written\n"
    assert error_of(*arguments, "--format", "json", cwd=project)["file"] == "base.json"
    assert path.read_bytes() == before
    assert lint(project, "tools.json", "--select", "CAT-001").returncode == 0


def test_an_update_into_a_folder_that_is_not_there_is_refused(project: Path) -> None:
    done = run("lint", "tools.json", "--baseline", "none/base.json", "--update-baseline", cwd=project)
    assert done.returncode == 2
    assert done.stderr.startswith("mcproof: none/base.json: cannot be written")


def test_an_update_leaves_nothing_but_the_file_behind(project: Path) -> None:
    assert sorted(path.name for path in project.iterdir()) == ["base.json", "tools.json"]


@pytest.mark.parametrize("option", [("--report", "base.json"), ("--output", "json:./base.json")], ids=" ".join)
@pytest.mark.parametrize("source", ["command line", "configuration"])
def test_no_report_takes_the_place_of_the_baseline(project: Path, option: tuple[str, str], source: str) -> None:
    before = (project / "base.json").read_bytes()
    (project / "mcproof.toml").write_text('baseline = "base.json"\n' if source == "configuration" else "")
    named = () if source == "configuration" else ("--baseline", "base.json")
    for update in ((), ("--update-baseline",)):
        assert "is the baseline" in fails("lint", "tools.json", *named, *update, *option, cwd=project)
    assert (project / "base.json").read_bytes() == before


def test_an_update_prints_the_document_that_was_asked_for(project: Path) -> None:
    (project / "base.json").unlink()
    done = run("lint", "tools.json", "--baseline", "base.json", "--update-baseline", "--format", "json", cwd=project)
    document = document_of(done, "lint")
    assert document["findings"] == []
    assert document["summary"]["suppressed"] == len(entries(project / "base.json"))


def test_entries_with_names_that_no_file_can_have_do_no_harm(project: Path) -> None:
    odd = [{**ENTRY, "target": target} for target in ("a\0b", "\ud800", "x" * 5_000, "tools.json/below", "")]
    document = json.loads((project / "base.json").read_text())
    document["entries"] += odd
    (project / "base.json").write_text(json.dumps(document))
    assert lint(project, "tools.json").returncode == 0
    accept(project, "lint", "--ruleset", RULESETS, "tools.json")
    assert {entry["target"] for entry in entries(project / "base.json")} <= {"tools.json", "x" * 5_000}


@pytest.mark.skipif(sys.platform == "win32", reason="signals and pipes of POSIX")
def test_an_interrupted_update_writes_nothing(project: Path) -> None:
    before = (project / "base.json").read_bytes()
    write(project / "tools.json", [CLEAN_TOOL])
    os.mkfifo(project / "slow.json")
    arguments = ["lint", "tools.json", "slow.json", "--baseline", "base.json", "--update-baseline"]
    process = subprocess.Popen(
        [*COMMAND, *arguments],
        cwd=project,
        env=environment(),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    with open(project / "slow.json", "wb"):  # opens as soon as mcproof does, which has read the first target then
        process.send_signal(signal.SIGINT)
        _, told = process.communicate(timeout=TIMEOUT)
    assert process.returncode == 130
    assert told.splitlines() == [
        "mcproof: interrupted after 1 of 2 targets",
        "mcproof: base.json: not updated, as not all targets were checked",
    ]
    assert (project / "base.json").read_bytes() == before


def test_updates_at_the_same_time_leave_one_of_them_whole(tmp_path: Path) -> None:
    names = [f"tools{number}.json" for number in range(4)]
    for number, name in enumerate(names):
        write(tmp_path / name, [{**FAULTY_TOOL, "name": f"tool_{each}"} for each in range(50 * (number + 1))])
    running = [
        subprocess.Popen(
            [*COMMAND, "lint", name, "--baseline", "base.json", "--update-baseline", "--format", "concise"],
            cwd=tmp_path,
            env=environment(),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
        )
        for name in names
    ]
    assert [process.communicate(timeout=TIMEOUT)[1][:7] for process in running] == [b"mcproof"] * 4
    assert [process.returncode for process in running] == [0] * 4
    accepted = {entry["target"] for entry in entries(tmp_path / "base.json")}
    assert accepted
    assert accepted <= set(names)
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted(["base.json", *names])


def test_a_new_reference_in_a_tool_that_has_an_accepted_one_is_new(tmp_path: Path) -> None:
    """One finding sums up a tool; it is known by all that it sums up."""
    schema: dict[str, Any] = {"type": "object", "properties": {"a": {"$ref": "#/nowhere"}}}
    tool = {**CLEAN_TOOL, "inputSchema": schema}
    target = write(tmp_path / "tools.json", [tool])
    baseline = ("--baseline", str(tmp_path / "base.json"), "--select", "trust", "--fail-on", "note")
    assert run("lint", target, *baseline, "--update-baseline").returncode == 0
    assert run("lint", target, *baseline).returncode == 0
    schema["properties"]["b"] = {"$ref": "http://evil.example/x.json"}
    write(tmp_path / "tools.json", [tool])
    done = run("lint", target, *baseline)
    assert done.returncode == 1
    assert "(and 1 more)" in done.stdout

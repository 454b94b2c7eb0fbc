"""Several targets, folders of snapshots, standard input, and runs that must not differ."""

from __future__ import annotations

import json
import shutil
from typing import TYPE_CHECKING

import pytest

from .running import CLEAN_TOOL, FAULTY_TOOL, LOOSE_TOOL, document_of, fails, run, run_process_bytes, write

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Two snapshots, one of them with an error."""
    path = tmp_path / "catalogs"
    path.mkdir()
    write(path / "b_faulty.json", [FAULTY_TOOL])
    write(path / "a_clean.json", [CLEAN_TOOL])
    (path / "README.md").write_text("not JSON, and nobody asked for it")
    return path


def test_a_folder_stands_for_its_snapshots_in_the_order_of_their_names(folder: Path) -> None:
    done = run("lint", str(folder), "--format", "json")
    assert done.returncode == 1
    assert done.stderr == ""
    targets = document_of(done, "lint")["targets"]
    assert [entry["target"] for entry in targets] == [str(folder / "a_clean.json"), str(folder / "b_faulty.json")]


def test_a_folder_of_one_gives_the_form_for_several(folder: Path) -> None:
    (folder / "b_faulty.json").unlink()
    assert len(document_of(run("grade", str(folder), "--format", "json"), "grade")["targets"]) == 1


def test_text_tells_apart_whose_findings_they_are(folder: Path) -> None:
    text = " ".join(run("lint", str(folder)).stdout.split())  # long names are on lines of their own
    assert f"no findings in 1 tool of {folder / 'a_clean.json'}" in text
    assert f"in 1 tool of {folder / 'b_faulty.json'}" in text


def test_grade_gives_each_of_several_a_line(folder: Path) -> None:
    done = run("grade", str(folder))
    assert done.returncode == 1
    *lines, verdict = done.stdout.splitlines()
    assert [line.split()[0] for line in lines] == ["A", "C"]
    assert lines[0].endswith(str(folder / "a_clean.json"))
    assert lines[1].endswith(f"{folder / 'b_faulty.json'}  failed: 1 error (gate: errors)")
    assert verdict.startswith("✗ failed: 1 of 2 targets; 1 error (gate: errors)")


def test_a_gate_applies_to_each_of_several(folder: Path) -> None:
    done = run("grade", str(folder), "--min-grade", "B", "--fail-on", "never")
    assert done.returncode == 1
    clean, faulty, verdict = done.stdout.splitlines()
    assert "at least B" not in clean
    assert "at least B" in faulty
    assert verdict.startswith("✗ failed: 1 of 2 targets; 1 below the required grade")


@pytest.mark.parametrize("other", ["{}", '{"name": "my-package", "version": "1.0.0"}', "[1, 2]", '"text"', "null"])
@pytest.mark.parametrize("command", ["lint", "schema-lint", "grade"])
def test_json_in_a_folder_that_is_no_catalog_is_passed_over_with_a_notice(
    folder: Path, other: str, command: str
) -> None:
    (folder / "b_faulty.json").unlink()
    (folder / "package.json").write_text(other)
    done = run(command, str(folder))
    assert done.returncode == 0
    assert done.stderr == f"mcproof: skipped {folder / 'package.json'} (not a catalog)\n"
    assert str(folder / "a_clean.json") in done.stdout


def test_a_client_config_in_a_folder_does_not_fail_the_others(folder: Path) -> None:
    """A folder stands for the snapshots in it, and a client config is none."""
    (folder / "b_faulty.json").unlink()
    write(folder / "mcp.json", {"mcpServers": {"local": {"command": "rm"}}})
    done = run("lint", str(folder))
    assert done.returncode == 0
    assert str(folder / "mcp.json") in done.stderr


def test_the_same_json_named_by_itself_is_an_error(folder: Path) -> None:
    (folder / "package.json").write_text("{}")
    assert "not a catalog" in fails("lint", str(folder / "package.json"))


@pytest.mark.parametrize("command", ["lint", "schema-lint", "grade"])
def test_a_broken_file_in_a_folder_fails_and_hides_nobody(folder: Path, command: str) -> None:
    (folder / "a_broken.json").write_text("{")
    done = run(command, str(folder))
    assert done.returncode == 2
    assert len(done.stderr.splitlines()) == 1
    assert str(folder / "a_broken.json") in done.stderr
    for name in ("a_clean.json", "b_faulty.json"):
        assert str(folder / name) in done.stdout


def test_a_broken_file_in_a_folder_is_an_entry_in_json(folder: Path) -> None:
    broken = folder / "a_broken.json"
    broken.write_text("{")
    targets = document_of(run("lint", str(folder), "--format", "json"), "lint")["targets"]
    assert ["error" in entry for entry in targets] == [True, False, False]
    assert targets[0]["target"] == str(broken)


def test_exit_code_2_wins_over_findings_whatever_comes_first(folder: Path, tmp_path: Path) -> None:
    faulty, missing = str(folder / "b_faulty.json"), str(tmp_path / "missing.json")
    assert run("lint", faulty, missing).returncode == 2
    assert run("lint", missing, faulty).returncode == 2


def test_a_folder_without_a_snapshot_has_nothing_to_check(tmp_path: Path) -> None:
    assert "nothing to check" in fails("lint", str(tmp_path))
    (tmp_path / "package.json").write_text("{}")
    done = run("lint", str(tmp_path))
    assert done.returncode == 2
    assert "nothing to check" in done.stderr
    assert (
        "nothing to check" in document_of(run("lint", str(tmp_path), "--format", "json"), "error")["error"]["message"]
    )


@pytest.mark.parametrize("option", [("--fix", "--write"), ("--diff",)], ids=" ".join)
def test_a_fix_of_a_folder_without_a_snapshot_has_nothing_to_do(tmp_path: Path, option: tuple[str, ...]) -> None:
    (tmp_path / "package.json").write_text("{}")
    done = run("schema-lint", str(tmp_path), *option)
    assert done.returncode == 2
    assert "nothing to check" in done.stderr


def test_an_empty_folder_does_not_hide_the_other_targets(folder: Path, tmp_path: Path) -> None:
    empty = tmp_path / "empty"
    empty.mkdir()
    done = run("lint", str(folder / "a_clean.json"), str(empty))
    assert done.returncode == 2
    assert "no findings in 1 tool" in done.stdout
    assert str(empty) in done.stderr


def test_a_target_named_twice_is_checked_once(folder: Path) -> None:
    name = str(folder / "b_faulty.json")
    once, twice = (run("lint", *targets, "--format", "concise") for targets in ([name], [name, name]))
    assert once.stdout == twice.stdout


def test_a_file_is_called_what_the_user_calls_it(folder: Path) -> None:
    done = run("lint", "catalogs/b_faulty.json", "--format", "concise", cwd=folder.parent)
    assert all(line.startswith("catalogs/b_faulty.json:") for line in done.stdout.splitlines())


@pytest.mark.parametrize("command", ["lint", "schema-lint", "grade"])
def test_standard_input_is_read(command: str) -> None:
    assert run(command, "-", stdin=json.dumps({"tools": [CLEAN_TOOL]})).returncode == 0
    done = run(command, "-", stdin=json.dumps([FAULTY_TOOL]))
    assert done.returncode == 1
    assert "<stdin>" in done.stdout


def test_standard_input_is_one_of_several(folder: Path) -> None:
    done = run("grade", "-", str(folder), stdin=json.dumps([FAULTY_TOOL]))
    assert len(done.stdout.splitlines()) == 4


def test_nothing_on_standard_input_is_an_empty_document() -> None:
    assert "the input is empty" in fails("lint", "-")


@pytest.mark.parametrize("command", ["lint", "grade"])
def test_a_hint_for_standard_input_is_a_command_that_works(command: str) -> None:
    """A shell reads `<stdin>` as a redirection from a file called stdin."""
    done = run(command, "-", *(["--ruleset", "strict"] if command == "lint" else []), stdin=json.dumps([LOOSE_TOOL, 1]))
    hints = [line for line in done.stdout.splitlines() if "mcproof " in line]
    assert not any("<stdin>" in hint for hint in hints)


@pytest.mark.slow
@pytest.mark.parametrize(
    "arguments",
    [
        ("lint", "--ruleset", "all"),
        ("lint", "--ruleset", "all", "--format", "json"),
        ("lint", "--format", "concise"),
        ("grade",),
        ("grade", "--format", "json"),
        ("schema-lint", "--diff"),
    ],
    ids=" ".join,
)
def test_two_runs_print_the_same_bytes_whatever_the_hash_seed(folder: Path, arguments: tuple[str, ...]) -> None:
    tools = [FAULTY_TOOL, LOOSE_TOOL, FAULTY_TOOL, None, 7]
    union = {"anyOf": [{"type": ["string", "array"]}, {"$ref": "#/nowhere"}], "description": "One of several."}
    tools.append({**CLEAN_TOOL, "name": "a/b", "inputSchema": {"type": "object", "properties": {"q": union}}})
    write(folder / "c_mixed.json", {"initialize": {}, "tools": tools, "prompts": [{}, {"name": "p"}]})
    runs = [
        run_process_bytes(*arguments, str(folder), env={"PYTHONHASHSEED": seed}) for seed in ("0", "0", "1", "12345")
    ]
    assert len({(done.returncode, done.stdout, done.stderr) for done in runs}) == 1
    assert runs[0].stdout


@pytest.mark.slow
def test_rules_and_explain_print_the_same_bytes_whatever_the_hash_seed() -> None:
    for arguments in (["rules"], ["rules", "--format", "json"], ["explain", "SCH-001"]):
        runs = [run_process_bytes(*arguments, env={"PYTHONHASHSEED": seed}) for seed in ("1", "2")]
        assert runs[0].stdout == runs[1].stdout


def test_a_file_name_that_is_no_unicode_is_read(folder: Path) -> None:
    name = bytes(folder / "b_faulty.json").replace(b"b_faulty", b"\xff\xfe")
    try:
        shutil.copy(bytes(folder / "b_faulty.json"), name)
    except OSError:
        pytest.skip("this file system has no such names")
    done = run("lint", str(folder), "--format", "concise")
    assert done.returncode == 1
    assert "\\udcff\\udcfe.json:" in done.stdout
    document_of(run("lint", str(folder), "--format", "json"), "lint")

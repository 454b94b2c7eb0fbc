"""`schema-lint --fix`: what is printed where, what is written, and what is refused."""

from __future__ import annotations

import json
import os
import stat
from typing import TYPE_CHECKING

import pytest

from mcproof.cli.main import main

from .running import CLEAN_TOOL, FAULTY_TOOL, LOOSE_TOOL, document_of, fails, run, run_bytes, write

if TYPE_CHECKING:
    from pathlib import Path

LOOSE = (
    b'{ "tools": [\r\n\t{"name":"a\\u0062", "description" : "\xc3\xa9",'
    b' "inputSchema":{"type":"object", "properties": {"x":{}}}}\r\n]}'
)
TIGHT = LOOSE.replace(b'{"x":{}}', b'{"x":{}}, "required": ["x"], "additionalProperties": false')


@pytest.fixture
def loose(tmp_path: Path) -> Path:
    path = tmp_path / "loose.json"
    write(path, {"tools": [LOOSE_TOOL]})
    return path


@pytest.fixture
def faulty(tmp_path: Path) -> Path:
    path = tmp_path / "faulty.json"
    write(path, {"tools": [FAULTY_TOOL]})
    return path


def test_fix_prints_the_tightened_catalog_and_leaves_the_file_alone(loose: Path) -> None:
    before = loose.read_bytes()
    done = run("schema-lint", str(loose), "--fix")
    assert done.returncode == 0
    schema = json.loads(done.stdout)["tools"][0]["inputSchema"]
    assert schema["required"] == ["shelf", "limit"]
    assert schema["additionalProperties"] is False
    assert loose.read_bytes() == before


def test_fix_keeps_every_other_byte(tmp_path: Path) -> None:
    path = tmp_path / "odd.json"
    path.write_bytes(LOOSE)
    assert run_bytes("schema-lint", str(path), "--fix").stdout == TIGHT
    assert run_bytes("schema-lint", "-", "--fix", stdin=LOOSE).stdout == TIGHT
    run_bytes("schema-lint", str(path), "--fix", "--write")
    assert path.read_bytes() == TIGHT


def test_fix_does_not_require_a_parameter_that_accepts_no_value(tmp_path: Path) -> None:
    properties = {"shelf": {"type": "string"}, "aisle": False, "row": {"not": {}}}
    tool = {"name": "a", "inputSchema": {"type": "object", "properties": properties}}
    done = run("schema-lint", write(tmp_path / "a.json", {"tools": [tool]}), "--fix")
    assert json.loads(done.stdout)["tools"][0]["inputSchema"]["required"] == ["shelf"]


def test_fix_twice_changes_nothing_more(loose: Path) -> None:
    once = run_bytes("schema-lint", str(loose), "--fix").stdout
    assert run_bytes("schema-lint", "-", "--fix", stdin=once).stdout == once


def test_fix_warns_how_many_parameters_become_required_before_it_writes(loose: Path) -> None:
    warning, summary = run("schema-lint", str(loose), "--fix").stderr.splitlines()
    assert warning == (
        f"mcproof: {loose}: 2 optional parameters become required: breaking for callers that omit them; "
        "--keep-optional leaves out those with a default or that may be null"
    )
    assert "fixed 2 findings" in summary
    dry, *_, verdict = run("schema-lint", str(loose), "--diff").stderr.splitlines()
    assert "2 optional parameters would become required: breaking" in dry
    assert verdict.startswith("mcproof: failed: ")


def test_keep_optional_leaves_out_what_has_a_default(loose: Path) -> None:
    done = run("schema-lint", str(loose), "--fix", "--keep-optional")
    assert done.returncode == 0
    assert json.loads(done.stdout)["tools"][0]["inputSchema"]["required"] == ["shelf"]
    assert "1 optional parameter becomes required: breaking for callers that omit it\n" in done.stderr


def test_keep_optional_leaves_out_what_may_be_null() -> None:
    properties = {
        "a": {"type": ["string", "null"]},
        "b": {"anyOf": [{"type": "string"}, {"type": "null"}]},
        "c": {"enum": ["x", None]},
        "d": {"type": "string"},
    }
    tool = {"name": "t", "inputSchema": {"type": "object", "properties": properties}}
    done = run("schema-lint", "-", "--fix", "--keep-optional", stdin=json.dumps([tool]))
    assert json.loads(done.stdout)[0]["inputSchema"]["required"] == ["d"]


def test_the_exit_code_of_fix_is_about_what_is_left(loose: Path, faulty: Path) -> None:
    assert run("schema-lint", str(loose), "--fix").returncode == 0
    done = run("schema-lint", str(faulty), "--fix")
    assert done.returncode == 1
    assert "left for the author: SCH-003 1" in done.stderr
    assert run("schema-lint", str(faulty), "--fix", "--fail-on", "never").returncode == 0


def test_fix_mends_only_the_rules_that_were_selected(loose: Path) -> None:
    done = run("schema-lint", str(loose), "--fix", "--select", "SCH-002")
    schema = json.loads(done.stdout)["tools"][0]["inputSchema"]
    assert "required" not in schema
    assert schema["additionalProperties"] is False


def test_write_replaces_the_file_and_prints_a_warning_and_a_summary_on_standard_error(loose: Path) -> None:
    expected = run_bytes("schema-lint", str(loose), "--fix").stdout
    done = run("schema-lint", str(loose), "--fix", "--write")
    assert done.returncode == 0
    assert done.stdout == ""
    assert len(done.stderr.splitlines()) == 2
    assert loose.read_bytes() == expected
    assert os.listdir(loose.parent) == [loose.name]


def test_write_prints_one_line_also_where_nothing_changes(tmp_path: Path) -> None:
    path = tmp_path / "clean.json"
    write(path, [CLEAN_TOOL])
    before = path.stat()
    done = run("schema-lint", str(path), "--fix", "--write")
    assert (done.returncode, done.stdout, len(done.stderr.splitlines())) == (0, "", 1)
    assert path.stat().st_mtime_ns == before.st_mtime_ns


def test_write_keeps_the_mode_and_a_symbolic_link(loose: Path, tmp_path: Path) -> None:
    loose.chmod(0o640)
    link = tmp_path / "link.json"
    link.symlink_to(loose)
    assert run("schema-lint", str(link), "--fix", "--write").returncode == 0
    assert link.is_symlink()
    assert "required" in loose.read_text()
    assert stat.S_IMODE(loose.stat().st_mode) == 0o640


def test_write_takes_several_files_and_folders(loose: Path, faulty: Path) -> None:
    done = run("schema-lint", str(loose.parent), "--fix", "--write")
    assert done.returncode == 1
    assert done.stdout == ""
    assert len(done.stderr.splitlines()) == 5
    assert done.stderr.splitlines()[-1].startswith("mcproof: failed: 1 of 2 targets; ")
    for path in (loose, faulty):
        assert "additionalProperties" in path.read_text()


def test_write_mends_the_others_where_one_cannot_be_read(loose: Path) -> None:
    broken = loose.parent / "broken.json"
    broken.write_text("{")
    done = run("schema-lint", str(loose.parent), "--fix", "--write")
    assert done.returncode == 2
    assert str(broken) in done.stderr
    assert broken.read_text() == "{"
    assert "additionalProperties" in loose.read_text()


def test_write_tells_which_json_of_a_folder_it_passed_over(loose: Path) -> None:
    other = loose.parent / "other.json"
    other.write_text("{}")
    done = run("schema-lint", str(loose.parent), "--fix", "--write")
    assert done.returncode == 0
    assert f"skipped {other}" in done.stderr


def test_diff_shows_what_would_change_and_changes_nothing(loose: Path) -> None:
    before = loose.read_bytes()
    done = run("schema-lint", str(loose), "--diff")
    assert done.stdout.startswith(f"--- {loose}\n+++ {loose}")
    assert '+        "additionalProperties": false' in done.stdout.splitlines()
    assert loose.read_bytes() == before
    assert "would fix 2 findings" in done.stderr
    assert "became" not in done.stderr, "nothing has become anything yet"


def test_diff_of_a_clean_catalog_is_empty(tmp_path: Path) -> None:
    name = write(tmp_path / "clean.json", [CLEAN_TOOL])
    done = run("schema-lint", name, "--diff")
    assert (done.returncode, done.stdout) == (0, "")


def test_diff_can_be_applied(loose: Path) -> None:
    """What the diff removes and keeps is the old text; what it adds and keeps is the new one."""
    lines = run("schema-lint", str(loose), "--diff").stdout.splitlines(keepends=True)[3:]
    before, after = loose.read_text(), run("schema-lint", str(loose), "--fix").stdout
    assert "".join(line[1:] for line in lines if line[0] in " -") in before
    assert "".join(line[1:] for line in lines if line[0] in " +") in after


@pytest.mark.parametrize(
    ("options", "told"),
    [
        (("--write",), "--write needs --fix"),
        (("--fix", "--write", "--diff"), "--write and --diff exclude each other"),
        (("--write", "--diff"), "--write and --diff exclude each other"),
        (("--keep-optional",), "--keep-optional needs --fix or --diff"),
    ],
    ids=lambda each: " ".join(each) if isinstance(each, tuple) else None,
)
def test_options_that_do_not_fit_together_are_refused(loose: Path, options: tuple[str, ...], told: str) -> None:
    before = loose.read_bytes()
    assert told in fails("schema-lint", str(loose), *options)
    assert loose.read_bytes() == before


def test_fix_prints_one_catalog_only(loose: Path, faulty: Path) -> None:
    line = fails("schema-lint", str(loose), str(faulty), "--fix")
    assert "--write" in line
    assert "--diff" in line


def test_standard_input_cannot_be_written_to() -> None:
    assert "standard input" in fails("schema-lint", "-", "--fix", "--write", stdin=json.dumps([LOOSE_TOOL]))


@pytest.mark.parametrize("option", [("--fix",), ("--fix", "--write"), ("--diff",)], ids=" ".join)
def test_fix_refuses_bad_input_in_one_line(tmp_path: Path, option: tuple[str, ...]) -> None:
    path = tmp_path / "broken.json"
    path.write_text('{"tools": [')
    assert f"{path}:1:" in fails("schema-lint", str(path), *option)
    if "--diff" not in option:  # which refuses the format
        error = document_of(run("schema-lint", str(path), *option, "--format", "json"), "error")["error"]
        assert error["file"] == str(path)


# --- files that cannot be replaced --------------------------------------------------------------------------------


def test_a_read_only_file_is_not_replaced(loose: Path) -> None:
    before = loose.read_bytes()
    loose.chmod(0o444)
    warning, trouble = run("schema-lint", str(loose), "--fix", "--write").stderr.splitlines()
    assert "become required: breaking" in warning  # before anything is written
    assert trouble.startswith(f"mcproof: {loose}: is read-only")
    assert loose.read_bytes() == before
    assert os.listdir(loose.parent) == [loose.name]


def test_a_file_that_is_gone_before_it_is_read_is_told(tmp_path: Path) -> None:
    assert "cannot be read" in fails("schema-lint", str(tmp_path / "gone.json"), "--fix", "--write")


@pytest.mark.parametrize("meanwhile", ["gone", "changed"])
def test_a_file_that_is_not_there_any_more_as_it_was_read_is_left_alone(
    loose: Path, meanwhile: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from mcproof.targets import arguments

    read_bytes = arguments.read_bytes

    def read_then_lose(source: arguments.Input) -> bytes:
        data = read_bytes(source)
        if meanwhile == "gone":
            loose.unlink()
        else:
            loose.write_text("somebody else's work")
        return data

    monkeypatch.setattr(arguments, "read_bytes", read_then_lose)
    assert main(["schema-lint", str(loose), "--fix", "--write"]) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert str(loose) in captured.err.splitlines()[-1]
    assert os.listdir(loose.parent) == ([] if meanwhile == "gone" else [loose.name])
    assert meanwhile == "gone" or loose.read_text() == "somebody else's work"


def test_a_full_disk_leaves_the_original(
    loose: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    before = loose.read_bytes()

    def full(descriptor: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    assert main(["schema-lint", str(loose), "--fix", "--write"]) == 2
    assert "cannot be written: no space left on device" in capsys.readouterr().err
    assert loose.read_bytes() == before
    assert os.listdir(loose.parent) == [loose.name]

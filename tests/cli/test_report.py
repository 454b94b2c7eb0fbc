"""`mcproof report`: a stored run renders as the run itself did, and whatever is no stored run is refused."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from .running import CLEAN_TOOL, FAULTY_TOOL, LOOSE_TOOL, error_of, fails, run, validator, write

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

FORMATS = ("text", "concise", "json", "sarif", "junit", "tap", "github", "gitlab", "markdown")

RUNS = {
    "lint": ("lint", "faulty.json", "--ruleset", "all"),
    "schema-lint": ("schema-lint", "faulty.json"),
    "grade": ("grade", "faulty.json", "--min-grade", "A", "--max-tokens", "5"),
    "several": ("lint", "faulty.json", "clean.json", "broken.json", "missing.json"),
    "several grades": ("grade", "faulty.json", "clean.json", "broken.json"),
    "folder": ("lint", "inner"),
    "clean": ("lint", "clean.json"),
    "nothing changed": ("diff", "clean.json", "clean.json"),
    "diff": ("diff", "old.json", "faulty.json"),
    "missing": ("lint", "missing.json"),
    "diff with nothing": ("diff", "missing.json", "clean.json"),
    "suppressed": ("lint", "inner/faulty.json"),
    "hostile": ("lint", "hostile.json", "--ruleset", "all"),
    "hostile grade": ("grade", "hostile.json"),
}
SCHEMAS = {"schema-lint": "lint"}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    inner = tmp_path / "inner"
    inner.mkdir()
    faulty = [FAULTY_TOOL, LOOSE_TOOL, CLEAN_TOOL]
    for place in (tmp_path, inner):
        write(place / "faulty.json", faulty)
        write(place / "clean.json", [CLEAN_TOOL])
    old = {**FAULTY_TOOL, "inputSchema": {"type": "object", "properties": {"id": {"type": "string", "maxLength": 9}}}}
    write(tmp_path / "old.json", [old, {**CLEAN_TOOL, "name": "gone"}])
    (tmp_path / "broken.json").write_text("{")
    (inner / "mcproof.toml").write_text(
        '[[ignore-for]]\ntool = "burn_book"\nrules = ["tool-no-description"]\nreason = "well known"\n'
        '[[ignore-for]]\ntool = "gone"\nrules = ["prop-no-type"]\n'
    )
    hostile = "\ud800\x1b[31m##[error]\n::error::"
    (tmp_path / "hostile.json").write_text(
        json.dumps([{"name": hostile, "inputSchema": {"properties": {hostile: {}}}}])
    )
    return tmp_path


@pytest.mark.parametrize("name", RUNS)
def test_a_stored_run_prints_what_the_run_printed(folder: Path, name: str) -> None:
    code = run(*RUNS[name], "--report", "run.json", cwd=folder).returncode
    for each in FORMATS:
        before = run(*RUNS[name], "--format", each, cwd=folder)
        after = run("report", "run.json", "--format", each, cwd=folder)
        assert after.stdout == before.stdout, each
        assert after.stderr == before.stderr, each
        assert (before.returncode, after.returncode) == (code, 0)


@pytest.mark.parametrize("name", [name for name in RUNS if not name.startswith("hostile")])
def test_every_document_keeps_to_its_schema(folder: Path, name: str) -> None:
    done = run(*RUNS[name], "--format", "json", "--report", "run.json", cwd=folder)
    document, report = json.loads(done.stdout), json.loads((folder / "run.json").read_text())
    validator("run").validate(report)
    command = RUNS[name][0]
    schema = "error" if "error" in document else SCHEMAS.get(command, command)
    validator(schema).validate(document)
    assert report["command"] == command
    assert report["exit_code"] == done.returncode


def test_a_run_that_was_stored_before_descriptions_had_scores_is_still_read(folder: Path) -> None:
    run("grade", "clean.json", "--report", "run.json", cwd=folder)
    stored = json.loads((folder / "run.json").read_text())
    del stored["targets"][0]["descriptions"]
    (folder / "run.json").write_text(json.dumps(stored))
    assert "Descriptions" not in run("report", "run.json", cwd=folder).stdout
    assert "descriptions" not in json.loads(run("report", "run.json", "--format", "json", cwd=folder).stdout)


def test_a_stored_run_is_read_from_standard_input_and_written_to_files(folder: Path) -> None:
    run(*RUNS["lint"], "--report", "run.json", "--output", "a.sarif", cwd=folder)
    stored = (folder / "run.json").read_bytes()
    assert run("report", "-", "--output", "b.sarif", stdin=stored, cwd=folder).returncode == 0
    assert (folder / "b.sarif").read_bytes() == (folder / "a.sarif").read_bytes()


def test_two_reports_of_one_input_differ_in_their_timings_alone(folder: Path) -> None:
    lines = []
    for name in ("a.run", "b.run"):
        run(*RUNS["several"], "--report", name, cwd=folder)
        lines.append((folder / name).read_text().splitlines())
    assert lines[0][:-1] == lines[1][:-1]
    assert lines[0][-1].startswith('"timings": ')


# --- what is no stored run ----------------------------------------------------------------------------------------


def _first(report: Any) -> Any:
    return report["targets"][0]["findings"][0]


DAMAGE: dict[str, Callable[[Any], Any]] = {
    "a member is missing": lambda report: report.pop("notices"),
    "a member is foreign": lambda report: report.update(more=1),
    "a finding of no rule": lambda report: _first(report).update(rule="no-rule"),
    "a level of no kind": lambda report: _first(report).update(level="fatal"),
    "a line before the first": lambda report: _first(report).update(line=0),
    "a finding without a message": lambda report: _first(report).update(message=""),
    "an invalid finding": lambda report: report["targets"][0]["findings"].append(7),
    "a command of no kind": lambda report: report.update(command="x"),
    "one target that is two": lambda report: report["targets"].append(report["targets"][0]),
    "a grade without a score": lambda report: report.update(command="grade"),
    "a change of no severity": lambda report: (report.update(command="diff"), _first(report).update(severity="high")),
    "a comparison with nothing": lambda report: (
        report.update(command="diff"),
        report["targets"][0].update(findings=[], suppressed=[]),
    ),
    "a rule with a command in its id": lambda report: report["rules"][0].update(id="\n::error::x"),
    "no targets": lambda report: report.update(targets=None),
}


@pytest.fixture
def stored(folder: Path) -> Any:
    run("lint", "faulty.json", "--report", "run.json", cwd=folder)
    report = json.loads((folder / "run.json").read_text())
    report["targets"][0]["scores"] = {}
    return report


@pytest.mark.parametrize("case", DAMAGE)
def test_a_damaged_report_is_refused_in_one_line(folder: Path, stored: Any, case: str) -> None:
    DAMAGE[case](stored)
    path = folder / "damaged.json"
    path.write_text(json.dumps(stored))
    assert "invalid run report: " in fails("report", "damaged.json", cwd=folder)
    error = error_of("report", "damaged.json", "--format", "json", cwd=folder)
    assert error["file"] == "damaged.json"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "not a run report: not JSON"),
        ("{", "not a run report: not JSON"),
        ("NaN", "not a run report: not JSON"),
        ("\x00\xff", "not a run report: not JSON"),
        ("[" * 100_000, "nested too deeply"),
        ("7", "not a run report"),
        ("[]", "not a run report"),
        ("{}", "not a run report"),
        ('{"schema_version": 1, "kind": "baseline", "entries": []}', "not a run report"),
        ('{"tools": []}', "not a run report"),
        ('{"schema_version": 3, "kind": "run"}', "newer mcproof"),
        ('{"schema_version": 999999, "kind": "run", "targets": {}}', "newer mcproof"),
        ('{"schema_version": null, "kind": "run"}', "invalid run report"),
        ('{"schema_version": "\\u001b[31m", "kind": "run"}', "invalid run report"),
    ],
    ids=str,
)
def test_what_is_no_report_is_refused_in_one_line(folder: Path, text: str, said: str) -> None:
    (folder / "x.json").write_bytes(text.encode("latin-1"))
    assert said in fails("report", "x.json", cwd=folder)
    assert said in error_of("report", "x.json", "--format", "json", cwd=folder)["message"]


def test_a_report_that_is_not_there_is_told_in_one_line(folder: Path) -> None:
    assert "cannot be read" in fails("report", "missing.json", cwd=folder)
    assert "cannot be read" in fails("report", "inner", cwd=folder)
    assert error_of("report", "missing.json", "--format", "json", cwd=folder)["file"] == "missing.json"


@pytest.mark.parametrize("depth", [100, 900, 5_000])
def test_evidence_of_any_depth_is_rendered_or_refused_in_one_line(folder: Path, stored: Any, depth: int) -> None:
    _first(stored)["evidence"] = {"deep": "HERE"}
    text = json.dumps(stored).replace('"HERE"', '{"a": ' * depth + "1" + "}" * depth)
    (folder / "deep.json").write_text(text)
    for each in FORMATS:
        done = run("report", "deep.json", "--format", each, cwd=folder)
        assert "internal error" not in done.stdout + done.stderr
        assert len(done.stderr.splitlines()) == (1 if done.returncode and each in ("text", "concise") else 0)
        assert done.returncode in ((0,) if depth < 1_000 else (0, 2))  # newer versions of Python read deeper JSON


def test_the_texts_of_a_report_act_on_nothing(folder: Path, stored: Any) -> None:
    """Rules speak for mcproof, but a report is a file, and anybody can write one."""
    hostile = "\x1b[31m\n::error::x\r##[group]\u202e"
    for rule in stored["rules"]:
        rule.update(summary=hostile, why=hostile, fix=hostile, name=hostile, category=hostile)
    stored["mcproof"] = hostile
    (folder / "hostile-run.json").write_text(json.dumps(stored))
    for each in FORMATS:
        done = run("report", "hostile-run.json", "--format", each, cwd=folder)
        assert done.returncode == 0, done.stderr
        assert not set("\x1b\r\u202e") & set(done.stdout), each
        assert "##[" not in done.stdout, each
        assert not any(line.startswith("::error::") for line in done.stdout.splitlines()), each

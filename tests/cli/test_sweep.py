"""`mcproof sweep` as a user sees it."""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING, Any

import pytest

from mcproof.services.store.database import open_database
from mcproof.services.store.tables import RUNS, SERVERS
from services.sweep.sweeping import outcomes, rows, write_captures, write_list

from .running import CLEAN_TOOL, FAULTY_TOOL, document_of, fails, run, write

if TYPE_CHECKING:
    import subprocess
    from pathlib import Path


@pytest.fixture
def captures(tmp_path: Path) -> Path:
    folder = tmp_path / "captures"
    folder.mkdir()
    write(folder / "clean.json", {"tools": [CLEAN_TOOL]})
    write(folder / "faulty.json", {"tools": [FAULTY_TOOL]})
    (folder / "torn.json").write_text('{"tools": [')
    return folder


def swept(folder: Path, *words: str, **others: Any) -> subprocess.CompletedProcess[str]:
    done = run("sweep", *words, cwd=folder, **others)
    assert done.returncode == 0, done
    return done


def test_a_folder_of_captures_is_graded(captures: Path, tmp_path: Path) -> None:
    done = swept(tmp_path, "captures")
    assert "3 targets: 2 checked, 1 unreadable" in done.stdout
    assert done.stderr == ""  # quiet in a pipe
    by_name = {row["target"]: row for row in rows(tmp_path / "sweep.jsonl")}
    assert by_name["captures/clean.json"]["grade"] == {"letter": "A", "score": 100}
    assert by_name["captures/faulty.json"]["summary"]["errors"] > 0
    assert by_name["captures/torn.json"]["reason"] == "not JSON"


def test_a_row_has_the_findings_and_the_grade_of_lint_and_grade(captures: Path, tmp_path: Path) -> None:
    swept(tmp_path, "captures")
    (row,) = [each for each in rows(tmp_path / "sweep.jsonl") if each["target"].endswith("faulty.json")]
    file = str(captures / "faulty.json")
    linted = document_of(run("lint", "--no-config", "--format", "json", file), "lint")
    graded = document_of(run("grade", "--no-config", "--format", "json", file), "grade")
    assert row["summary"]["by_rule"] == linted["summary"]["by_rule"]
    assert row["grade"] == {"letter": graded["grade"], "score": graded["score"]}
    assert row["tokens"] == graded["tokens"]["total"]


def test_the_same_command_again_has_nothing_to_do(captures: Path, tmp_path: Path) -> None:
    swept(tmp_path, "captures")
    before = (tmp_path / "sweep.jsonl").read_bytes()
    write(captures / "new.json", {"tools": [CLEAN_TOOL]})
    again = swept(tmp_path, "captures")
    assert "sweep.jsonl: 3 targets done already" in again.stderr
    after = (tmp_path / "sweep.jsonl").read_bytes()
    assert after.startswith(before)
    assert after[len(before) :].count(b"\n") == 1  # the new one


def test_summary_and_leaderboard_depend_on_the_results_alone(captures: Path, tmp_path: Path) -> None:
    documents = []
    for number in range(2):
        words = ("captures", "--restart", "--output", f"{number}.html", "--output", f"{number}.json", "--jobs", "2")
        document = document_of(swept(tmp_path, *words, "--format", "json"), "sweep")
        assert json.loads((tmp_path / f"{number}.json").read_text()) == document
        documents.append({key: value for key, value in document.items() if key != "timings"})
    assert documents[0] == documents[1]
    pages = [(tmp_path / f"{number}.html").read_text() for number in range(2)]
    assert pages[0] == pages[1]
    assert "captures/clean.json" in pages[0]


def test_hostile_text_in_the_leaderboard_is_escaped(tmp_path: Path) -> None:
    tools = {"serverInfo": {"name": "<script>alert(1)</script>\x1b[31m", "version": "1"}}
    write(tmp_path / "evil.json", {"initialize": tools, "tools": [CLEAN_TOOL]})
    done = swept(tmp_path, "evil.json", "--output", "board.html")
    page = (tmp_path / "board.html").read_text()
    assert "<script>alert" not in page
    assert "&lt;script&gt;alert" in page
    assert "\x1b" not in page + done.stdout


def test_a_configuration_beside_captures_decides_nothing(captures: Path, tmp_path: Path) -> None:
    (captures / "mcproof.toml").write_text('select = ["SCH-001"]\n')
    swept(tmp_path, "captures")
    (row,) = [each for each in rows(tmp_path / "sweep.jsonl") if each["target"].endswith("faulty.json")]
    assert row["grade"] is not None
    swept(tmp_path, "captures", "--config", "captures/mcproof.toml", "--restart")
    (row,) = [each for each in rows(tmp_path / "sweep.jsonl") if each["target"].endswith("faulty.json")]
    assert set(row["summary"]["by_rule"]) <= {"SCH-001"}


def test_targets_that_are_named_twice_are_checked_once(captures: Path, tmp_path: Path) -> None:
    swept(tmp_path, "captures", "captures/clean.json", "captures")
    assert len(rows(tmp_path / "sweep.jsonl")) == 3


def test_scan_adds_a_verdict(captures: Path, tmp_path: Path) -> None:
    document = document_of(swept(tmp_path, "captures/clean.json", "--scan", "--format", "json"), "sweep")
    (row,) = rows(tmp_path / "sweep.jsonl")
    assert row["trust"]["verdict"] in ("allow", "review", "block")
    assert document["verdicts"] == {row["trust"]["verdict"]: 1}


def test_results_are_recorded_once(captures: Path, tmp_path: Path) -> None:
    words = ("captures", "--record", "--database", "store.sqlite")
    swept(tmp_path, *words)
    # As if the sweep had been killed after recording and before the row was written.
    file = tmp_path / "sweep.jsonl"
    file.write_text("".join(file.read_text().splitlines(keepends=True)[:-1]))
    swept(tmp_path, *words)
    database = open_database(str(tmp_path / "store.sqlite"))
    with database.reading() as connection:
        names = sorted(connection.execute(SERVERS.select()).mappings().all(), key=lambda each: each["name"])
        runs = connection.execute(RUNS.select()).mappings().all()
    database.close()
    assert [each["name"] for each in names] == [f"captures/{name}.json" for name in ("clean", "faulty", "torn")]
    assert [each["grade"] for each in names][::2] == ["A", None]
    assert [each["is_reachable"] for each in names] == [True, True, False]
    assert len(runs) == 3
    assert (
        "captures/faulty.json"
        in run("history", "captures/faulty.json", "--database", str(tmp_path / "store.sqlite")).stdout
    )


def test_parquet_has_one_row_per_target(captures: Path, tmp_path: Path) -> None:
    parquet = pytest.importorskip("pyarrow.parquet", reason="pyarrow is not installed: `make .venv/.ci-ready`")
    swept(tmp_path, "captures", "--output", "table.parquet")
    table = parquet.read_table(tmp_path / "table.parquet").to_pylist()
    assert {row["target"]: row["grade"] for row in table}["captures/clean.json"] == "A"
    assert {row["target"]: row["outcome"] for row in table} == outcomes(tmp_path / "sweep.jsonl")
    assert dict(next(row["rules"] for row in table if row["target"].endswith("faulty.json")))


def test_a_list_on_standard_input(captures: Path, tmp_path: Path) -> None:
    swept(tmp_path, "-", stdin="captures/clean.json\n# nothing\n\n")
    assert outcomes(tmp_path / "sweep.jsonl") == {"captures/clean.json": "checked"}


def test_commands_and_variables_need_permission(tmp_path: Path) -> None:
    write_list(
        tmp_path / "list.txt", ["touch started", {"url": "http://127.0.0.1:9/", "headers": {"A": {"env": "TOKEN"}}}]
    )
    done = swept(tmp_path, "list.txt", env={"TOKEN": "s3cret-s3cret"})
    assert set(outcomes(tmp_path / "sweep.jsonl").values()) == {"left-out"}
    assert not (tmp_path / "started").exists()
    assert "without --allow-commands" in done.stdout


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("gone.txt",), "no such file"),
        (("captures", "--output", "x.pdf"), "unknown format"),
        (("captures", "--address", "auto"), "--engine ray"),
        (("captures", "--database", "x"), "--record"),
        (("captures", "--select", "nonsense"), "nonsense"),
        (("empty",), "nothing to check"),
        (("server.py", "--allow-commands"), "server.py: is source code, not a list"),
        (("store.sqlite", "--allow-commands"), "store.sqlite:1: is not text"),
        (("--", "python", "server.py"), "no command after `--`"),
        (("captures", "--engine", "ray"), "needs Ray"),
    ],
)
def test_what_cannot_be_done_is_reported_before_anything_is_written(
    words: tuple[str, ...], message: str, captures: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "ray", None)
    (tmp_path / "empty").mkdir()
    (tmp_path / "server.py").write_text("touch started\n")
    (tmp_path / "store.sqlite").write_bytes(b"SQLite format 3\0touch started\n")
    assert message in fails("sweep", *words, cwd=tmp_path)
    assert not (tmp_path / "sweep.jsonl").exists()
    assert not (tmp_path / "started").exists()


def test_a_sweep_with_other_options_does_not_replace_results(captures: Path, tmp_path: Path) -> None:
    swept(tmp_path, "captures")
    before = (tmp_path / "sweep.jsonl").read_bytes()
    assert "other options (scan)" in fails("sweep", "captures", "--scan", cwd=tmp_path)
    assert (tmp_path / "sweep.jsonl").read_bytes() == before


@pytest.mark.slow
def test_many_captures_go_through_several_workers(tmp_path: Path) -> None:
    write_captures(tmp_path / "many", 600)
    swept(tmp_path, "many", "--jobs", "2")
    found = rows(tmp_path / "sweep.jsonl")
    assert len(found) == 600
    assert {row["server"]["name"] for row in found} == {f"library {number}" for number in range(600)}

"""`--record`, `mcproof history` and `mcproof store`."""

from __future__ import annotations

import json
import sqlite3
import sys
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from mcproof.services.store.queries import sparkline
from servers import small

from .running import CLEAN_TOOL, FAULTY_TOOL, document_of, fails, run, run_process, write


@pytest.fixture
def store(tmp_path: Path) -> str:
    return str(tmp_path / "store.sqlite")


@pytest.fixture
def tools(tmp_path: Path) -> str:
    return write(tmp_path / "tools.json", {"tools": [CLEAN_TOOL]})


def recorded(store: str, command: str, *arguments: str) -> None:
    done = run(command, "--record", "--database", store, *arguments)
    assert done.returncode in (0, 1), done.stderr
    assert f"in {store}" in done.stderr


def history(store: str, name: str) -> dict[str, Any]:
    document: dict[str, Any] = document_of(run("history", name, "--database", store, "--format", "json"), "history")
    return document


@pytest.mark.parametrize("command", ["lint", "schema-lint", "grade", "compat", "scan"])
def test_a_checking_command_records_its_result(store: str, tools: str, command: str) -> None:
    recorded(store, command, tools)
    [past] = history(store, tools)["runs"]
    assert (past["command"], past["tools"], past["error"]) == (command, 1, None)


def test_a_result_has_its_grade_whatever_is_printed(store: str, tools: str) -> None:
    recorded(store, "lint", tools)
    assert history(store, tools)["runs"][0]["grade"] == "A"


def test_the_text_shows_how_the_server_has_changed(store: str, tools: str, tmp_path: Path) -> None:
    recorded(store, "lint", tools, "--name", "books")
    recorded(store, "lint", write(tmp_path / "faulty.json", {"tools": [FAULTY_TOOL]}), "--name", "books")
    lines = run("history", "books", "--database", store).stdout.splitlines()
    assert lines[0] == "books: 2 runs"
    assert lines[2].startswith("  score     █")
    assert "100 → " in lines[2]
    assert "lint         A 100" in lines[-2]


def test_a_scan_shows_its_verdict_and_score(store: str, tools: str) -> None:
    recorded(store, "scan", tools, "--name", "books")
    [past] = history(store, "books")["runs"]
    assert (past["grade"], past["score"]) == (None, None)
    shown = run("history", "books", "--database", store).stdout
    assert f"scan         {past['verdict']} {past['trust']}  " in shown
    assert f"trust     {sparkline([past['trust']], '▁▂▃▄▅▆▇█', (0, 100))}  {past['trust']}" in shown


def test_several_targets_are_several_servers(store: str, tools: str, tmp_path: Path) -> None:
    other = write(tmp_path / "other.json", {"tools": [FAULTY_TOOL]})
    done = run("lint", tools, other, "--record", "--database", store)
    assert "recorded 2 servers" in done.stderr
    assert [history(store, name)["total"] for name in (tools, other)] == [1, 1]


def test_one_name_for_several_targets_is_refused_before_any_work(store: str, tools: str) -> None:
    assert "`--name` names one server" in fails("lint", tools, tools + "x", "--record", "--name", "x")


def test_options_of_the_store_need_record(tools: str) -> None:
    assert "`--name` and `--database` are for `--record`" in fails("lint", tools, "--name", "x")


def test_a_store_that_cannot_be_opened_is_reported_before_any_work(tools: str, tmp_path: Path) -> None:
    done = run("lint", tools, "--record", "--database", str(tmp_path))
    assert (done.returncode, done.stdout) == (2, "")


def test_an_unknown_server_and_a_missing_store_are_errors(store: str, tools: str) -> None:
    assert "there is no store yet" in fails("history", "x", "--database", store)
    recorded(store, "lint", tools)
    assert "there is no server `x`" in fails("history", "x", "--database", store)


def test_a_store_is_exported_imported_pruned_and_checked(store: str, tools: str, tmp_path: Path) -> None:
    for _ in range(3):
        recorded(store, "lint", tools)
    exported = run("store", "export", "--database", store)
    assert [json.loads(line)["kind"] for line in exported.stdout.splitlines()] == [
        "mcproof-store",
        "catalog",
        *["run"] * 3,
    ]
    file, copy = tmp_path / "runs.jsonl", str(tmp_path / "copy.sqlite")
    file.write_text(exported.stdout, encoding="utf-8")
    assert "3 runs added, 0 known" in run("store", "import", str(file), "--database", copy).stderr
    assert "2 runs and 0 catalogs deleted" in run("store", "prune", "--keep", "1", "--database", copy).stderr
    assert run("store", "check", "--database", copy).stdout == f"no problems in {copy}\n"
    assert history(copy, tools)["total"] == 1


def test_a_damaged_store_fails_its_check(store: str, tools: str) -> None:
    recorded(store, "lint", tools)
    with closing(sqlite3.connect(store)) as connection:
        connection.execute("UPDATE catalogs SET text = 'x'")
        connection.commit()
    done = run("store", "check", "--database", store)
    assert done.returncode == 1
    assert done.stdout.splitlines()[-1] == f"1 problem in {store}"


@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        (("prune",), "`prune` needs --days, --keep or both"),
        (("import",), "`import` takes a file"),
        (("export", "x"), "`export` takes no file"),
        (("check", "--days", "1"), "--days and --keep are for `prune`"),
        (("prune", "--keep", "0"), "`0` is not a number from 1"),
    ],
)
def test_wrong_arguments_are_refused(arguments: tuple[str, ...], error: str) -> None:
    assert error in fails("store", *arguments)


@pytest.mark.parametrize(
    ("values", "bars"),
    [([0, 50, 100], "_-#"), ([None, 7, 7], " __"), ([], ""), ([3, None, 1], "# _")],
)
def test_a_sparkline_has_a_bar_for_each_value(values: list[int | None], bars: str) -> None:
    assert sparkline(values, "_.,-=+*#") == bars


# --- the configuration --------------------------------------------------------------------------------------------


def configured(folder: Path, text: str) -> Path:
    folder.mkdir(exist_ok=True)
    (folder / "mcproof.toml").write_text(text)
    return folder


def test_the_configuration_may_name_a_store_in_its_folder(tmp_path: Path, tools: str) -> None:
    project = configured(tmp_path / "project", "[store]\ndatabase = 'runs.sqlite'\nkeep = 1")
    below = project / "below"
    below.mkdir()
    for _ in range(2):
        assert run("lint", tools, "--record", "--name", "books", cwd=below).returncode == 0
    assert (project / "runs.sqlite").exists()
    assert run("history", "books", cwd=project).stdout.startswith("books: 2 runs")
    assert "1 run and 0 catalogs deleted" in run("store", "prune", cwd=project).stderr


@pytest.mark.parametrize("database", ["../runs.sqlite", "/no/runs.sqlite", "postgresql://host/x", ".git/x", "link"])
@pytest.mark.parametrize("command", [["lint", "TOOLS", "--record"], ["history", "books"], ["store", "check"]])
def test_a_found_configuration_does_not_choose_another_place(
    tmp_path: Path, tools: str, database: str, command: list[str]
) -> None:
    project = configured(tmp_path / "project", f"\n[store]\ndatabase = '{database}'")
    (project / "link").symlink_to(tmp_path / "elsewhere.sqlite")
    done = run(*(tools if word == "TOOLS" else word for word in command), cwd=project)
    assert done.returncode == 2
    assert done.stderr.startswith("mcproof: mcproof.toml:2: the database is ")
    assert "name it with --database, or trust this file with --config mcproof.toml" in done.stderr
    assert not (tmp_path / "elsewhere.sqlite").exists()


def test_a_named_configuration_may_choose_any_place(tmp_path: Path, tools: str) -> None:
    project = configured(tmp_path / "project", "[store]\ndatabase = '../runs.sqlite'")
    assert run("lint", tools, "--record", "--config", "mcproof.toml", cwd=project).returncode == 0
    assert (tmp_path / "runs.sqlite").exists()


def test_the_command_line_names_the_store_first(tmp_path: Path, tools: str, store: str) -> None:
    project = configured(tmp_path / "project", "[store]\ndatabase = 'postgresql://host/x'")
    assert run("lint", tools, "--record", "--database", store, cwd=project).returncode == 0
    assert run("store", "check", "--database", store, cwd=project).returncode == 0


def test_the_password_of_a_database_is_a_variable(tmp_path: Path) -> None:
    project = configured(tmp_path / "project", "[store]\ndatabase = 'postgresql://me:${DB_PASSWORD_X}@127.0.0.1:1/x'")
    missing = run("store", "check", "--config", "mcproof.toml", cwd=project)
    assert "mcproof.toml:1: the environment variable DB_PASSWORD_X is not set" in missing.stderr
    tried = run("store", "check", "--config", "mcproof.toml", cwd=project, env={"DB_PASSWORD_X": "p@ss"})
    assert tried.returncode == 2
    assert "p@ss" not in tried.stderr
    assert "connection" in tried.stderr


def test_pruning_needs_a_limit(store: str, tools: str) -> None:
    recorded(store, "lint", tools)
    assert "`prune` needs --days, --keep or both; `[store]` of a configuration" in fails(
        "store", "prune", "--database", store
    )


@pytest.mark.parametrize(
    "words", [("history", "x"), ("store", "check"), ("serve", "token", "list"), ("lint", "x.json", "--record")]
)
def test_a_missing_package_is_named(words: tuple[str, ...], tmp_path: Path) -> None:
    (tmp_path / "sqlalchemy.py").write_text("raise ImportError\n")
    write(tmp_path / "x.json", {"tools": [CLEAN_TOOL]})
    done = run_process(*words, cwd=tmp_path, env={"PYTHONPATH": str(tmp_path)})
    assert done.stderr == "mcproof: the store needs SQLAlchemy: `pip install 'mcproof[store]'`\n"
    assert done.returncode == 2


def test_a_graded_server_shows_what_it_gained_even_below_zero(store: str, tmp_path: Path) -> None:
    bare = {"name": "a", "inputSchema": {"type": "object", "properties": {f"p{n}": {} for n in range(15)}}}
    for tool in (bare, {**bare, "description": "Find the books of a shelf."}):
        printed = run(
            "grade", "--record", "--database", store, "--name", "x", write(tmp_path / "t.json", {"tools": [tool]})
        )
    assert "points below zero" in printed.stdout
    assert ": grade F, +20 points since the run of " in printed.stderr


def test_without_a_name_the_history_lists_the_servers(store: str, tools: str) -> None:
    recorded(store, "lint", tools, "--name", "books")
    assert run("history", "--database", store).stdout == "books\n"


def _script(folder: Path, name: str, version: str, file: str = "server.py") -> str:
    """A script that starts a server with this name and version."""
    script = folder / file
    text = Path(small.__file__).read_text(encoding="utf-8")
    script.write_text(text.replace('{"name": "small", "version": "1.0"}', repr({"name": name, "version": version})))
    return str(script)


def names(store: str) -> list[str]:
    return run("history", "--database", store).stdout.split("\n")[:-1]


def test_however_a_command_is_spelled_a_server_has_one_entry(
    store: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    _script(tmp_path, "books", "1.0")
    tools = json.dumps([CLEAN_TOOL])
    for words in ((sys.executable, "-I", "server.py"), (sys.executable, "./server.py"), ("-I", "server.py")):
        command = words if words[0] == sys.executable else (sys.executable, "-S", *words)
        recorded(store, "grade", "--", *command, tools)
    assert names(store) == ["books"]
    # A new version by a known command is the same server, as is a server that has just stopped working.
    _script(tmp_path, "books", "2.0")
    recorded(store, "grade", "--", sys.executable, "-S", "-I", "server.py", tools)
    (tmp_path / "server.py").write_text("raise SystemExit(1)")
    done = run("grade", "--record", "--database", store, "--", sys.executable, "-S", "-I", "server.py", tools)
    assert done.returncode == 2
    assert history(store, "books")["total"] == 5
    assert names(store) == ["books"]


def test_two_servers_with_one_name_have_two_entries(store: str, tmp_path: Path) -> None:
    tools = json.dumps([CLEAN_TOOL])
    for version in ("1.0", "2.0"):
        recorded(
            store, "grade", "--", sys.executable, "-I", _script(tmp_path, "books", version, f"{version}.py"), tools
        )
    assert names(store) == ["books", "books 2.0"]


def test_a_check_records_what_each_of_its_parts_would(store: str, tools: str) -> None:
    recorded(store, "check", tools)
    [past] = history(store, tools)["runs"]
    assert (past["grade"], past["verdict"]) == ("A", "allow")


def test_a_run_of_a_suite_is_recorded(store: str, tmp_path: Path) -> None:
    suite = tmp_path / "mcproof.yaml"
    command = json.dumps([sys.executable, "-I", small.__file__, json.dumps([CLEAN_TOOL])])
    suite.write_text(
        f"servers:\n  a: {{command: {command}}}\n"
        "tool_quality:\n  - {name: texts, server: a, expect: [{target: critical_count, matcher: {exact: 0}}]}\n"
    )
    recorded(store, "run", str(suite))
    [past] = history(store, str(suite))["runs"]
    assert (past["command"], past["error"]) == ("run", None)

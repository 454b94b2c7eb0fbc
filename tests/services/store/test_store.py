"""Recording runs and reading them back, in both databases."""

from __future__ import annotations

import zlib
from typing import TYPE_CHECKING, Any

import pytest
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from sqlalchemy import func, select, update

from mcproof.core.errors import InputError, McproofError, UsageError
from mcproof.runs.stored import read_run
from mcproof.services.store.database import database_url, open_database
from mcproof.services.store.queries import history_of, run_report, stored_catalog
from mcproof.services.store.recording import export_lines, import_lines, problems_of, prune, record_run
from mcproof.services.store.tables import BREAKING, CATALOGS, FINDINGS, FIRING, METADATA, RUNS, SCORES, SERVERS, TOKENS

from .runs import BAD, GOOD, judged, linted, scanned

if TYPE_CHECKING:
    from pathlib import Path

    from sqlalchemy import Table

    from mcproof.runs.results import RunResult
    from mcproof.services.store.database import Database


def record(database: Database, run: RunResult, catalog: bytes | None = GOOD, name: str | None = None) -> str:
    [recorded] = record_run(database, run, [None if catalog is None else catalog.decode()], name)
    return recorded.uid


def count(database: Database, table: Table) -> int:
    with database.reading() as connection:
        return int(connection.execute(select(func.count()).select_from(table)).scalar_one())


def server(database: Database, name: str = "books") -> dict[str, Any]:
    with database.reading() as connection:
        return dict(connection.execute(select(SERVERS).where(SERVERS.c.name == name)).mappings().one())


def rules_firing(database: Database) -> set[str]:
    with database.reading() as connection:
        return set(connection.execute(select(FIRING.c.rule)).scalars())


def exported(database: Database) -> list[str]:
    """All lines of an export in which nothing is damaged."""
    damaged: list[str] = []
    lines = list(export_lines(database, damaged.append))
    assert damaged == []
    return lines


# --- tables -------------------------------------------------------------------------------------------------------


def test_the_migrations_make_the_tables_that_the_code_uses(database: Database) -> None:
    with database.engine.connect() as connection:
        context = MigrationContext.configure(connection, opts={"compare_type": True})
        assert compare_metadata(context, METADATA) == []


def test_a_store_of_the_first_version_is_migrated_with_what_it_has(word: str, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as patched:
        patched.setattr("mcproof.services.store.database.HEAD", "0001")
        first = open_database(word)
        record(first, linted())
        with first.reading() as connection:
            assert connection.exec_driver_sql("SELECT version_num FROM alembic_version").scalar() == "0001"
        first.close()
    newest = open_database(word)
    assert (count(newest, RUNS), count(newest, TOKENS)) == (1, 0)
    newest.close()


def test_a_store_opens_again_with_what_it_has(database: Database, word: str) -> None:
    record(database, linted())
    again = open_database(word)
    assert count(again, RUNS) == 1
    again.close()


def test_a_store_of_a_newer_version_is_refused(database: Database, word: str) -> None:
    with database.writing() as connection:
        connection.exec_driver_sql("UPDATE alembic_version SET version_num = '9999'")
    with pytest.raises(McproofError, match="written by a newer version of mcproof"):
        open_database(word)


# --- recording ----------------------------------------------------------------------------------------------------


def test_a_run_is_recorded_with_findings_scores_catalog_and_report(database: Database) -> None:
    run = linted(BAD)
    uid = record(database, run, BAD)
    result = run.targets[0]
    assert count(database, FINDINGS) == len(result.findings) > 0
    assert read_run(zlib.decompress(run_report(database, uid)), "stored").targets[0].findings == result.findings
    [past] = history_of(database, "books", 10).runs
    grade = result.scores.grade
    assert grade is not None
    assert (past.grade, past.score, past.command) == (grade.letter, grade.score, "lint")
    assert past.catalog is not None
    assert zlib.decompress(stored_catalog(database, past.catalog)) == BAD


def test_the_server_has_what_its_newest_runs_show(database: Database) -> None:
    record(database, linted(BAD, started="2026-01-01T00:00:00Z"), BAD)
    before = server(database)
    record(database, linted(GOOD, started="2026-01-02T00:00:00Z"))
    after = server(database)
    assert (before["runs"], after["runs"]) == (1, 2)
    assert after["score"] - before["score"] == after["change"] > 0
    assert before["change"] is None
    assert (after["last_seen"], after["is_reachable"]) == ("2026-01-02T00:00:00Z", True)


def test_a_run_changes_only_what_it_has_checked(database: Database) -> None:
    record(database, linted(BAD), BAD)
    grade, firing = server(database)["grade"], rules_firing(database)
    assert grade is not None
    assert firing
    record(database, scanned(BAD), BAD)
    assert server(database)["grade"] == grade
    assert server(database)["verdict"] in ("allow", "review", "block")
    assert firing - {"tool_input_schemas_well_formed"} <= rules_firing(database)


def test_a_rule_that_no_longer_fires_is_gone(database: Database) -> None:
    record(database, linted(BAD), BAD)
    assert "tool-no-description" in rules_firing(database)
    record(database, linted(GOOD))
    assert "tool-no-description" not in rules_firing(database)


def test_clients_that_break_are_those_of_the_newest_compat_run(database: Database) -> None:
    record(database, judged(BAD), BAD)
    assert count(database, BREAKING) > 0
    record(database, judged(GOOD))
    assert count(database, BREAKING) == 0


def test_equal_catalogs_are_stored_once(database: Database) -> None:
    for _ in range(3):
        record(database, linted())
    assert (count(database, RUNS), count(database, CATALOGS)) == (3, 1)


def test_a_server_is_known_by_the_name_it_is_given(database: Database) -> None:
    record(database, linted(), name="our books")
    assert server(database, "our books")["runs"] == 1
    with pytest.raises(InputError, match="there is no server `our book` in the store"):
        history_of(database, "our book", 1)


def test_a_target_that_could_not_be_checked_is_recorded_as_such(database: Database) -> None:
    record(database, linted())
    record(database, linted(b"not json"), None)
    assert server(database)["is_reachable"] is False
    assert server(database)["grade"] is not None
    newest = history_of(database, "books", 10).runs[-1]
    assert newest.error is not None
    assert newest.grade is None


def test_characters_that_databases_refuse_are_replaced(database: Database) -> None:
    hostile = BAD.replace(b"find book", b"find\\ud800 \\u0000book")
    run = linted(hostile, "a\ud800\0b")
    record(database, run, hostile)
    assert server(database, "a\ufffd\ufffdb")["runs"] == 1
    record(database, run, hostile)
    assert server(database, "a\ud800\0b")["runs"] == 2
    with database.reading() as connection:
        assert "tool:find\ufffd \ufffdbook" in set(connection.execute(select(FINDINGS.c.subject)).scalars())
    assert list(problems_of(database)) == []


def test_a_failure_while_recording_leaves_nothing(database: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> None:
        raise RuntimeError("killed")

    monkeypatch.setattr("mcproof.services.store.recording.update_server", fail)
    with pytest.raises(RuntimeError):
        record(database, linted())
    assert [count(database, table) for table in METADATA.sorted_tables] == [0] * len(METADATA.sorted_tables)


# --- history, retention, transfer ---------------------------------------------------------------------------------


def test_a_history_has_the_newest_runs_the_oldest_of_them_first(database: Database) -> None:
    for day in (3, 1, 2):
        record(database, linted(started=f"2026-01-0{day}T00:00:00Z"))
    history = history_of(database, "books", 2)
    assert history.total == 3
    assert [each.started[:10] for each in history.runs] == ["2026-01-02", "2026-01-03"]


def test_an_older_run_does_not_change_what_the_server_shows(database: Database) -> None:
    record(database, linted(GOOD, started="2026-01-02T00:00:00Z"))
    newest = server(database)
    record(database, linted(BAD, started="2026-01-01T00:00:00Z"), BAD)
    assert server(database) == {**newest, "runs": 2}


def test_pruning_keeps_the_newest_runs_and_drops_unused_catalogs(database: Database) -> None:
    record(database, linted(BAD, started="2020-01-01T00:00:00Z"), BAD)
    for day in range(1, 5):
        record(database, linted(started=f"2020-02-0{day}T00:00:00Z"))
    assert prune(database, keep=3) == (2, 1)
    assert prune(database, days=30) == (2, 0)
    assert server(database)["runs"] == count(database, RUNS) == 1
    assert count(database, SCORES) <= 2
    assert list(problems_of(database)) == []


def test_a_store_moves_to_another_as_lines(database: Database, tmp_path: Path) -> None:
    record(database, linted(BAD, started="2026-01-01T00:00:00Z"), BAD)
    record(database, linted(GOOD, started="2026-01-02T00:00:00Z"))
    record(database, linted(GOOD, "other"))
    lines = exported(database)
    copy = open_database(str(tmp_path / "copy.sqlite"))
    assert import_lines(copy, lines, "x") == (3, 0)
    assert import_lines(copy, lines, "x") == (0, 3)
    assert exported(copy) == lines
    assert list(problems_of(copy)) == []
    ids = ("id", "last_run")
    assert {k: v for k, v in server(copy).items() if k not in ids} == {
        k: v for k, v in server(database).items() if k not in ids
    }
    copy.close()


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        ("", "not a line of `mcproof store export`"),
        ("[]", "not a line of"),
        ('{"kind": "run", "uid": 5}', "`uid` is missing or has the wrong type"),
        ('{"kind": "run", "uid": "5", "server": "x", "catalog": null, "report": {}}', "not a run report"),
    ],
)
def test_a_damaged_file_is_named_with_its_line_and_changes_nothing(
    database: Database, damage: str, message: str
) -> None:
    record(database, linted())
    lines = exported(database)
    lines[-1] = lines[-1].replace('"uid":"', '"uid":"x')
    with pytest.raises(InputError, match=message) as raised:
        import_lines(database, [*lines, damage], "runs.jsonl")
    assert raised.value.line == len(lines) + 1
    assert count(database, RUNS) == 1


def test_what_is_not_damaged_can_be_exported(database: Database, tmp_path: Path) -> None:
    record(database, linted(BAD, "first"), BAD)
    uid = record(database, linted(GOOD, "second"))
    with database.writing() as connection:
        connection.execute(update(RUNS).where(RUNS.c.uid == uid).values(report=b"x"))
        connection.execute(update(CATALOGS).where(CATALOGS.c.tools > 1).values(text=b"x"))
    damaged: list[str] = []
    lines = list(export_lines(database, damaged.append))
    assert f"run {uid}: the report is damaged" in damaged
    copy = open_database(str(tmp_path / "copy.sqlite"))
    assert import_lines(copy, lines, "x") == (1, 0)
    copy.close()


def test_a_line_that_is_there_twice_is_one_run(database: Database, tmp_path: Path) -> None:
    record(database, linted())
    lines = exported(database)
    copy = open_database(str(tmp_path / "copy.sqlite"))
    assert import_lines(copy, [*lines, lines[-1]], "x") == (1, 1)
    copy.close()


def test_a_name_that_no_address_can_have_is_changed(database: Database) -> None:
    record(database, linted(), name="a\nb\x9bc")
    assert server(database, "a\ufffdb\ufffdc")["runs"] == 1


def test_damage_is_found(database: Database) -> None:
    uid = record(database, linted(BAD), BAD)
    with database.writing() as connection:
        connection.execute(update(RUNS).values(report=b"x"))
        connection.execute(update(CATALOGS).values(text=b"x"))
        connection.execute(update(SERVERS).values(runs=7))
    assert sorted(problems_of(database))[1:] == [
        f"run {uid}: the report is damaged",
        "server `books`: 7 runs counted, 1 found",
    ]


# --- opening ------------------------------------------------------------------------------------------------------


def test_the_default_store_is_in_the_data_folder(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    assert database_url(None) == f"sqlite:///{tmp_path}/mcproof/store.sqlite"


def test_other_databases_are_refused() -> None:
    with pytest.raises(UsageError, match="unsupported database `mysql`"):
        database_url("mysql://host/x")


def test_an_unreachable_database_is_one_line_without_its_password(tmp_path: Path) -> None:
    with pytest.raises(InputError) as raised:
        open_database(f"postgresql://me:hunter2@/x?host={tmp_path}")
    assert "\n" not in str(raised.value)
    assert "hunter2" not in str(raised.value)


@pytest.mark.parametrize("url", ["postgresql://me:a@b:hunter2/x@host/db", "postgresql://me@host:hunter2/db"])
def test_a_part_of_a_password_that_looks_like_a_port_is_in_no_error(url: str) -> None:
    """An `@` in a password must be escaped; who forgets that has written the rest of it as the host and the port."""
    with pytest.raises(UsageError, match="neither a file nor a database URL") as raised:
        open_database(url)
    assert "hunter2" not in raised.value.message


@pytest.mark.parametrize("name", ["password", "sslpassword"])
def test_a_secret_in_the_query_of_a_database_url_is_refused(name: str) -> None:
    with pytest.raises(UsageError, match=f"a database URL with `{name}` in its query") as raised:
        open_database(f"postgresql://me@host/x?{name}=hunter2")
    assert "hunter2" not in str(raised.value)


def test_the_label_of_a_database_has_nothing_secret(tmp_path: Path) -> None:
    with pytest.raises(InputError) as raised:
        open_database(f"postgresql://me:hunter2@/x?host={tmp_path}&passfile=/home/me/hunter3&application_name=hunter4")
    assert "hunter" not in str(raised.value)
    assert str(tmp_path).rpartition("/")[2] in str(raised.value)


def test_a_file_that_is_not_a_store_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "x.sqlite"
    file.write_bytes(b"not a database" * 100)
    with pytest.raises(InputError, match="not a database"):
        open_database(str(file))


def test_a_store_that_must_be_there_is_not_created(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="there is no store yet"):
        open_database(str(tmp_path / "none.sqlite"), creates=False)
    assert list(tmp_path.iterdir()) == []

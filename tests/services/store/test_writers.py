"""Several processes that write at once, one that is killed, and readers that wait for none of them."""

from __future__ import annotations

import threading
from contextlib import contextmanager
from typing import TYPE_CHECKING

import pytest
from sqlalchemy import func, select

from mcproof.core.errors import InputError
from mcproof.services.store import database as opening
from mcproof.services.store import recording
from mcproof.services.store.database import Database, StoreBusyError, open_database
from mcproof.services.store.recording import export_lines, import_lines, problems_of, prune, record_run
from mcproof.services.store.tables import RUNS

from .killing import kill_round
from .runs import GOOD, linted

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from sqlalchemy import Connection


@pytest.mark.slow
def test_no_finished_run_is_lost_and_no_half_run_is_seen(word: str) -> None:
    before = 0
    for seed in range(2):
        reported, there = kill_round(word, writers=3, times=6, seed=seed)
        assert reported >= 2 * 6
        assert there - before <= reported + 1, (
            "only the run being recorded when its writer died may be there unreported"
        )
        before = there


def runs_of(database: Database) -> int:
    with database.reading() as connection:
        return int(connection.execute(select(func.count()).select_from(RUNS)).scalar_one())


@contextmanager
def another_process_writes(word: str) -> Iterator[None]:
    """As another process does: with connections of its own."""
    other = open_database(word)
    with other.writing() as connection:
        connection.exec_driver_sql("SELECT 1")
        yield
    other.close()


def test_readers_do_not_wait_for_any_number_of_writers(
    database: Database, word: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with another_process_writes(word):
        writers = [
            threading.Thread(target=record_run, args=(database, linted(name=f"server {number}"), [GOOD.decode()]))
            for number in range(30)
        ]
        for writer in writers:
            writer.start()
        for _ in range(20):
            assert runs_of(database) == 0
    for writer in writers:
        writer.join()
    assert runs_of(database) == 30


def test_a_writer_does_not_wait_forever(word: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(opening, "BUSY_SECONDS", 1)
    database = open_database(word)
    with another_process_writes(word), pytest.raises(InputError, match="the store cannot be used: "):
        record_run(database, linted(), [None])
    with database.writing(), pytest.raises(StoreBusyError, match="the store is busy with other writers"):
        record_run(database, linted(), [None])
    assert len(record_run(database, linted(), [None])) == 1
    database.close()


def test_much_is_written_in_batches(database: Database, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for day in range(1, 8):
        record_run(database, linted(started=f"2026-01-0{day}T00:00:00Z"), [GOOD.decode()])
    lines = list(export_lines(database, print))
    monkeypatch.setattr(recording, "BATCH", 2)
    monkeypatch.setattr("mcproof.services.store.recording.BATCH", 2)
    copy = open_database(str(tmp_path / "copy.sqlite"))
    sizes: list[int] = []
    write = Database.writing

    @contextmanager
    def counted(self: Database) -> Iterator[Connection]:
        before = runs_of(self)
        with write(self) as connection:
            yield connection
        sizes.append(abs(runs_of(self) - before))

    monkeypatch.setattr(Database, "writing", counted)
    assert import_lines(copy, lines, "x") == (7, 0)
    assert sizes == [2, 2, 2, 1]
    sizes.clear()
    assert prune(copy, keep=1) == (6, 0)
    assert sizes == [2, 2, 2]
    assert list(problems_of(copy)) == []
    copy.close()

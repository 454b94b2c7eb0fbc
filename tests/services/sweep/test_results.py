"""The results file and its journal: what survives a kill, and what belongs to another sweep."""

from __future__ import annotations

import json
import random
from pathlib import Path

import pytest

from mcproof.core.errors import InputError, UsageError
from mcproof.services.sweep.results import KeySet, ResultsFile, rows_of

IDENTITY = {"targets": ["x"], "scan": False}


def row(key: int) -> tuple[int, str]:
    return key, json.dumps({"id": f"{key:016x}"}) + "\n"


def opened(folder: Path, *, restarts: bool = False, **options: object) -> ResultsFile:
    return ResultsFile(str(folder / "sweep.jsonl"), {**IDENTITY, **options}, restarts=restarts)


def write(folder: Path, *keys: int) -> Path:
    results = opened(folder)
    results.append([row(key) for key in keys])
    results.close()
    return folder / "sweep.jsonl"


def test_rows_are_known_in_the_next_run(tmp_path: Path) -> None:
    write(tmp_path, 1, 2)
    results = opened(tmp_path)
    assert results.is_resumed
    assert 1 in results.done
    assert 3 not in results.done
    results.append([row(3)])
    results.close()
    assert [each["id"][-1] for each in rows_of(results.file)] == ["1", "2", "3"]


@pytest.mark.parametrize("torn", ['{"id": "00', "{", '{"id": "0000000000000007"}'])
def test_a_torn_line_is_dropped(tmp_path: Path, torn: str) -> None:
    file = write(tmp_path, 1)
    with file.open("a") as stream:
        stream.write(torn)
    results = opened(tmp_path)
    assert 7 not in results.done
    results.append([row(2)])
    results.close()
    assert [each["id"][-1] for each in rows_of(str(file))] == ["1", "2"]


@pytest.mark.parametrize("id", ["f" * 17, "0", "-1"])
def test_an_id_that_no_target_has_is_reported_with_its_line(tmp_path: Path, id: str) -> None:
    file = write(tmp_path, 1)
    with file.open("a") as stream:
        stream.write(json.dumps({"id": id}) + "\n")
    with pytest.raises(InputError, match="not a row of a sweep"):
        opened(tmp_path)


@pytest.mark.parametrize("begun", ["x", "f" * 17, "0" * 5000])
def test_a_damaged_line_of_the_journal_is_passed_over(tmp_path: Path, begun: str) -> None:
    file = write(tmp_path, 1)
    with Path(f"{file}.journal").open("a") as stream:
        stream.write(json.dumps({"begin": begun}) + "\n")
    results = opened(tmp_path)
    results.close()
    assert results.unfinished == {}


def test_a_torn_line_longer_than_a_block_is_dropped(tmp_path: Path) -> None:
    file = write(tmp_path, 1)
    with file.open("a") as stream:
        stream.write("x" * 200_000)
    opened(tmp_path).close()
    assert file.read_text() == row(1)[1]


def test_a_damaged_line_in_the_middle_is_an_error(tmp_path: Path) -> None:
    file = write(tmp_path, 1)
    file.write_text("damaged\n" + file.read_text())
    with pytest.raises(InputError, match="not a row"):
        opened(tmp_path)


def test_a_restart_replaces_the_results(tmp_path: Path) -> None:
    file = write(tmp_path, 1)
    results = opened(tmp_path, restarts=True)
    assert 1 not in results.done
    results.close()
    assert file.read_text() == ""


def test_other_options_are_another_sweep(tmp_path: Path) -> None:
    file = write(tmp_path, 1)
    with pytest.raises(UsageError, match=r"other options \(scan\).*--restart"):
        opened(tmp_path, scan=True)
    assert file.read_text() == row(1)[1]


def test_results_without_a_journal_are_not_replaced(tmp_path: Path) -> None:
    file = write(tmp_path, 1)
    Path(f"{file}.journal").unlink()
    with pytest.raises(UsageError, match="--restart"):
        opened(tmp_path)


def test_a_journal_without_results_starts_over(tmp_path: Path) -> None:
    write(tmp_path, 1).unlink()
    results = opened(tmp_path)
    assert not results.is_resumed
    results.close()


def test_two_sweeps_do_not_write_to_one_file(tmp_path: Path) -> None:
    first = opened(tmp_path)
    for restarts in (False, True):
        with pytest.raises(UsageError, match="another sweep is writing"):
            opened(tmp_path, restarts=restarts)
    first.append([row(1)])
    first.close()
    again = opened(tmp_path)
    assert 1 in again.done
    again.close()


@pytest.mark.parametrize("journal", ["", '{"kind": "mcpr'])
def test_a_kill_before_the_first_line_of_the_journal_starts_over(tmp_path: Path, journal: str) -> None:
    (tmp_path / "sweep.jsonl").touch()
    (tmp_path / "sweep.jsonl.journal").write_text(journal)
    results = opened(tmp_path)
    assert not results.is_resumed
    results.close()


def test_targets_under_way_are_counted_once_per_run(tmp_path: Path) -> None:
    for key in (1, 2):
        results = opened(tmp_path)
        for each in (1, 2, 2, 3):
            results.begin(each)
        results.begin(4, alone=True)
        results.flush()
        results.append([row(key)])
        results.close()
    results = opened(tmp_path)
    assert results.unfinished == {3: 2}
    assert results.unfinished_alone == {4: 2}
    results.close()


def test_a_sweep_keeps_its_identity(tmp_path: Path) -> None:
    first = opened(tmp_path)
    first.close()
    again = opened(tmp_path)
    again.close()
    other = opened(tmp_path, restarts=True)
    other.close()
    assert first.sweep_id == again.sweep_id != other.sweep_id


def test_a_set_of_keys_is_a_set() -> None:
    chance = random.Random(7)  # noqa: S311
    keys, known = KeySet(), set()
    for _ in range(5_000):
        key = chance.choice((chance.getrandbits(64), chance.getrandbits(6))) or 1
        assert (key in keys) == (key in known)
        assert keys.add(key) == (key not in known)
        known.add(key)
    assert len(keys) == len(known)
    assert all(key in keys for key in known)

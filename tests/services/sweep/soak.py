"""Twenty kills at random moments, and 300 live servers with few open files: `make soak`."""

from __future__ import annotations

import tempfile
import time
from collections import Counter
from pathlib import Path
from uuid import uuid4

from client.running import assert_nothing_is_left
from mcproof.services.store.database import open_database
from mcproof.services.store.recording import problems_of
from mcproof.services.store.tables import RUNS

from .fleet import running_fleet
from .killing import kill_rounds
from .sweeping import outcomes, sweep_with_few_files, write_list

KILLS, CAPTURES, SERVERS = 20, 5_000, 300


def kill() -> None:
    for name, options in (("", ()), (" with --record", ("--record", "--database", "store.sqlite"))):
        with tempfile.TemporaryDirectory() as folder:
            place = Path(folder)
            hits = kill_rounds(place, captures=CAPTURES, kills=KILLS, seed=20, options=options)
            stored = f", {_stored(place):,} runs in the store" if options else ""
            print(f"sweep{name}: {hits} of {KILLS} kills hit, {CAPTURES:,} captures each in the results once{stored}")


def _stored(folder: Path) -> int:
    database = open_database(str(folder / "store.sqlite"))
    assert list(problems_of(database)) == []
    with database.reading() as connection:
        count = len(connection.execute(RUNS.select()).all())
    database.close()
    assert count == CAPTURES
    return count


def fleet() -> None:
    marker = f"mcproof-{uuid4().hex[:12]}"
    with tempfile.TemporaryDirectory() as folder, running_fleet(SERVERS, marker) as expected:
        place, start = Path(folder), time.monotonic()
        words = ("--allow-commands", "--retries", "0", "--timeout", "40", "--per-host", "8")
        done = sweep_with_few_files(write_list(place / "fleet.txt", expected), *words, cwd=place)
        assert done.returncode == 0, done
        found = outcomes(place / "sweep.jsonl")
        seconds = time.monotonic() - start
    wrong = {
        target: (outcome, found.get(target)) for target, outcome in expected.items() if found.get(target) != outcome
    }
    assert not wrong, wrong
    assert_nothing_is_left(marker)
    counted = ", ".join(f"{count} {outcome}" for outcome, count in sorted(Counter(found.values()).items()))
    print(f"sweep: {len(found)} live servers with 256 open files in {seconds:.0f} s: {counted}; no process left")


if __name__ == "__main__":
    kill()
    fleet()

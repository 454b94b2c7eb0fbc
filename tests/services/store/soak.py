"""Ten writers at once, one killed at a random moment, fifty rounds, in SQLite and PostgreSQL: `make soak`."""

from __future__ import annotations

import tempfile
from pathlib import Path

from .conftest import new_database
from .killing import kill_round
from .postgres import running_postgres, why_not

ROUNDS, WRITERS, TIMES = 50, 10, 10


def soak(name: str, word: str) -> None:
    reported = there = 0
    for seed in range(ROUNDS):
        done, there = kill_round(word, writers=WRITERS, times=TIMES, seed=seed)
        reported += done
        if seed % 10 == 9:
            print(f"{name}: {seed + 1} rounds, {reported:,} runs reported, {there:,} stored, none lost", flush=True)


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        soak("SQLite", str(Path(folder) / "store.sqlite"))
    if reason := why_not():
        print(f"PostgreSQL: skipped: {reason}")
        return
    with running_postgres() as url:
        soak("PostgreSQL", new_database(url))


if __name__ == "__main__":
    main()

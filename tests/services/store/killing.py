"""Rounds of many writers at once, one of them killed at a random moment."""

from __future__ import annotations

import random
import subprocess
import sys
import time
from pathlib import Path

from sqlalchemy import select

from limits import HANG
from mcproof.services.store.database import open_database
from mcproof.services.store.recording import problems_of
from mcproof.services.store.tables import RUNS

TESTS = Path(__file__).parents[2]


def kill_round(word: str, *, writers: int, times: int, seed: int) -> tuple[int, int]:
    """Run writers, kill one, and check the store. Returns how many runs were reported as recorded, and are there."""
    chance = random.Random(seed)  # noqa: S311
    started = [
        subprocess.Popen(
            [sys.executable, "-m", "services.store.writer", word, str(number), str(times)],
            cwd=TESTS,
            stdout=subprocess.PIPE,
            text=True,
        )
        for number in range(writers)
    ]
    victim = chance.choice(started)
    assert victim.stdout is not None
    first = victim.stdout.readline()  # it records by now
    time.sleep(chance.random() * 0.3)
    victim.kill()
    reported = {first.strip()} | {
        line for each in started for line in each.communicate(timeout=HANG)[0].split() if len(line) == 36
    }
    failed = [each.args for each in started if each is not victim and each.returncode != 0]
    assert not failed, failed
    database = open_database(word)
    assert not (problems := list(problems_of(database))), problems[:3]
    with database.reading() as connection:
        there = set(connection.execute(select(RUNS.c.uid)).scalars())
    database.close()
    assert reported <= there, f"{len(reported - there)} finished runs are lost"
    return len(reported), len(there)

"""Record runs one after another, and print the id of each once it is recorded. Started by the tests, and killed."""

from __future__ import annotations

import sys

from mcproof.services.store.database import open_database
from mcproof.services.store.recording import record_run

from .runs import BAD, GOOD, linted


def main(word: str, number: str, times: str) -> None:
    database = open_database(word)
    runs = [(data, linted(data, "shared" if number == "0" else f"server {int(number) % 4}")) for data in (GOOD, BAD)]
    for count in range(int(times)):
        data, run = runs[count % 2]
        [recorded] = record_run(database, run, [data.decode()])
        print(recorded.uid, flush=True)  # noqa: T201


if __name__ == "__main__":
    main(*sys.argv[1:])

"""Hostile and mutated files, in processes with limits on memory and time: `make soak`. The tests read fewer.

python -m source.javascript.soak [FILES] [FOLDER WITH REAL SOURCE]
"""

from __future__ import annotations

import os
import random
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from limits import HangError, cpu_limit
from source.javascript.hostile_files import REAL, hostile_file, read_hostile

BATCH = 250
CPU_SECONDS_OF_FILE = 30
MEMORY = 3 << 30
LARGEST_SEED = 200_000
"""Bytes of a real file that is mutated."""


def real_texts(folder: str) -> list[bytes]:
    """The built-in texts, and some files of a folder."""
    texts = [text.encode() for text in REAL]
    paths = (
        sorted(path for path in Path(folder).rglob("*.[jt]s") if path.stat().st_size < LARGEST_SEED) if folder else []
    )
    return texts + [path.read_bytes() for path in random.Random(0).sample(paths, min(len(paths), 400))]  # noqa: S311


def read_batch(first: int, count: int, folder: str) -> None:
    """Read the files of some seeds. Prints a line for each that fails, and the slowest."""
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    real, slowest = real_texts(folder), (0.0, 0)
    with tempfile.TemporaryDirectory() as place:
        for seed in range(first, first + count):
            data, suffix = hostile_file(seed, real), (".ts", ".js", ".tsx")[seed % 3]
            before = time.process_time()
            try:
                with cpu_limit(CPU_SECONDS_OF_FILE):
                    read_hostile(Path(place), data, suffix)
            except (HangError, Exception) as error:
                print(f"FAILED {seed}: {type(error).__name__}: {str(error)[:300]}", flush=True)
            slowest = max(slowest, (time.process_time() - before, seed))
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss >> 10
    print(f"SLOWEST {slowest[0]:.1f} s for {slowest[1]}, {memory} MB", flush=True)


def main() -> None:
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 10_000
    folder = sys.argv[2] if len(sys.argv) > 2 else ""
    if len(sys.argv) > 3:
        read_batch(int(sys.argv[3]), count, folder)
        return
    started, failed, most, slowest = time.monotonic(), [], 0, 0.0
    for first in range(0, count, BATCH):
        command = [sys.executable, "-m", "source.javascript.soak", str(min(BATCH, count - first)), folder, str(first)]
        done = subprocess.run(
            command, capture_output=True, text=True, env={**os.environ, "PYTHONHASHSEED": "0"}, check=False
        )
        failed += [line for line in done.stdout.splitlines() if line.startswith("FAILED")]
        if done.returncode:
            failed.append(
                f"FAILED: the process with seeds from {first} ended with {done.returncode}: {done.stderr[-500:]}"
            )
        for line in done.stdout.splitlines():
            if line.startswith("SLOWEST"):
                seconds, memory = float(line.split()[1]), int(line.split()[-2])
                slowest, most = max(slowest, seconds), max(most, memory)
    print(*failed, sep="\n")
    minutes = (time.monotonic() - started) / 60
    print(f"{count:,} files in {minutes:.0f} minutes, {len(failed)} failed, at most {slowest:.1f} CPU s and {most} MB")
    assert not failed


if __name__ == "__main__":
    main()

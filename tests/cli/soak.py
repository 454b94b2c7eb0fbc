"""Check a catalog of 50 megabytes: `make soak`."""

from __future__ import annotations

import tempfile
from pathlib import Path
from time import process_time

from .test_bad_input import check_many_tools

TOOLS = 100_000


def main() -> None:
    start = process_time()
    with tempfile.TemporaryDirectory() as folder:
        check_many_tools(Path(folder), TOOLS)
        size = (Path(folder) / "large.json").stat().st_size
    print(f"{TOOLS:,} tools in {size:,} bytes: checked in {process_time() - start:.1f} CPU seconds", flush=True)


if __name__ == "__main__":
    main()

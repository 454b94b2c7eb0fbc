"""Run mcproof with the given arguments, then print the CPU time and the peak memory of this process as JSON.

The peak of its largest child is there, too.
"""

from __future__ import annotations

import gc
import json
import os
import pathlib
import re
import resource
import sys
import time

from mcproof.cli.main import main


def peak_memory() -> int:
    """Return the peak in bytes. `ru_maxrss` would start at the peak of the parent process."""
    status = pathlib.Path("/proc/self/status").read_text(encoding="ascii")
    found = re.search(r"VmHWM:\s+(\d+) kB", status)
    return int(found[1]) * 1024 if found is not None else 0


gc.disable()  # as the console script does
with open(os.devnull, "w", encoding="utf-8") as sys.stdout:
    start = time.process_time()
    main(sys.argv[1:])
    seconds = time.process_time() - start
child_peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss * 1024
print(json.dumps({"seconds": seconds, "peak": peak_memory(), "child_peak": child_peak}), file=sys.stderr)

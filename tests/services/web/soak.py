"""Fuzz the API for longer than the tests do, each time with other requests: `make soak`."""

from __future__ import annotations

import random
import tempfile
from pathlib import Path

from .fuzzing import MODES, fuzz, operations_of
from .test_fuzzing import fuzzed_service, known_parameters

EXAMPLES = 300


def main() -> None:
    seed = random.SystemRandom().randrange(2**32)
    with tempfile.TemporaryDirectory() as folder, fuzzed_service(Path(folder)) as service:
        known = known_parameters(service)
        for name, operation in operations_of(service).items():
            sent = sum(fuzz(operation, mode, EXAMPLES, known, seed=seed) for mode in MODES)
            print(f"{name}: {sent:,} requests, each response as described (seed {seed})", flush=True)


if __name__ == "__main__":
    main()

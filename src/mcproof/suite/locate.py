"""Find the suites to run."""

from __future__ import annotations

import os

from mcproof.errors import InputError

DEFAULT_NAMES = ("mcproof.yaml", "mcproof.yml", "mcptest.yaml", "mcptest.yml")
"""Default suite files; the first that exists is used."""


def suite_files(named: list[str]) -> list[str]:
    """Return the named suites without duplicates, or the default suite. Raises InputError if there is none."""
    if named:
        for name in named:
            if os.path.isdir(name):
                raise InputError("is a folder; name the suites in it", file=name)
        return list(dict.fromkeys(named))
    for name in DEFAULT_NAMES:
        if os.path.isfile(name):
            return [name]
    raise InputError(f"no suite found (tried {', '.join(DEFAULT_NAMES)}); name one: `mcproof run SUITE.yaml`")

"""Which suites are meant where none is named."""

from __future__ import annotations

import os

from mcproof.errors import InputError

USUAL = ("mcproof.yaml", "mcproof.yml", "mcptest.yaml", "mcptest.yml")
"""The names that are looked for, the first that is there wins."""


def suite_files(named: list[str]) -> list[str]:
    """The suites that were named, each once, or the usual one here. Raises InputError where there is none."""
    if named:
        for name in named:
            if os.path.isdir(name):
                raise InputError("is a folder; name the suites in it", file=name)
        return list(dict.fromkeys(named))
    for name in USUAL:
        if os.path.isfile(name):
            return [name]
    raise InputError(f"no suite here: there is none of {', '.join(USUAL)}; name one, as in `mcproof run SUITE.yaml`")

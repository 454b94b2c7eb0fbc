"""Measurements of discovery in Python source."""

from __future__ import annotations

import ast
import pathlib
from typing import TYPE_CHECKING

from measure_snapshots import without_collector
from measurement import Comparison
from timing import best_of

if TYPE_CHECKING:
    from measurement import Workspace


def discovery(at: Workspace) -> Comparison:
    """Finding the tools in Python source against parsing the files that hold them."""
    from mcproof.source.python.pipeline import discover

    found = [discover(str(folder)) for folder in at.packages]
    held = [pathlib.Path(file).read_bytes() for each in found for file in each.files]
    with without_collector():
        discovered, parsed = best_of(
            7,
            lambda: [discover(str(folder)) for folder in at.packages],
            lambda: [ast.parse(data) for data in held],
        )
    tools = sum(len(each.tools) for each in found)
    return Comparison.of(discovered, parsed, f"{tools:,} tools in {len(held)} files")

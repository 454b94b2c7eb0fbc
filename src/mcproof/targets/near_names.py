"""A hint for a file or folder that does not exist: the most similar name beside it."""

from __future__ import annotations

import os
from itertools import islice

from mcproof.core.errors import nearest

_MOST_NAMES = 1_000
"""How many names of a folder are compared."""


def similar_name(path: str) -> str:
    """A hint with the name most similar to a missing one, with the same extension; empty if there is none."""
    folder, name = os.path.split(path.rstrip(os.sep))
    stem, extension = os.path.splitext(name)
    try:
        with os.scandir(folder or os.curdir) as entries:
            names = [os.path.splitext(entry.name) for entry in islice(entries, _MOST_NAMES)]
    except OSError:
        return ""
    hint = nearest(stem, sorted(known for known, other in names if other == extension))
    return hint.replace("`", f"`{os.path.join(folder, '')}", 1).replace("`?)", f"{extension}`?)")

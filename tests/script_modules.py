"""The programs in `scripts/` as modules."""

from __future__ import annotations

import importlib
import pathlib
import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from types import ModuleType

FOLDER = pathlib.Path(__file__).resolve().parent.parent / "scripts"


def script(name: str) -> ModuleType:
    """A program as a module; it may import others of its folder."""
    sys.path.insert(0, str(FOLDER))
    try:
        return importlib.import_module(name)
    finally:
        sys.path.remove(str(FOLDER))

"""The folder for what mcproof keeps between runs for one user: tokens, and the key of stored failures."""

from __future__ import annotations

import os
import sys


def state_folder() -> str:
    """`mcproof` below `$XDG_STATE_HOME`, or where the platform keeps the state of programs."""
    named = os.environ.get("XDG_STATE_HOME", "")
    if os.path.isabs(named):
        return os.path.join(named, "mcproof")
    home = os.path.expanduser("~")
    if sys.platform == "win32":
        return os.path.join(os.environ.get("LOCALAPPDATA") or os.path.join(home, "AppData", "Local"), "mcproof")
    if sys.platform == "darwin":
        return os.path.join(home, "Library", "Application Support", "mcproof")
    return os.path.join(home, ".local", "state", "mcproof")

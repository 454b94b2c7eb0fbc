"""A command again whenever a file changes, until the user has seen enough."""

from __future__ import annotations

import gc
import os
import time
from typing import TYPE_CHECKING

from mcproof.cli.main import FAILED, INTERRUPTED
from mcproof.errors import McproofError
from mcproof.report.terminal import tell

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

EVERY = 0.3
"""How often the files are looked at, in seconds."""
MOST_FILES = 20_000
_SUFFIXES = (
    ".c", ".cc", ".cjs", ".cpp", ".cs", ".env", ".ex", ".exs", ".go", ".h", ".hpp", ".java", ".js", ".json", ".jsx",
    ".kt", ".lua", ".mjs", ".php", ".py", ".rb", ".rs", ".scala", ".sh", ".sql", ".swift", ".toml", ".ts", ".tsx",
    ".yaml", ".yml",
)  # fmt: skip
"""What people write; not what servers write, such as logs and databases."""
_SKIPPED = frozenset(("venv", "env", "__pycache__", "node_modules", "site-packages", "dist", "build", "target"))


def watch(run: Callable[[], int], folders: Iterable[str], ours: Iterable[str]) -> int:
    """Run at once and after every change below these folders, except to files that are our own work.

    A file that changes in two runs in a row is written by the run: what a run does to it starts no other.
    """
    our_own = {os.path.realpath(name) for name in ours}
    ignored: set[str] = set()
    roots = list(dict.fromkeys(os.path.realpath(folder) for folder in folders))
    blamed: set[str] = set()
    while True:
        before = _state(roots)
        try:
            code = run()
        except McproofError as error:
            tell(str(error))
            code = FAILED
        if code == INTERRUPTED:
            return code
        gc.collect()
        after = _state(roots)
        meanwhile = _changed(before, after) - our_own
        for name in sorted((meanwhile & blamed) - ignored):
            tell(f"{os.path.relpath(name)} changes in every run, which starts no other")
        ignored |= meanwhile & blamed
        blamed = meanwhile
        tell("waiting for a change; Ctrl-C ends")
        changed = meanwhile - ignored
        while not changed:
            time.sleep(EVERY)
            changed = _changed(after, _state(roots)) - our_own
        first, *others = sorted(changed)
        more = f" and {len(others):,} more" if others else ""
        tell(f"changed: {os.path.relpath(first)}{more}")


def _changed(before: dict[str, tuple[int, int]], after: dict[str, tuple[int, int]]) -> set[str]:
    return {name for name in before.keys() | after.keys() if before.get(name) != after.get(name)}


def _state(roots: list[str]) -> dict[str, tuple[int, int]]:
    """When each file was changed last, and its size."""
    found: dict[str, tuple[int, int]] = {}
    for entry in _files(roots):
        try:
            status = entry.stat()
        except OSError:  # gone again
            continue
        found[entry.path] = (status.st_mtime_ns, status.st_size)
        if len(found) >= MOST_FILES:
            break
    return found


def _files(roots: list[str]) -> Iterator[os.DirEntry[str]]:
    waiting = list(roots)
    while waiting:
        try:
            with os.scandir(waiting.pop()) as listing:
                entries = sorted(listing, key=lambda entry: entry.name)
        except OSError:
            continue
        for entry in entries:
            if entry.is_dir(follow_symlinks=False):
                if not (entry.name.startswith(".") or entry.name in _SKIPPED):
                    waiting.append(entry.path)
            elif entry.name.endswith(_SUFFIXES):
                yield entry

"""Rerun a command whenever a file changes, until the user stops it."""

from __future__ import annotations

import gc
import os
import time
from collections import deque
from itertools import chain
from typing import TYPE_CHECKING, NamedTuple

from mcproof.core.console import tell
from mcproof.core.errors import FAILED, INTERRUPTED, McproofError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

EVERY = 0.3
"""Seconds between two looks at the files."""
MOST_FILES = 20_000
MOST_FOLDERS = 5_000
_SUFFIXES = (
    ".c", ".cc", ".cjs", ".cpp", ".cs", ".env", ".ex", ".exs", ".go", ".h", ".hpp", ".java", ".js", ".json", ".jsx",
    ".kt", ".lua", ".mjs", ".php", ".py", ".rb", ".rs", ".scala", ".sh", ".sql", ".swift", ".toml", ".ts", ".tsx",
    ".yaml", ".yml",
)  # fmt: skip
"""Files that people write, as opposed to what servers write, such as logs and databases."""
_SKIPPED = frozenset(("venv", "env", "__pycache__", "node_modules", "site-packages", "dist", "build", "target"))


class Watched(NamedTuple):
    """The folders and files to watch."""

    folders: list[str]
    """Watched with everything below them."""
    files: list[str]
    """Watched one by one, wherever they are."""


def watch(run: Callable[[], int], watched: Callable[[], Watched], ours: Iterable[str]) -> int:
    """Run at once and after every change, except to files that mcproof writes itself (`ours`).

    A file in a watched folder that changes during two runs in a row is written by the run: it triggers no further run.
    Files that are watched one by one always do, because somebody edits them.
    """
    our_own = {os.path.realpath(name) for name in ours}
    ignored: set[str] = set()
    blamed: set[str] = set()
    while True:
        folders, files = watched()
        roots = list(dict.fromkeys(map(os.path.realpath, folders)))
        named = list(dict.fromkeys(map(os.path.realpath, files)))
        before = _state(roots, named)
        try:
            code = run()
        except McproofError as error:
            tell(str(error))
            code = FAILED
        if code == INTERRUPTED:
            return code
        gc.collect()
        after = _state(roots, named)
        meanwhile = _changed(before, after) - our_own
        written = (meanwhile & blamed).difference(named)
        for name in sorted(written - ignored):
            tell(f"{os.path.relpath(name)} changes in every run; ignored from now on")
        ignored |= written
        blamed = meanwhile
        tell("waiting for a change; Ctrl-C to stop")
        changed = meanwhile - ignored
        while not changed:
            time.sleep(EVERY)
            changed = _changed(after, _state(roots, named)) - our_own
        first, *others = sorted(changed)
        more = f" and {len(others):,} more" if others else ""
        tell(f"changed: {os.path.relpath(first)}{more}")


def _changed(before: dict[str, tuple[int, int]], after: dict[str, tuple[int, int]]) -> set[str]:
    return {name for name in before.keys() | after.keys() if before.get(name) != after.get(name)}


def _state(roots: list[str], named: list[str]) -> dict[str, tuple[int, int]]:
    """The modification time and size of each file."""
    found: dict[str, tuple[int, int]] = {}
    for path in chain(named, _files(roots)):
        try:
            status = os.stat(path)
        except OSError:  # deleted meanwhile
            continue
        found[path] = (status.st_mtime_ns, status.st_size)
        if len(found) >= MOST_FILES:
            break
    return found


def _files(roots: list[str]) -> Iterator[str]:
    waiting = deque(roots)
    seen = 0
    while waiting and seen < MOST_FOLDERS:
        seen += 1
        try:
            with os.scandir(waiting.popleft()) as listing:
                entries = sorted(listing, key=lambda entry: entry.name)
        except OSError:
            continue
        for entry in entries:
            if entry.is_dir(follow_symlinks=False):
                if not (entry.name.startswith(".") or entry.name in _SKIPPED):
                    waiting.append(entry.path)
            elif entry.name.endswith(_SUFFIXES):
                yield entry.path

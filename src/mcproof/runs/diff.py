"""Write the lock: the surface of every target as it is now."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Literal, NamedTuple

from mcproof.checks.diff.drift import drift_against
from mcproof.checks.diff.lock import LIVE, LOCK, Lock, ReadFrom, locked_entry
from mcproof.checks.fixes.snippet_tables import FRAMEWORKS, recognised_frameworks
from mcproof.core.errors import INTERRUPTED, InputError, McproofError
from mcproof.core.text.files import leaves_folder, write_file
from mcproof.execution.drift_references import locked_target
from mcproof.execution.target_run import Checked, TargetRun
from mcproof.results.run import TargetResult

if TYPE_CHECKING:
    from mcproof.checks.diff.drift import CatalogDrift
    from mcproof.core.catalog.model import Catalog
    from mcproof.execution.events import Listener
    from mcproof.execution.run_requests import LockRequest
    from mcproof.execution.target_run import LoadedTarget

LockStatus = Literal["new", "unchanged", "changed", "dropped"]


class LockedTarget(NamedTuple):
    """What locking did to a target."""

    target: str
    status: LockStatus
    hash: str
    """Of the surface; empty if the target was dropped."""
    counts: dict[str, int]
    drift: CatalogDrift | None = None
    """How it differs from what was locked before, if anything was."""


class LockOutcome(NamedTuple):
    """The lock that was written, and what changed in it."""

    file: str
    targets: list[LockedTarget]


def lock_targets(request: LockRequest, listen: Listener) -> LockOutcome:
    """Lock every target of a request; other entries of the lock stay, unless their file is gone.

    Nothing is written unless every target could be read. Raises an error otherwise.
    """
    if (problem := leaves_folder(LOCK, os.curdir)) is not None:
        raise InputError(f"{problem}; nothing was written", file=LOCK)
    before = Lock.read(LOCK) or Lock(LOCK, {})
    entries, locked = dict(before.entries), dict[str, LockedTarget]()

    def check(target: LoadedTarget) -> Checked:
        name = locked_target(target.source)
        entries[name] = locked_entry(target.catalog, _read_from(target.catalog))
        locked[name] = _outcome(before, name, target.catalog, entries[name]["hash"])
        return Checked(TargetResult(target.catalog.name, counts=target.catalog.counts))

    run = TargetRun(request, listen)
    result = run.run(check)
    if result.exit_code == INTERRUPTED:
        raise KeyboardInterrupt
    for each in result.failed:
        if each.trouble is not None:
            raise each.trouble.as_error()
    for name in _gone(before, locked):
        del entries[name]
        locked[name] = LockedTarget(name, "dropped", "", {})
    write_file(LOCK, Lock(LOCK, entries).text().encode("ascii"))
    return LockOutcome(LOCK, list(locked.values()))


def _outcome(before: Lock, name: str, catalog: Catalog, surface: str) -> LockedTarget:
    try:
        earlier = before.catalog(name)
    except McproofError:  # a damaged entry, which is replaced
        earlier = None
    if earlier is None:
        return LockedTarget(name, "new", surface, catalog.counts)
    drift = drift_against(catalog, earlier)
    is_same = before.entries[name]["hash"] == surface
    return LockedTarget(name, "unchanged" if is_same else "changed", surface, catalog.counts, drift)


def _gone(before: Lock, locked: dict[str, LockedTarget]) -> list[str]:
    """Return the entries of files that no longer exist; servers may come back."""
    others = [name for name in before.entries if name not in locked and name != "-"]
    return [name for name in others if before.entries[name]["read_from"]["kind"] != LIVE and not os.path.lexists(name)]


def _read_from(catalog: Catalog) -> ReadFrom:
    """Return how a catalog was read."""
    wire = catalog.connection
    if catalog.source is not None:
        found = {tool.source.framework for tool in catalog.tools if tool.source is not None}
        return ReadFrom("source", frameworks=tuple(FRAMEWORKS[each] for each in sorted(found & {*FRAMEWORKS})))
    frameworks = tuple(FRAMEWORKS[each] for each in recognised_frameworks(catalog))
    if wire is None:
        return ReadFrom("snapshot", protocol=catalog.protocol, frameworks=frameworks)
    return ReadFrom(LIVE, wire.transport, wire.era, catalog.protocol, frameworks)

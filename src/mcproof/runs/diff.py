"""Compare catalogs with each other or with an earlier state, and write the lock.

`diff_catalogs` compares two catalogs, and `lock_targets` writes `mcproof.lock`, whose content is decided in
`checks.diff.lock`. `--locked` and `--against` of other runs are in `lint`.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from mcproof import __version__
from mcproof.checks.diff.items import compare_catalogs, report_changes
from mcproof.checks.diff.lock import LIVE, LOCK, Lock, ReadFrom, drift_against, locked_entry
from mcproof.checks.fixes.snippets import framework_names
from mcproof.core.errors import INTERRUPTED, InputError, McproofError, UsageError
from mcproof.core.text.files import leaves_folder, write_file
from mcproof.runs.events import Clock, Listener, RunFinished, RunStarted, TargetFinished
from mcproof.runs.exit_code import exit_code
from mcproof.runs.judging import Checked
from mcproof.runs.lint import locked_catalog, locked_target, read_lock
from mcproof.runs.loop import LoadedTarget, TargetRun, one_input, read_one
from mcproof.runs.results import DiffPayload, LockedTarget, LockOutcome, RunResult, TargetResult, Trouble

if TYPE_CHECKING:
    from mcproof.core.catalog.model import Catalog
    from mcproof.runs.requests import DiffRequest, LockRequest, RunSession


def diff_catalogs(request: DiffRequest, listen: Listener, _: RunSession) -> RunResult:
    """Return the changes between two catalogs as the findings of the new one."""
    clock = Clock()
    new_name = "".join(request.new.names) or "--"
    listen(RunStarted(is_single=True, files=dict.fromkeys((*request.old.names, *request.new.names), "what is read")))
    settings = request.settings.here()
    try:
        locks = [name for name in request.old.names if os.path.basename(str(name)) == LOCK]
        if locks:  # what was locked of the other target
            old = locked_catalog(one_input(request.new, settings, listen), read_lock(str(locks[0])))
        else:
            old = read_one(request.old, settings, listen)
        new = read_one(request.new, settings, listen)
    except UsageError:
        raise
    except McproofError as error:
        result = TargetResult(error.file or new_name, Trouble.of(error), payload=DiffPayload())
    else:
        result = TargetResult(
            new.name,
            counts=new.counts,
            findings=report_changes(old, new, compare_catalogs(old, new)),
            fail_on=request.fail_on,
            seconds=clock.seconds,
            payload=DiffPayload(old.name),
        )
    listen(TargetFinished(result))
    run = RunResult(
        command="diff",
        version=__version__,
        targets=[result],
        rules=list({finding.rule.id: finding.rule for finding in result.findings}.values()),
        exit_code=exit_code([result]),
        started=clock.started,
        seconds=clock.seconds,
    )
    listen(RunFinished(run))
    return run


def lock_targets(request: LockRequest, listen: Listener, session: RunSession) -> LockOutcome:
    """Lock every target of a request; other entries of the lock stay, unless their file is gone.

    With `only_checks`, nothing is written. Else nothing is written unless every target could be read.
    Raises an error otherwise.
    """
    if (problem := leaves_folder(LOCK, os.curdir)) is not None:
        raise InputError(f"{problem}; nothing was written", file=LOCK)
    # Read before a server is started: a damaged lock must not cost a run.
    before = read_lock() if request.only_checks else Lock.read(LOCK) or Lock(LOCK, {})
    entries, locked = dict(before.entries), dict[str, LockedTarget]()

    def check(target: LoadedTarget) -> Checked:
        name = locked_target(target.source)
        entries[name] = locked_entry(target.catalog, _read_from(target.catalog))
        locked[name] = _outcome(before, name, target.catalog, entries[name]["hash"])
        return Checked(TargetResult(target.catalog.name, counts=target.catalog.counts))

    run = TargetRun(request, listen, session)
    result = run.run(check)
    if result.exit_code == INTERRUPTED:
        raise KeyboardInterrupt
    for failed in result.failed:
        if failed.trouble is not None:
            raise failed.trouble.as_error()
    # Only of files: a server that is down today is still the one that was reviewed.
    for name in _gone(before, locked):
        del entries[name]
        locked[name] = LockedTarget(name, "dropped", "", {})
    if not request.only_checks:
        write_file(LOCK, Lock(LOCK, entries).text().encode("ascii"))
    return LockOutcome(LOCK, list(locked.values()), is_written=not request.only_checks)


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
        return ReadFrom("source", frameworks=framework_names(catalog))
    frameworks = framework_names(catalog)
    if wire is None:
        return ReadFrom("snapshot", protocol=catalog.protocol, frameworks=frameworks)
    return ReadFrom(LIVE, wire.transport, wire.era, catalog.protocol, frameworks)

"""From the request of a sweep to its results: `targets` reads the targets, the conductor submits them to an engine,
`check` does the work, `results` records it, and `summary` writes what follows from it.

Why a row is the record: docs/decisions/0056-a-row-is-the-record.md.
"""

from __future__ import annotations

from itertools import chain
from typing import TYPE_CHECKING

from mcproof.core.console import plural
from mcproof.core.errors import UsageError
from mcproof.services.store.database import open_database
from mcproof.services.sweep.check import validate_plan
from mcproof.services.sweep.conductor import Conductor
from mcproof.services.sweep.engines import LocalEngine, SweepEngine, cores, descriptors_left
from mcproof.services.sweep.results import ResultsFile, RowSink
from mcproof.services.sweep.summary import SweepProgress, check_outputs, write_outputs
from mcproof.services.sweep.targets import TargetSources

if TYPE_CHECKING:
    from collections.abc import Callable

    from mcproof.services.store.database import Database
    from mcproof.services.sweep import SweepRequest
    from mcproof.services.sweep.summary import SweepSummary


_DESCRIPTORS, _OF_SCAN, _OF_PROOF = 5, 8, 24
"""How many open files a live server needs: for a connection, and what `--scan` and `--prove` add."""


def sweep(request: SweepRequest, print_note: Callable[[str], None]) -> SweepSummary:
    """Check all targets that the results do not have yet, write the outputs, and return the summary.

    Raises KeyboardInterrupt; what is done is kept.
    """
    check_outputs(request.outputs, request.results)
    database = open_database(request.database) if request.plan.records else None
    progress = SweepProgress(request)
    try:
        _check_all(request, database, progress, print_note)
    finally:
        progress.clear()
        if database is not None:
            database.close()
    return write_outputs(request.results, request.outputs)


def _check_all(
    request: SweepRequest, database: Database | None, progress: SweepProgress, print_note: Callable[[str], None]
) -> None:
    from mcproof.client.waiting import raising_on_signals

    validate_plan(request.plan)
    if request.engine.name == "ray":  # before anything is written: it may not be installed
        from mcproof.services.sweep.ray_engine import ray_module

        ray_module(request.engine.address)
    sources = TargetSources(request.sources, request.permissions, request.ours)
    targets = sources.targets()
    first = next(targets, None)  # before anything is written: a source may not exist
    if first is None:
        raise UsageError(f"nothing to check: no target in {', '.join(request.sources)}")
    results = ResultsFile(request.results, request.identity, restarts=request.restarts)
    if results.is_resumed:
        print_note(f"{request.results}: {plural(len(results.done), 'target')} done already (--restart starts over)")
    sink = RowSink(results, database)
    engine = _engine(request, print_note)
    conductor = Conductor(engine, request.plan, results, sink, request.politeness, progress)
    try:
        with raising_on_signals():
            conductor.run(chain([first], targets))
    finally:
        engine.close()
        results.close()
    progress.clear()
    if sources.outdated:
        print_note(f"{sources.outdated:,} entries are older versions or deleted; left out")
    if database is not None:
        print_note(f"recorded {sink.recorded:,} runs in {database.label}")


def _engine(request: SweepRequest, print_note: Callable[[str], None]) -> SweepEngine:
    choice = request.engine
    per_server = _DESCRIPTORS + _OF_SCAN * request.plan.scans + _OF_PROOF * request.plan.proves
    at_once = max(1, min(choice.at_once, descriptors_left() // per_server))
    if at_once < choice.at_once:
        print_note(f"at most {at_once} live servers at once: this process may not open more files (`ulimit -n`)")
    if choice.name == "ray":
        from mcproof.services.sweep.ray_engine import RayEngine

        return RayEngine(request.plan, address=choice.address, jobs=choice.jobs, at_once=at_once)
    return LocalEngine(request.plan, jobs=choice.jobs or cores(), at_once=at_once)

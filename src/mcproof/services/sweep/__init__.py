"""Check thousands of targets, on one machine or a cluster, with results that survive a kill.

`run_sweep` leads from a request to the results: `targets` reads the targets, the conductor submits them to an
engine, `check` does the work, `results` records it, `outputs` writes what follows from it.
Why a row is the record: docs/decisions/0056-a-row-is-the-record.md.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from uuid import NAMESPACE_URL, uuid5

from mcproof.core.console import plural
from mcproof.core.errors import UsageError
from mcproof.core.named_tuple import NamedTuple
from mcproof.services.sweep.check import validate_plan
from mcproof.services.sweep.conductor import Conductor, Tally
from mcproof.services.sweep.engines import LocalEngine, SweepEngine, cores, descriptors_left
from mcproof.services.sweep.results import FileSink, RecordingSink, ResultsFile
from mcproof.services.sweep.targets import TargetSources

if TYPE_CHECKING:
    from collections.abc import Callable

    from mcproof.services.store.database import Database
    from mcproof.services.sweep.request import SweepRequest


_DESCRIPTORS, _OF_SCAN, _OF_PROOF = 5, 8, 24
"""How many open files a live server needs: for a connection, and what `--scan` and `--prove` add."""


class SweepRun(NamedTuple):
    """What one run of a sweep has done."""

    tally: Tally
    is_resumed: bool
    outdated: int
    """Entries of registry documents that are older versions, or deleted."""
    recorded: int


def run_sweep(
    request: SweepRequest,
    database: Database | None = None,
    *,
    progress: Callable[[Tally], None] = lambda _: None,
    tell: Callable[[str], None] = lambda _: None,
) -> SweepRun:
    """Check all targets that the results do not have yet. Raises KeyboardInterrupt; what is done is kept."""
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
        tell(f"{request.results}: {plural(len(results.done), 'target')} done already (--restart starts over)")
    sink: FileSink | RecordingSink = FileSink(results)
    if database is not None:
        sink = RecordingSink(results, database, uuid5(NAMESPACE_URL, results.sweep_id))
    engine = _engine(request, tell)

    def all_targets() -> Any:
        yield first
        yield from targets

    conductor = Conductor(engine, request.plan, results, sink, request.politeness, progress)
    try:
        with raising_on_signals():
            conductor.run(all_targets())
    finally:
        engine.close()
        results.close()
    recorded = sink.recorded if isinstance(sink, RecordingSink) else 0
    return SweepRun(conductor.tally, results.is_resumed, sources.outdated, recorded)


def _engine(request: SweepRequest, tell: Callable[[str], None]) -> SweepEngine:
    choice = request.engine
    per_server = _DESCRIPTORS + _OF_SCAN * request.plan.scans + _OF_PROOF * request.plan.proves
    at_once = max(1, min(choice.at_once, descriptors_left() // per_server))
    if at_once < choice.at_once:
        tell(f"at most {at_once} live servers at once: this process may not open more files (`ulimit -n`)")
    if choice.name == "ray":
        from mcproof.services.sweep.ray_engine import RayEngine

        return RayEngine(request.plan, address=choice.address, jobs=choice.jobs, at_once=at_once)
    return LocalEngine(request.plan, jobs=choice.jobs or cores(), at_once=at_once)

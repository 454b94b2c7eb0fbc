"""Request in, result out: runs of every kind, their configuration, and their results.

`execute` runs a request of `requests`, and nothing else does: `planning` resolves settings and defaults, `loop` reads
the targets, `judging` checks each, and there is a module for each kind of run. Results are values with one stored form
(`results`, `stored`), whose JSON Schemas are in `schemas`; `exit_code` decides with which code a run ends. Nothing here
prints: progress is reported in `events`, formats are in `report`. What is good or bad is decided in `checks`.
Why events are values: docs/decisions/0027-run-events.md.
Why there is one entrance: docs/decisions/0066-one-entrance.md.

Public modules: codec, config, events, records, requests, results, stored.
"""

from __future__ import annotations

from importlib import import_module
from time import monotonic
from typing import TYPE_CHECKING, Any, overload

from mcproof.runs.events import Listener, ignore

if TYPE_CHECKING:
    from mcproof.core.catalog.model import Catalog
    from mcproof.runs.requests import (
        CaptureRequest,
        LockRequest,
        ReadRequest,
        ReplayRequest,
        RunRequest,
        RunSession,
        SingleRequest,
    )
    from mcproof.runs.results import CatalogRead, LockOutcome, ReplayOutcome, RunResult, SingleResponse


@overload
def execute(request: RunRequest, listen: Listener = ignore, session: RunSession | None = None) -> RunResult: ...
@overload
def execute(request: LockRequest, listen: Listener = ignore) -> LockOutcome: ...
@overload
def execute(request: SingleRequest, listen: Listener = ignore) -> SingleResponse: ...
@overload
def execute(request: CaptureRequest, listen: Listener = ignore) -> Catalog: ...
@overload
def execute(request: ReadRequest, listen: Listener = ignore) -> list[CatalogRead]: ...
@overload
def execute(request: ReplayRequest, listen: Listener = ignore) -> ReplayOutcome: ...
def execute(request: Any, listen: Listener = ignore, session: RunSession | None = None) -> Any:
    """Execute a request; `listen` is called with every event of the run.

    An interrupt ends a run with a partial result, or with a KeyboardInterrupt if there is none. Raises McproofError if
    nothing could be done.
    """
    start = monotonic()  # before anything is imported, which takes long on a busy machine
    from mcproof.runs.requests import RUNNERS, RunSession

    session = (session or RunSession())._replace(start=start)
    module, _, function = RUNNERS[type(request)].partition(":")
    return getattr(import_module(module), function)(request, listen, session)

"""Request in, result out: runs of every kind, their configuration, and their results.

`execute` runs a request of `requests`: `planning` resolves settings and defaults, `loop` reads the targets, and
there is a module for each kind of run. Results are values with one stored form (`results`, `stored`), whose JSON
Schemas are in `schemas`; `exit_code` decides with which code a run ends. Nothing here prints: progress is reported
in `events`, formats are in `report`. What is good or bad is decided in `checks`.
Why events are values: docs/decisions/0027-run-events.md.

Public modules: call, codec, config, config_keys, diff, events, exit_code, fix, judging, loop, planning, prove,
records, requests, results, stored.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from mcproof.runs.events import Listener, ignore

if TYPE_CHECKING:
    from mcproof.runs.requests import RunRequest
    from mcproof.runs.results import RunResult


def execute(request: RunRequest, listen: Listener = ignore) -> RunResult:
    """Execute a request; `listen` is called with every event of the run.

    An interrupt ends the run with a partial result. Raises McproofError if nothing could be checked. Each kind of run
    is imported on demand, because `lint` must start fast.
    """
    from mcproof.runs.requests import (
        CompatRequest,
        DiffRequest,
        FixRequest,
        FuzzRequest,
        ProbeRequest,
        ScanRequest,
        SuiteRequest,
    )

    if isinstance(request, ProbeRequest):
        from mcproof.runs.prove import probe_server

        return probe_server(request, listen)
    if isinstance(request, FuzzRequest):
        from mcproof.runs.prove import fuzz_server

        return fuzz_server(request, listen)
    if isinstance(request, SuiteRequest):
        from mcproof.runs.suites import run_suites

        return run_suites(request, listen)
    if isinstance(request, DiffRequest):
        from mcproof.runs.diff import diff_catalogs

        return diff_catalogs(request, listen)
    if isinstance(request, CompatRequest):
        from mcproof.runs.compat import check_clients

        return check_clients(request, listen)
    if isinstance(request, ScanRequest):
        from mcproof.runs.scan import scan_targets

        return scan_targets(request, listen)
    if isinstance(request, FixRequest):
        from mcproof.runs.fix import fix_targets

        return fix_targets(request, listen)
    from mcproof.runs.lint import check_targets

    return check_targets(request, listen)

"""Execute a run request: the one way from a request to a result."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mcproof.execution.events import ignore

if TYPE_CHECKING:
    from mcproof.execution.events import Listener
    from mcproof.execution.run_requests import RunRequest
    from mcproof.results.run import RunResult


def execute(request: RunRequest, listen: Listener = ignore) -> RunResult:
    """Execute a request; `listen` is called with every event of the run.

    An interrupt ends the run with a partial result. Raises McproofError if nothing could be checked. Each kind of run
    is imported on demand, because `lint` must start fast.
    """
    from mcproof.execution.run_requests import (
        CompatRequest,
        DiffRequest,
        FixRequest,
        FuzzRequest,
        ProbeRequest,
        ScanRequest,
        SuiteRequest,
    )

    if isinstance(request, ProbeRequest):
        from mcproof.execution.probe_server import probe_server

        return probe_server(request, listen)
    if isinstance(request, FuzzRequest):
        from mcproof.execution.fuzz_server import fuzz_server

        return fuzz_server(request, listen)
    if isinstance(request, SuiteRequest):
        from mcproof.execution.run_suites import run_suites

        return run_suites(request, listen)
    if isinstance(request, DiffRequest):
        from mcproof.execution.diff_catalogs import diff_catalogs

        return diff_catalogs(request, listen)
    if isinstance(request, CompatRequest):
        from mcproof.execution.check_clients import check_clients

        return check_clients(request, listen)
    if isinstance(request, ScanRequest):
        from mcproof.execution.scan_targets import scan_targets

        return scan_targets(request, listen)
    if isinstance(request, FixRequest):
        from mcproof.execution.fix_targets import fix_targets

        return fix_targets(request, listen)
    from mcproof.execution.check_targets import check_targets

    return check_targets(request, listen)

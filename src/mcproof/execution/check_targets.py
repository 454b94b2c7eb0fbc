"""Check catalogs against rules, for `lint`, `schema-lint` and `grade`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mcproof.execution.check_catalog import check_catalog
from mcproof.execution.run_requests import GradeRequest
from mcproof.execution.target_run import Checked, TargetRun
from mcproof.results.payloads import GradePayload, LintPayload

if TYPE_CHECKING:
    from mcproof.execution.events import Listener
    from mcproof.execution.run_requests import LintRequest
    from mcproof.execution.target_run import LoadedTarget
    from mcproof.results.run import RunResult


def check_targets(request: LintRequest | GradeRequest, listen: Listener) -> RunResult:
    """Check every target of a request."""
    run = TargetRun(request, listen)
    is_grading = isinstance(request, GradeRequest)
    detail = request.detail._replace(scores=True) if is_grading else request.detail
    payload = GradePayload() if is_grading else LintPayload()

    def check(target: LoadedTarget) -> Checked:
        return Checked(check_catalog(target.catalog, target.plan, detail, run.tracker, payload))

    return run.run(check)

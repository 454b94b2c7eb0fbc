"""Check catalogs against rules, for `lint`, `schema-lint` and `grade`."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from mcproof.checks.engine import Observed
from mcproof.execution.check_catalog import check_catalog
from mcproof.execution.drift_references import DriftReferences
from mcproof.execution.planning import compares
from mcproof.execution.run_requests import GradeRequest, LintRequest
from mcproof.execution.target_run import Checked, TargetRun
from mcproof.results.payloads import GradePayload, LintPayload

if TYPE_CHECKING:
    from mcproof.execution.events import Listener
    from mcproof.execution.target_run import LoadedTarget
    from mcproof.results.run import RunResult


def check_targets(request: LintRequest | GradeRequest, listen: Listener) -> RunResult:
    """Check every target of a request."""
    run = TargetRun(request, listen)
    is_grading = isinstance(request, GradeRequest)
    detail = request.detail._replace(scores=True) if is_grading else request.detail
    payload = GradePayload() if is_grading else LintPayload()
    if isinstance(request, LintRequest) and compares(request):
        return run.run(
            partial(_compare, DriftReferences(run.inputs, locked=request.locked, against=request.against), run, request)
        )

    def check(target: LoadedTarget) -> Checked:
        return Checked(check_catalog(target.catalog, target.plan, detail, run.tracker, payload))

    return run.run(check)


def _compare(references: DriftReferences, run: TargetRun, request: LintRequest, target: LoadedTarget) -> Checked:
    """Check a target, and compare it with its earlier state."""
    drift = references.drift(target.source, target.catalog)
    observed = Observed(() if drift is None else (drift,))
    result = check_catalog(target.catalog, target.plan, request.detail, run.tracker, observed=observed)
    return Checked(result._replace(gates=[*result.gates, *references.gates(drift)]))

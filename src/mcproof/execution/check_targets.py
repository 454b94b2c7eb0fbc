"""Check catalogs against rules, for `lint`, `schema-lint` and `grade`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mcproof.execution.check_catalog import check_catalog
from mcproof.execution.requests import GradeRequest
from mcproof.execution.target_run import Checked, TargetRun

if TYPE_CHECKING:
    from mcproof.execution.events import Listener
    from mcproof.execution.requests import LintRequest
    from mcproof.execution.target_run import LoadedTarget
    from mcproof.results.model import RunReport


def check_targets(request: LintRequest | GradeRequest, listen: Listener) -> RunReport:
    """Check every target of a request."""
    run = TargetRun(request, listen)
    detail = request.detail._replace(scores=True) if isinstance(request, GradeRequest) else request.detail

    def check(target: LoadedTarget) -> Checked:
        return Checked(check_catalog(target.catalog, target.plan, detail, run.tracker))

    return run.run(check)

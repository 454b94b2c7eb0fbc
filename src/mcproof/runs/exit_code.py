"""The exit code of a run.

What could not be checked outweighs what failed. The codes themselves are in `core.errors`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from mcproof.core.errors import FAILED, FINDINGS, INTERRUPTED, OK

if TYPE_CHECKING:
    from collections.abc import Iterable

    from mcproof.core.errors import Notice
    from mcproof.runs.results import TargetResult


def exit_code(
    results: Iterable[TargetResult],
    notices: Iterable[Notice] = (),
    *,
    is_interrupted: bool = False,
    requires_conclusive: bool = False,
) -> int:
    """Return the exit code for the results of all targets.

    What could not be checked outweighs what failed, because its outcome is unknown. Whether findings fail a target is
    up to its `fail_on`; a stale baseline entry fails the run, and so does an inconclusive target on request.
    """
    results = list(results)
    if is_interrupted:
        return INTERRUPTED
    if not all(result.is_complete for result in results):
        return FAILED
    if any(notice.level == "error" for notice in notices) or not all(result.passed for result in results):
        return FINDINGS
    return FINDINGS if requires_conclusive and any(result.is_inconclusive for result in results) else OK

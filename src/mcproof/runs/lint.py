"""Check targets against rules: `lint`, `schema-lint` and `grade`, and what `--locked` and `--against` compare with.

The targets of a request are read by `loop`, and one catalog is judged by `judging`.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from mcproof.core.console import shell_word
from mcproof.core.errors import InputError, UsageError
from mcproof.runs.judging import check_catalog
from mcproof.runs.loop import Checked, LoadedTarget, TargetRun
from mcproof.runs.planning import compares
from mcproof.runs.requests import GradeRequest, LintRequest
from mcproof.runs.results import Gate, GradePayload, LintPayload, RunResult

if TYPE_CHECKING:
    from mcproof.checks.diff.drift import CatalogDrift
    from mcproof.checks.diff.lock import Lock
    from mcproof.core.catalog.model import Catalog
    from mcproof.runs.events import Listener
    from mcproof.targets.arguments import Input


LOCKED = "locked"
"""The gate that fails on any difference from the lock."""


class DriftReferences:
    """The earlier states that a run compares its targets with; none without `locked` and `against`."""

    def __init__(self, inputs: list[Input], *, locked: bool, against: str | None) -> None:
        """Read the lock or the capture. Raises an error before any server is started."""
        self._lock: Lock | None = None
        self._capture: Catalog | None = None
        if locked and against is not None:
            raise UsageError("--locked and --against exclude each other")
        if locked:
            self._lock = _read_lock()
        if against is not None:
            self._capture = _read_capture(against, inputs)

    def drift(self, source: Input, catalog: Catalog) -> CatalogDrift | None:
        """Return how a catalog differs from its earlier state; None if the run compares nothing.

        Raises an InputError if the lock does not have the target.
        """
        earlier = self._capture if self._lock is None else self._locked(source, self._lock)
        if earlier is None:
            return None
        from mcproof.checks.diff.drift import drift_against

        return drift_against(catalog, earlier)

    def _locked(self, source: Input, lock: Lock) -> Catalog:
        name = locked_target(source)
        earlier = lock.catalog(name)
        if earlier is None:
            raise InputError(f"not in {lock.file}; `mcproof lock {shell_word(name)}` adds it", file=source.title)
        return earlier

    def gates(self, drift: CatalogDrift | None) -> list[Gate]:
        """Return the gate of a run with `--locked`: any difference fails it."""
        if self._lock is None or drift is None:
            return []
        return [Gate(LOCKED, self._lock.file, drift.summary or "no difference", not drift.differences)]


def locked_target(source: Input) -> str:
    """Return the name of an input in a lock."""
    from mcproof.checks.diff.lock import locked_name

    if source.server is not None or source.is_stdin or source.data is not None:
        is_configured = source.origin is not None and source.origin.line is not None
        return locked_name(source.name, source.origin.file) if is_configured and source.origin else source.name
    return locked_name(source.name, None)


def _read_lock() -> Lock:
    from mcproof.checks.diff.lock import LOCK, Lock

    lock = Lock.read(LOCK)
    if lock is None:
        raise InputError("there is no lock in this folder; `mcproof lock TARGET` writes it", file=LOCK)
    return lock


def _read_capture(against: str, inputs: list[Input]) -> Catalog:
    from mcproof.targets.arguments import Input, read_catalog

    if len(inputs) != 1:
        raise UsageError(f"--against compares one target, and there are {len(inputs)}; --locked compares several")
    return read_catalog(Input(against))


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
        return Checked(
            check_catalog(target.catalog, target.plan, detail, run.tracker, payload, observed=target.observed)
        )

    return run.run(check)


def _compare(references: DriftReferences, run: TargetRun, request: LintRequest, target: LoadedTarget) -> Checked:
    """Check a target, and compare it with its earlier state."""
    drift = references.drift(target.source, target.catalog)
    observed = target.observed if drift is None else target.observed.with_values(drift)
    result = check_catalog(target.catalog, target.plan, request.detail, run.tracker, observed=observed)
    return Checked(result._replace(gates=[*result.gates, *references.gates(drift)]))

"""Check targets against rules: `lint`, `schema-lint` and `grade`, and what `--locked` and `--against` compare with.

The targets of a request are read by `loop`, and one catalog is judged by `judging`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from mcproof.client.endpoints import CommandEndpoint
from mcproof.core.console import shell_word
from mcproof.core.errors import InputError, UsageError
from mcproof.runs.loop import TargetRun
from mcproof.runs.planning import compares
from mcproof.runs.requests import GradeRequest, LintRequest
from mcproof.runs.results import Gate, GradePayload, RunResult

if TYPE_CHECKING:
    from mcproof.checks.diff.lock import Lock
    from mcproof.checks.subjects import CatalogDrift
    from mcproof.core.catalog.model import Catalog
    from mcproof.runs.events import Listener
    from mcproof.runs.judging import Checked
    from mcproof.runs.loop import LoadedTarget
    from mcproof.runs.requests import RunSession
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
            self._lock = read_lock()
        if against is not None:
            self._capture = _read_capture(against, inputs)

    def drift(self, source: Input, catalog: Catalog) -> CatalogDrift | None:
        """Return how a catalog differs from its earlier state; None if the run compares nothing.

        Raises an InputError if the lock does not have the target.
        """
        earlier = self._capture if self._lock is None else locked_catalog(source, self._lock)
        if earlier is None:
            return None
        from mcproof.checks.diff.lock import drift_against

        return drift_against(catalog, earlier)

    def gates(self, drift: CatalogDrift | None) -> list[Gate]:
        """Return the gate of a run with `--locked`: any difference fails it."""
        if self._lock is None or drift is None:
            return []
        return [Gate(LOCKED, self._lock.file, drift.summary or "no difference", not drift.differences)]


def locked_catalog(source: Input, lock: Lock) -> Catalog:
    """Return what a lock has of an input. Raises an InputError if it has nothing."""
    name = locked_target(source)
    earlier = lock.catalog(name) or lock.catalog(source.name)
    if earlier is None:
        # A server is named by its command, which goes after `--` as it was written.
        target = f"-- {name}" if isinstance(source.server, CommandEndpoint) else shell_word(name)
        raise InputError(f"not in {lock.file}; `mcproof lock {target}` adds it", file=source.title)
    return earlier


def locked_target(source: Input) -> str:
    """Return the name of an input in a lock."""
    from mcproof.checks.diff.lock import locked_name

    if source.server is not None or source.is_stdin or source.data is not None:
        is_configured = source.origin is not None and source.origin.line is not None
        if is_configured and source.origin:
            return locked_name(source.name, source.origin.file)
        # `./venv/bin/python server.py` and `venv/bin/python server.py` start one server.
        return " ".join(word.removeprefix("./") for word in source.name.split(" "))
    return locked_name(source.name, None)


def read_lock(file: str = "mcproof.lock") -> Lock:
    """Read a lock. Raises an InputError if there is none."""
    from mcproof.checks.diff.lock import Lock

    lock = Lock.read(file)
    if lock is None:
        raise InputError("there is no lock in this folder; `mcproof lock TARGET` writes it", file=file)
    return lock


def _read_capture(against: str, inputs: list[Input]) -> Catalog:
    from mcproof.targets.arguments import Input, read_catalog

    # A capture is of one server; beside several, all others would seem to be new.
    if len(inputs) != 1:
        raise UsageError(f"--against compares one target, and there are {len(inputs)}; --locked compares several")
    return read_catalog(Input(against))


def check_targets(request: LintRequest | GradeRequest, listen: Listener, session: RunSession) -> RunResult:
    """Check every target of a request."""
    if isinstance(request, GradeRequest):
        request = request._replace(detail=request.detail._replace(scores=True))
    run = TargetRun(request, listen, session)
    if isinstance(request, GradeRequest):
        return run.run(lambda target: run.judge(target, GradePayload()))
    if not compares(request):
        return run.run(run.judge)
    references = DriftReferences(run.inputs, locked=request.locked, against=request.against)

    def compare(target: LoadedTarget) -> Checked:
        drift = references.drift(target.source, target.catalog)
        observed = target.observed if drift is None else target.observed.with_values(drift)
        return run.judge(target, observed=observed).with_gates(references.gates(drift))

    return run.run(compare)

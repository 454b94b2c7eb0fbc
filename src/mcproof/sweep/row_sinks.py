"""Where the outcomes of a sweep go: the results file and, first, the store."""

from __future__ import annotations

from time import monotonic
from typing import TYPE_CHECKING
from uuid import UUID, uuid5

if TYPE_CHECKING:
    from mcproof.store.database import Database
    from mcproof.sweep.check_target import Attempt
    from mcproof.sweep.results_file import ResultsFile
    from mcproof.sweep.sweep_target import SweepTarget

_TOGETHER = 64
"""How many outcomes are recorded in one transaction at most."""
_WAITING = 1.0
"""Seconds until outcomes are recorded, however few they are."""


class FileSink:
    """Appends rows to the results file."""

    def __init__(self, results: ResultsFile) -> None:
        self._results = results
        self._rows: list[tuple[int, str]] = []

    def add(self, target: SweepTarget, attempt: Attempt) -> None:
        self._rows.append((target.key, attempt.line))

    def flush(self, *, is_last: bool = False) -> None:  # noqa: ARG002 (nothing is held back)
        if self._rows:
            self._results.append(self._rows)
            self._rows = []


class RecordingSink:
    """Records outcomes in the store, then appends their rows.

    After a kill between the two, the target is checked again; its runs in the store have the same ids, and are left as
    they are.
    """

    def __init__(self, results: ResultsFile, database: Database, sweep: UUID) -> None:
        self._rows = FileSink(results)
        self._database = database
        self._sweep = sweep
        self._waiting: list[tuple[SweepTarget, Attempt]] = []
        self._since = monotonic()
        self.recorded = 0

    def add(self, target: SweepTarget, attempt: Attempt) -> None:
        if not self._waiting:
            self._since = monotonic()
        self._waiting.append((target, attempt))

    def flush(self, *, is_last: bool = False) -> None:
        if not self._waiting or (
            not is_last and len(self._waiting) < _TOGETHER and monotonic() - self._since < _WAITING
        ):
            return
        from mcproof.store.recording import NewRecord, record_new

        records = [
            NewRecord(str(uuid5(self._sweep, f"{target.key:016x}/{number}")), target.name or target.label, *stored)
            for target, attempt in self._waiting
            for number, stored in enumerate(attempt.stored)
        ]
        self.recorded += record_new(self._database, records)
        for target, attempt in self._waiting:
            self._rows.add(target, attempt)
        self._waiting = []
        self._rows.flush()

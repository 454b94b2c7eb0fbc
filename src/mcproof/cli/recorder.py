"""Record a run of the command line in the store."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING

from mcproof.core.console import remark
from mcproof.core.errors import INTERRUPTED, UsageError

if TYPE_CHECKING:
    from mcproof.cli.record_options import RecordOptions
    from mcproof.core.catalog.model import Catalog
    from mcproof.runs.results import RunResult
    from mcproof.services.store.database import Database


class Recorder:
    """Keeps the catalogs of a run, and records everything when it is finished."""

    def __init__(self, options: RecordOptions) -> None:
        self._options = options
        self._database: Database | None = None
        self._catalogs: list[str | None] = []

    def open(self, *, is_single: bool) -> None:
        """Open the store before any work is done. Raises an error if that is not possible."""
        if self._options.name is not None and not is_single:
            raise UsageError("`--name` names one server, and there are several targets")
        from mcproof.services.store.database import open_database

        self._database = open_database(self._options.database)

    def keep(self, catalog: Catalog | None) -> None:
        """Keep the catalog of a target; None if it could not be read."""
        from mcproof.runs.loop import catalog_text

        is_there = catalog is not None and (catalog.tools or catalog.server.raw)
        self._catalogs.append(catalog_text(catalog) if catalog is not None and is_there else None)

    def record(self, run: RunResult) -> None:
        """Record a finished run; one that was interrupted shows less than the server has."""
        if self._database is None:
            return
        with contextlib.closing(self._database):
            if run.exit_code == INTERRUPTED:
                remark("not recorded: interrupted")
                return
            from mcproof.services.store.recording import record_run

            recorded = record_run(self._database, run, self._catalogs, self._options.name)
        names = recorded[0].name if len(recorded) == 1 else f"{len(recorded):,} servers"
        remark(f"recorded {names} in {self._database.label}")

"""Retention: delete old runs, and the catalogs that no run needs any more."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, NamedTuple

from sqlalchemy import delete, func, select, update

from mcproof.store.tables import CATALOGS, RUNS, SERVERS

if TYPE_CHECKING:
    from sqlalchemy import ColumnElement, Connection

    from mcproof.store.database import Database


class Pruned(NamedTuple):
    """How much was deleted."""

    runs: int
    catalogs: int


def prune(database: Database, *, days: int | None = None, keep: int | None = None) -> Pruned:
    """Delete runs older than `days`, and of each server all but the newest `keep`; the newest run always stays.

    Everything is one transaction, so readers see the store before or after it.
    """
    with database.writing() as connection:
        doomed: list[ColumnElement[bool]] = []
        if days is not None:
            limit = (datetime.now(UTC) - timedelta(days=days)).strftime("%Y-%m-%dT%H:%M:%SZ")
            doomed.append(RUNS.c.started < limit)
        if keep is not None:
            number = func.row_number().over(
                partition_by=RUNS.c.server_id, order_by=(RUNS.c.started.desc(), RUNS.c.id.desc())
            )
            numbered = select(RUNS.c.id, number.label("number")).subquery()
            doomed.append(RUNS.c.id.in_(select(numbered.c.id).where(numbered.c.number > keep)))
        newest = select(SERVERS.c.last_run).where(SERVERS.c.last_run.is_not(None))
        runs = sum(
            connection.execute(delete(RUNS).where(condition, RUNS.c.id.not_in(newest))).rowcount for condition in doomed
        )
        _recount(connection)
        unused = CATALOGS.c.hash.not_in(select(RUNS.c.catalog).where(RUNS.c.catalog.is_not(None)))
        return Pruned(runs, connection.execute(delete(CATALOGS).where(unused)).rowcount)


def _recount(connection: Connection) -> None:
    count = select(func.count()).where(RUNS.c.server_id == SERVERS.c.id).scalar_subquery()
    connection.execute(update(SERVERS).values(runs=count))

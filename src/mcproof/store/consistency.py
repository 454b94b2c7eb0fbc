"""Check that a store is whole: every part that a row names is there and readable."""

from __future__ import annotations

import zlib
from hashlib import sha256
from typing import TYPE_CHECKING

from sqlalchemy import func, select

from mcproof.core.errors import McproofError
from mcproof.runs.stored import read_run
from mcproof.store.tables import CATALOGS, FINDINGS, RUNS, SERVERS

if TYPE_CHECKING:
    from collections.abc import Iterator

    from sqlalchemy import Connection

    from mcproof.store.database import Database


def problems_of(database: Database) -> Iterator[str]:
    """Yield what is wrong with a store, one sentence each."""
    with database.reading() as connection:
        if database.is_sqlite:
            state = connection.exec_driver_sql("PRAGMA integrity_check").scalars().all()
            yield from (f"SQLite: {each}" for each in state if each != "ok")
        yield from _catalog_problems(connection)
        yield from _run_problems(connection)
        yield from _server_problems(connection)


def _catalog_problems(connection: Connection) -> Iterator[str]:
    for row in connection.execution_options(yield_per=100).execute(select(CATALOGS.c.hash, CATALOGS.c.text)):
        try:
            text = zlib.decompress(row.text)
        except (zlib.error, TypeError):
            yield f"catalog {row.hash}: the text is damaged"
            continue
        if sha256(text).hexdigest() != row.hash:
            yield f"catalog {row.hash}: the text has another hash"


def _run_problems(connection: Connection) -> Iterator[str]:
    """Check every run report, and that the findings beside it are as many."""
    counted = select(func.count()).where(FINDINGS.c.run_id == RUNS.c.id).scalar_subquery()
    rows = select(RUNS.c.uid, RUNS.c.report, counted.label("findings"))
    for row in connection.execution_options(yield_per=100).execute(rows):
        try:
            run = read_run(zlib.decompress(row.report), f"run {row.uid}")
        except (zlib.error, TypeError):
            yield f"run {row.uid}: the report is damaged"
            continue
        except McproofError as error:
            yield str(error)
            continue
        if len(run.targets[0].findings) != row.findings:
            yield f"run {row.uid}: {row.findings:,} findings, {len(run.targets[0].findings):,} in its report"


def _server_problems(connection: Connection) -> Iterator[str]:
    counted = select(func.count()).where(RUNS.c.server_id == SERVERS.c.id).scalar_subquery()
    rows = select(SERVERS.c.name, SERVERS.c.runs, SERVERS.c.last_run, counted.label("found"))
    known = select(RUNS.c.id)
    for row in connection.execute(rows.where(SERVERS.c.runs != counted)):
        yield f"server `{row.name}`: {row.runs:,} runs counted, {row.found:,} found"
    for row in connection.execute(rows.where(SERVERS.c.last_run.is_not(None), SERVERS.c.last_run.not_in(known))):
        yield f"server `{row.name}`: its newest run is gone"

"""Read what the store has: the history of a server, a run, a catalog."""

from __future__ import annotations

import zlib
from typing import TYPE_CHECKING, NamedTuple

from sqlalchemy import select, tuple_

from mcproof.core.errors import InputError, UsageError, nearest
from mcproof.store.tables import CATALOGS, FINDINGS, RUNS, SCORES, SERVERS

if TYPE_CHECKING:
    from sqlalchemy import Connection

    from mcproof.store.database import Database


class PastRun(NamedTuple):
    """One run of a server, as its history shows it."""

    uid: str
    command: str
    started: str
    grade: str | None
    score: int | None
    tokens: int | None
    verdict: str | None
    trust: int | None
    """The score of a scan."""
    tools: int | None
    errors: int
    warnings: int
    notes: int
    error: str | None
    """Why the target could not be checked."""
    catalog: str | None
    """The hash of the catalog."""


class History(NamedTuple):
    """The newest runs of a server, the oldest of them first."""

    name: str
    total: int
    """How many runs there are."""
    runs: list[PastRun]


def history_of(database: Database, name: str, most: int) -> History:
    """Return the newest runs of a server. Raises an InputError if it is not in the store."""
    with database.reading() as connection:
        server = connection.execute(select(SERVERS.c.id, SERVERS.c.runs).where(SERVERS.c.name == name)).first()
        if server is None:
            raise InputError(_unknown(connection, name), file=database.label)
        rows = connection.execute(_runs_of(server.id).limit(most)).all()
        return History(name, server.runs, [PastRun(*row) for row in reversed(rows)])


class RunPage(NamedTuple):
    """A page of runs, the newest first."""

    runs: list[PastRun]
    next: str
    """The cursor of the next page; empty if this is the last."""


def list_runs(database: Database, name: str, *, cursor: str = "", size: int = 50) -> RunPage | None:
    """Return a page of the runs of a server; None if there is no such server. A cursor is the id of a run."""
    with database.reading() as connection:
        server = connection.execute(select(SERVERS.c.id).where(SERVERS.c.name == name)).scalar()
        if server is None:
            return None
        query = _runs_of(server)
        if cursor:
            found = connection.execute(select(RUNS.c.started, RUNS.c.id).where(RUNS.c.uid == cursor)).first()
            if found is None:
                raise UsageError("the cursor is not one of this list")
            query = query.where(tuple_(RUNS.c.started, RUNS.c.id) < (found.started, found.id))
        rows = connection.execute(query.limit(size + 1)).all()
    runs = [PastRun(*row) for row in rows[:size]]
    return RunPage(runs, runs[-1].uid if len(rows) > size else "")


class StoredFinding(NamedTuple):
    """A finding of a run."""

    number: int
    rule: str
    level: str
    severity: str
    subject: str
    pointer: str
    message: str
    fingerprint: str


def list_findings(database: Database, uid: str, *, after: int = -1, size: int = 200) -> list[StoredFinding] | None:
    """Return findings of a run from a number on; None if there is no such run."""
    columns = [FINDINGS.c[field] for field in StoredFinding._fields]
    with database.reading() as connection:
        run = connection.execute(select(RUNS.c.id).where(RUNS.c.uid == uid)).scalar()
        if run is None:
            return None
        query = select(*columns).where(FINDINGS.c.run_id == run, FINDINGS.c.number > after)
        return [StoredFinding(*row) for row in connection.execute(query.order_by(FINDINGS.c.number).limit(size))]


def _runs_of(server: int):  # type: ignore[no-untyped-def]
    grade, trust = SCORES.alias("grade"), SCORES.alias("trust")
    scores = {"grade": grade.c.word, "score": grade.c.score, "verdict": trust.c.word, "trust": trust.c.score}
    columns = [scores[field] if field in scores else RUNS.c[field] for field in PastRun._fields]
    return (
        select(*columns)
        .outerjoin(grade, (grade.c.run_id == RUNS.c.id) & (grade.c.scheme == "grade"))
        .outerjoin(trust, (trust.c.run_id == RUNS.c.id) & (trust.c.scheme == "trust"))
        .where(RUNS.c.server_id == server)
        .order_by(RUNS.c.started.desc(), RUNS.c.id.desc())
    )


def _unknown(connection: Connection, name: str) -> str:
    known = list(connection.execute(select(SERVERS.c.name).order_by(SERVERS.c.name).limit(10_000)).scalars())
    if not known:
        return "the store is empty; `--record` adds a run"
    return f"there is no server `{name}` in the store{nearest(name, known)}"


def run_report(database: Database, uid: str) -> bytes:
    """Return the run report of a run. Raises an InputError if there is none."""
    with database.reading() as connection:
        found = connection.execute(select(RUNS.c.report).where(RUNS.c.uid == uid)).scalar()
    if found is None:
        raise InputError(f"there is no run `{uid}` in the store", file=database.label)
    return zlib.decompress(found)


def stored_catalog(database: Database, digest: str) -> str:
    """Return the text of a catalog. Raises an InputError if there is none."""
    with database.reading() as connection:
        found = connection.execute(select(CATALOGS.c.text).where(CATALOGS.c.hash == digest)).scalar()
    if found is None:
        raise InputError(f"there is no catalog `{digest}` in the store", file=database.label)
    return _catalog_text(found)


def newest_catalog(database: Database, name: str) -> str | None:
    """Return the text of the newest catalog of a server; None if there is none."""
    query = select(CATALOGS.c.text).join(SERVERS, SERVERS.c.surface == CATALOGS.c.hash).where(SERVERS.c.name == name)
    with database.reading() as connection:
        found = connection.execute(query).scalar()
    return None if found is None else _catalog_text(found)


def _catalog_text(compressed: bytes) -> str:
    return zlib.decompress(compressed).decode("utf-8", "surrogatepass")

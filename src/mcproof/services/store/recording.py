"""Change the store: record runs, delete old ones, and keep the state of watched servers with their events.

Each change is one transaction, seen as a whole or not at all: an event is stored with the run that it is about.
Why events are stored with their run: docs/decisions/0059-events-in-the-transaction.md.
"""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any
from uuid import uuid4

from sqlalchemy import ColumnElement, Connection, Row, Table, and_, delete, false, func, insert, or_, select, update

from mcproof.core.named_tuple import NamedTuple
from mcproof.services.store.run_record import LONGEST, RunRecord, record_of
from mcproof.services.store.servers import create_server, update_server
from mcproof.services.store.tables import CATALOGS, DELIVERIES, FINDINGS, RUNS, SCORES, SERVERS, WATCHES

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from mcproof.runs.results import RunResult
    from mcproof.services.store.database import Database


_COLUMNS = tuple(set(RunRecord._fields) & set(RUNS.c.keys()) - {"catalog"})
"""The columns of a run that have the values of its record."""
_NOT_IN_NAMES = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029]")


class RecordedRun(NamedTuple):
    """A run that is in the store."""

    uid: str
    name: str
    """The name of its server."""


def record_run(
    database: Database, run: RunResult, catalogs: Sequence[str | None], name: str | None = None
) -> list[RecordedRun]:
    """Record every target of a run; `catalogs` has the text of each one's catalog, None where it could not be read.

    A server is known by `name`, or by its target. What it calls itself is only shown.
    """
    records = [
        NewRecord(str(uuid4()), name if name is not None else result.target, record_of(run, result, catalog))
        for result, catalog in zip(run.targets, catalogs, strict=True)
    ]
    record_new(database, records)
    return [RecordedRun(new.uid, _page_name(new.name)) for new in records]


def record_known(connection: Connection, record: RunRecord, name: str, uid: str) -> None:
    """Record a run under a given identity, in a transaction of the caller."""
    server = create_server(connection, _page_name(name))
    if record.digest is not None and record.catalog is not None:
        stored = connection.execute(select(CATALOGS.c.hash).where(CATALOGS.c.hash == record.digest)).scalar()
        if stored is None:
            values = {"hash": record.digest, "text": record.catalog, "tools": record.tools or 0}
            connection.execute(insert(CATALOGS).values(values))
    values = {column: getattr(record, column) for column in _COLUMNS}
    values |= {"uid": uid[:36], "server_id": server, "catalog": record.digest}
    run = connection.execute(insert(RUNS).values(values).returning(RUNS.c.id)).scalar_one()
    scores = (
        ("grade", record.score, record.grade),
        ("polish", record.polish, ""),
        ("trust", record.trust, record.verdict),
    )
    for scheme, score, word in scores:
        if score is not None:
            connection.execute(insert(SCORES).values(run_id=run, scheme=scheme, score=score, word=word))
    # Some at a time: a hostile catalog has tens of thousands of findings.
    for rows in record.rows():
        connection.execute(insert(FINDINGS), [{"run_id": run, **row} for row in rows])
    update_server(connection, server, run, record)


def _page_name(name: str) -> str:
    """A name that a page can have in its address: without line feeds and other control characters."""
    return _NOT_IN_NAMES.sub("\ufffd", name)[:LONGEST]


class NewRecord(NamedTuple):
    """A run to record under an identity of its own."""

    uid: str
    name: str
    """The name of the server."""
    run: RunRecord


def record_new(database: Database, records: Sequence[NewRecord]) -> int:
    """Record the runs that are not in the store yet, in one transaction; return how many they are."""
    added = 0
    with database.writing() as connection:
        uids = [record.uid for record in records]
        there = set(connection.execute(select(RUNS.c.uid).where(RUNS.c.uid.in_(uids))).scalars())
        for record in records:
            if record.uid not in there:
                there.add(record.uid)
                record_known(connection, record.run, record.name, record.uid)
                added += 1
    return added


BATCH = 200
"""The most runs of one transaction, where there are many: each batch holds up other writers."""


class Pruned(NamedTuple):
    """How much was deleted."""

    runs: int
    catalogs: int


def prune(database: Database, *, days: int | None = None, keep: int | None = None) -> Pruned:
    """Delete runs older than `days`, and of each server all but the newest `keep`; the newest run always stays.

    Runs go in batches, a transaction each, so that no other writer waits for all of them; what a batch leaves is whole.
    """
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
    unused = CATALOGS.c.hash.not_in(select(RUNS.c.catalog).where(RUNS.c.catalog.is_not(None)))
    with database.reading() as connection:
        chosen = select(RUNS.c.id).where(or_(false(), *doomed), RUNS.c.id.not_in(newest)).order_by(RUNS.c.id)
        runs = list(connection.execute(chosen).scalars())
    deleted = sum(
        _delete_batch(database, RUNS, and_(RUNS.c.id.in_(batch), RUNS.c.id.not_in(newest))) for batch in _batches(runs)
    )
    with database.reading() as connection:
        catalogs = list(connection.execute(select(CATALOGS.c.hash).where(unused)).scalars())
    # A run that was recorded in the meantime may use one of them.
    return Pruned(
        deleted,
        sum(
            _delete_batch(database, CATALOGS, and_(CATALOGS.c.hash.in_(batch), unused)) for batch in _batches(catalogs)
        ),
    )


def _batches(keys: Sequence[Any]) -> Iterator[Sequence[Any]]:
    return (keys[start : start + BATCH] for start in range(0, len(keys), BATCH))


def _delete_batch(database: Database, table: Table, condition: ColumnElement[bool]) -> int:
    with database.writing() as connection:
        servers = select(RUNS.c.server_id).where(condition).distinct() if table is RUNS else None
        touched = [] if servers is None else list(connection.execute(servers).scalars())
        deleted = connection.execute(delete(table).where(condition)).rowcount
        if touched:
            count = select(func.count()).where(RUNS.c.server_id == SERVERS.c.id).scalar_subquery()
            connection.execute(update(SERVERS).where(SERVERS.c.id.in_(touched)).values(runs=count))
        return deleted


class WatchState(NamedTuple):
    """What the runs of a watched server have shown so far; the newest known value of each kind."""

    last_run: str
    """When the newest run started."""
    failures: int = 0
    """How many of the newest runs in a row could not check the server."""
    is_gone: bool = False
    """Whether it was reported as gone."""
    grade: str | None = None
    score: int | None = None
    tokens: int | None = None
    verdict: str | None = None
    surface: str | None = None
    """The hash of what it offers."""
    catalog: str | None = None
    """The key of its catalog, which may have been deleted from the store."""
    failed_gates: tuple[str, ...] = ()


class Delivery(NamedTuple):
    """An event for the webhook of a watch."""

    id: str
    watch: str
    body: str
    attempts: int = 0
    due: int = 0
    """The time of the next attempt, in seconds since 1970."""


def watch_states(database: Database, names: Iterable[str]) -> dict[str, WatchState]:
    """Return the states of these watches, of those that have run."""
    wanted = set(names)
    with database.reading() as connection:
        rows = connection.execute(select(WATCHES)).all()
    return {row.name: _state(row) for row in rows if row.name in wanted}


def save_watch_state(connection: Connection, name: str, state: WatchState) -> None:
    """Replace the state of a watch."""
    values = {**state._asdict(), "failed_gates": ",".join(state.failed_gates)}
    # No other process can insert it meanwhile, because one writes at a time.
    if not connection.execute(update(WATCHES).where(WATCHES.c.name == name).values(values)).rowcount:
        connection.execute(insert(WATCHES).values(name=name, **values))


def add_deliveries(connection: Connection, deliveries: Iterable[Delivery]) -> None:
    """Add events in the transaction of the run that they are about, so that none is lost."""
    rows = [delivery._asdict() for delivery in deliveries]
    if rows:
        connection.execute(insert(DELIVERIES), rows)


def due_deliveries(database: Database, now: int, most: int) -> list[Delivery]:
    """Return events whose next attempt is due, the oldest first."""
    columns = [DELIVERIES.c[field] for field in Delivery._fields]
    query = select(*columns).where(DELIVERIES.c.due <= now).order_by(DELIVERIES.c.due, DELIVERIES.c.id)
    with database.reading() as connection:
        return [Delivery(*row) for row in connection.execute(query.limit(most))]


def pending_deliveries(database: Database) -> tuple[int, int | None]:
    """Return how many events are waiting, and when the next attempt is due."""
    with database.reading() as connection:
        count, due = connection.execute(select(func.count(), func.min(DELIVERIES.c.due)).select_from(DELIVERIES)).one()
        return int(count), due


def postpone_delivery(database: Database, delivery: Delivery, due: int) -> None:
    """Keep an event for another attempt."""
    values = {"attempts": delivery.attempts + 1, "due": due}
    with database.writing() as connection:
        connection.execute(update(DELIVERIES).where(DELIVERIES.c.id == delivery.id).values(values))


def remove_delivery(database: Database, delivery: Delivery) -> None:
    """Forget an event that was delivered or given up."""
    with database.writing() as connection:
        connection.execute(delete(DELIVERIES).where(DELIVERIES.c.id == delivery.id))


def _state(row: Row[Any]) -> WatchState:
    values = {field: getattr(row, field) for field in WatchState._fields}
    return WatchState(**{**values, "failed_gates": tuple(filter(None, row.failed_gates.split(",")))})

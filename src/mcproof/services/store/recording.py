"""Change the store: record runs, delete old ones, and keep the state of watched servers with their events.

Each change is one transaction, seen as a whole or not at all: an event is stored with the run that it is about.
Why events are stored with their run: docs/decisions/0059-events-in-the-transaction.md.
"""

from __future__ import annotations

import re
import zlib
from datetime import UTC, datetime, timedelta
from hashlib import sha256
from typing import TYPE_CHECKING, Any
from uuid import uuid4

from sqlalchemy import ColumnElement, Connection, Row, Table, and_, delete, false, func, insert, or_, select, update

from mcproof.core.named_tuple import NamedTuple
from mcproof.runs.stored import run_document
from mcproof.services.store.servers import LONGEST, NewRun, create_server, update_server
from mcproof.services.store.tables import CATALOGS, DELIVERIES, FINDINGS, RUNS, SCORES, SERVERS, WATCHES

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from mcproof.runs.results import RunResult, TargetResult
    from mcproof.services.store.database import Database


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
    recorded = []
    with database.writing() as connection:
        for result, catalog in zip(run.targets, catalogs, strict=True):
            recorded_run = RecordedRun(str(uuid4()), _page_name(name if name is not None else result.target))
            _record(connection, _Recording(run, result, recorded_run.name, recorded_run.uid, catalog))
            recorded.append(recorded_run)
    return recorded


def record_known(connection: Connection, run: RunResult, name: str, uid: str, catalog: str | None) -> str | None:
    """Record a run under a given identity, in a transaction of the caller; return the key of its catalog."""
    return _record(connection, _Recording(run, run.targets[0], _page_name(name), uid[:36], catalog))


def _page_name(name: str) -> str:
    """A name that a page can have in its address: without line feeds and other control characters."""
    return _NOT_IN_NAMES.sub("\ufffd", name)[:LONGEST]


class NewRecord(NamedTuple):
    """A run to record under an identity of its own."""

    uid: str
    name: str
    """The name of the server."""
    run: RunResult
    catalog: str | None


def record_new(database: Database, records: Sequence[NewRecord]) -> int:
    """Record the runs that are not in the store yet, in one transaction; return how many they are."""
    added = 0
    with database.writing() as connection:
        uids = [record.uid for record in records]
        there = set(connection.execute(select(RUNS.c.uid).where(RUNS.c.uid.in_(uids))).scalars())
        for record in records:
            if record.uid not in there:
                there.add(record.uid)
                record_known(connection, record.run, record.name, record.uid, record.catalog)
                added += 1
    return added


class _Recording(NamedTuple):
    run: RunResult
    result: TargetResult
    name: str
    uid: str
    catalog: str | None


def _record(connection: Connection, recording: _Recording) -> str | None:
    """Record one target; return the key of its catalog."""
    server = create_server(connection, recording.name)
    catalog = None if recording.catalog is None else _catalog_hash(connection, recording.catalog, recording.result)
    levels = recording.result.levels()
    tokens = recording.result.scores.tokens
    values: dict[str, Any] = {
        "uid": recording.uid,
        "server_id": server,
        "command": recording.run.command,
        "target": recording.result.target[:2000],
        "started": recording.run.started,
        "seconds": recording.run.seconds,
        "version": recording.run.version,
        "exit_code": recording.run.exit_code,
        "error": None if recording.result.trouble is None else str(recording.result.trouble),
        "catalog": catalog,
        "errors": levels["error"],
        "warnings": levels["warning"],
        "notes": levels["note"],
        "tools": recording.result.counts.get("tools"),
        "tokens": None if tokens is None else tokens.total,
        "report": _compressed(
            "".join(run_document(recording.run._replace(targets=[recording.result], is_single=True)))
        ),
    }
    run_id = connection.execute(insert(RUNS).values(values).returning(RUNS.c.id)).scalar_one()
    scores = [{"run_id": run_id, **score} for score in _scores(recording.result)]
    if scores:
        connection.execute(insert(SCORES), scores)
    findings = [{"run_id": run_id, **finding} for finding in _findings(recording.result)]
    if findings:
        connection.execute(insert(FINDINGS), findings)
    update_server(connection, NewRun(run_id, server, recording.run, recording.result, catalog))
    return catalog


def _catalog_hash(connection: Connection, text: str, result: TargetResult) -> str:
    """Return the key of a catalog, stored if it is new."""
    digest = sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
    stored = connection.execute(select(CATALOGS.c.hash).where(CATALOGS.c.hash == digest)).scalar()
    if stored is None:
        values = {"hash": digest, "text": _compressed(text), "tools": result.counts.get("tools", 0)}
        connection.execute(insert(CATALOGS).values(values))
    return digest


def _scores(result: TargetResult) -> Iterator[dict[str, Any]]:
    grade, _, _, polish = result.scores
    if grade is not None:
        yield {"scheme": "grade", "score": grade.score, "word": grade.letter}
    if polish is not None:
        yield {"scheme": "polish", "score": polish, "word": ""}
    if result.payload.kind == "scan" and result.payload.trust is not None:
        yield {"scheme": "trust", "score": result.payload.trust.score, "word": result.payload.trust.verdict}


def _findings(result: TargetResult) -> Iterator[dict[str, Any]]:
    for number, finding in enumerate(result.findings):
        yield {
            "number": number,
            "rule": finding.rule.id,
            "level": finding.rule.level,
            "severity": finding.rule.severity,
            "subject": finding.subject[:LONGEST],
            "pointer": finding.pointer,
            "message": finding.message,
            "fingerprint": finding.fingerprint[:64],
        }


def _compressed(text: str) -> bytes:
    return zlib.compress(text.encode("utf-8", "surrogatepass"), 6)


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


def watch_state(connection: Connection, name: str) -> WatchState | None:
    """Return the state of a watch; None if it has not run yet."""
    row = connection.execute(select(WATCHES).where(WATCHES.c.name == name)).first()
    return None if row is None else _state(row)


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

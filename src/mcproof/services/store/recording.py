"""Change the store: record runs, delete old ones, import them, and keep the state of watched servers with their events.

Each change is one transaction, seen as a whole or not at all: an event is stored with the run that it is about.
Why events are stored with their run: docs/decisions/0059-events-in-the-transaction.md.
"""

from __future__ import annotations

import json
import re
import zlib
from datetime import UTC, datetime, timedelta
from hashlib import sha256
from itertools import islice
from tempfile import TemporaryFile
from typing import TYPE_CHECKING, Any
from uuid import uuid4

from sqlalchemy import ColumnElement, Connection, Row, Table, and_, delete, false, func, insert, or_, select, update

from mcproof.core.errors import InputError, McproofError
from mcproof.core.named_tuple import NamedTuple
from mcproof.runs.stored import read_run
from mcproof.services.store.run_record import LONGEST, RunRecord, record_of
from mcproof.services.store.servers import create_server, update_server
from mcproof.services.store.tables import CATALOGS, DELIVERIES, FINDINGS, RUNS, SCORES, SERVERS, WATCHES

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from mcproof.runs.results import RunResult, TargetResult
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

    A server is known by `name`, by its target, or, if a command starts it, by what it calls itself.
    """
    records = []
    for result, catalog in zip(run.targets, catalogs, strict=True):
        server = name if name is not None else _known_name(database, result)
        records.append(NewRecord(str(uuid4()), server, record_of(run, result, catalog)))
    record_new(database, records)
    return [RecordedRun(new.uid, _page_name(new.name)) for new in records]


def _known_name(database: Database, result: TargetResult) -> str:
    """Return the name of a server in the store: however its command is spelled, a server has one entry.

    It is the entry whose newest run has the same name and version, or the same command. A new one has the name that
    the server reports, and its version if the name is another server's.
    """
    reported = result.server.get("name", "") if (result.connection or {}).get("transport") == "stdio" else ""
    same_command = RUNS.c.target == result.target[:2000]
    newest = select(SERVERS.c.name, SERVERS.c.title).join(RUNS, RUNS.c.id == SERVERS.c.last_run)
    with database.reading() as connection:
        if not reported:
            # A server that cannot be reached reports no name; its command may be known.
            is_known = result.trouble is not None
            entry = connection.execute(newest.where(same_command).order_by(SERVERS.c.id)).first() if is_known else None
            return result.target if entry is None else str(entry.name)
        is_it = or_(SERVERS.c.title == result.title[:LONGEST], same_command)
        entries = connection.execute(newest.where(is_it).order_by(SERVERS.c.id)).all()
        for server in sorted(entries, key=lambda server: server.title != result.title[:LONGEST]):
            return str(server.name)
        is_taken = connection.execute(select(SERVERS.c.id).where(SERVERS.c.name == _page_name(reported))).first()
    return reported if is_taken is None else result.title


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


def problems_of(database: Database) -> Iterator[str]:
    """Yield what is wrong with a store, one sentence each."""
    with database.reading() as connection:
        if database.is_sqlite:
            state = connection.exec_driver_sql("PRAGMA integrity_check").scalars().all()
            yield from (f"SQLite: {message}" for message in state if message != "ok")
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
    runs = select(RUNS.c.id)
    for row in connection.execute(rows.where(SERVERS.c.runs != counted)):
        yield f"server `{row.name}`: {row.runs:,} runs counted, {row.found:,} found"
    for row in connection.execute(rows.where(SERVERS.c.last_run.is_not(None), SERVERS.c.last_run.not_in(runs))):
        yield f"server `{row.name}`: its newest run is gone"


EXPORT_VERSION = 1
"""The version of the exported format."""


class Imported(NamedTuple):
    """How many runs were added, and how many were there already."""

    added: int
    known: int


def export_lines(database: Database, on_damage: Callable[[str], None]) -> Iterator[str]:
    """Yield a store as lines of JSON: a header, then catalogs and runs, the oldest run first.

    What is damaged is reported and left out, so that the rest can be rescued.
    """
    yield _line({"kind": "mcproof-store", "schema_version": EXPORT_VERSION})
    with database.reading() as connection:
        for row in connection.execution_options(yield_per=100).execute(select(CATALOGS).order_by(CATALOGS.c.hash)):
            try:
                text = zlib.decompress(row.text).decode("utf-8", "surrogatepass")
            except (zlib.error, TypeError, UnicodeDecodeError):
                on_damage(f"catalog {row.hash}: the text is damaged")
                continue
            yield _line({"kind": "catalog", "hash": row.hash, "text": text})
        rows = (
            select(RUNS.c.uid, RUNS.c.catalog, RUNS.c.report, SERVERS.c.name)
            .join(SERVERS, SERVERS.c.id == RUNS.c.server_id)
            .order_by(RUNS.c.started, RUNS.c.id)
        )
        for row in connection.execution_options(yield_per=100).execute(rows):
            try:
                report = json.loads(zlib.decompress(row.report))
            except (zlib.error, TypeError, ValueError, RecursionError):
                on_damage(f"run {row.uid}: the report is damaged")
                continue
            yield _line({"kind": "run", "uid": row.uid, "server": row.name, "catalog": row.catalog, "report": report})


def import_lines(database: Database, lines: Iterable[str], file: str) -> Imported:
    """Add what a file has to a store; runs that are there already are left as they are.

    A damaged file changes nothing: all lines are checked before the first is added. Raises an InputError with the line
    that is wrong. Runs are added in batches, so that other writers need not wait for all of them.
    """
    with TemporaryFile("w+", encoding="utf-8", newline="") as checked:
        catalogs: dict[str, str] = {}
        for number, line in enumerate(lines, 1):
            record = _record(line, file, number)
            if record["kind"] == "catalog":
                catalogs[record["hash"]] = record["text"]
                continue
            try:
                read_run(json.dumps(record["report"]).encode(), file)
            except McproofError as error:
                raise InputError(error.message, file=file, line=number) from None
            # Written anew, as a line of a text may end at other characters too.
            checked.write(_line(record))
        checked.seek(0)
        added = present = 0
        while batch := list(islice(checked, BATCH)):
            records = []
            for record in map(json.loads, batch):
                run = read_run(json.dumps(record["report"]).encode(), file)
                catalog = catalogs.get(record["catalog"] or "")
                new = record_of(run, run.targets[0], catalog)
                records.append(NewRecord(record["uid"], record["server"], new))
            count = record_new(database, records)
            added, present = added + count, present + len(records) - count
    return Imported(added, present)


_MEMBERS: dict[str, dict[str, Any]] = {
    "mcproof-store": {"schema_version": int},
    "catalog": {"hash": str, "text": str},
    "run": {"uid": str, "server": str, "catalog": (str, type(None)), "report": dict},
}


def _record(line: str, file: str, number: int) -> dict[str, Any]:
    """Return the record of a line. Raises an InputError if it is not one of an export."""
    try:
        record = json.loads(line)
    except ValueError:
        record = None
    kind = record.get("kind") if isinstance(record, dict) else None
    if not isinstance(record, dict) or kind not in _MEMBERS or (number == 1) != (kind == "mcproof-store"):
        raise InputError("not a line of `mcproof store export`", file=file, line=number)
    for name, types in _MEMBERS[kind].items():
        if not isinstance(record.get(name), types):
            raise InputError(f"`{name}` is missing or has the wrong type", file=file, line=number)
    if record.get("schema_version", EXPORT_VERSION) != EXPORT_VERSION:
        raise InputError(f"version {record['schema_version']} of the format is not supported", file=file, line=number)
    # The header says nothing more, so it becomes a catalog that no run refers to.
    return record if kind != "mcproof-store" else {"kind": "catalog", "hash": "", "text": ""}


def _line(record: dict[str, Any]) -> str:
    return json.dumps(record, separators=(",", ":")) + "\n"

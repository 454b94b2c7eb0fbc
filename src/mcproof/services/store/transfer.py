"""Check that a store is whole, and move it from one database to another as JSON lines."""

from __future__ import annotations

import json
import zlib
from hashlib import sha256
from itertools import islice
from tempfile import TemporaryFile
from typing import TYPE_CHECKING, Any

from sqlalchemy import Connection, func, select

from mcproof.core.errors import InputError, McproofError
from mcproof.core.named_tuple import NamedTuple
from mcproof.runs.stored import read_run
from mcproof.services.store.recording import BATCH, NewRecord, record_new
from mcproof.services.store.run_record import record_of
from mcproof.services.store.tables import CATALOGS, FINDINGS, RUNS, SERVERS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from mcproof.services.store.database import Database


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


VERSION = 1
"""The version of the exported format."""


class Imported(NamedTuple):
    """How many runs were added, and how many were there already."""

    added: int
    known: int


def export_lines(database: Database, on_damage: Callable[[str], None]) -> Iterator[str]:
    """Yield a store as lines of JSON: a header, then catalogs and runs, the oldest run first.

    What is damaged is reported and left out, so that the rest can be rescued.
    """
    yield _line({"kind": "mcproof-store", "schema_version": VERSION})
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
        added = known = 0
        while batch := list(islice(checked, BATCH)):
            records = []
            for record in map(json.loads, batch):
                run = read_run(json.dumps(record["report"]).encode(), file)
                catalog = catalogs.get(record["catalog"] or "")
                new = record_of(run, run.targets[0], catalog)
                records.append(NewRecord(record["uid"], record["server"], new))
            count = record_new(database, records)
            added, known = added + count, known + len(records) - count
    return Imported(added, known)


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
    if record.get("schema_version", VERSION) != VERSION:
        raise InputError(f"version {record['schema_version']} of the format is not supported", file=file, line=number)
    # The header says nothing more, so it becomes a catalog that no run refers to.
    return record if kind != "mcproof-store" else {"kind": "catalog", "hash": "", "text": ""}


def _line(record: dict[str, Any]) -> str:
    return json.dumps(record, separators=(",", ":")) + "\n"

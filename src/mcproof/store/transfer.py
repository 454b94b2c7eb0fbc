"""Move a store: export it as JSON lines, and import such a file into another store."""

from __future__ import annotations

import json
import zlib
from typing import TYPE_CHECKING, Any, NamedTuple

from sqlalchemy import select

from mcproof.core.errors import InputError, McproofError
from mcproof.runs.stored import read_run
from mcproof.store.recording import record_known
from mcproof.store.tables import CATALOGS, RUNS, SERVERS

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from mcproof.store.database import Database

VERSION = 1
"""The version of the exported format."""


class Imported(NamedTuple):
    """How many runs were added, and how many were there already."""

    added: int
    known: int


def export_lines(database: Database) -> Iterator[str]:
    """Yield a store as lines of JSON: a header, then catalogs and runs, the oldest run first."""
    yield _line({"kind": "mcproof-store", "schema_version": VERSION})
    with database.reading() as connection:
        for row in connection.execution_options(yield_per=100).execute(select(CATALOGS).order_by(CATALOGS.c.hash)):
            text = zlib.decompress(row.text).decode("utf-8", "surrogatepass")
            yield _line({"kind": "catalog", "hash": row.hash, "text": text})
        rows = (
            select(RUNS.c.uid, RUNS.c.catalog, RUNS.c.report, SERVERS.c.name)
            .join(SERVERS, SERVERS.c.id == RUNS.c.server_id)
            .order_by(RUNS.c.started, RUNS.c.id)
        )
        for row in connection.execution_options(yield_per=100).execute(rows):
            report = json.loads(zlib.decompress(row.report))
            yield _line({"kind": "run", "uid": row.uid, "server": row.name, "catalog": row.catalog, "report": report})


def import_lines(database: Database, lines: Iterable[str], file: str) -> Imported:
    """Add what a file has to a store; runs that are there already are left as they are.

    All of it is one transaction: a damaged file changes nothing. Raises an InputError with the line that is wrong.
    """
    catalogs: dict[str, str] = {}
    added = known = 0
    with database.writing() as connection:
        there = set(connection.execute(select(RUNS.c.uid)).scalars())
        for number, line in enumerate(lines, 1):
            record = _record(line, file, number)
            if record["kind"] == "catalog":
                catalogs[record["hash"]] = record["text"]
            elif record["uid"] in there:
                known += 1
            else:
                try:
                    run = read_run(json.dumps(record["report"]).encode(), file)
                except McproofError as error:
                    raise InputError(error.message, file=file, line=number) from None
                record_known(connection, run, record["server"], record["uid"], catalogs.get(record["catalog"] or ""))
                added += 1
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
    return record if kind != "mcproof-store" else {"kind": "catalog", "hash": "", "text": ""}


def _line(record: dict[str, Any]) -> str:
    return json.dumps(record, separators=(",", ":")) + "\n"

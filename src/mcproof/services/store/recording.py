"""Record finished runs: each is one transaction, seen as a whole or not at all."""

from __future__ import annotations

import zlib
from hashlib import sha256
from typing import TYPE_CHECKING, Any, NamedTuple
from uuid import uuid4

from sqlalchemy import insert, select

from mcproof.runs.stored import run_document
from mcproof.store.server_rows import LONGEST, NewRun, create_server, update_server
from mcproof.store.tables import CATALOGS, FINDINGS, RUNS, SCORES

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from sqlalchemy import Connection

    from mcproof.runs.results import RunResult, TargetResult
    from mcproof.store.database import Database


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
            each = RecordedRun(str(uuid4()), (name if name is not None else result.target)[:LONGEST])
            _record(connection, _Recording(run, result, each.name, each.uid, catalog))
            recorded.append(each)
    return recorded


def record_known(connection: Connection, run: RunResult, name: str, uid: str, catalog: str | None) -> str | None:
    """Record a run under a given identity, in a transaction of the caller; return the key of its catalog."""
    return _record(connection, _Recording(run, run.targets[0], name[:LONGEST], uid[:36], catalog))


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
        uids = [each.uid for each in records]
        there = set(connection.execute(select(RUNS.c.uid).where(RUNS.c.uid.in_(uids))).scalars())
        for each in records:
            if each.uid not in there:
                record_known(connection, each.run, each.name, each.uid, each.catalog)
                added += 1
    return added


class _Recording(NamedTuple):
    run: RunResult
    result: TargetResult
    name: str
    uid: str
    catalog: str | None


def _record(connection: Connection, each: _Recording) -> str | None:
    """Record one target; return the key of its catalog."""
    server = create_server(connection, each.name)
    catalog = None if each.catalog is None else _catalog_hash(connection, each.catalog, each.result)
    levels = each.result.levels()
    tokens = each.result.scores.tokens
    values: dict[str, Any] = {
        "uid": each.uid,
        "server_id": server,
        "command": each.run.command,
        "target": each.result.target[:2000],
        "started": each.run.started,
        "seconds": each.run.seconds,
        "version": each.run.version,
        "exit_code": each.run.exit_code,
        "error": None if each.result.trouble is None else str(each.result.trouble),
        "catalog": catalog,
        "errors": levels["error"],
        "warnings": levels["warning"],
        "notes": levels["note"],
        "tools": each.result.counts.get("tools"),
        "tokens": None if tokens is None else tokens.total,
        "report": _compressed("".join(run_document(each.run._replace(targets=[each.result], is_single=True)))),
    }
    run_id = connection.execute(insert(RUNS).values(values).returning(RUNS.c.id)).scalar_one()
    scores = [{"run_id": run_id, **score} for score in _scores(each.result)]
    if scores:
        connection.execute(insert(SCORES), scores)
    findings = [{"run_id": run_id, **finding} for finding in _findings(each.result)]
    if findings:
        connection.execute(insert(FINDINGS), findings)
    update_server(connection, NewRun(run_id, server, each.run, each.result, catalog))
    return catalog


def _catalog_hash(connection: Connection, text: str, result: TargetResult) -> str:
    """Return the key of a catalog, stored if it is new."""
    digest = sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
    known = connection.execute(select(CATALOGS.c.hash).where(CATALOGS.c.hash == digest)).scalar()
    if known is None:
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
    for number, each in enumerate(result.findings):
        yield {
            "number": number,
            "rule": each.rule.id,
            "level": each.rule.level,
            "severity": each.rule.severity,
            "subject": each.subject[:LONGEST],
            "pointer": each.pointer,
            "message": each.message,
            "fingerprint": each.fingerprint[:64],
        }


def _compressed(text: str) -> bytes:
    return zlib.compress(text.encode("utf-8", "surrogatepass"), 6)

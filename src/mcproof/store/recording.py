"""Record finished runs: each is one transaction, seen as a whole or not at all."""

from __future__ import annotations

import zlib
from hashlib import sha256
from typing import TYPE_CHECKING, Any, NamedTuple
from uuid import uuid4

from sqlalchemy import bindparam, delete, insert, select, update

from mcproof.results.stored import run_document
from mcproof.store.tables import BREAKING, CATALOGS, FINDINGS, FIRING, RUNS, SCORES, SERVERS

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from sqlalchemy import Connection

    from mcproof.results.run import RunResult, TargetResult
    from mcproof.store.database import Database

_LONGEST = 500
"""The most characters of a name or a subject in a column; the run report has them in full."""


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
            each = RecordedRun(str(uuid4()), (name if name is not None else result.target)[:_LONGEST])
            _record(connection, _Recording(run, result, each.name, each.uid, catalog))
            recorded.append(each)
    return recorded


def record_known(connection: Connection, run: RunResult, name: str, uid: str, catalog: str | None) -> None:
    """Record a run of another store under its own identity."""
    _record(connection, _Recording(run, run.targets[0], name[:_LONGEST], uid[:36], catalog))


class _Recording(NamedTuple):
    run: RunResult
    result: TargetResult
    name: str
    uid: str
    catalog: str | None


def _record(connection: Connection, each: _Recording) -> None:
    server = _server_id(connection, each.name)
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
        "catalog": None if each.catalog is None else _catalog_hash(connection, each.catalog, each.result),
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
    _update_server(connection, server, run_id, each)


def _server_id(connection: Connection, name: str) -> int:
    """Return the key of a server, created if it is new; the row stays locked until the run is recorded."""
    found = connection.execute(select(SERVERS.c.id).where(SERVERS.c.name == name).with_for_update()).scalar()
    if found is not None:
        return int(found)
    values = {"name": name, "title": "", "runs": 0}
    if connection.dialect.name == "sqlite":  # its writers are one after another
        return int(connection.execute(insert(SERVERS).values(values).returning(SERVERS.c.id)).scalar_one())
    from sqlalchemy.dialects.postgresql import insert as insert_or_wait

    connection.execute(insert_or_wait(SERVERS).values(values).on_conflict_do_nothing(index_elements=["name"]))
    again = select(SERVERS.c.id).where(SERVERS.c.name == name).with_for_update()
    return int(connection.execute(again).scalar_one())


def _catalog_hash(connection: Connection, text: str, result: TargetResult) -> str:
    """Return the key of a catalog, stored if it is new."""
    digest = sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
    known = connection.execute(select(CATALOGS.c.hash).where(CATALOGS.c.hash == digest)).scalar()
    if known is None:
        values = {"hash": digest, "text": _compressed(text), "tools": result.counts.get("tools", 0)}
        if connection.dialect.name == "sqlite":
            connection.execute(insert(CATALOGS).values(values))
        else:
            from sqlalchemy.dialects.postgresql import insert as insert_or_wait

            connection.execute(insert_or_wait(CATALOGS).values(values).on_conflict_do_nothing())
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
            "subject": each.subject[:_LONGEST],
            "pointer": each.pointer,
            "message": each.message,
            "fingerprint": each.fingerprint[:64],
        }


def _update_server(connection: Connection, server: int, run_id: int, each: _Recording) -> None:
    """Bring up to date what a server's row shows of its newest runs; a run changes only what it has checked."""
    counted = update(SERVERS).where(SERVERS.c.id == server).values(runs=SERVERS.c.runs + 1)
    connection.execute(counted)
    before, last_seen = connection.execute(
        select(SERVERS.c.score, SERVERS.c.last_seen).where(SERVERS.c.id == server)
    ).one()
    if last_seen is not None and last_seen > each.run.started:
        return  # an older run, from another store
    result = each.result
    values: dict[str, Any] = {
        "last_run": run_id,
        "last_seen": each.run.started,
        "is_reachable": result.trouble is None,
    }
    if result.trouble is None:
        values |= {"title": result.title[:_LONGEST], "tools": result.counts.get("tools")}
    if result.scores.tokens is not None:
        values["tokens"] = result.scores.tokens.total
    if result.scores.grade is not None:
        score = result.scores.grade.score
        values |= {"grade": result.scores.grade.letter, "score": score}
        values["change"] = None if before is None else score - before
    if result.payload.kind == "scan" and result.payload.trust is not None:
        values |= {"trust": result.payload.trust.score, "verdict": result.payload.trust.verdict}
    connection.execute(update(SERVERS).where(SERVERS.c.id == server).values(values))
    if result.trouble is None:
        _update_firing(connection, server, each)
    if result.payload.kind == "compat":
        connection.execute(delete(BREAKING).where(BREAKING.c.server_id == server))
        broken = [
            {"server_id": server, "client": outcome.client}
            for outcome in result.payload.outcomes
            if outcome.verdict == "breaks"
        ]
        if broken:
            connection.execute(insert(BREAKING), broken)


def _update_firing(connection: Connection, server: int, each: _Recording) -> None:
    ran = [{"of_rule": rule.id} for rule in each.run.rules]
    if ran:
        gone = delete(FIRING).where(FIRING.c.server_id == server, FIRING.c.rule == bindparam("of_rule"))
        connection.execute(gone, ran)
    names = {rule.id for rule in each.run.rules}
    firing = [
        {"server_id": server, "rule": rule, "findings": count}
        for rule, count in each.result.by_rule().items()
        if rule in names
    ]
    if firing:
        connection.execute(insert(FIRING), firing)


def _compressed(text: str) -> bytes:
    return zlib.compress(text.encode("utf-8", "surrogatepass"), 6)

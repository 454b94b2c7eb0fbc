"""Stores of any size: a few recorded runs, multiplied inside the database."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from sqlalchemy import Integer, String, case, cast, delete, func, insert, literal, select, update

from mcproof.checks.rule import VERDICTS
from mcproof.services.store.recording import record_run
from mcproof.services.store.tables import BREAKING, DAYS, FINDINGS, FIRING, RUNS, SCORES, SERVERS, TALLIES, WORDS

from .runs import BAD, GOOD, judged, linted, scanned

if TYPE_CHECKING:
    from sqlalchemy import CTE, ColumnElement, Connection, Table

    from mcproof.services.store.database import Database

KNOWN = "books"
"""The server with a long history of real runs, the same in a store of any size."""
RARE_RULE, RARE_CLIENT = "tool-rare-rule", "rare-client"
"""A rule and a client that concern one server in a thousand."""
_FIRST_DAY = "2026-01-"
_DAYS = 28
CHECKED = b'{"tools": [{"name": "find book", "inputSchema": {"type": "object", "properties": {"title": {}}}}]}'


class Size(NamedTuple):
    """How much a store has, besides `KNOWN`."""

    servers: int
    runs: int
    """Of each server."""


def fill(database: Database, size: Size, history: int = 120) -> None:
    """Fill an empty store. Everything that lists show beside the runs agrees with them."""
    past = [(linted(data), data.decode()) for data in (GOOD, CHECKED)]
    for number in range(history):
        run, catalog = past[number % 7 == 0]
        moment = f"2025-{1 + number // 28:02}-{1 + number % 28:02}T00:00:00Z"
        record_run(database, run._replace(started=moment), [catalog], KNOWN)
    record_run(database, judged(BAD), [BAD.decode()], KNOWN)
    record_run(database, scanned(GOOD), [GOOD.decode()], KNOWN)
    template = linted(CHECKED, started=f"{_FIRST_DAY}28T00:00:00Z")
    fired = template.targets[0].by_rule()
    template = template._replace(rules=[rule for rule in template.rules if rule.id in fired])  # for a small report
    record_run(database, template, [CHECKED.decode()], "server 0")
    with database.writing() as connection:
        _multiply(connection, size)
    with database.engine.connect().execution_options(isolation_level="AUTOCOMMIT") as connection:
        if not database.is_sqlite:
            connection.exec_driver_sql("VACUUM ANALYZE")  # as PostgreSQL does by itself after a while


def _multiply(connection: Connection, size: Size) -> None:
    """Copy the newest server and its only run."""
    server = connection.execute(select(func.max(SERVERS.c.id))).scalar_one()
    run = connection.execute(select(func.max(RUNS.c.id))).scalar_one()
    servers, runs = _numbers(1, size.servers - 1), _numbers(1, size.servers * size.runs - 1)
    of_server, of_run = servers.c.number + server, runs.c.number + run
    name = literal("server ").concat(cast(servers.c.number, String))
    _copy(connection, SERVERS, SERVERS.c.id == server, servers, id=of_server, name=name)
    uid = func.substr(RUNS.c.uid, 1, 24).concat(cast(runs.c.number, String))
    day = literal(f"{_FIRST_DAY}").concat(_two_digits(1 + runs.c.number // size.servers % (_DAYS - 1)))
    values = {"id": of_run, "uid": uid, "server_id": server + runs.c.number % size.servers}
    _copy(connection, RUNS, RUNS.c.id == run, runs, **values, started=day.concat("T00:00:00Z"))
    for table in (SCORES, FINDINGS):
        _copy(connection, table, table.c.run_id == run, runs, run_id=of_run)
    _copy(connection, FIRING, FIRING.c.server_id == server, servers, server_id=of_server)
    _copy(connection, WORDS, WORDS.c.server_id == server, servers, server_id=of_server)
    copied = SERVERS.c.id >= server
    number = cast(SERVERS.c.id - server, String)
    connection.execute(delete(WORDS).where(WORDS.c.server_id >= server, WORDS.c.word == "0"))
    connection.execute(insert(WORDS).from_select(["word", "server_id"], select(number, SERVERS.c.id).where(copied)))
    _vary(connection, server, size)
    _count(connection)


def _vary(connection: Connection, first: int, size: Size) -> None:
    """Give the copies grades, verdicts, rules and clients of their own."""
    number = SERVERS.c.id - first
    score = number * 37 % 101
    letters = [(score >= least, letter) for letter, least in (("A", 90), ("B", 80), ("C", 70), ("D", 60))]
    newest = select(func.max(RUNS.c.id)).where(RUNS.c.server_id == SERVERS.c.id).scalar_subquery()
    seen = select(func.max(RUNS.c.started)).where(RUNS.c.server_id == SERVERS.c.id).scalar_subquery()
    values = {
        "score": score,
        "grade": case(*letters, else_="F"),
        "tokens": number * 7919 % 50_000,
        "trust": number * 53 % 101,
        "verdict": case(*((number % 3 == each, word) for each, word in enumerate(VERDICTS[:2])), else_=VERDICTS[2]),
        "runs": size.runs,
        "last_run": newest,
        "last_seen": seen,
    }
    copied = SERVERS.c.id >= first
    connection.execute(update(SERVERS).where(copied).values(values))
    for part, client in ((3, "cursor"), (2, "claude-desktop"), (1_000, RARE_CLIENT)):
        chosen = select(SERVERS.c.id, literal(client)).where(copied, number % part == part - 1)
        connection.execute(insert(BREAKING).from_select(["server_id", "client"], chosen))
    rare = select(SERVERS.c.id, literal(RARE_RULE), literal(1)).where(copied, number % 1_000 == 500)
    connection.execute(insert(FIRING).from_select(["server_id", "rule", "findings"], rare))


def _count(connection: Connection) -> None:
    """Count servers and days again."""
    connection.execute(delete(TALLIES))
    for kind in ("grade", "verdict"):
        column = SERVERS.c[kind]
        counted = select(literal(kind), column, func.count()).where(column.is_not(None)).group_by(column)
        connection.execute(insert(TALLIES).from_select(["kind", "word", "servers"], counted))
    everything = select(literal("servers"), literal("all"), func.count()).select_from(SERVERS)
    connection.execute(insert(TALLIES).from_select(["kind", "word", "servers"], everything))
    connection.execute(delete(DAYS))
    day = func.substr(RUNS.c.started, 1, 10)
    graded = RUNS.outerjoin(SCORES, (SCORES.c.run_id == RUNS.c.id) & (SCORES.c.scheme == "grade"))
    points = func.coalesce(func.sum(SCORES.c.score), 0)
    days = select(day, func.count(), func.count(SCORES.c.score), points).select_from(graded).group_by(day)
    connection.execute(insert(DAYS).from_select(["day", "runs", "graded", "points"], days))


def _copy(connection: Connection, table: Table, original: ColumnElement[bool], numbers: CTE, **changed: Any) -> None:
    """Insert a copy of some rows for each number, with other values in some columns."""
    columns = {column.name: changed.get(column.name, column) for column in table.columns}
    rows = select(*columns.values()).select_from(table.join(numbers, literal(1) == 1)).where(original)
    connection.execute(insert(table).from_select(list(columns), rows))


def _numbers(first: int, last: int) -> CTE:
    number = select(literal(first, Integer).label("number")).cte(recursive=True)
    return number.union_all(select(number.c.number + 1).where(number.c.number < last))


def _two_digits(number: ColumnElement[int]) -> ColumnElement[str]:
    return func.substr(cast(100 + number, String), 2)

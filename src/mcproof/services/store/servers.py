"""Lists of servers: searched, filtered, sorted, a page at a time, and kept up to date by each recorded run.

This is the SQL behind the dashboard. A page is found by the value that the one before ended with; a condition that
few servers meet is looked up first. What a list shows is in the row of the server, so its cost does not grow with
its runs.
Why what lists show is beside the server: docs/decisions/0051-rows-beside-the-server.md.
"""

from __future__ import annotations

import json
import re
from base64 import urlsafe_b64decode, urlsafe_b64encode
from typing import TYPE_CHECKING, Any

from sqlalchemy import (
    Column,
    ColumnElement,
    Connection,
    Integer,
    Row,
    Select,
    Table,
    and_,
    bindparam,
    delete,
    func,
    insert,
    select,
    tuple_,
    update,
)

from mcproof.checks.findings import LEVELS
from mcproof.core.errors import UsageError
from mcproof.core.named_tuple import NamedTuple
from mcproof.services.store.tables import BREAKING, DAYS, FINDINGS, FIRING, RUNS, SERVERS, TALLIES, UNKNOWN, WORDS

if TYPE_CHECKING:
    from collections.abc import Iterator

    from mcproof.services.store.database import Database
    from mcproof.services.store.run_record import RunRecord


_LONGEST_WORD, _MOST_WORDS = 60, 40
_NEWEST_RUNS = 10
"""How many runs of a server tell the levels of its rules."""


def create_server(connection: Connection, name: str) -> int:
    """Return the key of a server, created if it is new."""
    key = connection.execute(select(SERVERS.c.id).where(SERVERS.c.name == name)).scalar()
    if key is not None:
        return int(key)
    unknown = dict.fromkeys(("score", "tokens", "trust"), UNKNOWN)
    values = {"name": name, "title": "", "runs": 0, **unknown}
    server = int(connection.execute(insert(SERVERS).values(values).returning(SERVERS.c.id)).scalar_one())
    _count(connection, "servers", "all", 1)
    _index_words(connection, server, name)
    return server


def update_server(connection: Connection, server: int, run: int, record: RunRecord) -> None:
    """Show what a new run has checked at its server; an older run, from another store, only counts."""
    row = connection.execute(select(SERVERS).where(SERVERS.c.id == server)).one()
    _count_day(connection, record)
    values: dict[str, Any] = {"runs": row.runs + 1}
    if row.last_seen is not None and row.last_seen > record.started:
        connection.execute(update(SERVERS).where(SERVERS.c.id == server).values(values))
        return
    values |= {"last_run": run, "last_seen": record.started, "is_reachable": record.error is None}
    if record.error is None:
        values |= {"title": record.title, "tools": record.tools}
    if record.digest is not None:
        values["surface"] = record.digest
    if record.tokens is not None:
        values["tokens"] = record.tokens
    if record.score is not None:
        values |= {"grade": record.grade, "score": record.score}
        values["change"] = None if row.score == UNKNOWN else record.score - row.score
    if record.trust is not None:
        values |= {"trust": record.trust, "verdict": record.verdict}
    if changes := "; ".join(_changes(row, values)):
        values |= {"changed": record.started, "changes": changes}
    connection.execute(update(SERVERS).where(SERVERS.c.id == server).values(values))
    for kind in ("grade", "verdict"):
        _move(connection, kind, getattr(row, kind), values.get(kind, getattr(row, kind)))
    if record.error is None:
        _index_words(connection, server, record.title)
        _update_firing(connection, server, record)
    if record.breaking is not None:
        connection.execute(delete(BREAKING).where(BREAKING.c.server_id == server))
        if record.breaking:
            connection.execute(insert(BREAKING), [{"server_id": server, "client": name} for name in record.breaking])


def _changes(row: Row[Any], values: dict[str, Any]) -> Iterator[str]:
    """How a server differs from what was known of it, in words."""
    if row.is_reachable and not values["is_reachable"]:
        yield "cannot be checked any more"
    elif row.is_reachable is False and values["is_reachable"]:
        yield "can be checked again"
    for key in ("grade", "verdict"):
        before, now = getattr(row, key), values.get(key)
        if before is not None and now is not None and before != now:
            yield f"{key} {before} → {now}"
    if row.surface is not None and values.get("surface", row.surface) != row.surface:
        yield "its catalog changed"


def _update_firing(connection: Connection, server: int, record: RunRecord) -> None:
    """Replace the rules that fire, of those that ran."""
    if record.rules:
        # Rule by rule: what did not run this time keeps its state.
        gone = delete(FIRING).where(FIRING.c.server_id == server, FIRING.c.rule == bindparam("of_rule"))
        connection.execute(gone, [{"of_rule": rule} for rule in record.rules])
    ran = set(record.rules)
    firing = [
        {"server_id": server, "rule": rule, "findings": count} for rule, count in record.firing.items() if rule in ran
    ]
    if firing:
        connection.execute(insert(FIRING), firing)


def search_words(text: str) -> list[str]:
    """Return the words of a name, a URL or a search, in lower case."""
    words = re.findall(r"[^\W_]+", text.lower())
    return list(dict.fromkeys(word[:_LONGEST_WORD] for word in words))[:_MOST_WORDS]


def _index_words(connection: Connection, server: int, text: str) -> None:
    indexed = set(connection.execute(select(WORDS.c.word).where(WORDS.c.server_id == server)).scalars())
    new = [{"word": word, "server_id": server} for word in search_words(text) if word not in indexed]
    # Words of earlier titles stay, up to a limit.
    if new and len(indexed) < 2 * _MOST_WORDS:
        connection.execute(insert(WORDS), new)


def _move(connection: Connection, kind: str, before: str | None, after: str | None) -> None:
    """Count a server under another word."""
    if before != after:
        for word, step in ((before, -1), (after, 1)):
            if word is not None:
                _count(connection, kind, word, step)


def _count(connection: Connection, kind: str, word: str, step: int) -> None:
    row = (TALLIES.c.kind == kind) & (TALLIES.c.word == word)
    if not connection.execute(update(TALLIES).where(row).values(servers=TALLIES.c.servers + step)).rowcount:
        connection.execute(insert(TALLIES).values(kind=kind, word=word, servers=step))


def _count_day(connection: Connection, record: RunRecord) -> None:
    day = record.started[:10]
    graded, points = (0, 0) if record.score is None else (1, record.score)
    values = {"runs": DAYS.c.runs + 1, "graded": DAYS.c.graded + graded, "points": DAYS.c.points + points}
    if not connection.execute(update(DAYS).where(DAYS.c.day == day).values(values)).rowcount:
        connection.execute(insert(DAYS).values(day=day, runs=1, graded=graded, points=points))


FEW = 1_000
"""The most servers that are looked up to be sorted."""
_MOST_SEARCHED_WORDS = 5


class _Listed(NamedTuple):
    """A condition that a table with one row or more for each server answers."""

    table: Table
    condition: ColumnElement[bool]

    @property
    def server(self) -> Column[int]:
        return self.table.c.server_id

    def is_met(self) -> ColumnElement[bool]:
        """Whether the server of a row meets it."""
        return select(self.server).where(self.server == SERVERS.c.id, self.condition).exists()

    def servers(self) -> Select[Any]:
        """Return the servers that meet it, or one more than a few."""
        return select(self.server).where(self.condition).limit(FEW + 1)


def narrowed(connection: Connection, query: Select[Any], wanted: ServerFilter) -> Select[Any]:
    """Return a query of servers with the conditions of a filter."""
    if wanted.grade:
        query = query.where(SERVERS.c.grade == wanted.grade)
    if wanted.verdict:
        query = query.where(SERVERS.c.verdict == wanted.verdict)
    listed = list(_listed_conditions(wanted))
    rarest = _rarest(connection, listed)
    if rarest is not None:
        few = rarest.servers().distinct().subquery()
        query = query.join_from(few, SERVERS, SERVERS.c.id == few.c.server_id)
    return query.where(*(condition.is_met() for condition in listed if condition is not rarest))


def _listed_conditions(wanted: ServerFilter) -> list[_Listed]:
    conditions = []
    if wanted.rule:
        conditions.append(_Listed(FIRING, FIRING.c.rule == wanted.rule))
    if wanted.client:
        conditions.append(_Listed(BREAKING, BREAKING.c.client == wanted.client))
    for word in search_words(wanted.search)[:_MOST_SEARCHED_WORDS]:
        # A range rather than LIKE: words of a search are taken literally, and an index answers it.
        starts = and_(WORDS.c.word >= word, WORDS.c.word < f"{word}\U0010ffff")
        conditions.append(_Listed(WORDS, starts))
    return conditions


def _rarest(connection: Connection, conditions: list[_Listed]) -> _Listed | None:
    """Return the condition that the fewest servers meet; None if more than a few meet each."""
    if not conditions:
        return None
    counts = connection.execute(
        select(
            *(
                select(func.count()).select_from(condition.servers().subquery()).scalar_subquery()
                for condition in conditions
            )
        )
    ).one()
    least, rarest = min(zip(counts, conditions, strict=True), key=lambda counted: counted[0])
    return rarest if least <= FEW else None


PAGE, MOST, CHUNK = 50, 200, 2_000
"""The number of servers of a page, the most of a page, and the number that are read at once where all are wanted."""
_COLUMNS = {
    "name": SERVERS.c.name,
    "score": SERVERS.c.score,
    "tokens": SERVERS.c.tokens,
    "trust": SERVERS.c.trust,
    "seen": SERVERS.c.last_seen,
}
SORTS = tuple(sign + name for name in _COLUMNS for sign in ("", "-"))
"""The orders of a list; `-` is descending."""


class ServerFilter(NamedTuple):
    """Which servers to list, and in which order."""

    search: str = ""
    """Words, each the start of a word of the name or the title."""
    grade: str = ""
    verdict: str = ""
    client: str = ""
    """A client in which they break."""
    rule: str = ""
    """A rule that fires."""
    sort: str = "-score"
    cursor: str = ""
    """Where the page starts; empty for the first."""
    size: int = PAGE


class ListedServer(NamedTuple):
    """A server as a list shows it."""

    name: str
    title: str
    runs: int
    last_seen: str | None
    is_reachable: bool | None
    grade: str | None
    score: int | None
    change: int | None
    tokens: int | None
    tools: int | None
    trust: int | None
    verdict: str | None
    changed: str | None
    changes: str | None


class ServerPage(NamedTuple):
    """A page of a list."""

    servers: list[ListedServer]
    next: str
    """The cursor of the next page; empty if this is the last."""


class Totals(NamedTuple):
    """Counts of all servers."""

    servers: int
    grades: dict[str, int]
    verdicts: dict[str, int]


class Day(NamedTuple):
    """The runs of a day."""

    day: str
    runs: int
    mean: float | None
    """The mean score of the graded runs; None if there are none."""


_SHOWN = [SERVERS.c[field] for field in ListedServer._fields]
_MAYBE_UNKNOWN = tuple(ListedServer._fields.index(field) for field in ("score", "tokens", "trust"))


def list_servers(database: Database, wanted: ServerFilter) -> ServerPage:
    """Return a page of servers. Raises a UsageError for an unknown order or a damaged cursor."""
    return _page(database, wanted, max(1, min(wanted.size, MOST)))


def every_server(database: Database, wanted: ServerFilter) -> Iterator[list[ListedServer]]:
    """Yield all servers of a list, many at a time. Errors are raised at once."""
    first = _page(database, wanted, CHUNK)

    def chunks() -> Iterator[list[ListedServer]]:
        page = first
        yield page.servers
        while page.next:
            page = _page(database, wanted._replace(cursor=page.next), CHUNK)
            yield page.servers

    return chunks()


def _page(database: Database, wanted: ServerFilter, size: int) -> ServerPage:
    if wanted.sort not in SORTS:
        raise UsageError(f"unknown order `{wanted.sort}`; there are {', '.join(SORTS)}")
    column, is_descending = _COLUMNS[wanted.sort.lstrip("-")], wanted.sort.startswith("-")
    query: Select[Any] = select(*_SHOWN, SERVERS.c.id, column.label("_value"))
    if wanted.cursor:
        query = query.where(_after(wanted, column, is_descending=is_descending))
    order = (column.desc(), SERVERS.c.id.desc()) if is_descending else (column, SERVERS.c.id)
    with database.reading() as connection:
        query = narrowed(connection, query, wanted)
        # One more than the page has, to see whether there is another.
        rows = connection.execute(query.order_by(*order).limit(size + 1)).all()
    cursor = ""
    if len(rows) > size:
        last = rows[size - 1]._mapping
        # With the order, as a cursor of one list must not be read as one of another.
        cursor = urlsafe_b64encode(json.dumps([wanted.sort, last["_value"], last["id"]]).encode()).decode()
    return ServerPage([_listed(row) for row in rows[:size]], cursor)


def find_server(database: Database, name: str) -> ListedServer | None:
    """Return a server by its name; None if there is none."""
    with database.reading() as connection:
        row = connection.execute(select(*_SHOWN).where(SERVERS.c.name == name)).first()
    return None if row is None else _listed(row)


class FiringRule(NamedTuple):
    """A rule that fires in the newest state of a server."""

    rule: str
    findings: int
    level: str | None
    """The worst level in the newest run with such findings, which the run may have set; None if it is not kept."""


def firing_rules(database: Database, name: str) -> list[FiringRule]:
    """Return the rules that fire at a server."""
    firing = select(FIRING.c.rule, FIRING.c.findings).join(SERVERS, SERVERS.c.id == FIRING.c.server_id)
    runs = select(RUNS.c.id, RUNS.c.started).join(SERVERS, SERVERS.c.id == RUNS.c.server_id)
    # A few of its runs, so that the cost does not grow with their number.
    newest = runs.where(SERVERS.c.name == name).order_by(RUNS.c.started.desc(), RUNS.c.id.desc()).limit(_NEWEST_RUNS)
    of_runs = newest.subquery()
    found = select(FINDINGS.c.rule, of_runs.c.started, of_runs.c.id, FINDINGS.c.level).distinct()
    with database.reading() as connection:
        rows = connection.execute(firing.where(SERVERS.c.name == name).order_by(FIRING.c.rule)).all()
        found = found.join(of_runs, of_runs.c.id == FINDINGS.c.run_id).where(FINDINGS.c.level.in_(LEVELS))
        found_rows = connection.execute(found).all()
    # In this order the last level of a rule is the worst of the newest run.
    ranked = sorted(found_rows, key=lambda row: (row.started, row.id, -LEVELS.index(row.level)))
    levels = {row.rule: row.level for row in ranked}
    return [FiringRule(rule, findings, levels.get(rule)) for rule, findings in rows]


def recent_changes(database: Database, since: str, most: int = 20) -> list[ListedServer]:
    """Return the servers that changed since a moment, the newest change first."""
    query: Select[Any] = select(*_SHOWN).where(SERVERS.c.changed >= since)
    with database.reading() as connection:
        rows = connection.execute(query.order_by(SERVERS.c.changed.desc(), SERVERS.c.id.desc()).limit(most)).all()
    return [_listed(row) for row in rows]


def totals(database: Database) -> Totals:
    """Return how many servers there are, in all and with each grade and verdict."""
    with database.reading() as connection:
        rows = connection.execute(select(TALLIES).where(TALLIES.c.servers > 0).order_by(TALLIES.c.word)).all()
    counted: dict[str, dict[str, int]] = {}
    for row in rows:
        counted.setdefault(row.kind, {})[row.word] = row.servers
    return Totals(counted.get("servers", {}).get("all", 0), counted.get("grade", {}), counted.get("verdict", {}))


def recent_days(database: Database, most: int = 60) -> list[Day]:
    """Return the newest days with runs, the oldest of them first."""
    with database.reading() as connection:
        rows = connection.execute(select(DAYS).order_by(DAYS.c.day.desc()).limit(most)).all()
    return [Day(row.day, row.runs, row.points / row.graded if row.graded else None) for row in reversed(rows)]


def _listed(row: Row[Any]) -> ListedServer:
    values = [*row[: len(_SHOWN)]]
    for place in _MAYBE_UNKNOWN:
        if values[place] == UNKNOWN:
            values[place] = None
    return ListedServer(*values)


def _after(wanted: ServerFilter, column: Column[Any], *, is_descending: bool) -> ColumnElement[bool]:
    """The condition of the rows after a cursor."""
    try:
        sort, value, last = json.loads(urlsafe_b64decode(wanted.cursor.encode()))
    except (ValueError, TypeError):
        sort = value = last = None
    is_value = _is_number(value) if isinstance(column.type, Integer) else isinstance(value, str)
    if sort != wanted.sort or not is_value or not _is_number(last):
        raise UsageError("the cursor is not one of this list")
    # The id breaks ties: thousands of servers have the same score.
    place = tuple_(column, SERVERS.c.id)
    return place < (value, last) if is_descending else place > (value, last)


def _is_number(value: object) -> bool:
    """Whether PostgreSQL can compare a value with an integer column."""
    return type(value) is int and abs(value) < 2**31

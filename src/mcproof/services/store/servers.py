"""Lists of servers: searched, filtered, sorted, a page at a time; and counts of all of them.

A page is found by the value that the one before ended with, so its cost does not grow with its number.
"""

from __future__ import annotations

import json
from base64 import urlsafe_b64decode, urlsafe_b64encode
from typing import TYPE_CHECKING, Any, NamedTuple

from sqlalchemy import Integer, select, tuple_

from mcproof.core.errors import UsageError
from mcproof.store.server_conditions import narrowed
from mcproof.store.tables import DAYS, FIRING, SERVERS, TALLIES, UNKNOWN

if TYPE_CHECKING:
    from collections.abc import Iterator

    from sqlalchemy import Column, ColumnElement, RowMapping, Select

    from mcproof.store.database import Database

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
    query = select(*_SHOWN, SERVERS.c.id, column.label("_value"))
    if wanted.cursor:
        query = query.where(_after(wanted, column, is_descending=is_descending))
    order = (column.desc(), SERVERS.c.id.desc()) if is_descending else (column, SERVERS.c.id)
    with database.reading() as connection:
        query = narrowed(connection, query, wanted)
        rows = connection.execute(query.order_by(*order).limit(size + 1)).all()
    following = _cursor(wanted.sort, rows[size - 1]._mapping) if len(rows) > size else ""
    return ServerPage([_listed(row._mapping) for row in rows[:size]], following)


def find_server(database: Database, name: str) -> ListedServer | None:
    """Return a server by its name; None if there is none."""
    with database.reading() as connection:
        row = connection.execute(select(*_SHOWN).where(SERVERS.c.name == name)).first()
    return None if row is None else _listed(row._mapping)


class FiringRule(NamedTuple):
    """A rule that fires in the newest state of a server."""

    rule: str
    findings: int


def firing_rules(database: Database, name: str) -> list[FiringRule]:
    """Return the rules that fire at a server."""
    query = select(FIRING.c.rule, FIRING.c.findings).join(SERVERS, SERVERS.c.id == FIRING.c.server_id)
    with database.reading() as connection:
        rows = connection.execute(query.where(SERVERS.c.name == name).order_by(FIRING.c.rule)).all()
    return [FiringRule(*row) for row in rows]


def recent_changes(database: Database, since: str, most: int = 20) -> list[ListedServer]:
    """Return the servers that changed since a moment, the newest change first."""
    query: Select[Any] = select(*_SHOWN).where(SERVERS.c.changed >= since)
    with database.reading() as connection:
        rows = connection.execute(query.order_by(SERVERS.c.changed.desc(), SERVERS.c.id.desc()).limit(most)).all()
    return [_listed(row._mapping) for row in rows]


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


def _listed(row: RowMapping) -> ListedServer:
    fields = {field: row[field] for field in ListedServer._fields}
    for name in ("score", "tokens", "trust"):
        fields[name] = None if fields[name] == UNKNOWN else fields[name]
    return ListedServer(**fields)


def _cursor(sort: str, row: RowMapping) -> str:
    return urlsafe_b64encode(json.dumps([sort, row["_value"], row["id"]]).encode()).decode()


def _after(wanted: ServerFilter, column: Column[Any], *, is_descending: bool) -> ColumnElement[bool]:
    """The condition of the rows after a cursor."""
    try:
        sort, value, last = json.loads(urlsafe_b64decode(wanted.cursor.encode()))
    except (ValueError, TypeError):
        sort = value = last = None
    is_value = _is_number(value) if isinstance(column.type, Integer) else isinstance(value, str)
    if sort != wanted.sort or not is_value or not _is_number(last):
        raise UsageError("the cursor is not one of this list")
    place = tuple_(column, SERVERS.c.id)
    return place < (value, last) if is_descending else place > (value, last)


def _is_number(value: object) -> bool:
    """Whether a database can compare a value with an integer."""
    return type(value) is int and abs(value) < 2**63

"""The conditions of a list of servers, in a form whose cost does not grow with the number of servers.

A condition that few servers meet is looked up first, and the servers that it finds are sorted. A condition that many
servers meet is checked while the list is read in its order, because a page is full after a few rows.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from sqlalchemy import and_, func, select

from mcproof.store.server_rows import search_words
from mcproof.store.tables import BREAKING, FIRING, SERVERS, WORDS

if TYPE_CHECKING:
    from sqlalchemy import Column, ColumnElement, Connection, Select, Table

    from mcproof.store.server_list import ServerFilter

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

    def found(self) -> Select[Any]:
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
        few = rarest.found().distinct().subquery()
        query = query.join_from(few, SERVERS, SERVERS.c.id == few.c.server_id)
    return query.where(*(each.is_met() for each in listed if each is not rarest))


def _listed_conditions(wanted: ServerFilter) -> list[_Listed]:
    conditions = []
    if wanted.rule:
        conditions.append(_Listed(FIRING, FIRING.c.rule == wanted.rule))
    if wanted.client:
        conditions.append(_Listed(BREAKING, BREAKING.c.client == wanted.client))
    for word in search_words(wanted.search)[:_MOST_SEARCHED_WORDS]:
        starts = and_(WORDS.c.word >= word, WORDS.c.word < f"{word}\U0010ffff")
        conditions.append(_Listed(WORDS, starts))
    return conditions


def _rarest(connection: Connection, conditions: list[_Listed]) -> _Listed | None:
    """Return the condition that the fewest servers meet; None if more than a few meet each."""
    if not conditions:
        return None
    counts = connection.execute(
        select(*(select(func.count()).select_from(each.found().subquery()).scalar_subquery() for each in conditions))
    ).one()
    least, rarest = min(zip(counts, conditions, strict=True), key=lambda each: each[0])
    return rarest if least <= FEW else None

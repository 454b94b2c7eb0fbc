"""Keep up to date what lists of servers show: the newest state of each, its changes, and counts of all."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, NamedTuple

from sqlalchemy import bindparam, delete, insert, select, update

from mcproof.store.tables import BREAKING, DAYS, FIRING, SERVERS, TALLIES, UNKNOWN, WORDS

if TYPE_CHECKING:
    from collections.abc import Iterator

    from sqlalchemy import Connection, Row

    from mcproof.runs.results import RunResult, TargetResult

LONGEST = 500
"""The most characters of a name or a subject in a column; the run report has them in full."""
_LONGEST_WORD, _MOST_WORDS = 60, 40


class NewRun(NamedTuple):
    """A run that was just inserted."""

    id: int
    server: int
    run: RunResult
    result: TargetResult
    catalog: str | None
    """The hash of its catalog."""


def create_server(connection: Connection, name: str) -> int:
    """Return the key of a server, created if it is new."""
    found = connection.execute(select(SERVERS.c.id).where(SERVERS.c.name == name)).scalar()
    if found is not None:
        return int(found)
    unknown = dict.fromkeys(("score", "tokens", "trust"), UNKNOWN)
    values = {"name": name, "title": "", "runs": 0, **unknown}
    server = int(connection.execute(insert(SERVERS).values(values).returning(SERVERS.c.id)).scalar_one())
    _count(connection, "servers", "all", 1)
    _index_words(connection, server, name)
    return server


def update_server(connection: Connection, new: NewRun) -> None:
    """Show what a run has checked at its server; an older run, from another store, only counts."""
    row = connection.execute(select(SERVERS).where(SERVERS.c.id == new.server)).one()
    result, grade = new.result, new.result.scores.grade
    _count_day(connection, new)
    values: dict[str, Any] = {"runs": row.runs + 1}
    if row.last_seen is not None and row.last_seen > new.run.started:
        connection.execute(update(SERVERS).where(SERVERS.c.id == new.server).values(values))
        return
    values |= {"last_run": new.id, "last_seen": new.run.started, "is_reachable": result.trouble is None}
    if result.trouble is None:
        values |= {"title": result.title[:LONGEST], "tools": result.counts.get("tools")}
    if new.catalog is not None:
        values["surface"] = new.catalog
    if result.scores.tokens is not None:
        values["tokens"] = result.scores.tokens.total
    if grade is not None:
        values |= {"grade": grade.letter, "score": grade.score}
        values["change"] = None if row.score == UNKNOWN else grade.score - row.score
    if result.payload.kind == "scan" and result.payload.trust is not None:
        values |= {"trust": result.payload.trust.score, "verdict": result.payload.trust.verdict}
    if changes := "; ".join(_changes(row, values)):
        values |= {"changed": new.run.started, "changes": changes}
    connection.execute(update(SERVERS).where(SERVERS.c.id == new.server).values(values))
    for kind in ("grade", "verdict"):
        _move(connection, kind, getattr(row, kind), values.get(kind, getattr(row, kind)))
    if result.trouble is None:
        _index_words(connection, new.server, result.title)
        _update_firing(connection, new)
    if result.payload.kind == "compat":
        _update_breaking(
            connection, new.server, [each.client for each in result.payload.outcomes if each.verdict == "breaks"]
        )


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


def _update_firing(connection: Connection, new: NewRun) -> None:
    """Replace the rules that fire, of those that ran."""
    ran = [{"of_rule": rule.id} for rule in new.run.rules]
    if ran:
        gone = delete(FIRING).where(FIRING.c.server_id == new.server, FIRING.c.rule == bindparam("of_rule"))
        connection.execute(gone, ran)
    names = {rule.id for rule in new.run.rules}
    firing = [
        {"server_id": new.server, "rule": rule, "findings": count}
        for rule, count in new.result.by_rule().items()
        if rule in names
    ]
    if firing:
        connection.execute(insert(FIRING), firing)


def _update_breaking(connection: Connection, server: int, clients: list[str]) -> None:
    connection.execute(delete(BREAKING).where(BREAKING.c.server_id == server))
    if clients:
        connection.execute(insert(BREAKING), [{"server_id": server, "client": client} for client in clients])


def search_words(text: str) -> list[str]:
    """Return the words of a name, a URL or a search, in lower case."""
    words = re.findall(r"[^\W_]+", text.lower())
    return list(dict.fromkeys(word[:_LONGEST_WORD] for word in words))[:_MOST_WORDS]


def _index_words(connection: Connection, server: int, text: str) -> None:
    known = set(connection.execute(select(WORDS.c.word).where(WORDS.c.server_id == server)).scalars())
    new = [{"word": word, "server_id": server} for word in search_words(text) if word not in known]
    if new and len(known) < 2 * _MOST_WORDS:
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


def _count_day(connection: Connection, new: NewRun) -> None:
    day, grade = new.run.started[:10], new.result.scores.grade
    graded, points = (0, 0) if grade is None else (1, grade.score)
    values = {"runs": DAYS.c.runs + 1, "graded": DAYS.c.graded + graded, "points": DAYS.c.points + points}
    if not connection.execute(update(DAYS).where(DAYS.c.day == day).values(values)).rowcount:
        connection.execute(insert(DAYS).values(day=day, runs=1, graded=graded, points=points))

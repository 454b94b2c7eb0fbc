"""The last known state of watched servers, and the events that are not delivered yet."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from sqlalchemy import delete, func, insert, select, update

from mcproof.store.tables import DELIVERIES, WATCHES

if TYPE_CHECKING:
    from collections.abc import Iterable

    from sqlalchemy import Connection, Row

    from mcproof.store.database import Database


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


def watch_state(connection: Connection, name: str) -> WatchState | None:
    """Return the state of a watch; None if it has not run yet."""
    row = connection.execute(select(WATCHES).where(WATCHES.c.name == name)).first()
    return None if row is None else _state(row)


def save_watch_state(connection: Connection, name: str, state: WatchState) -> None:
    """Replace the state of a watch."""
    values = {**state._asdict(), "failed_gates": ",".join(state.failed_gates)}
    if not connection.execute(update(WATCHES).where(WATCHES.c.name == name).values(values)).rowcount:
        connection.execute(insert(WATCHES).values(name=name, **values))


def add_deliveries(connection: Connection, deliveries: Iterable[Delivery]) -> None:
    """Add events in the transaction of the run that they are about, so that none is lost."""
    rows = [each._asdict() for each in deliveries]
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

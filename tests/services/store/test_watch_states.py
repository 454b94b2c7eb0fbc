"""States of watched servers and undelivered events, in both databases."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from mcproof.services.store.recording import (
    Delivery,
    WatchState,
    add_deliveries,
    due_deliveries,
    pending_deliveries,
    postpone_delivery,
    remove_delivery,
    save_watch_state,
    watch_states,
)

if TYPE_CHECKING:
    from mcproof.services.store.database import Database

EMPTY = WatchState("2026-01-01T00:00:00Z")
FULL = WatchState(
    last_run="2026-01-02T00:00:00Z",
    failures=2,
    is_gone=True,
    grade="B",
    score=80,
    tokens=900,
    verdict="review",
    surface="sha256:" + "a" * 64,
    catalog="b" * 64,
    failed_gates=("min-grade", "max-tokens"),
)


def test_a_state_is_read_as_it_was_saved(database: Database) -> None:
    assert watch_states(database, ["books"]) == {}
    for state in (FULL, EMPTY, FULL):
        with database.writing() as connection:
            save_watch_state(connection, "books", state)
        assert watch_states(database, ["books"]) == {"books": state}
    with database.writing() as connection:
        save_watch_state(connection, "removed from the configuration", EMPTY)
    assert watch_states(database, ["books", "new"]) == {"books": FULL}


def test_events_wait_until_they_are_delivered(database: Database) -> None:
    first, second = Delivery("1", "books", "{}", due=10), Delivery("2", "books", '{"text": "\0"}', due=20)
    with database.writing() as connection:
        add_deliveries(connection, [])
        add_deliveries(connection, [second, first])
    assert due_deliveries(database, 9, 5) == []
    assert [each.id for each in due_deliveries(database, 20, 5)] == ["1", "2"]
    assert due_deliveries(database, 20, 1) == [first]
    postpone_delivery(database, first, 30)
    assert due_deliveries(database, 30, 5)[-1] == first._replace(attempts=1, due=30)
    assert pending_deliveries(database) == (2, 20)
    for each in (first, second):
        remove_delivery(database, each)
    assert pending_deliveries(database) == (0, None)


def test_an_event_of_a_transaction_that_fails_is_not_kept(database: Database) -> None:
    def crash() -> None:
        with database.writing() as connection:
            add_deliveries(connection, [Delivery("1", "books", "{}")])
            raise RuntimeError

    with pytest.raises(RuntimeError):
        crash()
    assert pending_deliveries(database) == (0, None)

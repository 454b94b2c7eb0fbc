"""When watched servers are due, without waiting."""

from __future__ import annotations

import pytest

from mcproof.services.store.recording import WatchState
from mcproof.services.web.watch_events import WatchSchedule, seconds_of, spread_of

from .watching import entry

LAST = "2026-01-01T12:00:00Z"
NOON = seconds_of(LAST)


def names(schedule: WatchSchedule, now: float, room: int = 10) -> list[str]:
    return [each.name for each in schedule.take(now, room)]


def test_new_entries_are_due_at_once_as_many_as_there_is_room_for() -> None:
    schedule = WatchSchedule([entry(name) for name in "abc"], {}, NOON)
    assert names(schedule, NOON, 2) == ["a", "b"]
    assert names(schedule, NOON, 0) == []
    assert names(schedule, NOON, -1) == []
    assert names(schedule, NOON, 2) == ["c"]


def test_an_entry_does_not_overlap_with_itself() -> None:
    schedule = WatchSchedule([entry(every=10)], {}, NOON)
    assert names(schedule, NOON) == ["books"]
    assert names(schedule, NOON + 1000) == []
    assert schedule.next_due() is None
    schedule.finish("books", NOON, 0)
    assert schedule.next_due() == NOON + 10
    assert names(schedule, NOON + 1000) == ["books"]


def test_a_run_that_took_longer_than_the_interval_is_due_once() -> None:
    schedule = WatchSchedule([entry(every=10)], {}, NOON)
    names(schedule, NOON)
    schedule.finish("books", NOON, 0)
    assert names(schedule, NOON + 95) == ["books"]
    schedule.finish("books", NOON + 95, 0)
    assert names(schedule, NOON + 104) == []
    assert names(schedule, NOON + 105) == ["books"]


def test_a_restart_continues_from_the_last_run() -> None:
    spread = spread_of("books", 3600)
    schedule = WatchSchedule([entry()], {"books": WatchState(LAST)}, NOON + 600)
    assert schedule.next_due() == NOON + 3600 + spread
    assert names(schedule, NOON + 3599 + spread) == []
    assert names(schedule, NOON + 3600 + spread) == ["books"]


def test_a_restart_after_a_long_time_is_due_at_once_and_once() -> None:
    schedule = WatchSchedule([entry()], {"books": WatchState(LAST)}, NOON + 10**6)
    assert names(schedule, NOON + 10**6) == ["books"]
    schedule.finish("books", NOON + 10**6, 0)
    assert names(schedule, NOON + 10**6 + 3599) == []


@pytest.mark.parametrize("last", ["2999-01-01T00:00:00Z", "damaged", ""])
def test_a_time_from_the_future_or_damaged_does_not_stop_an_entry(last: str) -> None:
    schedule = WatchSchedule([entry()], {"books": WatchState(last)}, NOON)
    assert (schedule.next_due() or 0) <= NOON + 3600 + spread_of("books", 3600)


@pytest.mark.parametrize(("every", "pause"), [(3600, 60), (10, 10)])
def test_a_first_failure_is_soon_tried_again_and_a_second_is_not(every: int, pause: int) -> None:
    failed = WatchState(LAST, failures=1)
    assert WatchSchedule([entry(every=every)], {"books": failed}, NOON).next_due() == NOON + pause
    schedule = WatchSchedule([entry(every=every)], {}, NOON)
    names(schedule, NOON)
    schedule.finish("books", NOON, 1)
    assert schedule.next_due() == NOON + pause
    schedule.finish("books", NOON, 2)
    assert schedule.next_due() == NOON + every + spread_of("books", every)


def test_entries_with_one_interval_are_spread_by_their_names() -> None:
    spreads = [spread_of(f"server {number}", 3600) for number in range(50)]
    assert spreads == [spread_of(f"server {number}", 3600) for number in range(50)]
    assert all(0 <= each <= 180 for each in spreads)
    assert len(set(spreads)) > 25
    assert spread_of("books", 10) == 0


def test_the_entry_that_waits_longest_is_first() -> None:
    states = {"late": WatchState("2026-01-01T09:00:00Z"), "later": WatchState("2026-01-01T08:00:00Z")}
    schedule = WatchSchedule([entry("new"), entry("late"), entry("later")], states, NOON)
    assert names(schedule, NOON, 2) == ["later", "late"]

"""Watched servers from a schedule to the store and the webhook, with a clock that tests set."""

from __future__ import annotations

import asyncio
import json
from io import StringIO
from typing import TYPE_CHECKING, Any

import jsonschema_rs
import pytest

from mcproof.runs.config import StoreSettings
from mcproof.services.store.database import open_database
from mcproof.services.store.queries import history_of
from mcproof.services.store.recording import pending_deliveries, record_run, watch_states
from mcproof.services.store.servers import find_server
from mcproof.services.web.health import Metrics, ServiceLog
from mcproof.services.web.watch_check import WatchError
from mcproof.services.web.watch_events import seconds_of
from mcproof.services.web.watcher import Watcher, WatchPlan
from services.store.conftest import new_database
from services.store.runs import BAD, GOOD, linted

from .watching import WEBHOOK, changed, entry, observed, unreachable

if TYPE_CHECKING:
    from collections.abc import Callable

    from mcproof.runs.config import WatchEntry
    from mcproof.services.store.database import Database
    from mcproof.services.web.watch_events import ObservedRun, WatchJob

NOON = seconds_of("2026-01-01T12:00:00Z")
HOUR = 3600


class Service:
    """A watcher whose checks return what a test says, and whose webhook keeps what it receives."""

    def __init__(self, database: Database, *entries: WatchEntry, **plan: Any) -> None:
        self.now = NOON
        self.clock: Callable[[], float] | None = lambda: self.now
        """None for those of the system."""
        self.database = database
        self.plan = WatchPlan(entries or (entry(webhook=WEBHOOK),), **plan)
        self.results: dict[str, list[ObservedRun] | Exception] = {}
        self.checked: list[str] = []
        self.bodies: list[dict[str, Any]] = []
        self.status = 204
        self.metrics = Metrics()
        self.log = StringIO()

    async def check(self, job: WatchJob, label: str) -> list[ObservedRun]:
        name = label.removesuffix(".json")
        self.checked.append(name)
        result = self.results.get(name, [observed()])
        if isinstance(result, Exception):
            raise result
        return [each._replace(run=each.run._replace(started=_time(self.now))) for each in result]

    async def post(self, url: str, headers: dict[str, str], body: str) -> int:
        self.bodies.append(json.loads(body))
        return self.status

    def watcher(self, check: Callable[..., Any] | None = None) -> Watcher:
        return Watcher(
            self.database,
            self.plan,
            post=self.post,
            metrics=self.metrics,
            log=ServiceLog("json", self.log, lambda: self.now),
            check=check or self.check,
            clock=self.clock,
        )

    def turn(self, watcher: Watcher | None = None) -> list[str]:
        """Do what is due now, by default after a restart; return the types of the events that were posted."""

        async def run() -> None:
            current = watcher or self.watcher()
            current.start_due()
            await current.finish_running()
            await current.deliver()

        before = len(self.bodies)
        asyncio.run(run())
        return [each["type"] for each in self.bodies[before:]]

    def logged(self) -> list[dict[str, Any]]:
        return [json.loads(line) for line in self.log.getvalue().splitlines()]


def _time(seconds: float) -> str:
    from datetime import UTC, datetime

    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


@pytest.fixture
def service(database: Database, monkeypatch: pytest.MonkeyPatch) -> Service:
    monkeypatch.setenv("HOOK_SECRET", "hunter2")
    return Service(database)


def valid_event(body: dict[str, Any]) -> bool:
    from importlib.resources import files

    text = (files("mcproof.runs") / "schemas" / "event.schema.json").read_text(encoding="utf-8")
    return jsonschema_rs.Draft202012Validator(json.loads(text), validate_formats=True).is_valid(body)


def test_a_check_is_recorded_under_the_name_of_its_entry(service: Service) -> None:
    assert service.turn() == []
    [past] = history_of(service.database, "books", 5).runs
    assert (past.grade, past.started) == ("A", "2026-01-01T12:00:00Z")
    assert past.catalog is not None
    assert watch_states(service.database, ["books"])["books"].catalog == past.catalog


def test_events_are_posted_across_restarts(service: Service) -> None:
    check_events(service)


def test_events_are_posted_with_postgresql_too(postgres: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOOK_SECRET", "hunter2")
    opened = open_database(new_database(postgres))
    check_events(Service(opened))
    opened.close()


def check_events(service: Service) -> None:
    """Each turn is a service of its own, which knows only what the store has."""
    service.turn()
    service.results["books"] = [observed(BAD)]
    assert service.turn() == []
    service.now += 2 * HOUR
    assert sorted(service.turn()) == ["grade.fell", "surface.changed"]
    service.results["books"] = [unreachable()]
    service.now += 2 * HOUR
    assert service.turn() == []
    service.now += 60
    assert service.turn() == ["server.gone"]
    service.results["books"] = [observed(BAD)]
    service.now += 2 * HOUR
    assert service.turn() == ["server.back"]
    assert history_of(service.database, "books", 9).total == 5
    assert all(valid_event(each) for each in service.bodies), service.bodies
    assert len({each["id"] for each in service.bodies}) == 4


def test_an_event_has_the_states_and_the_run(service: Service) -> None:
    service.turn()
    service.results["books"] = [observed(BAD)]
    service.now += 2 * HOUR
    service.turn()
    fell = next(each for each in service.bodies if each["type"] == "grade.fell")
    newest = history_of(service.database, "books", 1).runs[-1]
    data = fell["data"]
    assert (data["server"], data["run"]) == ("books", newest.uid)
    assert fell["timestamp"] == "2026-01-01T14:00:00Z"
    assert (data["before"]["grade"], data["after"]["grade"]) == ("A", newest.grade)
    assert data["summary"] == f"the grade fell from A to {newest.grade}"


def test_a_changed_surface_lists_what_changed(service: Service) -> None:
    service.turn()
    service.results["books"] = [observed(changed(description="\u202eNew."))]
    service.now += 2 * HOUR
    service.turn()
    event = next(each for each in service.bodies if each["type"] == "surface.changed")
    assert event["data"]["changes"] == [{"item": "find_book", "part": "description", "summary": "description changed"}]
    assert event["data"]["more_changes"] == 0


def test_an_event_is_kept_until_the_receiver_takes_it(service: Service) -> None:
    service.turn()
    service.status = 500
    service.results["books"] = [observed(changed(title="New"))]
    service.now += 2 * HOUR
    assert service.turn() == ["surface.changed"]
    service.status = 204
    service.now += 5
    assert service.turn() == ["surface.changed"]
    assert service.bodies[0]["id"] == service.bodies[1]["id"]
    assert pending_deliveries(service.database)[0] == 0


def test_a_kill_between_recording_and_posting_loses_no_event(service: Service) -> None:
    service.turn()
    service.results["books"] = [observed(changed(title="New"))]
    service.now += 2 * HOUR

    async def check_only() -> None:
        watcher = service.watcher()
        watcher.start_due()
        await watcher.finish_running()

    asyncio.run(check_only())
    assert service.bodies == []
    service.results = {}
    assert service.turn() == ["surface.changed"]


def test_runs_of_others_do_not_hide_a_fall(service: Service) -> None:
    """What CI has recorded since is not what the webhook knows."""
    service.turn()
    record_run(service.database, linted(BAD), [BAD.decode()], "books")
    service.results["books"] = [observed(BAD)]
    service.now += 2 * HOUR
    assert "grade.fell" in service.turn()


def test_an_entry_without_a_webhook_only_records(database: Database) -> None:
    service = Service(database, entry())
    service.turn()
    service.results["books"] = [observed(BAD)]
    service.now += 2 * HOUR
    assert service.turn() == []
    assert pending_deliveries(database)[0] == 0
    assert service.logged()[-1]["events"] == ["grade.fell", "surface.changed"]


def test_what_is_not_the_fault_of_the_server_changes_nothing(service: Service) -> None:
    service.turn()
    for failure in (WatchError("the environment variable TOKEN is not set"), ZeroDivisionError("hunter2")):
        service.results["books"] = failure
        service.now += 2 * HOUR
        assert service.turn() == []
    found = find_server(service.database, "books")
    assert found is not None
    assert (found.runs, found.is_reachable) == (1, True)
    events = [each["event"] for each in service.logged()]
    assert events == ["watch.checked", "watch.failed", "service.error"]
    assert "hunter2" not in service.log.getvalue()
    assert 'mcproof_watch_checks_total{outcome="not_checked"} 2' in service.metrics.text()


def test_a_catalog_that_retention_has_deleted_leaves_the_list_of_changes_empty(service: Service) -> None:
    from mcproof.services.store.recording import prune

    service.turn()
    service.results["books"] = [unreachable()]
    service.now += 2 * HOUR
    service.turn()
    prune(service.database, keep=1)
    service.results["books"] = [observed(BAD)]
    service.now += 2 * HOUR
    service.turn()
    event = next(each for each in service.bodies if each["type"] == "surface.changed")
    assert event["data"]["changes"] == []
    assert valid_event(event)


# --- several at once, and the end ---------------------------------------------------------------------------------


class Slow:
    """Checks that wait until a test lets them finish."""

    def __init__(self) -> None:
        self.running: list[str] = []
        self.ended: list[str] = []
        self.may_finish = asyncio.Event()

    async def check(self, job: WatchJob, label: str) -> list[ObservedRun]:
        self.running.append(label)
        try:
            await self.may_finish.wait()
        except asyncio.CancelledError:
            self.ended.append(label)
            raise
        return [observed()]


def test_only_a_few_servers_are_checked_at_once(database: Database) -> None:
    async def run() -> None:
        slow, service = Slow(), Service(database, *(entry(f"{number}") for number in range(6)))
        watcher = service.watcher(slow.check)
        watcher.start()
        while len(slow.running) < 4:
            await asyncio.sleep(0)
        watcher.start_due()
        await asyncio.sleep(0)
        assert len(slow.running) == 4
        assert "mcproof_watch_running 4" in service.metrics.text()
        slow.may_finish.set()
        while len(slow.running) < 6:
            await asyncio.sleep(0.001)
        await watcher.stop()
        assert len(watch_states(database, [f"{number}" for number in range(6)])) == 6

    asyncio.run(run())


def test_a_stop_lets_checks_finish_and_records_them(database: Database) -> None:
    async def run() -> None:
        slow, service = Slow(), Service(database, entry())
        watcher = service.watcher(slow.check)
        watcher.start()
        while not slow.running:
            await asyncio.sleep(0)
        stopping = asyncio.create_task(watcher.stop())
        await asyncio.sleep(0)
        slow.may_finish.set()
        await stopping
        assert slow.ended == []

    asyncio.run(run())
    assert history_of(database, "books", 5).total == 1


def test_a_stop_ends_checks_that_take_too_long(database: Database) -> None:
    async def run() -> Slow:
        slow, service = Slow(), Service(database, entry())
        watcher = service.watcher(slow.check)
        watcher.start()
        while not slow.running:
            await asyncio.sleep(0)
        await watcher.stop(seconds=0.01)
        return slow

    assert asyncio.run(run()).ended == ["books.json"]
    assert watch_states(database, ["books"]) == {}


def test_old_runs_are_deleted(database: Database) -> None:
    for day in range(3):
        record_run(database, linted(started=f"2026-01-0{day + 1}T00:00:00Z"), [GOOD.decode()], "books")

    async def run() -> None:
        watcher = Service(database, entry(), retention=StoreSettings(keep=1)).watcher(Slow().check)
        watcher.start()
        while history_of(database, "books", 9).total > 1:
            await asyncio.sleep(0.001)
        await watcher.stop(0)

    asyncio.run(run())


def test_a_clock_that_is_set_back_delays_no_check(service: Service, monkeypatch: pytest.MonkeyPatch) -> None:
    hours = {"time": 0, "monotonic": 0}
    monkeypatch.setattr("time.time", lambda: NOON + hours["time"] * HOUR)
    monkeypatch.setattr("time.monotonic", lambda: 7.0 + hours["monotonic"] * HOUR)
    service.clock = None
    watcher = service.watcher()
    service.turn(watcher)
    hours.update(time=-24, monotonic=1)
    service.turn(watcher)
    assert len(service.checked) == 1
    hours.update(monotonic=48)
    service.turn(watcher)
    assert len(service.checked) == 2

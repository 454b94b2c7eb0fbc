"""What pages and API lists cost: a few queries, no scan of a large table, and nothing that grows with the store."""

from __future__ import annotations

import re
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, NamedTuple

import pytest
from sqlalchemy import event
from starlette.testclient import TestClient

from mcproof.services.store.database import open_database
from mcproof.services.web.server import WebSettings, create_service
from services.store.conftest import new_database
from services.store.filling import KNOWN, RARE_CLIENT, RARE_RULE, Size, fill

if TYPE_CHECKING:
    from collections.abc import Iterator

    from mcproof.services.store.database import Database

MOST_QUERIES = 10
PAGES = {
    "dashboard": "/",
    "by grade": "/?grade=B",
    "by grade and name": "/?grade=B&sort=name",
    "by verdict": "/?verdict=review",
    "by client": "/?client=cursor",
    "by rare client": f"/?client={RARE_CLIENT}",
    "by rule": "/?rule=tool-no-description",
    "by rare rule": f"/?rule={RARE_RULE}",
    "search": "/?q=server",
    "search for several words": "/?q=server+7",
    "search without a result": "/?q=nothing",
    "every filter": "/?q=server+7&grade=B&verdict=review&client=cursor&rule=tool-no-description&sort=tokens",
    "by name": "/?sort=name",
    "by tokens": "/?sort=-tokens",
    "by trust": "/?sort=trust",
    "by time": "/?sort=-seen",
    "server": f"/servers/{KNOWN}",
    "run": "/runs/{uid}",
    "compare": f"/compare?a={KNOWN}&b=server+7",
    "rules": "/rules",
    "rule": "/rules/SCH-001",
    "badge": f"/badge/{KNOWN}.svg",
    "badge endpoint": f"/badge/{KNOWN}.json",
    "CSV": "/servers.csv",
    "JSON": "/servers.json",
    "health": "/healthz",
    "metrics": "/metrics",
}
API = {
    "API servers": "/api/v1/servers",
    "API servers by rule": f"/api/v1/servers?rule={RARE_RULE}",
    "API last servers": "/api/v1/servers?cursor={last}",
    "API server": f"/api/v1/servers/{KNOWN}",
    "API runs": f"/api/v1/servers/{KNOWN}/runs?limit=3",
    "API older runs": f"/api/v1/servers/{KNOWN}/runs?limit=3&cursor={{uid}}",
    "API run": "/api/v1/runs/{uid}",
    "API findings": "/api/v1/runs/{uid}/findings",
    "API rules": "/api/v1/rules",
    "API rule": "/api/v1/rules/SCH-001",
    "API health": "/api/v1/health",
}
EXPORTS = ("CSV", "JSON")
"""They have every server, so they grow with the number of servers."""


class Visit(NamedTuple):
    """What a request made the database do."""

    queries: list[tuple[str, Any]]
    steps: int
    """How many instructions SQLite ran: a measure of work that does not depend on the machine."""


class Store:
    """A filled store behind the web application."""

    def __init__(self, database: Database) -> None:
        self.database = database
        settings = WebSettings(hosts=("testserver",), requests_a_minute=1_000_000)
        self._web = TestClient(create_service(database, settings))
        runs = self._web.get(f"/api/v1/servers/{KNOWN}/runs?limit=5").json()["runs"]
        cursor = ""
        while following := self._web.get(f"/api/v1/servers?cursor={cursor}").json()["next"]:
            cursor = following
        self._values = {"uid": runs[-1]["uid"], "last": cursor}

    def visit(self, path: str) -> Visit:
        """Request a page for the second time, so that nothing is loaded or cached on the way."""
        path = path.format(**self._values)
        assert self._web.get(path).status_code == 200
        with self._watched() as visit:
            self._web.get(path)
        return visit[0]

    @contextmanager
    def _watched(self) -> Iterator[list[Visit]]:
        queries: list[tuple[str, Any]] = []
        steps = 0

        def count() -> None:
            nonlocal steps
            steps += 10

        def note(_: object, __: object, statement: str, parameters: Any, *___: object) -> None:
            if statement not in ("BEGIN", "BEGIN IMMEDIATE"):
                queries.append((statement, parameters))

        def observe(connection: Any, *_: object) -> None:
            connection.set_progress_handler(count, 10)

        engine, visits = self.database.engine, list[Visit]()
        event.listen(engine, "before_cursor_execute", note)
        if self.database.is_sqlite:
            event.listen(engine, "checkout", observe)
        try:
            yield visits
        finally:
            event.remove(engine, "before_cursor_execute", note)
            if self.database.is_sqlite:
                event.remove(engine, "checkout", observe)
        visits.append(Visit(queries, steps))

    def plan(self, statement: str, parameters: Any) -> str:
        """How the database runs a statement."""
        with self.database.reading() as connection:
            if self.database.is_sqlite:
                rows = connection.exec_driver_sql(f"EXPLAIN QUERY PLAN {statement}", parameters)
                return "\n".join(row.detail for row in rows)
            connection.exec_driver_sql("SET LOCAL enable_seqscan = off")  # a small table is always scanned otherwise
            rows = connection.exec_driver_sql(f"EXPLAIN {statement}", parameters)
            return "\n".join(row[0] for row in rows)


def filled(word: str, size: Size) -> Iterator[Store]:
    database = open_database(word)
    fill(database, size, history=10)
    yield Store(database)
    database.close()


@pytest.fixture(scope="module", params=["sqlite", "postgres"])
def store(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Store]:
    if request.param == "postgres":
        yield from filled(new_database(request.getfixturevalue("postgres")), Size(servers=1_500, runs=2))
    else:
        yield from filled(str(tmp_path_factory.mktemp("store") / "s.sqlite"), Size(servers=1_500, runs=2))


@pytest.fixture(scope="module")
def with_more_runs(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Store]:
    yield from filled(str(tmp_path_factory.mktemp("store") / "s.sqlite"), Size(servers=1_500, runs=8))


@pytest.fixture(scope="module")
def with_more_servers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Store]:
    yield from filled(str(tmp_path_factory.mktemp("store") / "s.sqlite"), Size(servers=4_500, runs=2))


SCAN = re.compile(r"(SCAN|Seq Scan on) (runs|findings|scores|catalogs)\b")


def test_a_page_needs_few_queries_and_no_scan(store: Store) -> None:
    wrong = []
    for name, path in (PAGES | API).items():
        queries = store.visit(path).queries
        if len(queries) > MOST_QUERIES:
            wrong.append(f"{name}: {len(queries)} queries")
        for statement, parameters in queries:
            plan = store.plan(statement, parameters)
            if SCAN.search(plan):
                wrong.append(f"{name}: {statement}\n{plan}")
    assert not wrong, "\n".join(wrong)


@pytest.mark.slow
@pytest.mark.parametrize("store", ["sqlite"], indirect=True)
def test_the_cost_of_a_page_does_not_grow_with_runs(store: Store, with_more_runs: Store) -> None:
    grown = growth(store, with_more_runs)
    assert {name: steps for name, steps in grown.items() if steps[1] > steps[0] * 1.05 + 100} == {}


@pytest.mark.slow
@pytest.mark.parametrize("store", ["sqlite"], indirect=True)
def test_the_cost_of_a_page_does_not_grow_with_servers(store: Store, with_more_servers: Store) -> None:
    grown = growth(store, with_more_servers)
    assert {
        name: steps for name, steps in grown.items() if steps[1] > steps[0] * 2 + 1_000 and name not in EXPORTS
    } == {}


def growth(small: Store, large: Store) -> dict[str, tuple[int, int]]:
    """The work of SQLite for each page, in two stores."""
    return {name: (small.visit(path).steps, large.visit(path).steps) for name, path in (PAGES | API).items()}

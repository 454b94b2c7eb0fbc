"""Pages that many ask for: made once a second, for all of them."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

import pytest
from starlette.responses import PlainTextResponse, StreamingResponse
from starlette.testclient import TestClient

from mcproof.services.store.recording import record_run
from mcproof.services.web import page_cache
from mcproof.services.web.page_cache import PageCache, PageStore
from mcproof.services.web.server import WebSettings, create_service
from services.store.runs import BAD, GOOD, linted
from services.web.test_access import RUNS, bearer, report, token

if TYPE_CHECKING:
    from mcproof.services.store.database import Database


class Site:
    """A page behind a cache."""

    def __init__(self, seconds: float = 60.0, status: int = 200) -> None:
        self.made = 0
        self.status = status
        self.store = PageStore(seconds)
        self.web = TestClient(PageCache(self.app, self.store))

    async def app(self, scope: Any, receive: Any, send: Any) -> None:
        self.made += 1
        await asyncio.sleep(0)
        await PlainTextResponse(f"page {self.made}", self.status)(scope, receive, send)


def test_a_page_is_made_once_for_each_address() -> None:
    site = Site()
    assert [site.web.get("/").text for _ in range(3)] == ["page 1"] * 3
    assert site.web.get("/?q=x").text == "page 2"
    assert site.web.get("/", headers={"host": "other"}).text == "page 3"
    assert site.web.get("/servers/a").text == "page 4"


@pytest.mark.parametrize("path", ["/lint", "/lint/token", "/servers.csv", "/healthz", "/compare"])
def test_other_paths_are_not_kept(path: str) -> None:
    site = Site()
    assert site.web.get(path).text != site.web.get(path).text


def test_only_whole_pages_that_are_there_are_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    site = Site(status=404)
    assert site.web.get("/").text != site.web.get("/").text
    site.status = 200
    assert site.web.post("/").text != site.web.post("/").text
    assert site.web.get("/", headers={"if-none-match": "x"}).text != site.web.get("/").text
    monkeypatch.setattr(page_cache, "LARGEST_PAGE", 3)
    site = Site()
    assert site.web.get("/").text != site.web.get("/").text

    async def stream(scope: Any, receive: Any, send: Any) -> None:
        await StreamingResponse(iter(["a", "b"]))(scope, receive, send)

    store = PageStore(60.0)
    assert TestClient(PageCache(stream, store)).get("/").text == "ab"
    assert not store._pages


def test_a_page_is_not_kept_for_long() -> None:
    site = Site(seconds=-1.0)
    assert [site.web.get("/").text for _ in range(2)] == ["page 1", "page 2"]


def test_a_crowd_waits_for_one_page() -> None:
    async def crowd(site: Site) -> list[bytes]:
        async def ask() -> bytes:
            sent: list[Any] = []

            async def send(message: Any) -> None:
                sent.append(message)

            scope = {"type": "http", "method": "GET", "path": "/", "query_string": b"", "headers": []}
            await PageCache(site.app, site.store)(scope, None, send)  # type: ignore[arg-type]
            body: bytes = sent[-1]["body"]
            return body

        return await asyncio.gather(*(ask() for _ in range(20)))

    assert set(asyncio.run(crowd(Site()))) == {b"page 1"}
    failing = Site(status=500)
    asyncio.run(crowd(failing))
    assert failing.made == 20


def test_a_client_that_reads_nothing_keeps_the_page_from_nobody() -> None:
    """A connection that is full takes no head of another response, for as long as its client likes."""

    async def scene() -> bytes:
        site = Site()
        cache = PageCache(site.app, site.store)
        scope: Any = {"type": "http", "method": "GET", "path": "/", "query_string": b"", "headers": []}
        sent: list[Any] = []

        async def stuck(_: Any) -> None:
            await asyncio.Event().wait()

        async def send(message: Any) -> None:
            sent.append(message)

        first = asyncio.create_task(cache(scope, None, stuck))  # type: ignore[arg-type]
        await asyncio.sleep(0)
        await asyncio.wait_for(cache(scope, None, send), 5)  # type: ignore[arg-type]
        first.cancel()
        body: bytes = sent[-1]["body"]
        return body

    assert asyncio.run(scene()) == b"page 1"


def test_few_pages_are_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(page_cache, "MOST_PAGES", 3)
    site = Site()
    for number in range(10):
        site.web.get(f"/servers/{number}")
    assert len(site.store._pages) == 3


def test_what_is_recorded_is_shown_at_once(database: Database) -> None:
    web = TestClient(create_service(database, WebSettings(hosts=("testserver",), page_seconds=60.0)))
    record_run(database, linted(BAD, started="2026-01-01T00:00:00Z"), [BAD.decode()], "books")
    before = web.get("/badge/books.svg")
    assert web.get("/badge/books.svg").headers["content-security-policy"]
    assert web.post(RUNS, content=report(GOOD), headers=bearer(token(database, "record"))).status_code == 201
    assert web.get("/badge/books.svg").text != before.text

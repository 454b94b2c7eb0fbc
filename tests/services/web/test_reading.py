"""Stored reports and catalogs are read in worker processes, with limits, once for each content."""

from __future__ import annotations

import asyncio
import json
from typing import TYPE_CHECKING, Any

import pytest
from starlette.testclient import TestClient

from mcproof.services.store.recording import record_run
from mcproof.services.web import reading
from mcproof.services.web.access import BusyError
from mcproof.services.web.clients import Shares
from mcproof.services.web.reading import ReadJob, ReadOutcome, StoreReader, read
from mcproof.services.web.server import WebSettings, create_service
from services.store.runs import BAD, GOOD, linted

if TYPE_CHECKING:
    from collections.abc import Callable

    from mcproof.services.store.database import Database

PATHS = ("/runs/{}", "/servers/books", "/compare?a=other&b=books")


@pytest.fixture
def recorded(database: Database) -> str:
    """The id of a run in a store with changes to show."""
    record_run(database, linted(BAD, started="2026-01-01T00:00:00Z"), [BAD.decode()], "books")
    record_run(database, linted(BAD), [BAD.decode()], "other")
    [run] = record_run(database, linted(GOOD, started="2026-01-02T00:00:00Z"), [GOOD.decode()], "books")
    return run.uid


def client(database: Database) -> TestClient:
    return TestClient(create_service(database, WebSettings(hosts=("testserver",))))


def test_the_service_itself_reads_no_report_and_no_catalog(
    database: Database, recorded: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: Any) -> None:
        raise AssertionError("read in the process that serves pages")

    for name in ("read_run", "execute", "document", "read_snapshot", "contract_matrix"):
        monkeypatch.setattr(reading, name, refuse)
    web = client(database)
    for path in PATHS:
        assert web.get(path.format(recorded)).status_code == 200


def test_what_takes_too_long_ends_and_the_rest_of_the_page_is_shown(
    database: Database, recorded: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reading, "SECONDS", 0.001)
    web = client(database)
    assert web.get(f"/runs/{recorded}").status_code == 503
    page = web.get("/servers/books")
    assert page.status_code == 200
    assert "This cannot be shown: not done within 0.001 seconds" in page.text
    assert "Runs, the newest first" in page.text


def test_a_report_is_drawn_once(database: Database, recorded: str, monkeypatch: pytest.MonkeyPatch) -> None:
    web, done = client(database), count_work(monkeypatch)
    pages = {web.get(path.format(recorded)).text for path in PATHS for _ in range(3)}
    assert len(pages) == len(PATHS)
    assert sorted(done) == ["changes", "page"]  # both comparisons are of the same catalogs


def test_a_result_that_is_too_large_is_refused(recorded: str, monkeypatch: pytest.MonkeyPatch) -> None:
    from zlib import compress

    from mcproof.runs.stored import run_document

    assert recorded
    job = ReadJob("page", (compress("".join(run_document(linted(BAD))).encode()),))
    assert read(job, None).problem == ""
    monkeypatch.setattr(reading, "LARGEST_RESULT", 1000)
    assert read(job, None) == ReadOutcome(status=413, problem="it has more than 1,000 bytes")


def test_a_client_that_asks_for_too_much_is_told_so(
    database: Database, recorded: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    web = client(database)

    def take(*_: Any) -> None:
        raise BusyError(is_client=True)

    monkeypatch.setattr(Shares, "take", take)
    assert web.get(f"/runs/{recorded}").status_code == 429
    assert "load the page again" in web.get("/servers/books").text


def test_a_job_counts_as_its_clients_until_it_ends_even_if_the_client_is_gone(monkeypatch: pytest.MonkeyPatch) -> None:
    async def leave_and_ask_again() -> None:
        reader, release = StoreReader(Shares(1, 2)), asyncio.Event()
        monkeypatch.setattr(reader, "_start", lambda *_: asyncio.ensure_future(wait(release)))
        gone = asyncio.create_task(reader.read("a", "page", ("1",), tuple))
        await asyncio.sleep(0)
        gone.cancel()
        await asyncio.gather(gone, return_exceptions=True)
        with pytest.raises(BusyError):
            await reader.read("a", "page", ("2",), tuple)
        same = asyncio.create_task(reader.read("b", "page", ("1",), tuple))  # joins the job that runs
        await asyncio.sleep(0)
        release.set()
        assert await same == ReadOutcome(b"x")
        await reader.read("a", "page", ("2",), tuple)

    async def wait(release: asyncio.Event) -> ReadOutcome:
        await release.wait()
        return ReadOutcome(b"x")

    asyncio.run(leave_and_ask_again())


def test_what_is_kept_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reading, "STORED_BYTES", 1000)

    async def fill() -> None:
        reader = StoreReader(Shares(1, 1))
        monkeypatch.setattr(reader, "_start", lambda *_: asyncio.ensure_future(outcome()))
        for number in range(20):
            await reader.read("a", "page", (str(number),), tuple)
            await asyncio.sleep(0)
        assert [key[1] for key in reader._stored] == ["15", "16", "17", "18", "19"]

    async def outcome() -> ReadOutcome:
        return ReadOutcome(b"x" * 200)

    asyncio.run(fill())


def test_a_failure_is_not_kept_for_long(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reading, "FAILURE_SECONDS", 0.0)

    async def twice() -> None:
        reader = StoreReader(Shares(1, 1))
        outcomes = [ReadOutcome(status=503, problem="slow"), ReadOutcome(b"x")]

        async def next_outcome() -> ReadOutcome:
            return outcomes.pop(0)

        monkeypatch.setattr(reader, "_start", lambda *_: asyncio.ensure_future(next_outcome()))
        assert (await reader.read("a", "page", ("1",), tuple)).status == 503
        await asyncio.sleep(0)
        assert (await reader.read("a", "page", ("1",), tuple)).data == b"x"

    asyncio.run(twice())


def test_the_drift_of_catalogs_is_listed_for_events() -> None:
    from zlib import compress

    listed = json.loads(read(ReadJob("drift", (compress(GOOD), compress(BAD))), None).text)
    assert {change["item"] for change in listed["changes"]} == {"find_book", "find book"}
    assert read(ReadJob("drift", (compress(GOOD), compress(b"no"))), None).status == 422


def count_work(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    done: list[str] = []
    work: Callable[..., ReadOutcome] = StoreReader._work

    def counted(reader: StoreReader, kind: str, load: Callable[[], tuple[bytes, ...]]) -> ReadOutcome:
        done.append(kind)
        return work(reader, kind, load)

    monkeypatch.setattr(StoreReader, "_work", counted)
    return done

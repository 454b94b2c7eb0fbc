"""What visitors cannot do: take all places, change what is listed, act from other sites; and the API for them."""

from __future__ import annotations

import json
import os
import re
import signal
import zlib
from time import sleep
from typing import TYPE_CHECKING, Any

import pytest

from mcproof.services.web.reading import PIECE
from mcproof.services.web.visit_jobs import GuestJob, GuestOutcome
from mcproof.services.web.visits import GuestCheck, GuestLimits, Visits
from servers.web import FAULTS, Web
from services.store.runs import BAD, GOOD
from services.web.visiting import SECRET, Echo, ask, done, visited, visiting

if TYPE_CHECKING:
    from pathlib import Path

    from starlette.testclient import TestClient


# --- limits -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("limits", [GuestLimits(hours=0), GuestLimits(stored_results=0), GuestLimits(stored_bytes=0)])
def test_a_link_expires(tmp_path: Path, limits: GuestLimits) -> None:
    with visiting(tmp_path, visit_limits=limits) as service:
        path = ask(service, catalog=GOOD.decode())
        done(service)
        response = service.get(path)
        assert service.app.state.visits.counts()["kept"] == 0  # type: ignore[attr-defined]
    assert response.status_code == 410
    assert "This report has expired" in response.text
    assert "this report was deleted" in response.text
    assert response.headers["x-robots-tag"] == "noindex, nofollow"


def test_the_oldest_result_is_forgotten_first(tmp_path: Path) -> None:
    with visiting(tmp_path, visit_limits=GuestLimits(stored_results=2)) as service:
        paths = [visited(service, catalog=GOOD.decode())[0] for _ in range(3)]
        assert [service.get(path).status_code for path in paths] == [410, 200, 200]


@pytest.mark.parametrize("limits", [GuestLimits(stored_results=4), GuestLimits(stored_bytes=4_000)])
def test_nobody_pushes_out_the_reports_of_others(monkeypatch: pytest.MonkeyPatch, limits: GuestLimits) -> None:
    visits = Visits(limits)
    monkeypatch.setattr(visits, "_outcome", lambda *_: GuestOutcome(report=b"x" * 1_000))
    first = [run_to_end(visits, client) for client in ("a", "b")]
    flood = [run_to_end(visits, "c") for _ in range(20)]
    assert all(visits.find(visit.token) for visit in first)
    assert [visits.find(visit.token) is not None for visit in flood[-3:]] == [False, True, True]
    visits.close()


def run_to_end(visits: Visits, client: str) -> GuestCheck:
    visit = visits.start(GuestJob("lint"), client)
    assert visit.work is not None
    visit.work.result()
    return visit


@pytest.mark.parametrize(
    "data", [b"", b"x", b"a" * 3_000_000, os.urandom(1_000_000)], ids=["empty", "short", "uniform", "random"]
)
def test_a_result_is_sent_in_pieces(data: bytes) -> None:
    """A client that opens many connections and reads nothing must not make the service hold as many results."""
    visit = GuestCheck("", "client", 1.0)
    visit.finish(GuestOutcome(report=zlib.compress(data)))
    pieces = list(visit.pieces("report"))
    assert b"".join(pieces) == data
    assert max(map(len, pieces)) <= PIECE


def test_pages_and_downloads_are_not_built_whole(service: TestClient, monkeypatch: pytest.MonkeyPatch) -> None:
    path = visited(service, catalog=BAD.decode())[0]
    part, whole = GuestCheck.part, []

    def noted(visit: GuestCheck, name: str) -> bytes:
        whole.append(name)
        return part(visit, name)

    monkeypatch.setattr(GuestCheck, "part", noted)
    for end in ("", "/report.html", "/report.json", "/catalog.json", "/tightened.json"):
        assert service.get(path + end).text
    assert whole == ["diff"]  # which is short


def test_a_busy_service_has_a_page(tmp_path: Path) -> None:
    limits = GuestLimits(at_once=1, queued=1, for_each_client=10)
    with FAULTS["hang"]() as hanging, visiting(tmp_path, visit_limits=limits) as service:
        ask(service, url=hanging.url)
        second = ask(service, url=hanging.url)
        assert "Waiting for a free place" in service.get(second).text
        busy = service.post("/lint", data={"url": hanging.url, "headers": f"X-Key: {SECRET}"})
        assert (busy.status_code, busy.headers["retry-after"]) == (503, "20")
        assert "All places are taken" in busy.text
        assert hanging.url in busy.text
        assert SECRET not in busy.text
        assert service.get("/").status_code == 200


def test_a_client_has_its_own_limit(tmp_path: Path) -> None:
    with FAULTS["hang"]() as hanging, visiting(tmp_path, visit_limits=GuestLimits(for_each_client=1)) as service:
        ask(service, url=hanging.url)
        busy = service.post("/lint", data={"url": hanging.url})
        assert busy.status_code == 429
        assert "You have 1 check under way" in busy.text
        response = service.post("/api/v1/lint", content=GOOD)
        assert response.status_code == 429
        assert response.headers["content-type"] == "application/problem+json"


def test_a_check_that_takes_too_long_is_ended(tmp_path: Path) -> None:
    with FAULTS["hang"]() as hanging, visiting(tmp_path, visit_limits=GuestLimits(seconds=0.5)) as service:
        assert "The check took too long" in visited(service, url=hanging.url)[1]
        response = service.post("/api/v1/lint", json={"url": hanging.url})
        assert response.status_code == 504
        assert service.app.state.visits.counts()["running"] == 0  # type: ignore[attr-defined]


def test_a_check_that_needs_too_much_memory_is_ended(tmp_path: Path) -> None:
    with visiting(tmp_path, visit_limits=GuestLimits(memory=1024**2)) as service:
        tool = {"name": "a", "description": "x" * 4_000_000, "inputSchema": {"type": "object"}}
        page = visited(service, catalog=json.dumps({"tools": [tool]}))[1]
    assert "The check needs too much memory" in page


def test_a_stop_ends_what_runs(tmp_path: Path) -> None:
    with FAULTS["hang"]() as hanging:
        with visiting(tmp_path) as service:
            visits = service.app.state.visits  # type: ignore[attr-defined]
            ask(service, url=hanging.url)
            while not hanging.requests:
                sleep(0.01)
            [process] = [worker._process for worker in visits._pool._workers]
            assert process.exit_code is None
        assert visits.counts()["running"] == 0
        assert process.exit_code == -signal.SIGKILL


# --- the store, other sites ---------------------------------------------------------------------------------------


def test_a_visit_changes_nothing_that_is_listed(service: TestClient, server: Web) -> None:
    paths = ("/api/v1/servers", "/badge/books.svg", "/badge/library.svg", "/servers.csv", "/")
    before = [service.get(path).text for path in paths]
    path = visited(service, url=server.url)[0]
    visited(service, catalog=BAD.decode())
    service.post("/api/v1/scan", json={"url": server.url})
    assert [service.get(path).text for path in paths] == before
    assert all(path.rpartition("/")[2] not in service.get(listing).text for listing in paths)


FOREIGN = [
    {"origin": "https://evil.example"},
    {"origin": "null"},
    {"origin": "http://testserver.evil.example"},
    {"origin": "http://testserver", "sec-fetch-site": "cross-site"},
    {"sec-fetch-site": "same-site"},
]


@pytest.mark.parametrize("headers", FOREIGN)
@pytest.mark.parametrize("path", ["/lint", "/api/v1/lint"])
def test_a_page_of_another_site_cannot_start_a_check(service: TestClient, path: str, headers: dict[str, str]) -> None:
    response = service.post(path, content=GOOD, headers=headers)
    assert response.status_code == 403
    assert "another site" in response.text


@pytest.mark.parametrize(
    "headers",
    [
        {},
        {"origin": "http://testserver"},
        {"origin": "http://testserver", "sec-fetch-site": "same-origin"},
        {"sec-fetch-site": "none"},
    ],
)
def test_the_own_page_and_other_clients_can(service: TestClient, headers: dict[str, str]) -> None:
    assert service.post("/api/v1/grade", content=GOOD, headers=headers).status_code == 200


# --- the API ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("command", ["lint", "grade", "compat", "scan"])
def test_the_api_checks_a_server_at_a_url(service: TestClient, server: Web, command: str) -> None:
    response = service.post(f"/api/v1/{command}", json={"url": server.url, "headers": {"X-Team": "library"}})
    assert response.status_code == 201, response.text
    assert response.json()["target"] == server.url
    assert server.requests[-1].headers.get("x-team", "library") == "library"
    page = service.get(response.headers["location"])
    assert page.status_code == 200
    assert "library 1.0" in page.text


def test_the_api_keeps_no_catalog(service: TestClient) -> None:
    before = service.app.state.visits.counts()["kept"]  # type: ignore[attr-defined]
    response = service.post("/api/v1/lint", content=GOOD)
    assert (response.status_code, "location" in response.headers) == (200, False)
    assert service.app.state.visits.counts()["kept"] == before  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("body", "status", "detail"),
    [
        ({"url": "http://169.254.169.254/"}, 422, "cloud metadata"),
        ({"url": "http://0x7f.1/"}, 422, "not an IP address in its usual form"),
        ({"url": "file:///etc/passwd"}, 422, "not a URL"),
        ({"url": 7}, 400, "`url` is not a string"),
        ({"url": "https://host.example/", "headers": []}, 400, "`headers` is not an object"),
        ({"url": "https://host.example/", "headers": {"X": 1}}, 400, "`headers` is not an object"),
        ({"url": "https://host.example/", "headers": {"Host": "x"}}, 400, "cannot be set"),
        ({"url": "https://host.example/", "command": ["npx", "evil"]}, 400, ""),
        ({"command": ["npx", "evil"]}, 400, ""),
        ({"mcpServers": {"x": {"command": "evil"}}}, 400, ""),
    ],
)
def test_an_api_request_that_is_refused_is_a_problem(
    service: TestClient, body: dict[str, Any], status: int, detail: str
) -> None:
    response = service.post("/api/v1/lint", json=body)
    assert response.status_code == status, response.text
    assert response.headers["content-type"] == "application/problem+json"
    assert detail in response.json()["detail"]


def test_failures_of_a_server_are_problems(service: TestClient) -> None:
    with Echo() as guarded, FAULTS["website"]() as website:
        for url, detail in ((guarded.url, "requires authorization"), (website.url, "not JSON-RPC")):
            response = service.post("/api/v1/lint", json={"url": url})
            assert response.status_code == 502
            assert detail in response.json()["detail"]
        accepted = {"Authorization": f"Bearer {SECRET}"}
        response = service.post("/api/v1/lint", json={"url": guarded.url, "headers": accepted})
        assert response.status_code == 201
        assert SECRET not in response.text


def test_operators_see_how_many_checks_there_are(service: TestClient) -> None:
    visited(service, catalog=GOOD.decode())
    text = service.get("/metrics").text
    assert 'mcproof_visits{state="waiting"} 0' in text
    assert re.search(r'mcproof_visits\{state="kept"\} [1-9]', text)
    assert "mcproof_visits_kept" not in text  # the same number under another name


def test_the_api_describes_both_bodies(service: TestClient) -> None:
    operation = service.get("/api/v1/openapi.json").json()["paths"]["/api/v1/{command}"]["post"]
    kinds = operation["requestBody"]["content"]["application/json"]["schema"]["anyOf"]
    assert [kind["title"] for kind in kinds] == ["A server", "Two catalogs, for `diff`", "A catalog"]
    assert {"200", "201", "403", "413", "422", "429", "502", "503", "504"} <= operation["responses"].keys()

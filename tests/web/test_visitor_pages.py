"""Visitors: the form, progress, reports under unlisted links, failures, limits; over real servers and processes."""

from __future__ import annotations

import json
import re
import socket
from contextlib import contextmanager
from time import sleep
from typing import TYPE_CHECKING, Any

import pytest
from starlette.testclient import TestClient

from mcproof.results.stored import read_run
from mcproof.store.database import open_database
from mcproof.store.recording import record_run
from mcproof.web.service import WebSettings, create_service
from mcproof.web.visits import VisitLimits
from servers.web import FAULTS, Request, Web
from store.runs import BAD, GOOD, linted

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

SECRET = "s3cr3t-of-a-visitor"  # noqa: S105 (not one)
LOOPBACK = ("127.0.0.1/32",)


class Echo(Web, fault="echoes-authorization"):
    """Requires a token, and repeats it in the description of a tool."""

    async def handle(self, request: Request) -> None:
        if request.headers.get("authorization") != f"Bearer {SECRET}":
            await self.respond(401, WWW_Authenticate='Bearer realm="library"')
        else:
            await super().handle(request)

    def result(self, request: Request) -> Any:
        found = super().result(request)
        if request.method == "tools/list":
            described = {"name": "leak", "description": f"Uses {request.headers['authorization']}.", "inputSchema": {}}
            return {"tools": [*found["tools"], described]}
        return found


@contextmanager
def visiting(folder: Path, **settings: Any) -> Iterator[TestClient]:
    """A service over a store with one server; nothing of it runs on afterwards."""
    database = open_database(str(folder / "store.sqlite"))
    record_run(database, linted(GOOD), [GOOD.decode()], "books")
    settings = {"hosts": ("testserver",), "networks": LOOPBACK, "requests_a_minute": 100_000, **settings}
    with TestClient(create_service(database, WebSettings(**settings)), follow_redirects=False) as client:
        yield client
    database.close()


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[TestClient]:
    with visiting(tmp_path_factory.mktemp("store")) as client:
        yield client


@pytest.fixture(scope="module")
def server() -> Iterator[Web]:
    with Web() as running:
        yield running


def ask(service: TestClient, **fields: str) -> str:
    """Send the form; the path of the visit."""
    response = service.post("/lint", data=fields)
    assert response.status_code == 303, response.text
    path = response.headers["location"]
    assert re.fullmatch(r"/lint/[A-Za-z0-9_-]{32}", path)
    return str(path)


def wait(service: TestClient, path: str) -> list[dict[str, Any]]:
    """Follow the events of a visit to their end, as a browser does."""
    steps: list[dict[str, Any]] = []
    while True:
        text = service.get(f"{path}/events").text
        for name, data in re.findall(r"event: (\w+)\ndata: (.*)\n\n", text):
            steps.append(json.loads(data))
            if name == "done":
                return steps


def visited(service: TestClient, **fields: str) -> tuple[str, str]:
    """The path and the final page of a visit."""
    path = ask(service, **fields)
    wait(service, path)
    return path, service.get(path).text


# --- reports ------------------------------------------------------------------------------------------------------


def test_a_server_is_checked_from_the_page(service: TestClient, server: Web) -> None:
    path = ask(service, url=server.url)
    steps = list(dict.fromkeys(each["step"] for each in wait(service, path)))
    assert [step for step in ("waiting", "connecting", "checking", "fixing", "done") if step in steps] == steps
    assert "connecting" in steps
    response = service.get(path)
    assert "library 1.0" in response.text
    assert "find_book" in response.text
    assert f"http://testserver{path}" in response.text
    assert response.headers["x-robots-tag"] == "noindex, nofollow"
    assert response.headers["cache-control"] == "private, no-store"
    assert '<meta name="robots" content="noindex' in response.text
    assert 'id="findings"' in response.text
    assert 'id="rules"' in response.text
    assert "unsafe" not in response.headers["content-security-policy"]
    assert " style=" not in response.text


def test_a_pasted_catalog_is_checked_and_tightened(service: TestClient) -> None:
    path, page = visited(service, catalog=BAD.decode())
    assert "fixed automatically" in page
    assert "additionalProperties" in page
    tightened = service.get(f"{path}/tightened.json")
    assert tightened.headers["content-disposition"] == 'attachment; filename="tightened.json"'
    assert tightened.json()["tools"][0]["inputSchema"]["additionalProperties"] is False
    assert service.get(f"{path}/catalog.json").json() == json.loads(BAD)
    run = read_run(service.get(f"{path}/report.json").content, "report")
    assert (run.command, run.targets[0].target) == ("lint", "catalog")
    whole = service.get(f"{path}/report.html")
    assert whole.text.startswith("<!DOCTYPE html>")
    assert whole.headers["x-robots-tag"] == "noindex, nofollow"


def test_an_uploaded_catalog_is_checked(service: TestClient) -> None:
    catalog = {"tools": [{"name": "übersetzen", "description": "Translate a text.", "inputSchema": {"type": "object"}}]}
    data = json.dumps(catalog, ensure_ascii=False, indent=1).encode()
    files = {"file": ("catalog.json", data, "application/json")}
    response = service.post("/lint", data={"url": "", "catalog": ""}, files=files)
    path = response.headers["location"]
    wait(service, path)
    assert service.get(f"{path}/catalog.json").content == data
    assert "übersetzen" in service.get(path).text


def test_a_strict_catalog_has_nothing_to_fix(service: TestClient) -> None:
    catalog = json.loads(GOOD)
    for tool in catalog["tools"]:
        tool["inputSchema"] |= {"additionalProperties": False}
    path, page = visited(service, catalog=json.dumps(catalog))
    assert "as strict as they can be made automatically" in page
    assert service.get(f"{path}/tightened.json").status_code == 404
    assert service.get(f"{path}/secret.json").status_code == 404


def test_text_of_a_server_is_escaped(service: TestClient) -> None:
    hostile = '<script>alert(1)</script>"><img src=x onerror=alert(1)>'
    tool = {"name": hostile, "description": hostile, "inputSchema": {"type": "object", "properties": {hostile: {}}}}
    _, page = visited(service, catalog=json.dumps({"tools": [tool]}, indent=1))
    assert "<script>alert" not in page
    assert "<img src=x" not in page


def test_progress_is_shown_without_a_script(service: TestClient) -> None:
    with FAULTS["hang"]() as hanging:
        path = ask(service, url=hanging.url)
        page = service.get(path).text
        assert '<noscript><meta http-equiv="refresh" content="2"></noscript>' in page
        assert f'data-events="{path}/events"' in page
        assert service.get(f"{path}/report.json").status_code == 404


def test_a_stream_of_events_ends_after_a_while(service: TestClient, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("mcproof.web.visitor_pages._STREAM", 0.1)
    with FAULTS["hang"]() as hanging:
        path = ask(service, url=hanging.url)
        text = service.get(f"{path}/events").text
        assert text.startswith("retry: 500\n\nevent: step\n")
        assert "event: done" not in text


# --- headers ------------------------------------------------------------------------------------------------------


def test_headers_reach_the_server_and_nothing_else(
    service: TestClient, caplog: pytest.LogCaptureFixture, capfd: pytest.CaptureFixture[str]
) -> None:
    with Echo() as guarded:
        path, page = visited(
            service, url=guarded.url, headers=f"Authorization: Bearer {SECRET}\nX-Team:  library ${{HOME}} "
        )
    assert "leak" in page
    assert guarded.requests[-1].headers["x-team"] == "library ${HOME}"
    documents = [page, *(service.get(f"{path}/{name}").text for name in ("catalog.json", "report.json", "report.html"))]
    visit = service.app.state.visits.find(path.rpartition("/")[2])  # type: ignore[attr-defined]
    kept = [*map(str, vars(visit).values()), *(visit.part(name).decode() for name in ("document", "tightened", "diff"))]
    for text in (*documents, *kept, caplog.text, *capfd.readouterr()):
        assert SECRET not in text


def test_headers_are_not_shown_again_after_a_mistake(service: TestClient) -> None:
    response = service.post("/lint", data={"url": "ftp://host/", "headers": f"Authorization: Bearer {SECRET}"})
    assert response.status_code == 400
    assert "ftp://host/" in response.text
    assert SECRET not in response.text


@pytest.mark.parametrize(
    ("headers", "problem"),
    [
        (f"Authorization {SECRET}", "line 1 of the headers is not"),
        (f"\nX-A: 1\n{SECRET}", "line 3 of the headers is not"),
        (f"X A: {SECRET}", "characters that HTTP does not allow"),
        (f"X-A: {SECRET}ü", "characters that HTTP does not allow"),
        (f": {SECRET}", "characters that HTTP does not allow"),
        ("Host: internal.example", "`Host` cannot be set"),
        ("Transfer-Encoding: chunked", "`Transfer-Encoding` cannot be set"),
        ("X-A: 1\n" * 21, "more than 20 headers"),
        (f"X-A: {'a' * 9000}", "more than 20 headers or 8,192 characters"),
    ],
)
def test_headers_are_checked_without_quoting_them(service: TestClient, server: Web, headers: str, problem: str) -> None:
    response = service.post("/lint", data={"url": server.url, "headers": headers})
    assert response.status_code == 400
    assert problem in response.text.replace("<code>", "`").replace("</code>", "`")
    assert SECRET not in response.text


# --- failures -----------------------------------------------------------------------------------------------------


def test_a_server_that_requires_authorization_has_a_page(service: TestClient) -> None:
    with Echo() as guarded:
        path, page = visited(service, url=guarded.url)
    assert "The server requires authorization" in page
    assert "realm=" in page
    assert "mcproof auth login" in page
    assert service.get(f"{path}/report.json").status_code == 404


def test_a_website_is_not_a_server(service: TestClient) -> None:
    with FAULTS["website"]() as website:
        assert "This is not a working MCP server" in visited(service, url=website.url)[1]


def test_a_server_that_is_not_there_has_a_page(service: TestClient) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        page = visited(service, url=f"http://127.0.0.1:{free.getsockname()[1]}/mcp")[1]
    assert "The server cannot be reached" in page


def test_what_is_not_a_catalog_has_a_page(service: TestClient) -> None:
    assert "The catalog cannot be checked" in visited(service, catalog="no catalog")[1]


def test_a_name_that_leads_to_this_machine_is_refused_by_the_process(tmp_path: Path) -> None:
    with visiting(tmp_path, networks=()) as service:
        page = visited(service, url="http://localhost:8000/mcp")[1]
    assert "This address cannot be checked from here" in page


@pytest.mark.parametrize(
    ("fields", "problem"),
    [
        ({"url": ""}, "nothing to check"),
        ({"url": "  ", "catalog": " "}, "nothing to check"),
        ({"url": "https://host.example/", "catalog": "{}"}, "both a URL and a catalog"),
        ({"url": "http://10.0.0.1/"}, "is a private address"),
        ({"url": "http://127.0.0.2/"}, "is a loopback address"),
        ({"url": "stdio:npx%20evil"}, "not a URL that starts with"),
        ({"url": "npx -y evil"}, "characters that must be escaped"),
        ({"url": "/etc/passwd"}, "not a URL that starts with"),
        ({"url": "-"}, "not a URL that starts with"),
        ({"url": "http://host.example:22/"}, "port 22 is not allowed"),
    ],
)
def test_a_mistake_is_shown_beside_the_form(service: TestClient, fields: dict[str, str], problem: str) -> None:
    response = service.post("/lint", data=fields)
    assert response.status_code == 400
    assert problem in response.text
    assert "<form" in response.text


@pytest.mark.parametrize(
    ("kind", "body"),
    [
        ("application/json", b"{}"),
        ("multipart/form-data", b"--x--"),
        ("multipart/form-data; boundary=x", b"nothing"),
        ("multipart/form-data; boundary=x", b"--x\r\nContent-Disposition: form-data\r\n\r\n1\r\n--x--"),
        ("application/x-www-form-urlencoded", b"url=%ff"),
        ("application/x-www-form-urlencoded", b"&".join(b"a=1" for _ in range(100))),
        ("", b""),
    ],
)
def test_a_body_that_is_not_a_form_is_refused(service: TestClient, kind: str, body: bytes) -> None:
    assert service.post("/lint", content=body, headers={"content-type": kind}).status_code == 400


def test_a_catalog_that_is_too_large_is_refused(service: TestClient) -> None:
    assert service.post("/lint", data={"catalog": "x" * 6_000_000}).status_code == 413


def test_the_form_is_filled_in_from_the_address(service: TestClient) -> None:
    page = service.get("/lint", params={"url": 'https://host.example/"><script>'}).text
    assert "https://host.example/&#34;&gt;&lt;script&gt;" in page
    assert not service.app.state.visits.counts()["waiting"]  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    "path", ["/lint/none", "/lint/none/events", "/lint/none/report.html", "/lint/none/report.json"]
)
def test_an_unknown_link_is_not_found(service: TestClient, path: str) -> None:
    response = service.get(path)
    assert response.status_code == 404
    assert "there is no such report" in response.text
    assert response.headers["x-robots-tag"] == "noindex, nofollow"


# --- limits -------------------------------------------------------------------------------------------------------


def done(service: TestClient) -> None:
    """Wait until nothing runs: a visit without a link has no events to follow."""
    while service.app.state.visits.counts()["waiting"] + service.app.state.visits.counts()["running"]:  # type: ignore[attr-defined]
        sleep(0.01)


@pytest.mark.parametrize("limits", [VisitLimits(hours=0), VisitLimits(kept=0), VisitLimits(kept_bytes=0)])
def test_a_link_expires(tmp_path: Path, limits: VisitLimits) -> None:
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
    with visiting(tmp_path, visit_limits=VisitLimits(kept=2)) as service:
        paths = [visited(service, catalog=GOOD.decode())[0] for _ in range(3)]
        assert [service.get(path).status_code for path in paths] == [410, 200, 200]


def test_a_busy_service_has_a_page(tmp_path: Path) -> None:
    limits = VisitLimits(at_once=1, queued=1, for_each_client=10)
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
    with FAULTS["hang"]() as hanging, visiting(tmp_path, visit_limits=VisitLimits(for_each_client=1)) as service:
        ask(service, url=hanging.url)
        busy = service.post("/lint", data={"url": hanging.url})
        assert busy.status_code == 429
        assert "You have 1 check under way" in busy.text
        response = service.post("/api/v1/lint", content=GOOD)
        assert response.status_code == 429
        assert response.headers["content-type"] == "application/problem+json"


def test_a_check_that_takes_too_long_is_ended(tmp_path: Path) -> None:
    with FAULTS["hang"]() as hanging, visiting(tmp_path, visit_limits=VisitLimits(seconds=0.5)) as service:
        assert "The check took too long" in visited(service, url=hanging.url)[1]
        response = service.post("/api/v1/lint", json={"url": hanging.url})
        assert response.status_code == 504
        assert service.app.state.visits.counts()["running"] == 0  # type: ignore[attr-defined]


def test_a_check_that_needs_too_much_memory_is_ended(tmp_path: Path) -> None:
    with visiting(tmp_path, visit_limits=VisitLimits(memory=1024**2)) as service:
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
            processes = list(visits._processes)
            assert [each.is_alive() for each in processes] == [True]
        assert visits.counts()["running"] == 0
        with pytest.raises(ValueError, match="closed"):
            processes[0].is_alive()


# --- the store, other sites ---------------------------------------------------------------------------------------


def test_a_visit_changes_nothing_that_is_listed(service: TestClient, server: Web) -> None:
    paths = ("/api/v1/servers", "/badge/books.svg", "/badge/library.svg", "/servers.csv", "/")
    before = [service.get(path).text for path in paths]
    path = visited(service, url=server.url)[0]
    visited(service, catalog=BAD.decode())
    service.post("/api/v1/scan", json={"url": server.url})
    assert [service.get(path).text for path in paths] == before
    assert all(path.rpartition("/")[2] not in service.get(each).text for each in paths)


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


def test_the_api_describes_both_bodies(service: TestClient) -> None:
    operation = service.get("/api/v1/openapi.json").json()["paths"]["/api/v1/{command}"]["post"]
    kinds = operation["requestBody"]["content"]["application/json"]["schema"]["anyOf"]
    assert [kind["title"] for kind in kinds] == ["A server", "Two catalogs, for `diff`", "A catalog"]
    assert {"200", "201", "403", "413", "422", "429", "502", "503", "504"} <= operation["responses"].keys()

"""The web pages, the REST API and what protects them."""

from __future__ import annotations

import csv
import io
import json
import re
from typing import TYPE_CHECKING, Any
from xml.etree import ElementTree

import pytest
from sqlalchemy import func, select, update
from starlette.testclient import TestClient

from mcproof.services.store.recording import record_run
from mcproof.services.store.tables import FINDINGS
from mcproof.services.web.clients import RateLimit, client_of
from mcproof.services.web.rendering import score_line
from mcproof.services.web.server import WebSettings, create_service
from report.trials import TRIALS
from services.store.runs import BAD, GOOD, judged, linted, scanned

if TYPE_CHECKING:
    from mcproof.services.store.database import Database

LISTED = re.compile(r'<a href="/rules/([^"]+)">.*?<td>(?:<span class="count (\w+)">)?')
HOSTILE = '<script>alert("x")</script>'
URL = "https://host.example/mcp?x=1"


@pytest.fixture
def filled(database: Database) -> Database:
    record_run(database, linted(BAD, started="2026-01-01T00:00:00Z"), [BAD.decode()], "books")
    record_run(database, linted(GOOD, started="2026-01-02T00:00:00Z"), [GOOD.decode()], "books")
    record_run(database, judged(BAD), [BAD.decode()], "other")
    record_run(database, scanned(GOOD), [GOOD.decode()], URL)
    record_run(database, linted(BAD), [BAD.decode()], HOSTILE)
    return database


def client(database: Database, **settings: Any) -> TestClient:
    service = create_service(database, WebSettings(hosts=("testserver",), **settings))
    return TestClient(service, raise_server_exceptions=False)


@pytest.fixture
def web(filled: Database) -> TestClient:
    return client(filled)


def newest_run(web: TestClient, name: str = "books") -> str:
    uid: str = web.get(f"/api/v1/servers/{name}/runs").json()["runs"][0]["uid"]
    return uid


# --- pages --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "path",
    [
        *("/", "/?q=book", "/?grade=A&sort=name", "/?rule=tool-no-description", "/?client=cursor", "/servers/books"),
        *("/servers/https%3A%2F%2Fhost.example%2Fmcp%3Fx%3D1", "/compare", "/compare?a=books&b=other", "/rules"),
        *("/rules/SCH-001", "/compare?a=none&b=books"),
    ],
)
def test_a_page_is_there_and_has_its_protection(web: TestClient, path: str) -> None:
    shown = web.get(path)
    assert shown.status_code == 200
    assert shown.headers["content-type"] == "text/html; charset=utf-8"
    assert "script-src 'self'" in shown.headers["content-security-policy"]
    assert "unsafe" not in shown.headers["content-security-policy"]
    assert shown.headers["x-content-type-options"] == "nosniff"
    assert "<script>alert" not in shown.text
    assert " style=" not in shown.text
    assert " onclick=" not in shown.text


def test_the_examples_of_a_rule_are_shown_as_they_are_written(web: TestClient) -> None:
    shown = web.get("/rules/SCH-001").text
    assert "{\n  &#34;name&#34;: &#34;get_weather&#34;,\n" in shown
    assert "A <code>required</code> that is not a list." in shown


@pytest.mark.parametrize(
    ("path", "status"),
    [
        *(("/", 200), ("/rules/SCH-001", 200), ("/servers/none", 404), ("/assets/web.css", 200)),
        *(("/badge/books.svg", 200), ("/api/v1/servers", 200), ("/healthz", 200), ("/api/v1/lint", 405)),
    ],
)
def test_head_has_the_headers_of_get_without_the_body(web: TestClient, path: str, status: int) -> None:
    head, shown = web.head(path), web.get(path)
    assert (head.status_code, head.content) == (status, b"")
    counted = ("ratelimit-remaining",)
    assert [each for each in head.headers.items() if each[0] not in counted] == [
        each for each in shown.headers.items() if each[0] not in counted
    ]


def test_an_empty_store_has_a_page_that_says_what_to_do(database: Database) -> None:
    page = client(database).get("/").text
    assert "Nothing is recorded yet" in page
    assert "--record" in page


def test_a_filter_that_nothing_matches_says_so(web: TestClient) -> None:
    assert "No server matches" in web.get("/?q=nothing").text


def test_the_dashboard_lists_sorts_and_pages(filled: Database) -> None:
    for number in range(60):
        record_run(filled, linted(GOOD), [None], f"more {number:02}")
    web = client(filled)
    first = web.get("/?sort=name&q=more").text
    assert first.index("more 00") < first.index("more 49")
    assert "more 50" not in first
    following = first.partition('rel="next"')[0].rpartition('href="')[2].partition('"')[0].replace("&amp;", "&")
    second = web.get(f"/{following}").text
    assert "more 59" in second
    assert "more 49" not in second


def test_a_server_has_history_changes_and_a_badge(web: TestClient) -> None:
    page = web.get("/servers/books").text
    assert "2026-01-01 00:00" in page
    assert "Changes" in page
    assert "/badge/books.svg" in page


def test_a_server_shows_what_to_fix_and_the_contract_matrix(filled: Database) -> None:
    record_run(filled, TRIALS["prove"]._replace(started="2026-01-03T00:00:00Z"), [None], "other")
    page = client(filled).get("/servers/other").text
    assert "What rules find" in page
    assert 'href="/rules/CMP-024"' in page
    assert "Contract matrix" in page
    assert "broken promise" in page
    assert "Contract matrix" not in client(filled).get("/servers/books").text


def test_the_examples_of_a_rule_keep_their_lines(web: TestClient) -> None:
    page = web.get("/rules/SCH-001").text
    assert "{\n  &#34;name&#34;: &#34;get_weather&#34;,\n" in page
    assert "\\n" not in page


def test_a_run_is_shown_as_its_report_with_its_own_policy(web: TestClient) -> None:
    shown = web.get(f"/runs/{newest_run(web)}")
    assert "mcproof</b> lint" in shown.text
    assert "sha256-" in shown.headers["content-security-policy"]
    assert "frame-ancestors 'none'" in shown.headers["content-security-policy"]


def test_rules_have_the_level_of_the_newest_run_with_them_and_its_order(database: Database) -> None:
    for day in (1, 2):
        record_run(database, linted(BAD, started=f"2026-01-0{day}T00:00:00Z"), [BAD.decode()], "books")
    with database.writing() as connection:
        # As a run does whose configuration sets the severities of its rules.
        newest = FINDINGS.c.run_id == select(func.max(FINDINGS.c.run_id)).scalar_subquery()
        connection.execute(update(FINDINGS).where(newest).values(level="note"))
        mild = FINDINGS.c.rule == "tool-no-description"
        connection.execute(update(FINDINGS).where(newest, mild).values(level="error"))
    first, *others = LISTED.findall(client(database).get("/servers/books").text)
    assert first == ("tool-no-description", "error")
    assert {level for _, level in others} == {"note"}


def test_the_ends_of_a_trend_differ() -> None:
    def ends(*moments: str) -> tuple[str, str]:
        line = score_line([(moment, 50.0) for moment in moments])
        return line.first_label, line.last_label

    assert ends("2026-01-01T08:00:00Z", "2026-01-02T09:30:00Z") == ("2026-01-01", "2026-01-02")
    assert ends("2026-01-01T08:00:00Z", "2026-01-01T09:30:00Z") == ("2026-01-01 08:00", "2026-01-01 09:30")
    assert ends("2026-01-01T08:00:00Z", "2026-01-01T08:00:05Z") == ("2026-01-01 08:00", "")
    assert ends("2026-01-01", "2026-01-02") == ("2026-01-01", "2026-01-02")


@pytest.mark.parametrize("path", ["/servers/none", "/runs/none", "/rules/none", "/nothing", "/assets/secret.py"])
def test_what_is_not_there_has_a_page(web: TestClient, path: str) -> None:
    shown = web.get(path)
    assert shown.status_code == 404
    assert "Not Found" in shown.text


def test_assets_are_cached_by_their_tag(web: TestClient) -> None:
    first = web.get("/assets/web.css")
    again = web.get("/assets/web.css", headers={"if-none-match": first.headers["etag"]})
    assert (first.status_code, again.status_code) == (200, 304)


def test_a_list_is_exported_whole_and_without_formulas(filled: Database) -> None:
    formulas = ("=1+1", " =1+1", "\uff1d1+1")
    for name in (*formulas, "\n=1+1", "a;=1+1"):
        record_run(filled, linted(GOOD), [None], name)
    web = client(filled)
    text = web.get("/servers.csv?sort=name").text
    rows = list(csv.DictReader(io.StringIO(text)))
    shown = {f"'{each}" for each in formulas}
    assert {row["name"] for row in rows} == {*shown, "\ufffd=1+1", "a;=1+1", "books", "other", URL, HOSTILE}
    assert '"a;=1+1"' in text  # for spreadsheets that separate cells with semicolons
    assert len(web.get("/servers.json").json()["servers"]) == 9


# --- badges -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("books.svg", "mcproof grade: A"),
        ("books.svg?show=score", "mcproof: 100 of 100"),
        ("books.svg?show=verdict", "mcproof: not checked"),
        ("none.svg", "mcproof: unknown"),
    ],
)
def test_a_badge_says_what_is_asked(web: TestClient, path: str, text: str) -> None:
    shown = web.get(f"/badge/{path}")
    assert shown.headers["content-type"] == "image/svg+xml"
    assert "cross-origin-resource-policy" not in shown.headers
    assert ElementTree.fromstring(shown.text).attrib["aria-label"] == text  # noqa: S314 (ours)


def test_a_badge_service_reads_the_endpoint(web: TestClient) -> None:
    assert web.get("/badge/books.json").json() == {
        "schemaVersion": 1,
        "label": "mcproof grade",
        "message": "A",
        "color": "1a6b3c",
        "cacheSeconds": 300,
    }


# --- the API ------------------------------------------------------------------------------------------------------


def test_servers_runs_and_findings_are_listed(web: TestClient) -> None:
    listed = web.get("/api/v1/servers?sort=name&limit=1").json()
    assert listed["next"] is not None
    assert len(listed["servers"]) == 1
    assert web.get("/api/v1/servers/books").json()["grade"] == "A"
    runs = web.get("/api/v1/servers/books/runs?limit=1").json()
    older = web.get(f"/api/v1/servers/books/runs?limit=1&cursor={runs['next']}").json()
    assert older["next"] is None
    uid = older["runs"][0]["uid"]
    found = web.get(f"/api/v1/runs/{uid}/findings?limit=1").json()
    assert found["findings"][0]["number"] == 0
    assert web.get(f"/api/v1/runs/{uid}/findings?after=0").json()["findings"][0]["number"] == 1
    assert web.get(f"/api/v1/runs/{uid}").json()["kind"] == "run"


def test_the_description_of_the_api_has_every_field_of_a_response(web: TestClient) -> None:
    schemas = web.get("/api/v1/openapi.json").json()["components"]["schemas"]
    server, run = web.get("/api/v1/servers/books").json(), web.get("/api/v1/servers/books/runs").json()["runs"][0]
    finding = web.get(f"/api/v1/runs/{newest_run(web, 'other')}/findings").json()["findings"][0]
    for name, document in {"ServerModel": server, "RunModel": run, "FindingModel": finding}.items():
        assert schemas[name]["required"] == list(schemas[name]["properties"]) == list(document)
    assert schemas["ServersModel"]["properties"]["servers"]["items"] == {"$ref": "#/components/schemas/ServerModel"}
    assert schemas["ServerModel"]["properties"]["score"]["anyOf"] == [{"type": "integer"}, {"type": "null"}]


def test_an_address_with_slashes_is_a_name(web: TestClient) -> None:
    assert web.get("/api/v1/servers/https%3A%2F%2Fhost.example%2Fmcp%3Fx%3D1").json()["name"] == URL


@pytest.mark.parametrize("command", ["lint", "grade", "compat", "scan"])
def test_a_catalog_is_checked_as_on_the_command_line(web: TestClient, command: str) -> None:
    document = web.post(f"/api/v1/{command}", content=BAD).json()
    assert document["schema_version"] == 1
    assert (document["target"], "findings" in document) == ("catalog", True)


def test_two_catalogs_are_compared(web: TestClient) -> None:
    body = json.dumps({"old": json.loads(GOOD), "new": json.loads(BAD)})
    assert web.post("/api/v1/diff", content=body).json()["summary"]["breaking"] > 0


@pytest.mark.parametrize(
    ("method", "path", "content", "status"),
    [
        ("GET", "/api/v1/servers?sort=size", b"", 400),
        ("GET", "/api/v1/servers?cursor=x", b"", 400),
        ("GET", "/api/v1/servers?limit=0", b"", 422),
        ("GET", "/api/v1/servers/none", b"", 404),
        ("GET", "/api/v1/servers/none/runs", b"", 404),
        ("GET", "/api/v1/servers/books/runs?cursor=x", b"", 400),
        ("GET", "/api/v1/runs/none", b"", 404),
        ("GET", "/api/v1/runs/none/findings", b"", 404),
        ("GET", "/api/v1/rules/none", b"", 404),
        ("GET", "/api/v1/none", b"", 405),
        ("POST", "/api/v1/fly", b"{}", 404),
        ("POST", "/api/v1/lint", b"not json", 400),
        ("POST", "/api/v1/lint", b"[" * 100_000, 400),
        ("POST", "/api/v1/lint", b"x" * 6_000_000, 413),
        ("POST", "/api/v1/diff", b"{}", 400),
    ],
)
def test_an_error_is_a_problem_document(web: TestClient, method: str, path: str, content: bytes, status: int) -> None:
    response = web.request(method, path, content=content)
    assert response.status_code == status
    assert response.headers["content-type"] == "application/problem+json"
    document = response.json()
    assert (document["status"], document["type"]) == (status, "about:blank")


def test_a_document_that_the_client_has_is_not_sent_again(web: TestClient) -> None:
    first = web.get("/api/v1/servers")
    again = web.get("/api/v1/servers", headers={"if-none-match": f'"x", {first.headers["etag"]}'})
    assert (again.status_code, again.content) == (304, b"")


def test_a_crash_is_a_problem_without_details(filled: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    def crash(*_: object) -> None:
        raise RuntimeError("secret")

    monkeypatch.setattr("mcproof.services.web.rest.list_servers", crash)
    response = client(filled).get("/api/v1/servers")
    assert response.status_code == 500
    assert "secret" not in response.text


# --- protection ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "host", ["evil.example", "testserver.evil.example", "", "127.0.0.1.evil", "testserver:80@x", "testserver:x"]
)
def test_a_foreign_host_is_refused(web: TestClient, host: str) -> None:
    assert web.get("/", headers={"host": host}).status_code == 421


@pytest.mark.parametrize("host", ["testserver", "TESTSERVER:8000"])
def test_the_own_host_is_served_with_any_port(web: TestClient, host: str) -> None:
    assert web.get("/", headers={"host": host}).status_code == 200


def test_a_client_that_asks_too_often_has_to_wait(filled: Database) -> None:
    web = client(filled, requests_a_minute=3)
    answers = [web.get("/api/v1/health") for _ in range(4)]
    assert [each.status_code for each in answers] == [200, 200, 200, 429]
    assert [each.headers["ratelimit-remaining"] for each in answers] == ["2", "1", "0", "0"]
    assert int(answers[-1].headers["retry-after"]) >= 1


@pytest.mark.parametrize(
    ("client", "counted"),
    [
        (("192.0.2.7", 1), "192.0.2.7"),
        (("2001:db8:1:2:3:4:5:6", 1), "2001:db8:1:2::/64"),
        (("2001:db8:1:2:ffff::1", 1), "2001:db8:1:2::/64"),
        (("fe80::1%eth0", 1), "fe80::/64"),
        (("testclient", 1), "testclient"),
        (None, ""),
    ],
)
def test_the_addresses_of_an_ipv6_client_count_as_one(client: tuple[str, int] | None, counted: str) -> None:
    assert client_of({"type": "http", "client": client}) == counted


def test_a_limit_recovers_with_time_and_forgets_old_clients() -> None:
    async def nothing(*_: object) -> None: ...

    limit = RateLimit(nothing, 60)
    assert [limit._take("a", 0.0) for _ in range(61)][-1] < 0
    assert limit._take("a", 1.0) >= 0
    for number in range(10_001):
        limit._take(str(number), 2.0)
    assert len(limit._left) == 10_000


def test_an_export_counts_as_many_requests(database: Database) -> None:
    settings = WebSettings(hosts=("testserver",), requests_a_minute=100)
    web = TestClient(create_service(database, settings))
    assert [web.get("/servers.csv").status_code for _ in range(4)] == [200, 200, 200, 429]
    assert web.get("/").status_code == 200


def test_a_large_body_counts_as_many_requests(database: Database) -> None:
    settings = WebSettings(hosts=("testserver",), requests_a_minute=100)
    web = TestClient(create_service(database, settings))
    assert [web.post("/lint", content=b"x" * 4_000_000).status_code for _ in range(4)] == [400, 400, 400, 429]
    assert TestClient(web.app, client=("192.0.2.1", 1)).get("/").status_code == 200


def test_health_and_metrics_are_there(web: TestClient) -> None:
    assert web.get("/healthz").json()["status"] == "ok"
    text = web.get("/metrics").text
    assert 'mcproof_http_responses_total{status="200"} 1' in text
    assert "mcproof_http_response_seconds_count 1" in text

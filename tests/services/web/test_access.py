"""Tokens: what needs one, which ones are refused, and runs that are recorded with one."""

from __future__ import annotations

import base64
import json
import time
import zlib
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

import pytest
from starlette.testclient import TestClient

from mcproof.core.errors import InputError
from mcproof.runs.stored import run_document
from mcproof.services.store.queries import create_token, history_of, revoke_token, stored_catalog
from mcproof.services.web.server import WebSettings, create_service
from services.store.runs import BAD, GOOD, linted

if TYPE_CHECKING:
    from mcproof.services.store.database import Database

RUNS = "/api/v1/servers/books/runs"
FORM = "application/x-www-form-urlencoded"


def client(database: Database, *required: str) -> TestClient:
    settings = WebSettings(hosts=("testserver",), required_scopes=required)
    return TestClient(create_service(database, settings), raise_server_exceptions=False, follow_redirects=False)


def token(database: Database, *scopes: str, server: str | None = None, days: int = 1) -> str:
    name = f"{scopes}{server}{days}"
    return create_token(database, name, scopes, server=server, days=days, now=datetime.now(UTC))


def bearer(text: str) -> dict[str, str]:
    return {"authorization": f"Bearer {text}"}


def basic(text: str) -> dict[str, str]:
    return {"authorization": "Basic " + base64.b64encode(f"user:{text}".encode()).decode()}


def report(data: bytes = GOOD, **members: Any) -> bytes:
    document = json.loads("".join(run_document(linted(data))))
    return json.dumps({**document, **members}).encode()


def counted(tools: int) -> bytes:
    document = json.loads(report())
    document["targets"][0]["counts"]["tools"] = tools
    return json.dumps(document).encode()


def timed(**timings: Any) -> bytes:
    document = json.loads(report())
    return json.dumps({**document, "timings": {**document["timings"], **timings}}).encode()


# --- recording ----------------------------------------------------------------------------------------------------


def test_a_run_is_recorded_under_the_name_that_its_token_permits(database: Database) -> None:
    sent = client(database).post(RUNS, content=report(), headers=bearer(token(database, "record", server="books")))
    assert sent.status_code == 201
    [past] = history_of(database, "books", 5).runs
    assert sent.json() == {"uid": past.uid, "server": "books"}
    assert sent.headers["location"] == f"/api/v1/runs/{past.uid}"
    assert (past.grade, past.catalog) == ("A", None)


def test_a_run_may_bring_its_catalog(database: Database) -> None:
    body = json.dumps({"report": json.loads(report()), "catalog": json.loads(GOOD)})
    sent = client(database).post(RUNS, content=body, headers=bearer(token(database, "record")))
    assert sent.status_code == 201
    [past] = history_of(database, "books", 5).runs
    assert past.catalog is not None
    assert json.loads(zlib.decompress(stored_catalog(database, past.catalog))) == json.loads(GOOD)


@pytest.mark.parametrize(
    ("body", "status", "detail"),
    [
        (b"", 400, "not JSON"),
        (b"[" * 100_000, 400, "not JSON"),
        (b'{"report": {}, "catalog": NaN}', 400, "not JSON"),
        (b"{}", 422, "not a run report"),
        (b'{"report": 1}', 422, "not a run report"),
        (report(command="fly"), 422, "invalid run report"),
        (timed(started="soon"), 422, "`timings.started` is not a time"),
        (timed(started="2999-01-01T00:00:00Z"), 422, "in the future"),
        (timed(seconds=12345.5).replace(b"12345.5", b"1e999"), 422, "violates its schema at `/timings/seconds`"),
        (counted(2**31), 422, "larger than 2,147,483,647"),
        (counted(10**30), 422, "larger than 2,147,483,647"),
        (b'{"report": ' + report() + b', "catalog": {"a": 1}}', 422, "catalog: "),
    ],
)
def test_what_is_not_a_run_of_one_server_is_refused(database: Database, body: bytes, status: int, detail: str) -> None:
    sent = client(database).post(RUNS, content=body, headers=bearer(token(database, "record")))
    assert (sent.status_code, sent.headers["content-type"]) == (status, "application/problem+json")
    assert detail in sent.json()["detail"]


@pytest.mark.parametrize("name", ["a%1Bb", "%E2%80%AE", "%20", "a" * 501])
def test_a_name_that_no_page_can_have_is_refused(database: Database, name: str) -> None:
    sent = client(database).post(
        f"/api/v1/servers/{name}/runs", content=report(), headers=bearer(token(database, "record"))
    )
    assert (sent.status_code, sent.json()["detail"]) == (
        422,
        "the name of a server has 1 to 500 printable characters",
    )


def test_pages_do_not_wait_for_runs_that_are_recorded(database: Database) -> None:
    """More of them than the service has threads."""
    headers = bearer(token(database, "record"))
    with client(database) as web, ThreadPoolExecutor(60) as threads:
        with database.writing():
            recordings = [threads.submit(web.post, RUNS, content=report(), headers=headers) for _ in range(60)]
            time.sleep(1)  # until they wait, which nothing shows
            assert web.get("/").status_code == web.get("/api/v1/servers").status_code == 200
            assert not any(recording.done() for recording in recordings)
        assert {recording.result().status_code for recording in recordings} == {201}


@pytest.mark.parametrize("path", ["/", "/api/v1/servers"])
def test_without_its_database_everybody_gets_503(database: Database, path: str) -> None:
    web, secret = client(database, "read"), token(database, "read")
    unknown = f"{secret[:-4]}{'aaaa' if secret[-4:] != 'aaaa' else 'bbbb'}"
    assert web.get(path, headers=bearer(secret)).status_code == 200
    with database.writing() as connection:
        connection.exec_driver_sql("DROP TABLE tokens")
    for text in (secret, unknown):
        response = web.get(path, headers=bearer(text))
        assert response.status_code == 503
        assert "the store cannot be used" in response.text.lower()


@pytest.mark.parametrize("position", [1.0, 1e308])
def test_a_position_that_is_written_as_a_decimal_is_shown(database: Database, position: float) -> None:
    document = json.loads(report(BAD))
    document["targets"][0]["findings"][0]["snippet"] |= {"start": position, "end": position}
    web = client(database)
    sent = web.post(RUNS, json=document, headers=bearer(token(database, "record")))
    assert web.get(f"/runs/{sent.json()['uid']}").status_code == 200


def test_without_its_database_not_even_the_need_for_a_token_is_told(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    web = client(database, "read")
    assert [web.get(path).status_code for path in ("/", "/api/v1/servers")] == [401, 401]

    def unreachable() -> None:
        raise InputError("the store cannot be used: it is gone")

    monkeypatch.setattr(database, "reading", unreachable)
    assert [web.get(path).status_code for path in ("/", "/api/v1/servers")] == [503, 503]


@pytest.mark.parametrize("path", ["/api/v1/health", "/healthz"])
def test_a_monitor_gets_503_with_the_reason_without_the_database(
    database: Database, monkeypatch: pytest.MonkeyPatch, path: str
) -> None:
    web = client(database)
    assert web.get(path).json()["status"] == "ok"

    def unreachable() -> None:
        raise InputError("the store cannot be used: it is gone")

    monkeypatch.setattr(database, "reading", unreachable)
    response = web.get(path)
    assert (response.status_code, response.json()["detail"]) == (503, "the store cannot be used: it is gone")


def test_several_servers_in_one_report_are_refused(database: Database) -> None:
    run = linted()
    body = "".join(run_document(run._replace(targets=run.targets * 2, is_single=False)))
    sent = client(database).post(RUNS, content=body, headers=bearer(token(database, "record")))
    assert "one target" in sent.json()["detail"]


@pytest.mark.parametrize("name", ["%20", "x" * 501])
def test_a_name_that_is_blank_or_too_long_is_refused(database: Database, name: str) -> None:
    path = f"/api/v1/servers/{name}/runs"
    sent = client(database).post(path, content=report(), headers=bearer(token(database, "record")))
    assert sent.status_code == 422


def test_a_body_that_is_too_large_is_refused(database: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("mcproof.services.web.rest.MOST_BYTES", 1000)
    sent = client(database).post(RUNS, content=b"x" * 1001, headers=bearer(token(database, "record")))
    assert sent.status_code == 413


# --- who may ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "path",
    [
        RUNS,
        "/api/v1/servers/a%0Ab/runs",
        "/api/v1/servers/a/b/runs",
        "/api/v1/servers//runs",
        "/api/v1/servers/books/runs%0A",
    ],
)
def test_nothing_is_recorded_without_a_token(database: Database, path: str) -> None:
    sent = client(database).post(path, content=report())
    assert sent.status_code == 401
    assert sent.headers["www-authenticate"] == 'Bearer realm="mcproof"'
    assert sent.json()["detail"] == "a token with the scope `record` is needed"


def test_a_page_elsewhere_cannot_act_with_the_rights_of_a_browser(database: Database) -> None:
    """Browsers add cookies and passwords by themselves, and forms need no permission; only a bearer token counts."""
    web, right = client(database), token(database, "record")
    for headers in (basic(right), {"cookie": f"token={right}"}, {"cookie": f"authorization=Bearer {right}"}):
        sent = web.post(RUNS, content=report(), headers=headers)
        assert sent.status_code == 401
        assert "access-control-allow-origin" not in sent.headers
        assert "set-cookie" not in sent.headers
    foreign = {"origin": "https://evil.example", **bearer(right)}
    assert web.post(RUNS, content=report(), headers=foreign).status_code == 403
    assert web.post(f"{RUNS}?token={right}", data={"token": right}, headers={"content-type": FORM}).status_code == 401
    asked = web.options(
        RUNS, headers={"origin": "https://evil.example", "access-control-request-headers": "authorization"}
    )
    assert not [name for name in asked.headers if name.startswith("access-control")]


def test_a_token_needs_the_scope_and_the_server(database: Database) -> None:
    web = client(database)
    refused = [
        web.post(RUNS, content=report(), headers=bearer(token(database, "read", "lint"))),
        web.post(RUNS, content=report(), headers=bearer(token(database, "record", server="other"))),
    ]
    assert [each.status_code for each in refused] == [403, 403]
    assert "does not have the scope `record`" in refused[0].json()["detail"]
    assert "is not for this server" in refused[1].json()["detail"]


def test_a_revoked_or_expired_token_is_refused(database: Database) -> None:
    revoked = create_token(database, "revoked", ("record",), days=1, now=datetime.now(UTC))
    expired = create_token(database, "expired", ("record",), days=1, now=datetime.now(UTC) - timedelta(days=2))
    revoke_token(database, "revoked")
    for text in (revoked, expired, "", "x", "mcproof_" + "0" * 16 + "_" + "A" * 43):
        sent = client(database).post(RUNS, content=report(), headers=bearer(text))
        assert sent.status_code == 401
        assert 'error="invalid_token"' in sent.headers["www-authenticate"]


def test_a_private_instance_shows_nothing_without_a_token(database: Database) -> None:
    web = client(database, "read")
    for path in ("/", "/servers/books", "/badge/books.svg", "/metrics", "/servers.csv", "/nothing"):
        shown = web.get(path)
        assert (shown.status_code, shown.headers["www-authenticate"][:5]) == (401, "Basic"), path
    assert web.get("/api/v1/servers").headers["www-authenticate"] == 'Bearer realm="mcproof"'
    assert web.head("/").status_code == 401
    assert web.get("/healthz").status_code == 200
    assert web.get("/assets/web.css").status_code == 200


def test_a_private_instance_is_read_with_a_token_in_a_browser_too(database: Database) -> None:
    web, reads = client(database, "read"), token(database, "read")
    assert web.get("/", headers=basic(reads)).status_code == 200
    assert web.get("/api/v1/servers", headers=bearer(reads)).status_code == 200
    assert web.get("/api/v1/servers", headers=basic(reads)).status_code == 401
    assert web.get("/", headers=bearer(token(database, "record"))).status_code == 403
    for wrong in ("Basic x", "Basic !!!", "Basic /w==", "Digest x", "Basic"):
        assert web.get("/", headers={"authorization": wrong}).status_code == 401


@pytest.mark.parametrize("path", ["/", "/badge/books.svg", "/badge/books.json", "/api/v1/rules", "/servers.csv"])
def test_a_shared_cache_keeps_nothing_of_a_private_instance(database: Database, path: str) -> None:
    kept = client(database, "read").get(path, headers=bearer(token(database, "read"))).headers["cache-control"]
    assert "public" not in kept
    assert client(database).get("/badge/books.svg").headers["cache-control"] == "public, max-age=300"


def test_checks_need_a_token_where_the_operator_wants_it(database: Database) -> None:
    web = client(database, "lint")
    assert web.get("/").status_code == 200
    assert web.post("/api/v1/lint", content=BAD).status_code == 401
    assert web.post("/api/v1/lint", content=BAD, headers=bearer(token(database, "lint"))).status_code == 200
    assert web.post(RUNS, content=report(), headers=bearer(token(database, "lint", days=2))).status_code == 403


def test_the_document_of_the_api_describes_the_token(database: Database) -> None:
    document = client(database).get("/api/v1/openapi.json").json()
    assert document["components"]["securitySchemes"]["token"]["scheme"] == "bearer"
    assert document["paths"]["/api/v1/servers/{name}/runs"]["post"]["security"] == [{"token": []}]

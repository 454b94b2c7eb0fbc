"""Pages for visitors: the form, progress, reports under unlisted links, failures; over real servers and processes."""

from __future__ import annotations

import json
import socket
from typing import TYPE_CHECKING

import pytest

from mcproof.runs.stored import read_run
from mcproof.services.web import server as serving
from servers.web import FAULTS, Web
from services.store.runs import BAD, GOOD
from services.web.visiting import SECRET, Echo, ask, visited, visiting, wait

if TYPE_CHECKING:
    from pathlib import Path

    from starlette.testclient import TestClient


# --- reports ------------------------------------------------------------------------------------------------------


def test_a_server_is_checked_from_the_page(service: TestClient, server: Web) -> None:
    path = ask(service, url=server.url)
    steps = list(dict.fromkeys(each["step"] for each in wait(service, path)))
    assert [step for step in ("waiting", "connecting", "checking", "fixing", "done") if step in steps] == steps
    assert steps[-1] == "done"
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


def test_one_client_cannot_take_all_streams_of_events(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(serving, "STREAMS_OF_CLIENT", 0)
    with visiting(tmp_path) as service:
        path = ask(service, catalog=GOOD.decode())
        assert service.get(f"{path}/events").status_code == 429
        assert service.get(path).status_code == 200


def test_a_stream_of_events_ends_after_a_while(service: TestClient, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("mcproof.services.web.visitor_pages._STREAM", 0.1)
    with FAULTS["hang"]() as hanging:
        path = ask(service, url=hanging.url)
        text = service.get(f"{path}/events").text
        assert text.startswith("retry: 500\n\nevent: step\n")
        assert "event: done" not in text
        while '"step": "connecting"' not in text:
            text = service.get(f"{path}/events").text


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
        for command in ("lint", "scan"):
            sent = service.post(f"/api/v1/{command}", json={"url": "http://localhost:8000/mcp"})
            assert (sent.status_code, "location" in sent.headers) == (422, False)
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
    assert "there is no such report" in response.text.lower()
    assert response.headers["x-robots-tag"] == "noindex, nofollow"

"""The log of the service: readable, structured, without secrets."""

from __future__ import annotations

import asyncio
import json
import logging
from io import StringIO
from typing import TYPE_CHECKING, Any

import pytest
from starlette.testclient import TestClient

from mcproof.services.store.database import open_database
from mcproof.services.web.health import LogFormat, LogHandler, Metrics, RequestLog, ServiceLog, shown_path
from mcproof.services.web.server import ServiceBackground, WebSettings, create_service

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


@pytest.fixture(params=["text", "json"])
def logged(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[tuple[TestClient, StringIO]]:
    stream, database = StringIO(), open_database(str(tmp_path / "store.sqlite"))
    format_: LogFormat = request.param
    background = ServiceBackground(Metrics(), ServiceLog(format_, stream, lambda: 0.0))
    app = create_service(database, WebSettings(hosts=("testserver",)), background)
    yield TestClient(app, raise_server_exceptions=False), stream
    database.close()


def test_a_request_is_one_line_without_secrets(logged: tuple[TestClient, StringIO]) -> None:
    web, stream = logged
    headers = {"authorization": "Bearer hunter2", "cookie": "x=hunter2"}
    web.get("/servers/none?token=hunter2", headers=headers)
    web.post("/api/v1/lint?x=hunter2", content=b"hunter2", headers=headers)
    web.get("/lint/hunter2/report.html")
    web.get("/", headers={"host": "hunter2.example"})
    lines = stream.getvalue().splitlines()
    assert len(lines) == 4
    assert "hunter2" not in stream.getvalue()
    assert "/servers/none" in lines[0]
    assert "404" in lines[0]


def test_a_path_cannot_forge_a_line_or_act_on_a_terminal(logged: tuple[TestClient, StringIO]) -> None:
    web, stream = logged
    web.get("/%0A::error::x%1B[31m")
    [line] = stream.getvalue().splitlines()
    assert "\x1b" not in line
    assert not line.startswith("::")


def test_json_has_fields_and_text_has_a_sentence() -> None:
    lines = {}
    for format_ in ("text", "json"):
        stream = StringIO()
        ServiceLog(format_, stream, lambda: 0.0).write("watch.checked", "books: grade A", "warning", grade="A")
        lines[format_] = stream.getvalue()
    assert lines["text"] == "1970-01-01T00:00:00Z warning: books: grade A\n"
    assert json.loads(lines["json"]) == {
        "time": "1970-01-01T00:00:00Z",
        "level": "warning",
        "event": "watch.checked",
        "message": "books: grade A",
        "grade": "A",
    }


def test_a_closed_stream_stops_nothing() -> None:
    stream = StringIO()
    stream.close()
    ServiceLog("text", stream).write("x", "y")


def test_an_unexpected_error_is_logged_by_type_and_place_only() -> None:
    stream = StringIO()
    logger = logging.Logger("uvicorn.error")
    logger.addHandler(LogHandler(ServiceLog("json", stream)))
    try:
        int("hunter2")
    except ValueError:
        logger.exception("Exception in ASGI application\n")
    logger.warning("Invalid HTTP request: %s", "hunter2")
    logger.info("not shown")
    error, warning = map(json.loads, stream.getvalue().splitlines())
    assert (error["event"], error["error"]) == ("service.error", "ValueError")
    assert "test_service_log, line" in error["place"]
    assert warning["message"] == "Invalid HTTP request: …"
    assert "hunter2" not in stream.getvalue()


def test_numbers_of_a_library_are_logged() -> None:
    stream = StringIO()
    logger = logging.Logger("uvicorn.error")
    logger.addHandler(LogHandler(ServiceLog("json", stream)))
    logger.error("Cancel %s running task(s), timeout graceful shutdown exceeded", 3)
    assert json.loads(stream.getvalue())["message"].startswith("Cancel 3 running task(s)")


def test_a_request_that_a_stop_ends_is_not_a_defect() -> None:
    stream, error = StringIO(), asyncio.CancelledError()
    handler = LogHandler(ServiceLog("json", stream))
    handler.emit(logging.LogRecord("uvicorn", logging.ERROR, "", 1, "x", None, (type(error), error, None)))
    assert json.loads(stream.getvalue())["level"] == "warning"
    assert "because the service stops" in stream.getvalue()


def test_a_request_that_crashes_is_logged_as_500() -> None:
    async def crash(*_: object) -> None:
        raise RuntimeError

    stream = StringIO()
    scope: dict[str, Any] = {"type": "http", "method": "GET", "path": "/x", "client": None}
    log = RequestLog(crash, ServiceLog("json", stream))
    with pytest.raises(RuntimeError):
        asyncio.run(log(scope, None, None))  # type: ignore[arg-type]
    assert json.loads(stream.getvalue())["status"] == 500


@pytest.mark.parametrize(
    ("path", "shown"), [("/lint", "/lint"), ("/lint/", "/lint/"), ("/lint/x/y", "/lint/…"), ("/lints", "/lints")]
)
def test_a_link_that_only_its_owner_knows_is_not_logged(path: str, shown: str) -> None:
    assert shown_path(path) == shown


def test_a_long_path_is_cropped() -> None:
    assert len(shown_path("/" + "x" * 9999)) == 501

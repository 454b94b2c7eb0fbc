"""A service for visitors, and what a browser does on its pages."""

from __future__ import annotations

import json
import re
from contextlib import contextmanager
from time import sleep
from typing import TYPE_CHECKING, Any

from starlette.testclient import TestClient

from mcproof.services.store.database import open_database
from mcproof.services.store.recording import record_run
from mcproof.services.web.server import WebSettings, create_service
from servers.web import Request, Web
from services.store.runs import GOOD, linted

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


def done(service: TestClient) -> None:
    """Wait until nothing runs: a visit without a link has no events to follow."""
    while service.app.state.visits.counts()["waiting"] + service.app.state.visits.counts()["running"]:  # type: ignore[attr-defined]
        sleep(0.01)

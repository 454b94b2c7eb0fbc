"""Clients that send or read slowly, or leave early, and what the service does about them."""

from __future__ import annotations

import asyncio
import socket
import threading
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any

import pytest
import uvicorn
from starlette.responses import Response

from mcproof.services.web import protection
from mcproof.services.web.protection import BODY, HEAD, READING, TimedConnection
from mcproof.services.web.server import listen_at

if TYPE_CHECKING:
    from collections.abc import Iterator

    from starlette.testclient import TestClient

GET = b"GET / HTTP/1.1\r\nHost: localhost\r\n"
POST = b"POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 100\r\n\r\n"
LARGE = 32 * 1024 * 1024
LONG = 60.0
"""A limit that no test reaches, in seconds."""


async def application(scope: Any, receive: Any, send: Any) -> None:
    """Reads the request, thinks, and sends more than the buffers of a connection hold."""
    while (await receive()).get("more_body"):
        pass
    await asyncio.sleep(0.3)
    await Response(b"x" * (LARGE if scope["path"] == "/large" else 1))(scope, receive, send)


@contextmanager
def connected(monkeypatch: pytest.MonkeyPatch, short: str) -> Iterator[socket.socket]:
    """A connection to a service with one limit that is short."""
    monkeypatch.setattr(protection, "SECONDS", {HEAD: LONG, BODY: LONG, READING: LONG, short: 0.1})
    monkeypatch.setattr(protection, "LOOK_SECONDS", 0.02)
    server = uvicorn.Server(uvicorn.Config(application, http=TimedConnection, lifespan="off", log_config=None))
    with socket.create_server(("127.0.0.1", 0)) as listener:
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]})
        thread.start()
        with socket.create_connection(listener.getsockname(), timeout=30) as client:
            yield client
        server.should_exit = True
        thread.join()


def is_ended(client: socket.socket) -> bool:
    """Whether the service ends a connection without a response."""
    try:
        return client.recv(1) == b""
    except ConnectionResetError:
        return True


@pytest.mark.parametrize(
    ("sent", "short"),
    [(b"", HEAD), (GET, HEAD), (POST, BODY), (POST + b"x" * 99, BODY)],
    ids=["nothing", "a part of the head", "no body", "a part of the body"],
)
def test_a_client_that_does_not_finish_its_request_is_disconnected(
    monkeypatch: pytest.MonkeyPatch, sent: bytes, short: str
) -> None:
    with connected(monkeypatch, short) as client:
        client.sendall(sent)
        assert is_ended(client)


def test_a_client_that_does_not_read_is_disconnected(monkeypatch: pytest.MonkeyPatch) -> None:
    with connected(monkeypatch, READING) as client:
        client.sendall(GET.replace(b"/", b"/large", 1) + b"\r\n")
        threading.Event().wait(1.0)
        received = 0
        with suppress(ConnectionResetError):
            while part := client.recv(1 << 20):
                received += len(part)
        assert received < LARGE


@pytest.mark.parametrize("short", [HEAD, BODY, READING])
def test_the_time_of_the_service_does_not_count(monkeypatch: pytest.MonkeyPatch, short: str) -> None:
    with connected(monkeypatch, short) as client:
        client.sendall(POST + b"x" * 100)
        assert client.recv(100).startswith(b"HTTP/1.1 200 OK")


def test_a_client_that_leaves_early_is_not_a_defect(service: TestClient) -> None:
    statuses = []

    async def leave() -> dict[str, str]:
        return {"type": "http.disconnect"}

    async def send(message: dict[str, Any]) -> None:
        statuses.append(message.get("status"))

    headers = [(b"host", b"testserver")]
    scope = {"type": "http", "method": "POST", "path": "/lint", "query_string": b"", "headers": headers}
    asyncio.run(service.app(scope, leave, send))  # type: ignore[arg-type]
    assert statuses[0] == 400


def test_a_client_that_keeps_its_connection_does_not_wait_for_each_body() -> None:
    with (
        listen_at("127.0.0.1", 0) as listener,
        socket.create_connection(listener.getsockname()),
        listener.accept()[0] as connection,
    ):
        assert connection.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)

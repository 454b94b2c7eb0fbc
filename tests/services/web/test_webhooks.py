"""Webhooks: signatures, retries, and the addresses that they may go to."""

from __future__ import annotations

import asyncio
import base64
import hashlib
import hmac
import json
import re
import time
from functools import partial
from http.server import BaseHTTPRequestHandler, HTTPServer
from io import StringIO
from ipaddress import ip_network
from pathlib import Path
from threading import Thread
from typing import TYPE_CHECKING, Any

import pytest

from mcproof.client.http.policy import NetworkPolicy
from mcproof.services.store.recording import Delivery, add_deliveries, pending_deliveries
from mcproof.services.web.health import Metrics, ServiceLog
from mcproof.services.web.watch_events import RETRY_SECONDS, WebhookError, WebhookQueue, post_guarded, signed_headers

from .watching import WEBHOOK

if TYPE_CHECKING:
    from collections.abc import Iterator

    from mcproof.services.store.database import Database

LOOPBACK = NetworkPolicy("public", allowed=(ip_network("127.0.0.0/8"),))


# --- signatures ---------------------------------------------------------------------------------------------------


def test_a_signature_is_that_of_the_standard() -> None:
    """The example of the specification of Standard Webhooks."""
    headers = signed_headers(
        "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw",
        "msg_p5jXN8AQM9LWM0D4loKWxJek",
        1614265330,
        '{"test": 2432232314}',
    )
    assert headers["webhook-signature"] == "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="
    assert headers["webhook-id"] == "msg_p5jXN8AQM9LWM0D4loKWxJek"
    assert headers["webhook-timestamp"] == "1614265330"


@pytest.mark.parametrize("secret", ["hunter2", "whsec_not base64!"])
def test_any_other_secret_is_a_key_as_it_is(secret: str) -> None:
    expected = base64.b64encode(hmac.new(secret.encode(), "1.2.{é}".encode(), hashlib.sha256).digest()).decode()
    assert signed_headers(secret, "1", 2, "{é}")["webhook-signature"] == f"v1,{expected}"


def test_the_documented_verification_works() -> None:
    page = (Path(__file__).resolve().parents[3] / "docs" / "watched-servers.md").read_text(encoding="utf-8")
    [code] = [each for each in re.findall(r"```python\n(.*?)```", page, re.DOTALL) if "def verify" in each]
    names: dict[str, Any] = {}
    exec(code, names)  # noqa: S102 (ours)
    secret = "whsec_" + base64.b64encode(b"0123456789abcdef01234567").decode()
    body, now = '{"é": 1}', int(time.time())
    headers = signed_headers(secret, "1", now, body)
    names["verify"](secret, headers, body.encode())
    for wrong in ({"webhook-id": "2"}, {"webhook-timestamp": str(now + 1)}, {"webhook-signature": "v1,x"}):
        with pytest.raises(ValueError, match="wrong signature"):
            names["verify"](secret, {**headers, **wrong}, body.encode())
    with pytest.raises(ValueError, match="wrong signature"):
        names["verify"](secret, headers, body.encode() + b" ")
    with pytest.raises(ValueError, match="too old"):
        names["verify"](secret, signed_headers(secret, "1", now - 301, body), body.encode())


# --- the queue ----------------------------------------------------------------------------------------------------


class Receiver:
    """Responds with the next status of a list, or cannot be reached (0)."""

    def __init__(self, *statuses: int) -> None:
        self.statuses = list(statuses)
        self.received: list[tuple[str, dict[str, str], str]] = []

    async def post(self, url: str, headers: dict[str, str], body: str) -> int:
        self.received.append((url, headers, body))
        status = self.statuses.pop(0) if self.statuses else 204
        if status == 0:
            raise WebhookError("cannot be reached (ConnectError)")
        return status


class Service:
    """A queue with one event, a receiver and a clock that a test sets."""

    def __init__(self, database: Database, *statuses: int) -> None:
        self.now = 1000.0
        self.database = database
        self.receiver = Receiver(*statuses)
        self.metrics = Metrics()
        self.log = StringIO()
        with database.writing() as connection:
            add_deliveries(connection, [Delivery("1", "books", '{"id": "1"}', due=1000)])
        self.restart()

    def restart(self, *, is_watched: bool = True) -> None:
        webhooks = {"books": WEBHOOK} if is_watched else {}
        log = ServiceLog("json", self.log)
        self.queue = WebhookQueue(self.database, webhooks, self.receiver.post, lambda: self.now, self.metrics, log)

    def send(self) -> float | None:
        return asyncio.run(self.queue.send_due())

    def logged(self) -> list[str]:
        return [json.loads(line)["event"] for line in self.log.getvalue().splitlines()]


@pytest.fixture(autouse=True)
def secret(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOOK_SECRET", "hunter2")


def test_an_event_is_posted_with_its_signature_and_forgotten(database: Database) -> None:
    service = Service(database, 200)
    assert service.send() is None
    [(url, headers, body)] = service.receiver.received
    assert (url, body) == ("https://hooks.example/x", '{"id": "1"}')
    assert headers == signed_headers("hunter2", "1", 1000, body)
    assert service.send() is None
    assert len(service.receiver.received) == 1
    assert 'mcproof_webhook_attempts_total{outcome="delivered"} 1' in service.metrics.text()


@pytest.mark.parametrize("status", [500, 404, 302, 0])
def test_a_failed_attempt_is_repeated_later_with_the_same_id_and_a_new_signature(
    database: Database, status: int
) -> None:
    service = Service(database, status)
    assert service.send() == 1005
    service.now = 1004.9
    assert service.send() == 1005
    assert len(service.receiver.received) == 1
    service.restart()
    service.now = 1005.0
    assert service.send() is None
    first, second = (headers for _, headers, _ in service.receiver.received)
    assert first["webhook-id"] == second["webhook-id"]
    assert (first["webhook-timestamp"], second["webhook-timestamp"]) == ("1000", "1005")
    assert service.logged() == ["webhook.failed", "webhook.delivered"]


def test_an_event_is_given_up_after_the_last_attempt(database: Database) -> None:
    service = Service(database, *[500] * 20)
    while (due := service.send()) is not None:
        service.now = due
    assert len(service.receiver.received) == len(RETRY_SECONDS) + 1
    assert service.now == 1000 + sum(RETRY_SECONDS)
    assert service.logged()[-1] == "webhook.given_up"
    assert pending_deliveries(database)[0] == 0


def test_a_receiver_that_is_gone_gets_nothing_more(database: Database) -> None:
    service = Service(database, 410)
    assert service.send() is None
    assert service.logged() == ["webhook.given_up"]


def test_an_event_of_an_entry_that_was_removed_is_dropped(database: Database) -> None:
    service = Service(database)
    service.restart(is_watched=False)
    assert service.send() is None
    assert service.receiver.received == []
    assert "has no webhook any more" in service.log.getvalue()


def test_a_variable_that_is_not_set_is_tried_again(database: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    service = Service(database)
    monkeypatch.delenv("HOOK_SECRET")
    assert service.send() == 1005
    assert "the environment variable HOOK_SECRET is not set" in service.log.getvalue()


def test_neither_secrets_nor_urls_are_logged(database: Database) -> None:
    service = Service(database, 500, 410)
    service.send()
    service.now = 2000.0
    service.send()
    assert "hunter2" not in service.log.getvalue()
    assert "hooks.example" not in service.log.getvalue()


# --- the network --------------------------------------------------------------------------------------------------


class _Handler(BaseHTTPRequestHandler):
    def do_POST(self) -> None:
        received: list[tuple[str, bytes]] = self.server.received  # type: ignore[attr-defined]
        received.append((self.path, self.rfile.read(int(self.headers["content-length"]))))
        self.send_response(302 if self.path == "/redirect" else 204)
        self.send_header("location", "/other")
        self.end_headers()

    def log_message(self, *_: object) -> None: ...


@pytest.fixture
def receiver() -> Iterator[HTTPServer]:
    with HTTPServer(("127.0.0.1", 0), _Handler) as server:
        server.received = []  # type: ignore[attr-defined]
        thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield server
        server.shutdown()
        thread.join()


def test_a_post_reaches_a_network_that_the_operator_allows(receiver: HTTPServer) -> None:
    url = f"http://127.0.0.1:{receiver.server_port}"
    post = partial(post_guarded, LOOPBACK)
    assert asyncio.run(post(f"{url}/hook", {"x": "y"}, '{"é": 1}')) == 204
    assert asyncio.run(post(f"{url}/redirect", {}, "{}")) == 302
    assert receiver.received == [("/hook", '{"é": 1}'.encode()), ("/redirect", b"{}")]  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    "url",
    [
        "http://127.0.0.1:PORT/",
        "http://localhost:PORT/",
        "http://[::1]:PORT/",
        "http://[::ffff:127.0.0.1]:PORT/",
        "http://2130706433:PORT/",
        "http://0x7f.1:PORT/",
        "http://169.254.169.254/latest/meta-data",
        "http://10.0.0.1/",
        "http://user@127.0.0.1:PORT/",
        "ftp://hooks.example/",
    ],
)
def test_a_post_goes_only_to_public_addresses(receiver: HTTPServer, url: str) -> None:
    with pytest.raises(WebhookError):
        asyncio.run(post_guarded(NetworkPolicy("public"), url.replace("PORT", str(receiver.server_port)), {}, "{}"))
    assert receiver.received == []  # type: ignore[attr-defined]


def test_a_receiver_that_cannot_be_reached_is_reported_without_its_url() -> None:
    with HTTPServer(("127.0.0.1", 0), _Handler) as server:
        port = server.server_port
    with pytest.raises(WebhookError) as refused:
        asyncio.run(post_guarded(LOOPBACK, f"http://127.0.0.1:{port}/secret-path", {}, "{}"))
    assert refused.value.message == "cannot be reached (ConnectError)"

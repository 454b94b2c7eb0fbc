"""Who sends a request, and how much a client may use at once."""

from __future__ import annotations

import asyncio
import socket
import threading
import time
import tracemalloc
from contextlib import ExitStack, contextmanager, suppress
from ipaddress import ip_network
from typing import TYPE_CHECKING, Any
from urllib.parse import urlencode

import pytest
import uvicorn
from hypothesis import given
from hypothesis import strategies as st
from starlette.responses import PlainTextResponse
from starlette.testclient import TestClient

from mcproof.services.web import rendering
from mcproof.services.web import server as serving
from mcproof.services.web.access import BusyError
from mcproof.services.web.clients import Shares, TrustedProxies, client_of
from mcproof.services.web.protection import TimedConnection, form_fields
from mcproof.services.web.server import WebSettings, create_service

if TYPE_CHECKING:
    from collections.abc import Iterator

    from mcproof.services.store.database import Database

URLENCODED = "application/x-www-form-urlencoded"
MULTIPART = "multipart/form-data; boundary=b"


# --- forms --------------------------------------------------------------------------------------------------------


def part(head: bytes, content: bytes = b"x") -> bytes:
    return b"--b\r\n" + head + b"\r\n\r\n" + content + b"\r\n--b--\r\n"


@pytest.mark.parametrize(
    ("head", "name"),
    [
        (b'Content-Disposition: form-data; name="url"', "url"),
        (b'content-disposition:form-data;name="url"', "url"),
        (b'Content-Disposition: form-data; name="file"; filename="name.json"\r\nContent-Type: text/plain', "file"),
        (b'Content-Type: text/plain\r\nContent-Disposition: form-data; filename=a; name="file"', "file"),
    ],
)
def test_the_parts_of_a_form_have_names(head: bytes, name: str) -> None:
    assert form_fields(MULTIPART, part(head)) == {name: b"x"}
    assert form_fields('Multipart/Form-Data; charset=utf-8; boundary="b"', part(head)) == {name: b"x"}


@given(st.dictionaries(st.text(min_size=1), st.text(), min_size=1, max_size=10))
def test_a_form_in_the_coding_of_urls_is_read_as_it_was_written(fields: dict[str, str]) -> None:
    body = urlencode(fields).encode()
    assert form_fields(URLENCODED, body) == {name: value.encode() for name, value in fields.items()}


@pytest.mark.parametrize("escape", [b"%", b"%41", b"+", b"%4", b"%zz"])
def test_a_form_full_of_escapes_takes_little_memory(escape: bytes) -> None:
    body = b"a=" + escape * (2_000_000 // len(escape))
    tracemalloc.start()
    try:
        (value,) = form_fields(URLENCODED, body).values()
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert len(value) <= 2_000_000
    assert peak < 5 * len(body) + 5_000_000


@pytest.mark.parametrize(
    ("content_type", "body"),
    [
        (URLENCODED, b"&" * 100),
        (URLENCODED, b"%ff=x"),
        ("multipart/form-data", part(b'Content-Disposition: form-data; name="url"')),
        ("multipart/form-data; boundary=", part(b'Content-Disposition: form-data; name="url"')),
        (MULTIPART, part(b'Content-Disposition: form-data; filename="url"')),
        (MULTIPART, part(b'Content-Disposition: attachment; name="url"')),
        (MULTIPART, part(b'X: y; name="url"')),
        (MULTIPART, part(b"Content-Disposition: form-data; name=" + b'"' + b"n" * 2000 + b'"')),
        (MULTIPART, part(b'Content-Disposition: form-data; name="\xff"')),
        (MULTIPART, b""),
        (MULTIPART, b"--b\r\n" * 100),
    ],
)
def test_what_is_no_form_is_refused(content_type: str, body: bytes) -> None:
    with pytest.raises(Exception, match="the form cannot be read"):
        form_fields(content_type, body)


HOSTILE_HEADS = {
    "comments": b"Content-Disposition: " + b"(" * 1_000_000,
    "quotes": b"Content-Disposition: form-data; name=" + b'"\\' * 500_000,
    "parameters": b"Content-Disposition: form-data" + b"; a=b" * 200_000,
    "lines": b"\r\n ".join([b"a"] * 200_000),
}


@pytest.mark.parametrize("case", HOSTILE_HEADS)
def test_a_hostile_head_is_not_parsed(case: str) -> None:
    """The parser of the standard library would take minutes."""
    head = HOSTILE_HEADS[case]
    with pytest.raises(Exception, match="the form cannot be read"):
        form_fields(MULTIPART, part(head))
    with pytest.raises(Exception, match="the form cannot be read"):
        form_fields("multipart/form-data; " + head.decode(), part(b'Content-Disposition: form-data; name="a"'))


def test_names_of_files_that_do_not_exist_are_not_remembered(database: Database) -> None:
    web = TestClient(create_service(database, WebSettings(hosts=("testserver",))))
    assert web.get("/assets/web.css").status_code == 200
    before = rendering._asset.cache_info().currsize
    for number in range(5):
        assert web.get(f"/assets/{number}.css").status_code == 404
    assert rendering._asset.cache_info().currsize == before


# --- shares -------------------------------------------------------------------------------------------------------


def test_a_client_has_a_share_and_all_have_a_limit() -> None:
    shares = Shares(10, 15)
    with shares.share("a") as first, shares.share("a") as second, shares.share("b") as other:
        first.add(6)
        second.add(4)
        with pytest.raises(BusyError) as refused:
            second.add(1)
        assert refused.value.is_client
        other.add(5)
        with pytest.raises(BusyError) as refused:
            other.add(1)
        assert not refused.value.is_client
        first.release()
        second.add(6)
    with shares.share("c") as third:
        third.add(10)


def test_bodies_that_do_not_end_are_limited(database: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(serving, "BODIES_OF_CLIENT", 200_000)
    monkeypatch.setattr(serving, "BODIES", 1_000_000)
    app = create_service(database, WebSettings(hosts=("testserver",)))
    web = TestClient(app)

    async def posts_without_end() -> None:
        done = asyncio.Event()
        sent = [{"type": "http.request", "body": b"x" * 150_000, "more_body": True}]

        async def receive() -> Any:
            if sent:
                return sent.pop()
            await done.wait()
            return {"type": "http.disconnect"}

        async def ignore(_: Any) -> None:
            pass

        task = asyncio.create_task(app(_post("testclient"), receive, ignore))
        while sent:
            await asyncio.sleep(0.01)
        refused = await asyncio.to_thread(web.post, "/api/v1/lint", content=b"x" * 100_000)
        assert (refused.status_code, refused.headers["retry-after"]) == (429, "20")
        assert "too much is asked for at once" in refused.json()["detail"]
        done.set()
        await task

    asyncio.run(posts_without_end())
    assert web.post("/api/v1/lint", content=b"x" * 100_000).status_code != 429
    assert not app.state.unread_bodies._used


def _post(client: str) -> Any:
    return {
        "type": "http",
        "method": "POST",
        "path": "/api/v1/lint",
        "query_string": b"",
        "headers": [(b"host", b"testserver")],
        "client": (client, 1),
        "scheme": "http",
        "server": ("testserver", 80),
        "http_version": "1.1",
    }


async def answer(scope: Any, receive: Any, send: Any) -> None:
    await PlainTextResponse("ok")(scope, receive, send)


async def answer_when_read(scope: Any, receive: Any, send: Any) -> None:
    while (message := await receive()).get("more_body"):
        pass
    if message["type"] == "http.request":
        await answer(scope, receive, send)


@contextmanager
def listening(application: Any = answer, **members: Any) -> Iterator[tuple[str, int]]:
    protocol = type("Connection", (TimedConnection,), members)
    server = uvicorn.Server(uvicorn.Config(application, http=protocol, lifespan="off", log_config=None))
    with socket.create_server(("127.0.0.1", 0)) as listener:
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]})
        thread.start()
        yield listener.getsockname()
        server.should_exit = True
        thread.join()


def is_served(connection: socket.socket) -> bool:
    try:
        connection.sendall(b"GET / HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
        return connection.recv(12) == b"HTTP/1.1 200"
    except OSError:
        return False


@pytest.mark.parametrize(("proxies", "served"), [((), 3), ((ip_network("127.0.0.0/8"),), 5)])
def test_a_client_has_a_number_of_connections(proxies: tuple[Any, ...], served: int) -> None:
    with listening(places=Shares(3, 5), proxies=proxies) as address, ExitStack() as stack:
        connections = [stack.enter_context(socket.create_connection(address, timeout=30)) for _ in range(8)]
        time.sleep(0.5)  # until the service has seen all of them
        assert [is_served(connection) for connection in connections] == [True] * served + [False] * (8 - served)
        time.sleep(0.5)
        with socket.create_connection(address, timeout=30) as another:
            assert is_served(another)


@pytest.mark.parametrize(("chunk", "status"), [(b"1\r\nx\r\n" * 3000, b""), (b"c8\r\n" + b"x" * 200 + b"\r\n", b"200")])
def test_a_body_in_tiny_chunks_is_not_read(chunk: bytes, status: bytes) -> None:
    """A chunk costs as much as 100 kB in one piece: 60 bodies of 1.5 MB stopped the service for a minute."""
    with listening(answer_when_read) as address, socket.create_connection(address, timeout=30) as client:
        received = b""
        with suppress(OSError):
            client.sendall(b"POST / HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n")
            client.sendall(chunk * 3000 if status else chunk)
            client.sendall(b"0\r\n\r\n")
            received = client.recv(12)
        assert received[9:] == status


def test_a_mapped_address_is_a_client_of_its_own() -> None:
    assert client_of({"client": ("::ffff:192.0.2.7", 1)}) == "192.0.2.7"
    assert client_of({"client": ("2001:db8::7", 1)}) == "2001:db8::/64"


# --- proxies ------------------------------------------------------------------------------------------------------

NETWORKS = (ip_network("10.0.0.0/8"), ip_network("fd00::/8"))


@pytest.mark.parametrize(
    ("peer", "headers", "client"),
    [
        ("10.0.0.1", {"x-forwarded-for": "192.0.2.7"}, "192.0.2.7"),
        ("10.0.0.1", {"x-forwarded-for": "6.6.6.6, 192.0.2.7"}, "192.0.2.7"),
        ("10.0.0.1", {"x-forwarded-for": "6.6.6.6, 192.0.2.7, 10.9.9.9"}, "192.0.2.7"),
        ("10.0.0.1", {"x-forwarded-for": "192.0.2.7:1234"}, "192.0.2.7"),
        ("10.0.0.1", {"forwarded": 'for=6.6.6.6, for="[2001:db8::7]:99";proto=https'}, "2001:db8::7"),
        ("10.0.0.1", {"forwarded": "proto=https;for=192.0.2.7"}, "192.0.2.7"),
        ("fd00::1", {"forwarded": "For=192.0.2.7"}, "192.0.2.7"),
        ("10.0.0.1", {"forwarded": "for=192.0.2.7", "x-forwarded-for": "192.0.2.7"}, "192.0.2.7"),
        ("10.0.0.1", {"forwarded": "for=6.6.6.6", "x-forwarded-for": "192.0.2.7"}, "10.0.0.1"),
        ("10.0.0.1", {"forwarded": "for=_hidden"}, "10.0.0.1"),
        ("10.0.0.1", {"forwarded": "for=unknown"}, "10.0.0.1"),
        ("10.0.0.1", {"forwarded": "by=10.0.0.2"}, "10.0.0.1"),
        ("10.0.0.1", {"x-forwarded-for": "not an address"}, "10.0.0.1"),
        ("10.0.0.1", {"x-forwarded-for": "10.0.0.3"}, "10.0.0.1"),
        ("10.0.0.1", {}, "10.0.0.1"),
        ("192.0.2.1", {"x-forwarded-for": "6.6.6.6"}, "192.0.2.1"),
        ("192.0.2.1", {"forwarded": "for=6.6.6.6"}, "192.0.2.1"),
    ],
)
def test_only_a_trusted_proxy_says_who_the_client_is(peer: str, headers: dict[str, str], client: str) -> None:
    seen: list[str] = []

    async def see(scope: Any, *_: Any) -> None:
        seen.append(scope["client"][0])

    coded = [(name.encode(), value.encode()) for name, value in headers.items()]
    scope: Any = {"type": "http", "client": (peer, 1), "headers": coded}
    asyncio.run(TrustedProxies(see, NETWORKS)(scope, None, None))  # type: ignore[arg-type]
    assert seen == [client]


def test_visitors_behind_a_proxy_are_counted_one_by_one(database: Database) -> None:
    settings = WebSettings(hosts=("testserver",), requests_a_minute=2, proxies=NETWORKS)
    web = TestClient(create_service(database, settings), client=("10.0.0.1", 1))
    statuses = [
        web.get("/", headers={"x-forwarded-for": f"192.0.2.{visitor}"}).status_code for visitor in (1, 1, 1, 2, 2, 2)
    ]
    assert statuses == [200, 200, 429, 200, 200, 429]

"""The loopback callback: one response, from the browser's own navigation, with the right state."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import pytest

from mcproof.client.auth import login as module
from mcproof.client.auth.login import listening
from mcproof.client.errors import AuthorizationError

if TYPE_CHECKING:
    from collections.abc import Callable

    from mcproof.client.auth.login import LoopbackCallback

GOOD = "GET /callback?state=right&code=c HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\n\r\n"


async def sent(callback: LoopbackCallback, request: str) -> str:
    reader, writer = await asyncio.open_connection("127.0.0.1", callback.port)
    writer.write(request.format(port=callback.port).encode("latin-1"))
    response = await reader.read()
    writer.close()
    return response.decode()


def after(*requests: str) -> tuple[list[str], dict[str, str] | str, bool]:
    """The responses to some requests, the result of the login, and whether the port is free again."""

    async def play() -> tuple[list[str], dict[str, str] | str, bool]:
        result: dict[str, str] | str
        async with listening("right", 0, is_required=False) as callback:
            responses = [await sent(callback, each) for each in requests]
            try:
                result = await callback.response(0.05)
            except AuthorizationError as error:
                result = error.message
        try:
            await asyncio.open_connection("127.0.0.1", callback.port)
        except ConnectionRefusedError:
            return responses, result, True
        return responses, result, False

    return asyncio.run(play())


def test_the_response_ends_the_wait_and_nothing_listens_afterwards() -> None:
    (page,), result, is_free = after(GOOD)
    assert page.startswith("HTTP/1.1 200 OK\r\n")
    assert "mcproof has the response" in page
    assert result == {"state": "right", "code": "c"}
    assert is_free


def test_a_login_that_nobody_finishes_ends() -> None:
    _, result, is_free = after()
    assert result == "nobody logged in within 0.05 seconds"
    assert is_free


@pytest.mark.parametrize(
    ("request_", "status"),
    [
        (GOOD.replace("/callback", "/"), 404),
        (GOOD.replace("/callback", "/callback/"), 404),
        (GOOD.replace("/callback", "/favicon.ico"), 404),
        (GOOD.replace("/callback", "http://evil.example/callback"), 404),
        (GOOD.replace("GET", "POST"), 405),
        (GOOD.replace("Host: 127.0.0.1:{port}", "Host: evil.example:{port}"), 400),
        (GOOD.replace("Host: 127.0.0.1:{port}", "Host: localhost:{port}"), 400),
        (GOOD.replace("Host: 127.0.0.1:{port}", "X: y"), 400),
        (GOOD.replace("\r\n\r\n", "\r\nHost: evil.example\r\n\r\n"), 400),
        (GOOD.replace("\r\n\r\n", "\r\nOrigin: https://evil.example\r\n\r\n"), 403),
        (GOOD.replace("\r\n\r\n", "\r\nSec-Fetch-Mode: no-cors\r\n\r\n"), 403),
        (GOOD.replace("\r\n\r\n", "\r\nSec-Fetch-Mode: navigate\r\nSec-Fetch-Dest: iframe\r\n\r\n"), 403),
        (GOOD.replace("state=right&", ""), 400),
        (GOOD.replace("code=c", "code=c&code=d"), 400),
        (GOOD.replace("code=c", "state=right"), 400),
        (GOOD.replace("code=c", "&".join(f"a{n}=1" for n in range(60))), 400),
        (GOOD.replace("HTTP/1.1", "FTP"), 400),
        ("hello\r\n\r\n", 400),
    ],
)
def test_other_requests_are_refused_and_change_nothing(request_: str, status: int) -> None:
    (refusal, page), result, _ = after(request_, GOOD)
    assert refusal.startswith(f"HTTP/1.1 {status} ")
    assert page.startswith("HTTP/1.1 200 ")
    assert result == {"state": "right", "code": "c"}


def test_a_navigation_of_a_current_browser_is_taken() -> None:
    headers = "\r\nSec-Fetch-Mode: navigate\r\nSec-Fetch-Dest: document\r\nSec-Fetch-Site: cross-site\r\n\r\n"
    (page,), _, _ = after(GOOD.replace("\r\n\r\n", headers))
    assert page.startswith("HTTP/1.1 200 ")


def test_a_wrong_state_ends_the_login() -> None:
    (page,), result, is_free = after(GOOD.replace("state=right", "state=old"))
    assert page.startswith("HTTP/1.1 400 ")
    assert result == "the authorization response has a wrong `state`: it is not for this login"
    assert is_free


def test_a_second_response_is_not_taken() -> None:
    (_, page), result, _ = after(GOOD, GOOD.replace("code=c", "code=d"))
    assert page.startswith("HTTP/1.1 400 ")
    assert result == {"state": "right", "code": "c"}


def test_no_value_of_a_request_is_on_the_page() -> None:
    (page,), _, _ = after(GOOD.replace("code=c", "code=<script>alert(1)</script>"))
    assert "script" not in page
    assert "Content-Security-Policy: default-src 'none'" in page


def test_a_request_that_is_too_long_or_never_ends_changes_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "READ_SECONDS", 0.05)
    (long, unfinished, page), result, _ = after("GET /" + "x" * 70_000, "GET /callback", GOOD)
    assert long == unfinished == ""
    assert page.startswith("HTTP/1.1 200 ")
    assert result == {"state": "right", "code": "c"}


def _taken(is_required: bool) -> Callable[[], None]:
    async def play() -> None:
        async with (
            listening("one", 0, is_required=False) as first,
            listening("two", first.port, is_required=is_required) as second,
        ):
            assert second.port != first.port

    return lambda: asyncio.run(play())


def test_another_port_is_used_if_the_known_one_is_taken() -> None:
    _taken(is_required=False)()


def test_a_required_port_that_is_taken_is_an_error() -> None:
    with pytest.raises(AuthorizationError, match=r"^cannot listen on 127\.0\.0\.1:\d+ for the login: "):
        _taken(is_required=True)()

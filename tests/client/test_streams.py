"""Streamable HTTP beyond one request: streams that are resumed, the server's own stream, sessions, and headers."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

import pytest

from mcproof.client.connect import ConnectOptions
from mcproof.client.endpoints import UrlEndpoint
from mcproof.client.http import fetch
from mcproof.client.session import Session
from mcproof.client.transports import streamable_http
from servers import streams
from servers.web import FAULTS

from .running import PATIENT, captured, refused, tool_names

if TYPE_CHECKING:
    from collections.abc import Iterable

    from mcproof.client.session import Response
    from servers.web import Web

ENDED = "the event stream ended without the response"


def called(
    web: Web, *calls: dict[str, Any], lists: bool = False, limit: float = 30, protocol: str | None = None
) -> tuple[list[Response], Session]:
    """The responses to calls with these arguments, one after the other, and the closed session."""

    async def call() -> tuple[list[Response], Session]:
        session = Session(UrlEndpoint(web.url, {}), ConnectOptions(PATIENT, protocol), limit)
        try:
            if lists:
                await session.send("tools/list", None)
            return [
                await session.send("tools/call", {"name": "find_region", "arguments": arguments})
                for arguments in calls or ({},)
            ], session
        finally:
            await session.close()

    return asyncio.run(call())


def outcomes(responses: Iterable[Response]) -> list[tuple[str, str]]:
    return [(each.outcome, each.why) for each in responses]


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """No test waits longer than it must."""
    monkeypatch.setattr(streamable_http, "SHORTEST_WAIT", 0.001)
    monkeypatch.setattr(streamable_http, "DEFAULT_WAIT", 0.001)


# Resuming.


@pytest.mark.parametrize(
    ("fault", "last_ids"),
    [
        ("resumable", ["1-0"]),
        ("resumed-often", ["1-0", "1-1", "1-2"]),
        ("breaks-in-event", ["a"]),
        ("breaks-connection", ["1-0"]),
        ("negative-retry", ["1"]),
        ("word-retry", ["1"]),
        ("large-event", ["1-0"]),
    ],
)
def test_a_stream_that_ends_is_resumed_after_its_last_event(fault: str, last_ids: list[str]) -> None:
    web = FAULTS[fault]()
    with web:
        responses, _ = called(web)
    assert outcomes(responses) == [("accepted", "")]
    resumed = [each for each in web.requests if "last-event-id" in each.headers]
    assert [each.headers["last-event-id"] for each in resumed] == last_ids
    assert {each.headers["accept"] for each in resumed} == {"text/event-stream"}
    assert {each.headers["mcp-protocol-version"] for each in resumed} == {"2025-11-25"}
    assert sum(each.method == "tools/call" for each in web.requests) == 1


def test_an_event_id_is_sent_as_utf8() -> None:
    with FAULTS["not-ascii-id"]() as web:
        responses, _ = called(web)
    assert outcomes(responses) == [("accepted", "")]
    (resumed,) = [each for each in web.requests if "last-event-id" in each.headers]
    assert resumed.headers["last-event-id"].encode("latin-1").decode() == "é-世"


def test_the_server_decides_how_long_to_wait(monkeypatch: pytest.MonkeyPatch) -> None:
    waits: list[float] = []
    sleep = asyncio.sleep

    async def wait(seconds: float) -> None:
        waits.append(seconds)
        await sleep(0)

    monkeypatch.setattr("mcproof.client.transports.streamable_http.asyncio.sleep", wait)
    with FAULTS["resumable"]() as web:
        called(web)
    assert [each for each in waits if each] == [0.01]


@pytest.mark.parametrize(
    ("fault", "why"),
    [
        ("control-id", ENDED),
        ("null-id", ENDED),
        ("long-id", ENDED),
        ("huge-retry", f"{ENDED}, and the server wants 1,000,000,000 seconds before it is resumed"),
        ("not-resumed", f"{ENDED}, and the server does not resume it: HTTP 405 (no content type)"),
        ("resumed-as-page", f"{ENDED}, and the server does not resume it: HTTP 200 (text/html)"),
        ("resumed-without-end", "the event stream was resumed 5 times without the response"),
    ],
)
def test_a_stream_that_cannot_be_resumed_is_lost(fault: str, why: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(streamable_http, "MOST_RESUMPTIONS", 5)
    with FAULTS[fault]() as web:
        responses, _ = called(web)
    assert outcomes(responses) == [("crash", why)]
    assert not [each for each in web.requests if "mcp-evil" in each.headers]


@pytest.mark.parametrize("fault", ["resumed-hanging", "resumed-without-end"])
def test_resuming_does_not_outlast_the_time_limit(fault: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(streamable_http, "MOST_RESUMPTIONS", 10**9)
    with FAULTS[fault]() as web:
        responses, _ = called(web, limit=0.5)
    assert outcomes(responses) == [("hang", "no response within 0.5 seconds")]


def test_a_stateless_stream_is_not_resumed() -> None:
    class Ends(streams.Headers, fault="stateless-stream-ends"):
        async def handle(self, request: Any) -> None:
            if request.method == "tools/call":
                await self.respond(200, b"id: 1\nretry: 1\ndata:\n\n", "text/event-stream")
            else:
                await super().handle(request)

    with Ends() as web:
        responses, _ = called(web)
    assert outcomes(responses) == [("crash", ENDED)]
    assert {each.verb for each in web.requests} == {"POST"}


# The server's own stream.


def test_a_server_may_ask_on_its_own_stream_during_a_call() -> None:
    with streams.Asks() as web:
        responses, _ = called(web, {}, {})
    assert outcomes(responses) == [("accepted", "")] * 2
    assert len(web.seen("GET")) == 1


def test_listing_opens_no_stream() -> None:
    with streams.Asks() as web:
        assert tool_names(captured(UrlEndpoint(web.url, {}))) == ["find_book", "lend_book"]
    assert web.seen("GET") == []


@pytest.mark.parametrize("fault", ["calls", "stream-without-head", "stream-is-page", "stream-ends", "stream-floods"])
def test_a_stream_that_is_not_offered_stops_no_call(fault: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(streamable_http, "OPENING", 0.05)
    monkeypatch.setattr(fetch, "LARGEST_BODY", 100_000)
    with FAULTS[fault]() as web:
        responses, _ = called(web, {}, {})
    assert outcomes(responses) == [("accepted", "")] * 2


def test_an_own_stream_is_opened_a_limited_number_of_times(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(streamable_http, "MOST_RESUMPTIONS", 3)
    with streams.StreamEnds() as web:
        called(web, *[{}] * 5)
    assert len(web.seen("GET")) == 3


# Sessions.


def test_an_expired_session_is_replaced_and_the_request_sent_again() -> None:
    with streams.Expiring() as web:
        responses, session = called(web, *[{}] * 5)
    assert outcomes(responses) == [("accepted", "")] * 5
    assert session.memory.expired_sessions == 1
    assert list(web.sessions) == ["s-0", "s-1"]
    initialized = [each for each in web.requests if each.method == "notifications/initialized"]
    assert [each.headers["mcp-session-id"] for each in initialized] == ["s-0", "s-1"]
    assert [each.headers["mcp-session-id"] for each in web.seen("DELETE")] == ["s-1"]


def test_concurrent_requests_start_one_new_session() -> None:
    async def call(url: str) -> Session:
        session = Session(UrlEndpoint(url, {}), ConnectOptions(PATIENT), 30)
        for _ in range(3):
            await session.send("tools/call", {"name": "a", "arguments": {}})
        batch = await session.send_together([("tools/call", {"name": "a", "arguments": {}})] * 3)
        assert batch.responses is not None
        await session.close()
        return session

    with streams.Expiring() as web:
        session = asyncio.run(call(web.url))
    assert session.memory.expired_sessions == 1
    assert len(web.sessions) == 2


def test_a_session_that_expires_at_once_is_replaced_once() -> None:
    with streams.ExpiresAtOnce() as web:
        responses, _ = called(web, {})
    assert outcomes(responses) == [("malformed", "the server has ended the session (HTTP 404)")]
    assert len(web.sessions) == 2


def test_a_second_handshake_does_not_wait_for_its_notification() -> None:
    class Mute(streams.Expiring, fault="mute-notification"):
        async def handle(self, request: Any) -> None:
            if request.headers.get("mcp-session-id") == "s-1" and request.method.startswith("notifications/"):
                await asyncio.Event().wait()
            await super().handle(request)

    async def call(url: str) -> list[Response]:
        session = Session(UrlEndpoint(url, {}), ConnectOptions(PATIENT._replace(grace=0.1)), 30)
        try:
            return [await session.send("tools/call", {"name": "a", "arguments": {}}) for _ in range(5)]
        finally:
            await session.close()

    with Mute() as web:
        assert outcomes(asyncio.run(call(web.url))) == [("accepted", "")] * 5


def test_a_404_in_a_living_session_is_an_error_like_any_other() -> None:
    with streams.NothingFound() as web:
        responses, session = called(web, {}, {})
    assert [each.code for each in responses] == [-32602, -32602]
    assert session.memory.expired_sessions == 0
    assert len(web.sessions) == 1


# Parameters in headers.

ARGUMENTS = {"region": "us-west1", "limit": 3, "nested": {"deep": True}}


@pytest.mark.parametrize("arguments", [ARGUMENTS, {}, {"region": None, "nested": {}}, {"nested": "x"}])
def test_annotated_arguments_are_repeated_in_headers(arguments: dict[str, Any]) -> None:
    with streams.Headers() as web:
        responses, _ = called(web, arguments, lists=True)
    assert outcomes(responses) == [("accepted", "")]


def test_a_call_that_lacks_headers_is_repeated_after_a_listing() -> None:
    with streams.Headers() as web:
        responses, _ = called(web, ARGUMENTS, ARGUMENTS)
    assert outcomes(responses) == [("accepted", "")] * 2
    methods = [each.method for each in web.requests]
    assert methods == ["server/discover", "tools/call", "tools/list", "tools/call", "tools/call"]


def test_headers_that_never_match_are_looked_up_once() -> None:
    with streams.AlwaysMismatch() as web:
        responses, _ = called(web, ARGUMENTS, ARGUMENTS)
    assert [each.code for each in responses] == [-32020, -32020]
    methods = [each.method for each in web.requests]
    assert methods == ["server/discover", "tools/call", "tools/list", "tools/call", "tools/call"]


def test_sessions_share_what_is_known_of_headers() -> None:
    async def call(url: str) -> Response:
        session = Session(UrlEndpoint(url, {}), ConnectOptions(PATIENT), 30)
        await session.send("tools/list", None)
        other = session.new_session()
        response = await other.send("tools/call", {"name": "find_region", "arguments": ARGUMENTS})
        await session.close()
        await other.close()
        return response

    with streams.Headers() as web:
        assert asyncio.run(call(web.url)).outcome == "accepted"
    assert [each.method for each in web.requests].count("tools/call") == 1


def test_the_stateless_era_has_no_sessions() -> None:
    with streams.SetsSession() as web:
        called(web, {}, {})
    assert {each.verb for each in web.requests} == {"POST"}
    assert not [each for each in web.requests if "mcp-session-id" in each.headers]


def test_the_stateless_era_cancels_by_closing_the_stream() -> None:
    with streams.HangingCall() as web:
        responses, _ = called(web, limit=1)
    assert outcomes(responses) == [("hang", "no response within 1 second")]
    assert [each.method for each in web.requests] == ["server/discover", "tools/call"]


# Revisions.


@pytest.mark.parametrize("protocol", [None, "2026-07-28"])
def test_a_refused_revision_that_is_supported_is_tried_again(protocol: str | None) -> None:
    with FAULTS["refuses-revision-once"]() as web:
        capture = captured(UrlEndpoint(web.url, {}), protocol=protocol)
    assert (capture.connection.era, capture.connection.requested) == ("stateless", "2026-07-28")
    assert [each.method for each in web.requests] == ["server/discover", "server/discover", "tools/list"]


def test_a_revision_that_is_always_refused_is_an_error() -> None:
    with FAULTS["refuses-revision-always"]() as web:
        message = refused(UrlEndpoint(web.url, {}))
    assert message == "no common protocol revision: the server supports 2026-07-28"
    assert len(web.requests) == 2


def test_a_handshake_is_repeated_in_a_revision_that_the_server_supports() -> None:
    with FAULTS["older-revision-only"]() as web:
        capture = captured(UrlEndpoint(web.url, {}))
    assert (capture.connection.requested, capture.connection.agreed) == ("2025-06-18", "2025-06-18")
    assert {each.headers.get("mcp-protocol-version") for each in web.requests[3:]} == {"2025-06-18"}


def test_a_revision_that_the_user_names_is_not_changed() -> None:
    with FAULTS["older-revision-only"]() as web:
        message = refused(UrlEndpoint(web.url, {}), protocol="2025-11-25")
    assert message == "the server refuses `initialize`: error -32602: Unsupported protocol version"

"""Servers over both HTTP transports, each with one fault."""

from __future__ import annotations

import socket

import pytest

from mcproof.client.endpoints import UrlEndpoint
from mcproof.client.http import fetch
from mcproof.client.transports import sse
from mcproof.client.transports.sse import EventParser
from servers.web import FAULTS, MessagesFirst, Web

from .running import PATIENT, captured, document, noted, refused, tool_names

NAMES = ["find_book", "lend_book"]


def endpoint(web: Web, query: str = "", **headers: str) -> UrlEndpoint:
    return UrlEndpoint(web.url + query, headers)


GOOD = [
    "json",
    "events",
    "events-left-open",
    "events-with-noise",
    "events-with-crlf",
    "events-on-several-lines",
    "events-drip",
    "gzip",
    "multi-line",
    "refuses-notification",
    "stream-for-notification",
]


@pytest.mark.parametrize("fault", GOOD)
def test_a_good_server_shows_nothing(fault: str) -> None:
    with FAULTS[fault]() as web:
        capture = captured(endpoint(web))
    assert tool_names(capture) == NAMES
    assert capture.connection == capture.connection._replace(
        transport="http",
        era="handshake",
        requested="2025-11-25",
        agreed="2025-11-25",
        anomalies=(),
        unserved=(),
        ending=None,
    )
    assert document(capture)["server"] == {"url": web.url}


def test_every_message_says_what_it_accepts_and_later_ones_the_revision() -> None:
    with Web() as web:
        captured(endpoint(web, Authorization="Bearer x"))
    assert [each.method for each in web.requests] == [
        "server/discover",
        "initialize",
        "notifications/initialized",
        "tools/list",
    ]
    for each in web.requests:
        assert each.headers["accept"] == "application/json, text/event-stream"
        assert each.headers["content-type"] == "application/json"
        assert each.headers["authorization"] == "Bearer x"
        assert each.headers["user-agent"] == "mcproof"
    assert [each.headers.get("mcp-protocol-version") for each in web.requests] == [
        "2026-07-28",
        None,
        "2025-11-25",
        "2025-11-25",
    ]


def test_a_session_is_kept_and_ended_and_asking_for_it_is_no_fault() -> None:
    with FAULTS["session"]() as web:
        capture = captured(endpoint(web))
    assert tool_names(capture) == NAMES
    assert capture.connection.anomalies == ()
    assert [(each.verb, each.headers.get("mcp-session-id")) for each in web.requests] == [
        ("POST", None),
        ("POST", None),
        ("POST", "s-4711"),
        ("POST", "s-4711"),
        ("DELETE", "s-4711"),
    ]


def test_a_session_and_a_revision_that_no_header_can_carry_are_not_sent() -> None:
    with FAULTS["odd-session"]() as web:
        capture = captured(endpoint(web))
    assert tool_names(capture) == NAMES
    assert capture.connection.agreed == "2025\r\nX-Evil: 1 \u2028"
    for each in web.requests[1:]:
        assert not {"mcp-session-id", "mcp-protocol-version", "x-evil"} & set(each.headers)


def test_a_server_may_ask_in_its_stream_and_gets_an_answer_before_it_goes_on() -> None:
    with MessagesFirst() as web:
        capture = captured(endpoint(web))
    assert tool_names(capture) == NAMES
    assert noted(capture) == [("unexpected-request", "roots/list")] * 3
    refusal = {"code": -32601, "message": "this client has no such method"}
    assert {"jsonrpc": "2.0", "id": "s1", "result": {}} in web.replies
    assert {"jsonrpc": "2.0", "id": "s2", "error": refusal} in web.replies


@pytest.mark.parametrize(
    ("fault", "expected"),
    [
        ("wrong-content-type", [("content-type", "text/plain")]),
        ("no-content-type", [("content-type", "none")]),
        ("wrong-id", [("wrong-id", "4711 for the request 3")]),
        ("events-with-garbage", [("not-json", "starting")]),
    ],
)
def test_a_fault_is_noted_and_the_tools_are_found(fault: str, expected: list[tuple[str, str]]) -> None:
    with FAULTS[fault]() as web:
        capture = captured(endpoint(web))
    assert noted(capture) == expected
    assert tool_names(capture) == NAMES


@pytest.mark.parametrize(
    ("fault", "instead", "expected"),
    [
        (
            "events-truncated",
            "the event stream ended without the response",
            [("truncated", "the event stream ended inside an event")],
        ),
        ("events-without-answer", "the event stream ended without the response", []),
        ("empty-body", "HTTP 200 without a body", []),
        ("202-for-request", "HTTP 202 without a body", []),
        (
            "200-with-html",
            "the response is not JSON-RPC: <html>Welcome</html>",
            [("content-type", "text/html"), ("not-json", "<html>Welcome</html>")],
        ),
        ("500-with-html", "the server returns HTTP 500 (text/html): <html> <h1>Oops</h1> </html>", []),
        ("400-with-json-rpc", "error -32600: no books", []),
        ("400-with-other-json", 'the server returns HTTP 400 (application/json): {"error": "no books"}', []),
        ("closes-at-once", "the connection broke: Server disconnected without sending a response", []),
        (
            "bad-gzip",
            "the connection broke: Error -3 while decompressing data: incorrect header check",
            [],
        ),
    ],
)
def test_a_list_that_is_not_served_is_no_end(fault: str, instead: str, expected: list[tuple[str, str]]) -> None:
    with FAULTS[fault]() as web:
        capture = captured(endpoint(web))
    assert capture.connection.unserved == (("tools/list", instead),)
    assert noted(capture) == expected
    assert document(capture)["tools"] == []


@pytest.mark.parametrize("fault", ["closes-in-body", "not-http"])
def test_a_connection_that_breaks_is_said_to_break(fault: str) -> None:
    with FAULTS[fault]() as web:
        capture = captured(endpoint(web))
    ((method, instead),) = capture.connection.unserved
    assert (method, instead[:22]) == ("tools/list", "the connection broke: ")


@pytest.mark.parametrize("fault", ["hang-on-list", "hang-in-body"])
def test_a_request_that_is_given_up_is_taken_back(fault: str) -> None:
    with FAULTS[fault]() as web:
        capture = captured(endpoint(web), PATIENT._replace(request=0.5))
    assert capture.connection.unserved == (("tools/list", "no response within 0.5 seconds"),)
    assert web.requests[-1].message == {
        "jsonrpc": "2.0",
        "method": "notifications/cancelled",
        "params": {"requestId": web.requests[-2].message["id"], "reason": "took too long"},
    }


@pytest.mark.parametrize("fault", ["huge-body", "gzip-bomb", "events-endless"])
def test_no_answer_is_read_beyond_its_limit(fault: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fetch, "LARGEST_BODY", 100_000)
    with FAULTS[fault]() as web:
        capture = captured(endpoint(web))
    assert capture.connection.unserved == (("tools/list", "the response is larger than 100,000 bytes"),)


@pytest.mark.parametrize(
    ("fault", "message"),
    [
        (
            "401",
            'needs authorization (WWW-Authenticate: Bearer resource_metadata="https://host/x"): '
            "run `mcproof auth login {url}`; in CI, use `--client-id ID --client-secret-env NAME` or "
            "`--header 'Authorization: Bearer ${TOKEN}'`, or `auth` in a suite",
        ),
        (
            "403",
            "needs authorization (HTTP 403): "
            "run `mcproof auth login {url}`; in CI, use `--client-id ID --client-secret-env NAME` or "
            "`--header 'Authorization: Bearer ${TOKEN}'`, or `auth` in a suite",
        ),
        ("404", "the server returns HTTP 404 (text/plain): nothing here"),
        ("405", "the server returns HTTP 405 (text/plain)"),
        ("500", "the server returns HTTP 500 (text/html): <html> <h1>Oops</h1></html>"),
        ("website", "the response is not JSON-RPC: <html>Welcome</html>"),
        ("redirect-same-host", "the server redirects (307) to /mcp/?key=***; name that URL if you trust it"),
        (
            "redirect-other-host",
            "the server redirects (301) to https://evil.example/mcp; name that URL if you trust it",
        ),
    ],
)
def test_what_is_no_endpoint_is_refused(fault: str, message: str) -> None:
    with FAULTS[fault]() as web:
        assert refused(endpoint(web)) == message.replace("{url}", web.url)


@pytest.mark.parametrize("fault", ["401", "403", "redirect-same-host", "redirect-other-host"])
def test_a_refusal_that_would_come_again_is_not_asked_for_again(fault: str) -> None:
    with FAULTS[fault]() as web:
        refused(endpoint(web))
    assert len(web.requests) == 1


@pytest.mark.parametrize("fault", ["hang", "legacy-no-endpoint"])
def test_a_server_that_hangs_is_given_up(fault: str) -> None:
    with FAULTS[fault]() as web:
        assert (
            refused(endpoint(web), PATIENT._replace(start=0.6))
            == "no response within 0.6 seconds of the start (--start-timeout)"
        )


def test_everything_together_has_a_limit() -> None:
    with FAULTS["hang-on-list"]() as web:
        assert refused(endpoint(web), PATIENT._replace(total=0.6)) == "not done within 0.6 seconds"


def test_a_port_where_nobody_listens_is_refused() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{taken.getsockname()[1]}/mcp"
        assert refused(UrlEndpoint(url, {})).startswith("the server cannot be reached: ")


@pytest.mark.parametrize(
    "url", ["ftp://host/x", "host/x", "http://", "http://[::1", "http://a\u0000b/", "", "http://\ud800/"]
)
def test_what_is_no_url_is_refused(url: str) -> None:
    assert refused(UrlEndpoint(url, {})) == "the server cannot be reached: not an HTTP URL"


@pytest.mark.parametrize(("name", "value"), [("X-A", "a\nb"), ("X-A", "\ud800"), ("X A", "x"), ("X-\u00e9", "x")])
def test_what_is_no_header_is_refused(name: str, value: str) -> None:
    with Web() as web:
        assert refused(endpoint(web, **{name: value})) == "a header has characters that HTTP does not allow"


def test_secrets_are_in_no_evidence() -> None:
    with FAULTS["repeats-headers"]() as web:
        url = web.url.replace("http://", "http://me:hunter1@") + "?key=hunter2"
        server = UrlEndpoint(url, {"X-Key": "hunter3", "X-Long": "hunter4" * 40})
        capture = captured(server)
    assert "hunter" not in f"{capture}"
    assert document(capture)["server"] == {"url": f"{web.url}?key=***"}
    assert capture.connection.unserved[0][1].startswith(
        "the server returns HTTP 500 (text/plain): /mcp?key=*** {'host'"
    )


# The older transport.


@pytest.mark.parametrize("fault", ["legacy", "legacy-absolute"])
def test_the_older_transport_is_found(fault: str) -> None:
    with FAULTS[fault]() as web:
        capture = captured(endpoint(web))
    assert tool_names(capture) == NAMES
    assert capture.connection == capture.connection._replace(
        transport="sse", era="handshake", requested="2024-11-05", agreed="2024-11-05", anomalies=(), unserved=()
    )
    assert [f"{each.verb} {each.method} {each.path}".strip() for each in web.requests] == [
        "POST server/discover /mcp",
        "POST initialize /mcp",
        "GET  /mcp",
        "POST initialize /messages?session=4711",
        "POST notifications/initialized /messages?session=4711",
        "POST tools/list /messages?session=4711",
    ]


@pytest.mark.parametrize(
    ("fault", "message"),
    [
        (
            "legacy-other-host",
            "the server redirects messages to another host, http://evil.example/messages?session=***; not followed",
        ),
        (
            "legacy-other-port",
            "the server redirects messages to another host, http://127.0.0.1:9/messages; not followed",
        ),
        ("legacy-no-url", "the server's `endpoint` event is not a URL: http://[::bad"),
        ("legacy-stream-ends-first", "the server closed its event stream"),
    ],
)
def test_an_endpoint_that_cannot_be_trusted_is_refused(fault: str, message: str) -> None:
    with FAULTS[fault]() as web:
        assert refused(endpoint(web)) == message


def test_a_stream_that_ends_is_noted_at_once() -> None:
    with FAULTS["legacy-stream-ends"]() as web:
        capture = captured(endpoint(web))
    assert capture.connection.unserved == (("tools/list", "the server closed its event stream"),)
    assert noted(capture) == [("truncated", "the event stream ended inside an event")]


def test_a_message_that_is_refused_is_noted_at_once() -> None:
    with FAULTS["legacy-refuses-post"]() as web:
        capture = captured(endpoint(web))
    assert capture.connection.unserved == (("tools/list", "the server returns HTTP 500 (text/plain): no books"),)


def test_an_event_without_end_ends_the_stream(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sse, "EventParser", lambda: EventParser(100_000))
    monkeypatch.setattr(sse, "LONGEST_EVENT", 100_000)
    with FAULTS["legacy-endless-event"]() as web:
        capture = captured(endpoint(web))
    assert capture.connection.unserved == (("tools/list", "an event is larger than 100,000 bytes"),)

"""The era of a server is detected without a long wait, or set by the caller."""

from __future__ import annotations

import sys

import pytest

from mcproof.client.capture import Capture, capture_all
from mcproof.client.connect import ConnectOptions
from mcproof.client.connection import Connection
from mcproof.client.endpoints import CommandEndpoint, UrlEndpoint
from mcproof.client.transports.stdio import Stdio
from mcproof.core.protocol import HANDSHAKE, STATELESS
from servers.web import FAULTS

from .running import PATIENT, captured, command, document, kinds, refused, tool_names

NAMES = ["find_book", "lend_book"]
HASTY = PATIENT._replace(grace=0.3)
"""Asks in the older era as well, soon after the newer."""


def spoken(capture: Capture) -> tuple[str, str, str | None]:
    assert tool_names(capture) == NAMES
    return capture.connection.era, capture.connection.requested, capture.connection.agreed


@pytest.mark.parametrize(
    ("fault", "era"),
    [
        ("good", "handshake"),
        ("modern", "stateless"),
        ("dual", "stateless"),
        ("refuses-revision-speaks-old", "handshake"),
        ("discover-without-versions", "handshake"),
        ("dies-of-unknown", "handshake"),
    ],
)
def test_the_first_answer_settles_the_era(fault: str, era: str) -> None:
    capture = captured(command(fault))
    revision = "2026-07-28" if era == "stateless" else "2025-11-25"
    assert spoken(capture) == (era, revision, revision)
    assert capture.connection.anomalies == ()
    assert ("discover" if era == "stateless" else "initialize") in document(capture)


@pytest.mark.parametrize(
    ("fault", "era"),
    [
        ("ignores-unknown", "handshake"),
        ("slow-start", "handshake"),
        ("slow-turned", "handshake"),
        ("slow-modern", "stateless"),
        ("slow-modern-turned", "stateless"),
        ("slow-dual", "stateless"),
    ],
)
def test_a_server_that_is_asked_twice_is_not_blamed_for_the_second_answer(fault: str, era: str) -> None:
    capture = captured(command(fault), HASTY)
    assert spoken(capture)[0] == era
    assert capture.connection.anomalies == ()


def test_a_slow_server_that_got_both_introductions_is_started_again_for_the_newer_era() -> None:
    # After a handshake, this server lists nothing in the newer era.
    assert spoken(captured(command("slow-dual"), HASTY))[0] == "stateless"


def test_a_server_that_ignores_questions_and_ids_is_understood() -> None:
    capture = captured(command("ignores-unknown-null-id"), HASTY)
    assert spoken(capture)[0] == "handshake"
    assert kinds(capture) == ["wrong-id", "wrong-id"]


@pytest.mark.parametrize("protocol", HANDSHAKE)
@pytest.mark.parametrize("fault", ["good", "dual"])
def test_a_revision_of_the_older_era_can_be_asked_for(fault: str, protocol: str) -> None:
    assert spoken(captured(command(fault), protocol=protocol)) == ("handshake", protocol, protocol)


@pytest.mark.parametrize("fault", ["modern", "dual"])
def test_a_revision_of_the_newer_era_can_be_asked_for(fault: str) -> None:
    assert spoken(captured(command(fault), protocol=STATELESS[0]))[0] == "stateless"


@pytest.mark.parametrize(
    ("fault", "protocol", "message"),
    [
        (
            "good",
            "2026-07-28",
            "the server does not support revision 2026-07-28: it responds to `server/discover` with "
            "error -32601: Method not found: server/discover",
        ),
        (
            "discover-without-versions",
            "2026-07-28",
            "the server does not support revision 2026-07-28: its `server/discover` result has no `supportedVersions`",
        ),
        (
            "refuses-revision-speaks-old",
            "2026-07-28",
            "the server does not support revision 2026-07-28: it supports 2025-11-25, 2025-06-18",
        ),
        ("modern", "2025-06-18", "the server refuses `initialize`: error -32601: Method not found: initialize"),
        ("modern-other-revision", None, "no common protocol revision: the server supports 2027-01-01"),
        ("modern-unnamed-revision", None, "no common protocol revision: the server does not list any"),
        (
            "dies-of-unknown",
            "2026-07-28",
            "the server exited with code 1; last line of stderr: KeyError: 'server/discover'",
        ),
    ],
)
def test_a_server_that_does_not_speak_what_was_asked_for_is_refused(
    fault: str, protocol: str | None, message: str
) -> None:
    assert refused(command(fault), protocol=protocol) == message


def test_a_forced_revision_is_waited_for_and_not_replaced() -> None:
    limits = PATIENT._replace(start=0.6, grace=0.1)
    assert (
        refused(command("ignores-unknown"), limits, "2026-07-28")
        == "no response within 0.6 seconds of the start (--start-timeout)"
    )


@pytest.mark.slow
def test_a_modern_server_that_refuses_the_handshake_and_then_says_nothing_is_refused() -> None:
    code = (
        "import json, sys\n"
        "for line in sys.stdin:\n"
        "    message = json.loads(line)\n"
        "    if message['method'] == 'initialize':\n"
        "        print(json.dumps({'jsonrpc': '2.0', 'id': message['id'], 'error': {'code': 1, 'message': 'no'}}),"
        " flush=True)\n"
    )
    server = CommandEndpoint((sys.executable, "-I", "-S", "-c", code), {})
    assert refused(server, HASTY) == "the server refuses `initialize`: error 1: no"


@pytest.mark.parametrize(
    ("fault", "agreed"),
    [("old-revision", "2024-11-05"), ("unknown-revision", "1.0"), ("no-revision", None), ("empty-introduction", None)],
)
def test_the_revision_that_a_server_answers_with_is_kept(fault: str, agreed: str | None) -> None:
    assert spoken(captured(command(fault))) == ("handshake", "2025-11-25", agreed)


# Over HTTP.


@pytest.mark.parametrize(
    ("fault", "protocol", "era"),
    [
        ("modern", None, "stateless"),
        ("modern", "2026-07-28", "stateless"),
        ("dual", None, "stateless"),
        ("dual", "2026-07-28", "stateless"),
        ("dual", "2025-06-18", "handshake"),
        ("json", "2025-03-26", "handshake"),
        ("json", None, "handshake"),
    ],
)
def test_the_era_is_settled_over_http(fault: str, protocol: str | None, era: str) -> None:
    with FAULTS[fault]() as web:
        capture = captured(UrlEndpoint(web.url, {}), protocol=protocol)
    assert spoken(capture)[0] == era
    assert capture.connection.anomalies == ()
    if protocol is not None:
        assert capture.connection.requested == protocol


def test_every_message_of_the_newer_era_says_all_about_itself() -> None:
    with FAULTS["modern"]() as web:
        captured(UrlEndpoint(web.url, {}))
    assert [each.method for each in web.requests] == ["server/discover", "tools/list"]
    for each in web.requests:
        assert each.headers["mcp-protocol-version"] == "2026-07-28"
        assert each.headers["mcp-method"] == each.method
        meta = each.message["params"]["_meta"]
        assert meta["io.modelcontextprotocol/protocolVersion"] == "2026-07-28"
        assert meta["io.modelcontextprotocol/clientInfo"]["name"] == "mcproof"
        assert meta["io.modelcontextprotocol/clientCapabilities"] == {"elicitation": {"form": {}, "url": {}}}


@pytest.mark.parametrize(
    ("method", "params", "name"),
    [
        ("tools/call", {"name": "find_book"}, "find_book"),
        ("prompts/get", {"name": "find a book"}, "find a book"),
        ("resources/read", {"uri": "library://b"}, "library://b"),
        ("tools/call", {"name": "b\u00fccher"}, "=?base64?YsO8Y2hlcg==?="),
        ("tools/call", {"name": " a"}, "=?base64?IGE=?="),
        ("tools/call", {"name": "a\nb"}, "=?base64?YQpi?="),
        ("tools/call", {"name": "=?base64?YQ==?="}, "=?base64?PT9iYXNlNjQ/WVE9PT89?="),
        ("tools/call", {"name": 7}, None),
        ("tools/list", {"name": "x"}, None),
        ("tools/list", None, None),
    ],
)
def test_a_message_of_the_newer_era_says_whom_it_is_for(
    method: str, params: dict[str, object] | None, name: str | None
) -> None:
    connection = Connection(Stdio(["x"], {}, None), PATIENT)
    connection.settle("stateless", "2026-07-28", {})
    headers = connection.protocol_headers({"method": method, "params": params})
    assert headers["Mcp-Method"] == method
    assert headers.get("Mcp-Name") == name


def test_a_server_over_http_that_ignores_what_it_does_not_know_costs_a_moment() -> None:
    with FAULTS["hang-on-unknown"]() as web:
        capture = captured(UrlEndpoint(web.url, {}), PATIENT._replace(grace=0.1))
    assert spoken(capture)[0] == "handshake"
    assert capture.connection.anomalies == ()
    assert capture.connection.seconds_to_response < PATIENT.start


@pytest.mark.parametrize(
    ("fault", "protocol", "message"),
    [
        (
            "json",
            "2026-07-28",
            "the server does not support revision 2026-07-28: it responds to `server/discover` with "
            "error -32601: Method not found: server/discover",
        ),
        ("modern-other-revision", None, "no common protocol revision: the server supports 2027-01-01"),
        (
            "modern",
            "2025-06-18",
            "the server refuses `initialize`: error -32602: no protocol version in _meta",
        ),
        ("404", "2026-07-28", "the server returns HTTP 404 (text/plain): nothing here"),
    ],
)
def test_a_server_over_http_that_does_not_speak_what_was_asked_for_is_refused(
    fault: str, protocol: str | None, message: str
) -> None:
    with FAULTS[fault]() as web:
        assert refused(UrlEndpoint(web.url, {}), protocol=protocol) == message


def test_the_older_transport_speaks_the_revision_that_was_asked_for() -> None:
    with FAULTS["legacy"]() as web:
        assert spoken(captured(UrlEndpoint(web.url, {}), protocol="2025-03-26")) == (
            "handshake",
            "2025-03-26",
            "2025-03-26",
        )


# --- lists of the newer era ---------------------------------------------------------------------------------------


def test_a_list_without_members_for_caching_is_noted() -> None:
    with FAULTS["modern-uncached"]() as web:
        capture = captured(UrlEndpoint(web.url, {}))
    found = [(each.kind, each.detail, each.method) for each in capture.connection.anomalies]
    missing = ("resultType", "ttlMs", "cacheScope")
    assert found == [("caching-hint", f"`{member}` is missing", "tools/list") for member in missing]


def test_a_list_that_varies_by_connection_is_noted() -> None:
    with FAULTS["modern-varying"]() as web:
        options = ConnectOptions(PATIENT, compares_lists=True)
        ((capture,), _) = capture_all([UrlEndpoint(web.url, {})], options, lambda _: None)
    assert isinstance(capture, Capture)
    assert [each.kind for each in capture.connection.anomalies] == ["list-order-varies"]


def test_lists_are_compared_only_on_request() -> None:
    with FAULTS["modern-varying"]() as web:
        capture = captured(UrlEndpoint(web.url, {}))
        listings = [each for each in web.requests if each.method == "tools/list"]
    assert len(listings) == 1
    assert capture.connection.anomalies == ()

"""The outcome of a request: rejected, accepted, hang, crash, malformed."""

from __future__ import annotations

import asyncio
import json
from typing import TYPE_CHECKING, Any

import pytest

from mcproof.client import session
from mcproof.client.connect import ConnectOptions, connect
from mcproof.client.endpoints import CommandEndpoint, UrlEndpoint
from mcproof.client.errors import ConnectError
from mcproof.client.peer import RpcResponse
from mcproof.client.session import Response, Session, is_refusal
from mcproof.core.observations.probes import LONGEST_EXCERPT
from probing.running import command, http

from .running import PATIENT, children

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from mcproof.client.connection import Connection
    from mcproof.client.endpoints import Endpoint

VALID = {"name": "find_book", "arguments": {"query": "rose"}}
OTHER = {"name": "list_shelves", "arguments": {"genre": "fiction"}}


def server(fault: str, *arguments: str, **environment: str) -> CommandEndpoint:
    return CommandEndpoint(tuple(command(fault, *arguments)), environment)


def with_session(server: Endpoint, scene: Callable[[Session], Awaitable[Any]], limit: float = 30.0) -> Any:
    """What a scene comes to; nothing is left of the server then."""

    async def play() -> Any:
        session = Session(server, ConnectOptions(PATIENT), limit)
        try:
            return await scene(session)
        finally:
            await session.close()

    before = children()
    result = asyncio.run(play())
    assert children() == before
    return result


def asked(fault: str, params: dict[str, Any], limit: float = 30.0) -> Response:
    response = with_session(server(fault), lambda session: session.send("tools/call", params), limit)
    assert isinstance(response, Response)
    return response


def answer(**envelope: Any) -> RpcResponse:
    return RpcResponse(json.dumps(envelope).encode(), {"jsonrpc": "2.0", "id": 1, **envelope})


@pytest.mark.parametrize(
    ("envelope", "is_refused"),
    [
        ({"error": {"code": -32602, "message": "no"}}, True),
        ({"result": {"content": [], "isError": True}}, True),
        ({"result": {"content": [], "isError": "true"}}, True),
        ({"result": {"resultType": "input_required"}}, True),
        ({"result": {"content": [], "isError": False}}, False),
        ({"result": {"content": [], "isError": "false"}}, False),
        ({"result": {"content": [], "isError": None}}, False),
        ({"result": {"content": []}}, False),
        ({"result": {"content": [{"type": "text", "text": "Error: no"}]}}, False),
        ({"result": []}, False),
    ],
)
def test_an_error_of_either_kind_is_a_refusal(envelope: dict[str, Any], is_refused: bool) -> None:
    assert is_refusal(answer(**envelope)) is is_refused


@pytest.mark.parametrize(
    ("fault", "params", "outcome"),
    [
        ("good", VALID, "accepted"),
        ("good", {"name": "find_book", "arguments": {}}, "rejected"),
        ("good", {"name": "no_such_tool"}, "rejected"),
        ("crash-on-valid", VALID, "crash"),
        ("result-and-error", VALID, "malformed"),
        ("neither-result-nor-error", VALID, "malformed"),
        ("result-is-array", VALID, "malformed"),
        ("error-without-code", VALID, "malformed"),
        ("no-jsonrpc", VALID, "malformed"),
        ("says-error", OTHER, "accepted"),
    ],
)
def test_each_answer_has_its_outcome(fault: str, params: dict[str, Any], outcome: str) -> None:
    assert asked(fault, params).outcome == outcome


@pytest.mark.slow
@pytest.mark.parametrize(
    ("fault", "outcome"),
    [("hang-on-valid", "hang"), ("answer-not-json", "malformed"), ("answer-half-json", "malformed")],
)
def test_what_comes_instead_of_an_answer_tells_a_hang_from_a_bad_one(fault: str, outcome: str) -> None:
    response = asked(fault, VALID, 1.5)
    assert response.outcome == outcome
    assert response.message is None
    assert response.text == response.why


def test_the_words_of_a_crash_are_those_of_the_server() -> None:
    assert asked("crash-on-valid", VALID).why == (
        "the server exited with code 3; last line of stderr: library: the catalogue is gone"
    )


def test_a_crashed_server_is_started_anew_by_the_next_request() -> None:
    async def scene(session: Session) -> list[Any]:
        first = await session.send("tools/call", VALID)
        is_connected = session.is_connected
        second = await session.send("tools/call", OTHER)
        return [first.outcome, is_connected, second.outcome, session.starts]

    assert with_session(server("crash-on-valid"), scene) == ["crash", False, "accepted", 2]


def test_a_server_that_answers_is_not_absent_whatever_it_says() -> None:
    async def scene(session: Session) -> Any:
        await session.send("tools/call", VALID)
        return await session.ping_failure()

    for fault in ("good", "result-and-error"):
        assert with_session(server(fault), scene) is None
    assert with_session(server("good", "--era", "stateless"), scene) is None


@pytest.mark.slow
@pytest.mark.parametrize(
    ("fault", "params", "outcome"),
    [
        ("crash-after-answer", {"name": "find_book", "arguments": {"query": []}}, "crash"),
        ("deaf-after-valid", VALID, "hang"),
    ],
)
def test_a_server_that_has_gone_is_absent(fault: str, params: dict[str, Any], outcome: str) -> None:
    async def scene(session: Session) -> Any:
        await session.send("tools/call", params, 1.5)
        return await session.ping_failure(1.5)

    assert with_session(server(fault), scene).outcome == outcome


def test_a_server_that_cannot_be_started_is_an_error_without_secrets() -> None:
    secret = "hunter2-hunter2"  # noqa: S105
    missing = CommandEndpoint(("mcproof-no-such-program", "--token", secret), {"KEY": secret})
    with pytest.raises(ConnectError) as error:
        with_session(missing, lambda session: session.send("ping", None))
    assert secret not in str(error.value)
    assert error.value.file == missing.label


def test_the_era_of_a_server_is_detected_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """A server that starts slowly gets the messages of both eras, and may have to be started again for one of them."""
    protocols: list[str | None] = []

    async def connected(server: Endpoint, options: ConnectOptions) -> Connection:
        protocols.append(options.protocol)
        return await connect(server, options)

    async def scene(first: Session) -> None:
        monkeypatch.setattr(session, "connect", connected)
        requested = (await first.connection()).requested
        other = first.new_session()
        await other.connection()
        await other.close()
        assert protocols == [None, requested]

    with_session(server("good"), scene)


def test_another_session_shares_nothing() -> None:
    async def scene(session: Session) -> tuple[int, int]:
        other = session.new_session()
        await session.connection()
        try:
            await other.send("tools/call", VALID)
        finally:
            await other.close()
        return session.starts, other.starts

    assert with_session(server("good"), scene) == (1, 1)


@pytest.mark.parametrize(
    ("fault", "outcome"),
    [
        ("good", "accepted"),
        ("crash-on-valid", "crash"),
        ("http-500", "malformed"),
        ("http-plain-text", "malformed"),
        ("http-wrong-content-type", "malformed"),
        ("answer-not-json", "malformed"),
        ("result-and-error", "malformed"),
    ],
)
def test_each_answer_over_http_has_its_outcome(fault: str, outcome: str) -> None:
    with http(fault) as url:
        response = with_session(UrlEndpoint(url, {}), lambda session: session.send("tools/call", VALID))
    assert response.outcome == outcome


def test_only_what_we_start_can_be_started_anew() -> None:
    asking = ConnectOptions(PATIENT)
    assert Session(server("good"), asking, 1).can_restart
    assert not Session(UrlEndpoint("http://127.0.0.1:1/", {}), asking, 1).can_restart


def test_a_reply_tells_its_result_its_code_and_its_words() -> None:
    refused = Response("rejected", answer(error={"code": -32602, "message": "no"}))
    assert (refused.code, refused.result) == (-32602, {})
    accepted = Response("accepted", answer(result={"content": []}))
    assert (accepted.code, accepted.result) == (None, {"content": []})
    assert Response("accepted", answer(result=[])).result == {}
    assert Response("malformed", answer(error={"code": "E", "message": "no"})).code is None
    assert Response("hang", None, "no answer").text == "no answer"
    assert accepted.text == '{"result": {"content": []}}'


def test_a_long_answer_is_cropped_and_says_so() -> None:
    long = Response("accepted", answer(result={"text": "a" * 5_000}))
    assert len(long.text) < LONGEST_EXCERPT + 50
    assert long.text.endswith("… (5,024 bytes)")


def test_a_secret_is_hidden_in_what_a_report_keeps() -> None:
    secret = "hunter2-hunter2"  # noqa: S105
    session = Session(server("good", KEY=secret), ConnectOptions(PATIENT), 1)
    assert session.redacted(f"the key is {secret}") == "the key is ***"
    assert len(session.redacted("a" * 5_000)) < LONGEST_EXCERPT + 50

"""JSON-RPC with servers that violate it: matched responses, anomalies, errors."""

from __future__ import annotations

import asyncio
import json
from typing import TYPE_CHECKING, Any

import pytest

from mcproof.client import peer as peers
from mcproof.client.errors import LostError
from mcproof.client.peer import Peer, RpcResponse

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

LIMIT = 5


class Recorder:
    """A peer whose messages go nowhere, and are kept."""

    def __init__(self) -> None:
        self.sent: list[dict[str, Any]] = []
        self.peer = Peer(self._keep)

    async def _keep(self, message: bytes) -> None:
        self.sent.append(json.loads(message))

    @property
    def noted(self) -> list[tuple[str, str]]:
        return [(each.kind, each.detail) for each in self.peer.anomalies]

    @property
    def kinds(self) -> list[str]:
        return [each.kind for each in self.peer.anomalies]

    async def asks(self, method: str = "tools/list") -> asyncio.Task[RpcResponse]:
        """A request that has been sent and waits."""
        before = len(self.sent)
        task = asyncio.create_task(self.peer.request(method, None))
        while len(self.sent) == before:
            await asyncio.sleep(0)
        return task


def run(scene: Callable[[Recorder], Awaitable[None]]) -> Recorder:
    async def play() -> Recorder:
        recorder = Recorder()
        async with asyncio.timeout(LIMIT):
            await scene(recorder)
            await recorder.peer.close()
        return recorder

    return asyncio.run(play())


def answered(*messages: bytes | str) -> tuple[RpcResponse, Recorder]:
    """What a single request makes of these messages."""
    answers: list[RpcResponse] = []

    async def scene(recorder: Recorder) -> None:
        task = await recorder.asks()
        for message in messages:
            recorder.peer.receive(message if isinstance(message, bytes) else message.encode())
        answers.append(await task)

    recorder = run(scene)
    return answers[0], recorder


GOOD = '{"jsonrpc":"2.0","id":1,"result":{"tools":[]}}'


def test_a_good_answer_leaves_no_trace() -> None:
    answer, recorder = answered(GOOD)
    assert answer.result == {"tools": []}
    assert answer.raw == GOOD.encode()
    assert answer.error is None
    assert recorder.noted == []


def test_blank_lines_are_nothing() -> None:
    assert answered("", "  \r", GOOD)[1].noted == []


@pytest.mark.parametrize(
    ("message", "noted"),
    [
        ("Server started", ("not-json", "Server started")),
        ("[1, 2", ("not-json", "[1, 2")),
        ("7", ("not-an-object", "7")),
        ("null", ("not-an-object", "null")),
        ('"text"', ("not-an-object", '"text"')),
        ('{"level":"error","error":"boom"}', ("not-an-object", '{"level":"error","error":"boom"}')),
        ('{"level":"info","id":7}', ("not-an-object", '{"level":"info","id":7}')),
        ("[" * 100_000, ("not-json", "nested too deeply: " + "[" * 100)),
    ],
)
def test_noise_is_noted_and_the_answer_still_found(message: str, noted: tuple[str, str]) -> None:
    answer, recorder = answered(message, GOOD)
    assert answer.result == {"tools": []}
    assert recorder.noted == [noted]


def test_a_notification_is_no_noise() -> None:
    assert answered('{"jsonrpc":"2.0","method":"notifications/message","params":{}}', GOOD)[1].noted == []


def test_a_line_that_is_not_utf8_is_noted_once() -> None:
    _, recorder = answered(b"\xff\xfe broken", GOOD)
    assert recorder.noted == [("not-utf8", "\\xff\\xfe broken")]


def test_an_answer_with_bytes_that_are_not_utf8_is_understood() -> None:
    answer, recorder = answered(b'{"jsonrpc":"2.0","id":1,"result":{"name":"caf\xe9"}}')
    assert answer.result == {"name": "caf\ufffd"}
    assert recorder.kinds == ["not-utf8"]


def test_an_answer_behind_a_byte_order_mark_is_understood() -> None:
    answer, recorder = answered(b"\xef\xbb\xbf" + GOOD.encode())
    assert answer.result == {"tools": []}
    assert recorder.noted == [("byte-order-mark", GOOD)]


@pytest.mark.parametrize(
    ("message", "kind"),
    [
        ('{"id":1,"result":{}}', "no-jsonrpc"),
        ('{"jsonrpc":"1.0","id":1,"result":{}}', "no-jsonrpc"),
        ('{"jsonrpc":"2.0","id":1,"result":{},"error":{"code":1,"message":"x"}}', "result-and-error"),
        ('{"jsonrpc":"2.0","id":1}', "no-result"),
        ('{"jsonrpc":"2.0","id":1,"result":[]}', "result-not-object"),
        ('{"jsonrpc":"2.0","id":1,"result":null}', "result-not-object"),
        ('{"jsonrpc":"2.0","id":1,"error":{"code":"E1","message":"x"}}', "malformed-error"),
        ('{"jsonrpc":"2.0","id":1,"error":{"code":true,"message":"x"}}', "malformed-error"),
        ('{"jsonrpc":"2.0","id":1,"error":{"code":1}}', "malformed-error"),
        ('{"jsonrpc":"2.0","id":1,"error":"no"}', "malformed-error"),
        ('[{"jsonrpc":"2.0","id":1,"result":{}}]', "batch"),
    ],
)
def test_a_malformed_answer_is_noted_and_understood(message: str, kind: str) -> None:
    _, recorder = answered(message)
    assert recorder.noted == [(kind, message)]


def test_an_error_of_null_beside_a_result_is_a_result() -> None:
    answer, recorder = answered('{"jsonrpc":"2.0","id":1,"result":{},"error":null}')
    assert answer.error is None
    assert recorder.noted == []


@pytest.mark.parametrize(
    ("error", "complaint"),
    [
        ('{"code":-32601,"message":"no"}', "error -32601: no"),
        ('{"code":"E1","message":"no"}', "error E1: no"),
        ('{"message":"no"}', "no"),
        ('"no"', "no"),
        ('{"code":1,"message":{"deep":1}}', "error 1: an object"),
        ("7", "7"),
        ('{"code":1,"message":"' + "x" * 300 + '"}', "error 1: " + "x" * 191 + "…"),
    ],
)
def test_an_error_is_put_in_words(error: str, complaint: str) -> None:
    assert answered(f'{{"jsonrpc":"2.0","id":1,"error":{error}}}')[0].description == complaint


def test_a_key_that_stands_twice_is_noted_and_the_last_counts() -> None:
    answer, recorder = answered('{"jsonrpc":"2.0","id":1,"result":{"a":1,"b":2,"a":3}}')
    assert answer.result == {"a": 3, "b": 2}
    assert recorder.noted == [("duplicate-key", "a")]


def test_a_late_duplicate_among_many_keys_costs_no_square() -> None:
    members = ",".join(f'"k{number}":0' for number in range(200_000))
    _, recorder = answered(f'{{"jsonrpc":"2.0","id":1,"result":{{{members},"k199999":1}}}}')
    assert recorder.noted == [("duplicate-key", "k199999")]


def test_numbers_that_json_does_not_have_are_noted_and_become_null() -> None:
    answer, recorder = answered('{"jsonrpc":"2.0","id":1,"result":{"a":NaN,"b":[-Infinity]}}')
    assert answer.result == {"a": None, "b": [None]}
    assert recorder.noted == [("not-a-number", "NaN"), ("not-a-number", "-Infinity")]


def test_a_number_of_many_digits_is_json() -> None:
    answer, recorder = answered('{"jsonrpc":"2.0","id":1,"result":{"a":' + "9" * 5000 + "}}")
    assert answer.result == {"a": float("inf")}
    assert recorder.noted == []


@pytest.mark.parametrize(
    ("id", "spelt"),
    [
        ('"1"', '"1"'),
        ("99", "99"),
        ("true", "true"),
        ("1.5", "1.5"),
        ("null", "null"),
        ('"abc"', '"abc"'),
        ("[" * 200 + "]" * 200, "a list"),
    ],
)
def test_a_wrong_id_is_noted_and_the_answer_understood(id: str, spelt: str) -> None:
    answer, recorder = answered(f'{{"jsonrpc":"2.0","id":{id},"result":{{}}}}')
    assert answer.result == {}
    assert [(each.kind, each.detail, each.method) for each in recorder.peer.anomalies] == [
        ("wrong-id", f"{spelt} for the request 1", "tools/list")
    ]


def test_an_error_may_have_no_id() -> None:
    answer, recorder = answered('{"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"x"}}')
    assert answer.description == "error -32600: x"
    assert recorder.noted == []


def test_an_error_without_id_that_answers_a_notification_is_not_the_response_to_a_request() -> None:
    stray = '{"jsonrpc":"2.0","id":null,"error":{"code":-32601,"message":"unknown"}}'

    async def scene(recorder: Recorder) -> None:
        task = await recorder.asks()
        recorder.peer.receive(stray.encode())
        recorder.peer.receive(GOOD.encode())
        assert (await task).result == json.loads(GOOD)["result"]

    assert run(scene).noted == [("answered-notification", stray)]


def test_an_answer_that_nobody_asked_for_is_noted() -> None:
    async def scene(recorder: Recorder) -> None:
        recorder.peer.receive(b'{"jsonrpc":"2.0","id":5,"result":{}}')

    assert run(scene).kinds == ["unmatched-id"]


def test_a_second_answer_to_one_request_is_noted() -> None:
    async def scene(recorder: Recorder) -> None:
        task = await recorder.asks()
        recorder.peer.receive(GOOD.encode())
        await task
        recorder.peer.receive(GOOD.encode())

    assert run(scene).noted == [("unmatched-id", GOOD)]


def test_an_answer_to_a_request_that_was_given_up_is_nothing_wrong() -> None:
    async def scene(recorder: Recorder) -> None:
        task = await recorder.asks()
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        recorder.peer.receive(GOOD.encode())
        assert recorder.noted == []
        recorder.peer.receive(GOOD.encode())

    assert run(scene).kinds == ["unmatched-id"]


def test_giving_up_tells_the_server() -> None:
    async def scene(recorder: Recorder) -> None:
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.01):
                await recorder.peer.request("tools/list", None)

    assert run(scene).sent[1:] == [
        {
            "jsonrpc": "2.0",
            "method": "notifications/cancelled",
            "params": {"requestId": 1, "reason": "took too long"},
        }
    ]


@pytest.mark.parametrize("method", ["initialize", "server/discover"])
def test_the_first_question_is_never_taken_back(method: str) -> None:
    async def scene(recorder: Recorder) -> None:
        task = await recorder.asks(method)
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)

    assert len(run(scene).sent) == 1


def test_giving_up_on_a_server_that_has_gone_is_still_a_timeout() -> None:
    async def scene() -> None:
        sent: list[bytes] = []

        async def send(message: bytes) -> None:
            sent.append(message)
            if len(sent) > 1:
                raise LostError("gone")

        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.01):
                await Peer(send).request("tools/list", None)

    asyncio.run(scene())


def test_whoever_waits_learns_that_the_server_has_gone_and_so_does_whoever_asks_later() -> None:
    async def scene(recorder: Recorder) -> None:
        task = await recorder.asks()
        recorder.peer.fail(LostError("gone"))
        with pytest.raises(LostError, match="gone"):
            await task
        with pytest.raises(LostError, match="gone"):
            await recorder.peer.request("prompts/list", None)

    assert len(run(scene).sent) == 1


def test_a_server_that_goes_while_we_send_leaves_no_unread_error() -> None:
    complaints: list[dict[str, Any]] = []

    async def scene() -> None:
        async def send(message: bytes) -> None:
            peer.fail(LostError("gone"))
            raise LostError("the pipe is closed")

        peer = Peer(send)
        asyncio.get_running_loop().set_exception_handler(lambda _, context: complaints.append(context))
        with pytest.raises(LostError, match="the pipe is closed"):
            await peer.request("tools/list", None)

    asyncio.run(scene())
    assert complaints == []


def test_while_two_wait_an_error_without_id_is_for_the_first_and_a_result_for_the_last() -> None:
    async def scene(recorder: Recorder) -> None:
        discovery, handshake = await recorder.asks("server/discover"), await recorder.asks("initialize")
        recorder.peer.receive(b'{"jsonrpc":"2.0","id":null,"result":{"protocolVersion":"2025-06-18"}}')
        assert (await handshake).result == {"protocolVersion": "2025-06-18"}
        assert not discovery.done()
        recorder.peer.receive(b'{"jsonrpc":"2.0","id":null,"error":{"code":-32601,"message":"no"}}')
        assert (await discovery).description == "error -32601: no"

    assert run(scene).noted == [("wrong-id", "null for the request 2")]


def test_while_two_wait_an_id_as_text_finds_its_request() -> None:
    async def scene(recorder: Recorder) -> None:
        discovery, handshake = await recorder.asks("server/discover"), await recorder.asks("initialize")
        recorder.peer.receive(b'{"jsonrpc":"2.0","id":"1","result":{"supportedVersions":[]}}')
        assert (await discovery).result == {"supportedVersions": []}
        recorder.peer.receive(b'{"jsonrpc":"2.0","id":2,"error":{"code":1,"message":"no"}}')
        await handshake

    assert run(scene).noted == [("wrong-id", '"1" for the request 1')]


def test_a_ping_is_answered_and_anything_else_refused() -> None:
    async def scene(recorder: Recorder) -> None:
        recorder.peer.receive(b'{"jsonrpc":"2.0","id":"a","method":"ping"}')
        recorder.peer.receive(b'{"jsonrpc":"2.0","id":7,"method":"sampling/createMessage","params":{}}')
        recorder.peer.receive(b'{"jsonrpc":"2.0","id":[[]],"method":"roots/list"}')
        while len(recorder.sent) < 3:
            await asyncio.sleep(0)

    recorder = run(scene)
    refusal = {"code": -32601, "message": "this client has no such method"}
    assert recorder.sent == [
        {"jsonrpc": "2.0", "id": "a", "result": {}},
        {"jsonrpc": "2.0", "id": 7, "error": refusal},
        {"jsonrpc": "2.0", "id": None, "error": refusal},
    ]
    assert recorder.noted == [("unexpected-request", "sampling/createMessage"), ("unexpected-request", "roots/list")]


def test_a_server_that_asks_and_does_not_listen_blocks_nothing_and_costs_little() -> None:
    async def scene() -> None:
        stuck = asyncio.Event()

        async def send(message: bytes) -> None:
            if b'"id":1,"method"' not in message:
                await stuck.wait()

        peer = Peer(send)
        task = asyncio.create_task(peer.request("tools/list", None))
        await asyncio.sleep(0)
        for _ in range(10 * peers.MOST_PENDING_RESPONSES):
            peer.receive(b'{"jsonrpc":"2.0","id":1,"method":"ping"}')
        peer.receive(GOOD.encode())
        assert (await task).result == {"tools": []}
        assert len(asyncio.all_tasks()) == 1 + peers.MOST_PENDING_RESPONSES
        await peer.close()
        assert len(asyncio.all_tasks()) == 1

    asyncio.run(scene())


def test_a_flood_of_noise_is_kept_to_a_bound() -> None:
    _, recorder = answered(*["noise"] * 3000, GOOD)
    assert len(recorder.noted) == peers.MOST_ANOMALIES


def test_evidence_is_cropped() -> None:
    assert answered("x" * 5000, GOOD)[1].noted == [("not-json", "x" * 200 + "…")]


def test_an_answer_that_crosses_with_our_giving_up_is_no_fault_of_the_server() -> None:
    async def scene(recorder: Recorder) -> None:
        asked = await recorder.asks("initialize")
        await asyncio.sleep(0)  # until it waits for the answer
        asked.cancel()
        recorder.peer.receive(b'{"jsonrpc":"2.0","id":1,"error":{"code":-32022,"message":"too late"}}')
        await asyncio.gather(asked, return_exceptions=True)

    assert run(scene).noted == []


def test_a_second_answer_to_what_was_given_up_is_noted() -> None:
    async def scene(recorder: Recorder) -> None:
        asked = await recorder.asks("initialize")
        await asyncio.sleep(0)
        asked.cancel()
        for _ in range(2):
            recorder.peer.receive(b'{"jsonrpc":"2.0","id":1,"result":{}}')
        await asyncio.gather(asked, return_exceptions=True)
        recorder.peer.receive(b'{"jsonrpc":"2.0","id":1,"result":{}}')

    assert run(scene).kinds == ["unmatched-id", "unmatched-id"]

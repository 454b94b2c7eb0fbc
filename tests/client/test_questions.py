"""Questions of servers: asked in both eras and over both transports, answered or declined, and always bounded."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import pytest

from mcproof.client.connect import ConnectOptions
from mcproof.client.endpoints import CommandEndpoint, UrlEndpoint
from mcproof.client.questions import Answer, AnswerList, Reply
from mcproof.client.session import Response, Session
from servers import asking

from .running import PATIENT

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from mcproof.client.endpoints import Endpoint
    from mcproof.client.questions import AnswerSource
    from mcproof.core.observations.connection import QuestionKind

ASKING = (sys.executable, "-I", "-S", asking.__file__)
ERAS = ("handshake", "stateless")
PIZZA = Answer(asked="pizza", reply={"name": "Ada", "extras": ["c"]}, location="answers.yaml:3")
ORDER = 'ordered {"count": 1, "extras": ["c"], "name": "Ada", "size": "M", "urgent": false}'


def stdio(era: str, told: Path | None = None) -> CommandEndpoint:
    return CommandEndpoint((*ASKING, "--era", era), {} if told is None else {"TOLD": str(told)})


@contextmanager
def http(era: str) -> Iterator[UrlEndpoint]:
    with subprocess.Popen(
        [*ASKING, "--http", "--era", era], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        yield UrlEndpoint(f"http://127.0.0.1:{process.stdout.readline().strip()}/mcp", {})
        process.communicate("")


def called(
    server: Endpoint,
    *tools: str,
    answers: tuple[Answer, ...] | AnswerSource = (),
    arguments: dict[str, Any] | None = None,
) -> list[Response]:
    """The responses to calls of tools, one after the other."""

    source = AnswerList(answers) if isinstance(answers, tuple) else answers

    async def call() -> list[Response]:
        session = Session(server, ConnectOptions(PATIENT, answers=source), PATIENT.request)
        try:
            return [await session.send("tools/call", {"name": name, "arguments": arguments or {}}) for name in tools]
        finally:
            await session.close()

    return asyncio.run(call())


def text_of(response: Response) -> str:
    assert response.message is not None, response
    return str(response.result["content"][0]["text"])


def told_by(path: Path) -> list[Any]:
    return [json.loads(line) for line in path.read_text().splitlines()]


# --- without answers ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("era", ERAS)
def test_a_form_without_an_answer_is_declined(era: str) -> None:
    (response,) = called(stdio(era), "order_pizza")
    assert text_of(response) == "decline"
    assert response.asks == "asks the user: What pizza? (declined: no answer)"
    (question,) = response.questions
    assert question.as_document() == {
        "kind": "form",
        "message": "What pizza?",
        "reply": "decline",
        "reason": "declined: no answer",
        "requestedSchema": asking.PIZZA,
    }


@pytest.mark.parametrize("era", ERAS)
def test_questions_over_http_are_declined(era: str) -> None:
    with http(era) as server:
        form, url, none = called(server, "order_pizza", "connect_account", "count_books")
    assert (text_of(form), form.asks) == ("decline", "asks the user: What pizza? (declined: no answer)")
    assert url.asks == "asks the user to open https://host/in: Sign in (declined: no answer)"
    assert (text_of(none), none.questions, none.asks) == ("4711 books", (), "")


@pytest.mark.parametrize("era", ERAS)
def test_capabilities_are_declared_for_what_is_answered(era: str, tmp_path: Path) -> None:
    def declared(name: str, *answers: Answer) -> Any:
        called(stdio(era, tmp_path / name), "count_books", answers=answers)
        messages = told_by(tmp_path / name)
        if era == "handshake":
            return next(each for each in messages if each["method"] == "initialize")["params"]["capabilities"]
        sent = [each["params"]["_meta"]["io.modelcontextprotocol/clientCapabilities"] for each in messages]
        assert sent[0] == sent[-1]
        return sent[-1]

    user: dict[str, Any] = {"elicitation": {"form": {}, "url": {}}}
    assert declared("none") == user
    both = (Answer("sampling", reply="x"), Answer("roots", reply=[]))
    assert declared("both", *both) == {**user, "sampling": {}, "roots": {}}


@pytest.mark.parametrize(
    ("revision", "declared"),
    [
        ("2025-11-25", {"elicitation": {"form": {}, "url": {}}}),
        ("2025-06-18", {"elicitation": {}}),
        ("2025-03-26", {}),
    ],
)
def test_older_revisions_know_fewer_questions(revision: str, declared: Any, tmp_path: Path) -> None:
    async def connect() -> None:
        session = Session(stdio("handshake", tmp_path / "told"), ConnectOptions(PATIENT, revision), 30)
        await session.connection()
        await session.close()

    asyncio.run(connect())
    assert told_by(tmp_path / "told")[0]["params"]["capabilities"] == declared


def test_a_question_that_no_capability_allows_is_refused() -> None:
    sampling, roots, other = called(stdio("handshake"), "summarize", "show_roots", "stream_request")
    assert "this client has no such method" in text_of(sampling)
    assert sampling.asks == "asks a model: Summarize The Name of the Rose (refused: no answer)"
    assert [each.description for each in roots.questions] == ["asks for the roots"]
    assert roots.asks == ""  # a tool without roots works on
    assert "this client has no such method" in text_of(other)


def test_an_input_request_that_cannot_be_answered_ends_the_rounds(tmp_path: Path) -> None:
    sampling, odd = called(stdio("stateless", tmp_path / "told"), "summarize", "odd_requests")
    assert sampling.result["resultType"] == "input_required"
    assert (sampling.outcome, sampling.asks) == (
        "rejected",
        "asks a model: Summarize The Name of the Rose (refused: no answer)",
    )
    assert odd.outcome == "rejected"
    assert [each["method"] for each in told_by(tmp_path / "told")].count("tools/call") == 2


# --- with answers -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("era", ERAS)
def test_an_answer_fills_in_a_form_with_defaults_for_the_rest(era: str) -> None:
    with http(era) as server:
        over = [*called(stdio(era), "order_pizza", answers=(PIZZA,)), *called(server, "order_pizza", answers=(PIZZA,))]
    for response in over:
        assert (text_of(response), response.asks) == (ORDER, "")
        assert response.questions[0].reply == "accept"


@pytest.mark.parametrize("era", ERAS)
@pytest.mark.parametrize(
    ("reply", "text", "asks"),
    [
        ({"name": "Ada", "size": None, "urgent": None, "count": None}, 'ordered {"name": "Ada"}', ""),
        ("decline", "decline", ""),
        ("cancel", "cancel", ""),
        ("accept", "cancel", "`name` is missing"),
        ({"name": "Ada", "size": "XL"}, "cancel", '/size: "XL" is not one of "S", "M" or "L"'),
        ({"name": "Ada", "nmae": 5}, 'ordered {"count": 1, "name": "Ada", "nmae": 5', ""),
        ({"name": "Ada", "extras": ["x"]}, "cancel", "/extras/0: "),
    ],
)
def test_an_answer_is_checked_before_it_is_sent(era: str, reply: Any, text: str, asks: str) -> None:
    answer = PIZZA._replace(reply=reply)
    (response,) = called(stdio(era), "order_pizza", answers=(answer,))
    assert text_of(response).startswith(text)
    if asks:
        assert f"(answers.yaml:3: the answer cannot be sent: {asks}" in response.asks
    else:
        assert response.asks == ""


@pytest.mark.parametrize("era", ERAS)
def test_models_urls_and_roots_are_answered(era: str) -> None:
    answers = (
        Answer("sampling", "ROSE", "A monk dies."),
        Answer("url", "", "accept"),
        Answer("roots", "", ["file:///a", {"uri": "file:///b", "name": "b"}]),
    )
    summary, url, roots = called(stdio(era), "summarize", "connect_account", "show_roots", answers=answers)
    assert text_of(summary) == "summary: A monk dies."
    assert text_of(url) == 'connected: {"action": "accept"}'
    assert json.loads(text_of(roots).removeprefix("roots: ")) == {
        "roots": [{"uri": "file:///a"}, {"uri": "file:///b", "name": "b"}]
    }
    assert {each.asks for each in (summary, url, roots)} == {""}


@pytest.mark.parametrize("era", ERAS)
def test_the_first_answer_that_matches_is_used(era: str) -> None:
    answers = (Answer(asked="SECOND", reply={"sure": True}), Answer(reply="cancel"))
    (response,) = called(stdio(era), "ask_twice", answers=answers)
    assert text_of(response) == "cancel, accept"


def test_state_is_echoed_only_to_the_request_that_got_it(tmp_path: Path) -> None:
    answers = (Answer(reply={"sure": True}),)
    called(stdio("stateless", tmp_path / "told"), "ask_twice", "count_books", "comes_back", answers=answers)
    calls = [each for each in told_by(tmp_path / "told") if each["method"] == "tools/call"]
    assert len({each["id"] for each in calls}) == len(calls)
    reply = {"action": "accept", "content": {"sure": True}}
    sent = [{key: value for key, value in each["params"].items() if key != "_meta"} for each in calls]
    assert sent == [
        {"name": "ask_twice", "arguments": {}},
        {"name": "ask_twice", "arguments": {}, "inputResponses": {"q": reply}},
        {
            "name": "ask_twice",
            "arguments": {},
            "inputResponses": {"q": reply},
            "requestState": json.dumps([reply]),
        },
        {"name": "count_books", "arguments": {}},
        {"name": "comes_back", "arguments": {}},
        {"name": "comes_back", "arguments": {}, "requestState": "[1]"},
    ]


def test_a_url_that_must_be_opened_first_is_a_question() -> None:
    (refused,) = called(stdio("handshake"), "url_error")
    assert refused.asks == "asks the user to open https://host/in?…: Sign in first (declined: no answer)"
    assert refused.code == -32042
    (opened,) = called(stdio("handshake"), "url_error", answers=(Answer("url", reply="accept"),))
    assert text_of(opened) == "welcome"


# --- servers that ask too much ------------------------------------------------------------------------------------


def test_endless_questions_end() -> None:
    with http("handshake") as server:
        requests = [*called(stdio("handshake"), "endless"), *called(server, "endless")]
    for each in requests:
        assert (each.outcome, each.why) == ("hang", "the server asks more than 100 questions")
        assert (len(each.questions), each.timed_out) == (100, False)
    result = called(stdio("stateless"), "endless")
    assert result[0].result["resultType"] == "input_required"
    assert len(result[0].questions) == 10


@pytest.mark.parametrize("era", ERAS)
def test_a_huge_question_is_declined_and_not_kept(era: str) -> None:
    (response,) = called(stdio(era), "huge", answers=(Answer(reply="accept"),))
    assert text_of(response) == "decline"
    assert response.asks.endswith("x… (declined: larger than 1,048,576 bytes)")
    assert len(str(response.questions)) < 1_000


@pytest.mark.parametrize("era", ERAS)
def test_a_schema_that_is_wrong_is_not_answered(era: str) -> None:
    answers = (Answer(reply="accept"),)
    bad, none, default = called(stdio(era), "bad_schema", "no_schema", "bad_default", answers=answers)
    assert "(the answer cannot be sent: the requested schema is invalid: " in bad.asks
    assert "asks the user without a message (the answer cannot be sent: the requested schema is invalid" in none.asks
    assert '(the answer cannot be sent: /a: "many" is not of type "integer")' in default.asks
    assert {text_of(each) for each in (bad, none, default)} == {"cancel"}


def test_a_question_after_the_response_does_not_count(tmp_path: Path) -> None:
    late, after = called(stdio("handshake", tmp_path / "told"), "late", "ask_twice")
    assert (text_of(late), text_of(after)) == ("done", "decline, decline")
    assert [each for each in told_by(tmp_path / "told") if each.get("id") == "late"]


class _Thoughtful:
    """A user who never finds an answer."""

    kinds: frozenset[QuestionKind] = frozenset()

    def __init__(self) -> None:
        self.was_interrupted = False

    async def reply_to(self, *_: object) -> Reply | None:
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            self.was_interrupted = True
            raise
        return None


def test_a_question_with_the_id_of_another_is_refused() -> None:
    (response,) = called(stdio("handshake"), "same_id", answers=_Thoughtful())
    error = {"code": -32600, "message": "a request with this id is pending"}
    assert json.loads(text_of(response)) == {"jsonrpc": "2.0", "id": 1, "error": error}


def test_a_question_that_the_server_withdraws_gets_no_reply(tmp_path: Path) -> None:
    user = _Thoughtful()
    withdrawn, after = called(stdio("handshake", tmp_path / "told"), "withdrawn", "count_books", answers=user)
    assert (text_of(withdrawn), text_of(after)) == ("never mind", "4711 books")
    assert user.was_interrupted
    assert not [each for each in told_by(tmp_path / "told") if each.get("id") == "gone"]


def test_a_result_that_asks_for_nothing_is_the_response() -> None:
    (response,) = called(stdio("stateless"), "state_only")
    assert (response.outcome, response.questions) == ("rejected", ())


class _Slow:
    """A user who takes longer than a response may."""

    kinds: frozenset[QuestionKind] = frozenset()

    async def reply_to(self, *_: object) -> Reply | None:
        await asyncio.sleep(1.1)
        return Reply("decline", {"action": "decline"})


def test_time_for_an_answer_does_not_count() -> None:
    async def call() -> Response:
        session = Session(stdio("handshake"), ConnectOptions(PATIENT, answers=_Slow()), 1)
        try:
            return await session.send("tools/call", {"name": "order_pizza", "arguments": {}})
        finally:
            await session.close()

    assert text_of(asyncio.run(call())) == "decline"

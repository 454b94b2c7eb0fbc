"""Questions of a server while it works on a request: the user's answers, checked, or a refusal.

From revision 2026-07-28 on, servers ask in the result of a request, which is then repeated with the answers;
earlier ones send requests of their own.
Why a question without an answer is declined: docs/decisions/0039-questions-are-declined.md.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Protocol

from mcproof.client.errors import EndlessQuestionsError
from mcproof.core.named_tuple import NamedTuple
from mcproof.core.observations.connection import (
    METHODS,
    NO_ANSWER,
    Question,
    QuestionKind,
    ReplyKind,
    cropped,
    kind_of_question,
    message_of,
)
from mcproof.core.observations.probes import cropped_value
from mcproof.core.schema.validation import Oracle

if TYPE_CHECKING:
    from mcproof.client.peer import RpcResponse


REFUSED = -1
"""The error code for a prompt that the user does not want to be answered, as in the specification."""
MODEL = "mcproof-answer"
"""The name of the model in replies to prompts; they come from the user."""


class Answer(NamedTuple):
    """One entry of `answers`: which question it is for, and the reply."""

    kind: QuestionKind = "form"
    asked: str = ""
    """Text that the question contains, in any case; empty for every question of the kind."""
    reply: Any = "decline"
    """`accept`, `decline` or `cancel`; the fields of a form; the text of a model; a list of roots."""
    location: str = ""
    """`FILE:LINE`, for messages."""

    def matches(self, kind: QuestionKind, message: str) -> bool:
        return kind == self.kind and self.asked.casefold() in message.casefold()


class Reply(NamedTuple):
    """The reply to a question: a result, or an error."""

    kind: ReplyKind
    result: dict[str, Any] | None = None
    error: dict[str, Any] | None = None
    reason: str = ""
    """Why the question is not answered; empty if it is."""
    fault: str = ""
    """What is wrong with the answer of the user; empty if nothing is."""


class AnswerSource(Protocol):
    """Gives the replies to questions."""

    @property
    def kinds(self) -> frozenset[QuestionKind]:
        """The kinds of questions that it may answer."""

    async def reply_to(self, kind: QuestionKind, message: str, params: dict[str, Any]) -> Reply | None:
        """Return the reply to a question; None if there is no answer to it."""


class AnswerList:
    """Answers from a file or a suite; the first that matches is used."""

    def __init__(self, answers: tuple[Answer, ...] = ()) -> None:
        self._answers = answers

    @property
    def kinds(self) -> frozenset[QuestionKind]:
        return frozenset(answer.kind for answer in self._answers)

    async def reply_to(self, kind: QuestionKind, message: str, params: dict[str, Any]) -> Reply | None:
        answer = next((candidate for candidate in self._answers if candidate.matches(kind, message)), None)
        return None if answer is None else reply_with(answer, kind, params)


def reply_with(answer: Answer, kind: QuestionKind, params: dict[str, Any]) -> Reply:
    """The reply that an answer gives to a question."""
    reply = answer.reply
    if kind == "roots":
        return Reply("accept", {"roots": [_root(root) for root in reply]})
    if reply in ("decline", "cancel"):
        return refusal() if kind == "sampling" else Reply(reply, {"action": reply})
    if kind == "sampling":
        content = {"type": "text", "text": reply}
        return Reply("accept", {"role": "assistant", "content": content, "model": MODEL, "stopReason": "endTurn"})
    if kind == "url":
        return Reply("accept", {"action": "accept"})
    return _filled_form({} if reply == "accept" else reply, params.get("requestedSchema"), answer.location)


def refusal(reason: str = "") -> Reply:
    """The reply to a prompt that no model may answer."""
    return Reply("refuse", error={"code": REFUSED, "message": "User rejected sampling request"}, reason=reason)


def declined(kind: QuestionKind, reason: str = NO_ANSWER) -> Reply:
    """The reply to a question without an answer."""
    if kind in ("form", "url"):
        return Reply("decline", {"action": "decline"}, reason=reason)
    return refusal(reason)


def _root(value: Any) -> dict[str, Any]:
    return {"uri": value} if isinstance(value, str) else dict(value)


def _filled_form(values: Mapping[str, Any], schema: Any, location: str) -> Reply:
    """The reply with these fields, and defaults for the others; a null leaves a field out."""
    filled = {**dict.fromkeys(fields_of(schema)), **defaults_of(schema), **values}  # in the order of the form
    content = {name: value for name, value in filled.items() if value is not None}
    problem = form_problem(content, schema)
    if problem is None:
        return Reply("accept", {"action": "accept", "content": content})
    where = f"{location}: " if location else ""
    return Reply("cancel", {"action": "cancel"}, fault=f"{where}the answer cannot be sent: {problem}")


def fields_of(schema: Any) -> dict[str, dict[str, Any]]:
    """The fields of a form with their schemas; what is not a schema is left out."""
    properties = schema.get("properties") if isinstance(schema, dict) else None
    members = properties.items() if isinstance(properties, dict) else ()
    return {name: field for name, field in members if isinstance(field, dict)}


def defaults_of(schema: Any) -> dict[str, Any]:
    """The defaults of the fields that have one."""
    return {name: field["default"] for name, field in fields_of(schema).items() if "default" in field}


def schema_problem(oracle: Oracle) -> str | None:
    """Why no answer can be checked; None if it can."""
    return None if oracle.problem is None else f"the requested schema is invalid: {cropped(oracle.problem)}"


def form_problem(content: dict[str, Any], schema: Any) -> str | None:
    """Why the requested schema does not allow these fields; None if it does."""
    oracle = Oracle(schema)
    if (problem := schema_problem(oracle)) is not None:
        return problem
    if oracle.accepts(content):
        return None
    for objection in oracle.objections(content):
        if objection.missing is not None:
            return f"`{cropped(objection.missing)}` is missing"
        if objection.unexpected is not None:
            return f"`{cropped(objection.unexpected)}` is not a field"
        return f"{cropped(objection.pointer)}: {cropped(objection.message)}"
    keyword, pointer = oracle.first_error(content) or ("schema", "")
    return f"{cropped(pointer)}: not a valid {keyword}"


if TYPE_CHECKING:
    Send = Callable[[dict[str, Any]], Awaitable[RpcResponse]]
    """Sends the request with these parameters."""

INPUT_REQUIRED = "input_required"
"""The `resultType` of a result that asks the client for more input."""
ASKING_METHODS = ("tools/call", "prompts/get", "resources/read")
"""The methods whose results may ask for input."""
MOST_ROUNDS = 10
"""How often a request is repeated."""
_URL_REQUIRED = -32042
_PAUSE = 0.1
"""Seconds until a request is repeated that needs no answers."""


def asks_for_input(result: Any) -> bool:
    """Whether a result asks for more input instead of completing the request."""
    return isinstance(result, dict) and result.get("resultType") == INPUT_REQUIRED


async def completed(
    response: RpcResponse, params: dict[str, Any] | None, send: Send, respondent: Respondent
) -> RpcResponse:
    """The response once the server has all answers; the last one if an answer is missing, or after too many rounds.

    Raises EndlessQuestionsError.
    """
    for _ in range(MOST_ROUNDS):
        additions = await _additions(response, respondent)
        if additions is None:
            break
        response = await send({**(params or {}), **additions})
    return response


async def _additions(response: RpcResponse, respondent: Respondent) -> dict[str, Any] | None:
    """What to add to the parameters of the next round; None if there is no next round."""
    if asks_for_input(response.result) and response.error is None:
        return await _input(response, respondent)
    if response.error is not None and response.error.get("code") == _URL_REQUIRED:
        return await _opened_urls(response, respondent)
    return None


async def _input(response: RpcResponse, respondent: Respondent) -> dict[str, Any] | None:
    requests = response.result.get("inputRequests")
    state = {"requestState": response.result["requestState"]} if "requestState" in response.result else {}
    if requests is None:
        await asyncio.sleep(_PAUSE)  # the server asks to come back
        return state or None
    if not isinstance(requests, dict) or not all(isinstance(request, dict) for request in requests.values()):
        return None
    answers: dict[str, Any] = {}
    for name, request in requests.items():
        reply = await respondent.respond(str(request.get("method")), request.get("params"), len(response.raw))
        if reply.result is not None:
            answers[name] = reply.result
    if len(answers) < len(requests):  # an error cannot be sent as an answer
        return None
    return {"inputResponses": answers, **state}


async def _opened_urls(response: RpcResponse, respondent: Respondent) -> dict[str, Any] | None:
    """Nothing to add, if the user has opened every URL that the server names."""
    data = (response.error or {}).get("data")
    listed = data.get("elicitations") if isinstance(data, dict) else None
    if not isinstance(listed, list) or not listed:
        return None
    replies = [
        await respondent.respond("elicitation/create", {**elicitation, "mode": "url"}, len(response.raw))
        for elicitation in listed
        if isinstance(elicitation, dict)
    ]
    return {} if replies and all(reply.kind == "accept" for reply in replies) else None


METHOD_NOT_FOUND = -32601
MOST_QUESTIONS = 100
"""How many questions a server may ask during one request."""
LARGEST_QUESTION = 1024 * 1024
"""How many bytes a question may have to be looked at."""
_KEPT = 64 * 1024
"""How many bytes of a question are kept as they are."""
_FIRST_WITH_FORMS, _FIRST_WITH_URLS = "2025-06-18", "2025-11-25"


class Respondent:
    """Responds to the questions of one connection."""

    def __init__(self, answers: AnswerSource | None = None) -> None:
        self.answers = answers or AnswerList()
        """Where the answers come from; those of one test, during its call."""
        self._kinds = self.answers.kinds
        self.asked: list[Question] = []
        """The questions since the last request began."""
        self.time_limit: asyncio.Timeout | None = None
        """The time limit of the current request, which does not run while the user is asked."""

    def capabilities(self, revision: str) -> dict[str, Any]:
        """The capabilities to declare: what is answered, be it by declining."""
        capabilities: dict[str, Any] = {}
        if revision >= _FIRST_WITH_FORMS:
            # By every command, since declining is an answer: docs/decisions/0039-questions-are-declined.md.
            capabilities["elicitation"] = {"form": {}, "url": {}} if revision >= _FIRST_WITH_URLS else {}
        return capabilities | {kind: {} for kind in ("sampling", "roots") if kind in self._kinds}

    def offers(self, method: str) -> bool:
        """Whether the client has declared that it answers such questions."""
        kind = METHODS.get(method, "other")
        return kind == "form" or kind in self._kinds

    def begin(self) -> None:
        """Forget the questions of earlier requests."""
        self.asked = []

    async def respond(self, method: str, params: Any, size: int) -> Reply:
        """Reply to a question, and record it. Raises EndlessQuestionsError."""
        given = params if isinstance(params, dict) else {}
        kind = kind_of_question(method, given)
        if len(self.asked) >= MOST_QUESTIONS:
            raise EndlessQuestionsError(f"the server asks more than {MOST_QUESTIONS} questions")
        number = len(self.asked)
        recorded = given if size <= _KEPT else cropped_value(given)
        # Recorded before the answer is known, because the request may end first.
        self.asked.append(Question(kind, method, recorded, "cancel", "no answer before the end of the request"))
        asked = self.asked
        reply = await self._reply(kind, method, given, size)
        asked[number] = asked[number]._replace(reply=reply.kind, reason=reply.reason, fault=reply.fault)
        return reply

    async def _reply(self, kind: QuestionKind, method: str, params: dict[str, Any], size: int) -> Reply:
        if size > LARGEST_QUESTION:
            return declined(kind, f"declined: larger than {LARGEST_QUESTION:,} bytes")
        if not self.offers(method):
            error = {"code": METHOD_NOT_FOUND, "message": "this client has no such method"}
            return Reply("refuse", error=error, reason="refused: no answer")
        with self._paused():
            reply = await self.answers.reply_to(kind, message_of(kind, params), params)
        return reply or declined(kind)

    @contextmanager
    def _paused(self) -> Iterator[None]:
        """Stop the time limit of the request while the user is asked."""
        limit = self.time_limit
        when = limit.when() if limit is not None else None
        if limit is None or when is None:  # also while another question has stopped it
            yield
            return
        loop = asyncio.get_running_loop()
        start = loop.time()
        limit.reschedule(None)
        try:
            yield
        finally:
            if self.time_limit is limit:
                limit.reschedule(when + loop.time() - start)

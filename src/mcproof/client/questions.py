"""Answers: what the user wants to reply to the questions of a server, checked against what it asks for."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from mcproof.core.observations.connection import NO_ANSWER, cropped
from mcproof.core.schema.validation import Oracle

if TYPE_CHECKING:
    from collections.abc import Mapping

    from mcproof.core.observations.connection import QuestionKind, ReplyKind

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
        return frozenset(each.kind for each in self._answers)

    async def reply_to(self, kind: QuestionKind, message: str, params: dict[str, Any]) -> Reply | None:
        answer = next((each for each in self._answers if each.matches(kind, message)), None)
        return None if answer is None else reply_with(answer, kind, params)


def reply_with(answer: Answer, kind: QuestionKind, params: dict[str, Any]) -> Reply:
    """The reply that an answer gives to a question."""
    reply = answer.reply
    if kind == "roots":
        return Reply("accept", {"roots": [_root(each) for each in reply]})
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

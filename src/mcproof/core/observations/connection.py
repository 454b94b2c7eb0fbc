"""Questions: what a server asks its client while it works on a request, and the replies that it got."""

from __future__ import annotations

from typing import Any, Literal, NamedTuple

from mcproof.exchange.connection_facts import cropped

QuestionKind = Literal["form", "url", "sampling", "roots", "other"]
"""A form for the user, a URL for the user to open, a prompt for a model, the folders to work in; or anything else."""
ReplyKind = Literal["accept", "decline", "cancel", "refuse"]
"""The actions of a form or URL; `refuse` is an error as the response."""

METHODS: dict[str, QuestionKind] = {
    "elicitation/create": "form",
    "sampling/createMessage": "sampling",
    "roots/list": "roots",
}
NO_ANSWER = "declined: no answer"


class Question(NamedTuple):
    """A question of a server, and the reply."""

    kind: QuestionKind
    method: str
    params: dict[str, Any]
    """As received; without large values."""
    reply: ReplyKind
    reason: str = ""
    """Why it was not answered; empty if the user answered it, be it with `decline`."""
    fault: str = ""
    """What is wrong with the answer that the user gave; empty if nothing is."""

    @property
    def is_unanswered(self) -> bool:
        return bool(self.reason or self.fault)

    @property
    def message(self) -> str:
        """The text of the question."""
        return message_of(self.kind, self.params)

    @property
    def description(self) -> str:
        """The question as a phrase: `asks the user: Which size?`."""
        message = cropped(" ".join(self.message.split()))
        if self.kind == "url":
            where = cropped(_without_query(_text(self.params.get("url"))) or "nothing")
            return f"asks the user to open {where}" + (f": {message}" if message else "")
        if self.kind == "sampling":
            return f"asks a model: {message}" if message else "asks a model"
        if self.kind == "roots":
            return "asks for the roots"
        if self.kind == "other":
            return f"requests {cropped(self.method)}"
        return f"asks the user: {message}" if message else "asks the user without a message"

    def as_document(self) -> dict[str, Any]:
        """The question in JSON documents, and in the facts that a suite checks."""
        return {
            "kind": self.kind,
            "message": self.message,
            "reply": self.reply,
            "reason": self.fault or self.reason,
            **{key: self.params[key] for key in ("requestedSchema", "url", "messages") if key in self.params},
        }


def kind_of_question(method: str, params: dict[str, Any]) -> QuestionKind:
    """The kind of a question; an elicitation without a mode is a form."""
    kind = METHODS.get(method, "other")
    return "url" if kind == "form" and params.get("mode") == "url" else kind


def message_of(kind: QuestionKind, params: dict[str, Any]) -> str:
    """The text that a question has for the user or the model."""
    if kind != "sampling":
        return _text(params.get("message"))
    messages = params.get("messages")
    texts = [_content_text(each.get("content")) for each in _list(messages) if isinstance(each, dict)]
    return next((text for text in reversed(texts) if text), "")


def first_unanswered(questions: tuple[Question, ...]) -> str:
    """Describe the first question without an answer, and why it has none; empty if all have one.

    Only questions whose answers decide what happens count: a tool without roots works on.
    """
    for each in questions:
        if each.is_unanswered and each.kind not in ("roots", "other"):
            return f"{each.description} ({each.fault or each.reason})"
    return ""


def _without_query(url: str) -> str:
    """A URL without what varies from call to call, and may be secret."""
    before, mark, _ = url.partition("?")
    return f"{before}{mark}…" if mark else before.partition("#")[0]


def _content_text(content: Any) -> str:
    blocks = content if isinstance(content, list) else [content]
    texts = [_text(block.get("text")) for block in blocks if isinstance(block, dict)]
    return "\n".join(text for text in texts if text)


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def _text(value: Any) -> str:
    return value if isinstance(value, str) else ""

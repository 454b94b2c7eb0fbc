"""What a connection to a server showed besides the catalog: violations of the protocol, questions, sessions.

Lists may differ between connections, and session ids may be weak; both are recorded here without the ids
themselves.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Literal

from mcproof.core.named_tuple import NamedTuple

CROP = 200
"""How many characters of evidence are kept."""

SLOW_START = 10.0
"""Seconds after which common clients give up on a server."""
LINGERING = ("terminated", "killed")
"""How a process ends that does not exit by itself."""


class Anomaly(NamedTuple):
    """A violation of the protocol in what the server sent."""

    kind: str
    """Such as `not-json`; each kind belongs to one rule."""
    detail: str
    """The evidence, cropped."""
    method: str | None = None
    """The method of the request that it responds to, if known."""


class ProcessEnd(NamedTuple):
    """How the process of a server ended."""

    how: str
    """`by-itself` after its stdin was closed, `terminated`, `killed`, or `died` before that."""
    exit_code: int | None


class ObservedConnection(NamedTuple):
    """What a connection showed from start to end."""

    transport: str
    """`stdio`, `http` or `sse`."""
    era: str
    """`handshake` or `stateless`."""
    requested: str
    """The requested protocol revision."""
    agreed: str | None
    """The revision in the server's response."""
    seconds_to_response: float
    """From the start to the first response; of the faster of two starts if the first was slow."""
    anomalies: tuple[Anomaly, ...]
    unserved: tuple[tuple[str, str], ...]
    """Methods that the capabilities declare but that failed, each with the reason."""
    ending: ProcessEnd | None
    """None if there is no process, or if it has not ended."""
    tool_pages: int = 1
    """The number of pages of `tools/list`."""
    expired_sessions: int = 0
    """How often the server has ended a session that was in use, so that another was started."""

    @property
    def has_parameter_headers(self) -> bool:
        """Whether clients repeat annotated arguments in headers, and must drop tools with invalid annotations."""
        return self.transport == "http" and self.era == "stateless"


def expired_text(sessions: int) -> str:
    """How often a server has ended a session in use, in words; empty if it has not."""
    if sessions == 0:
        return ""
    what = (
        "a session in use (HTTP 404), so another was"
        if sessions == 1
        else f"{sessions:,} sessions in use (HTTP 404), so others were"
    )
    return f"the server has ended {what} started"


def cropped(text: str) -> str:
    """A text cropped to the length of evidence."""
    return text if len(text) <= CROP else f"{text[:CROP]}…"


BEFORE, AFTER, STATELESS = "before initialized", "after initialized", "in the stateless era"


class ToolHash(NamedTuple):
    """The name of a listed tool, and the hash of everything that the list has about it."""

    name: str
    hash: str


class ListReading(NamedTuple):
    """One reading of the list of tools."""

    client: str
    """The client name under which it was requested."""
    moment: str
    """`BEFORE` or `AFTER` the handshake is complete or, in the stateless era, `STATELESS`."""
    tools: tuple[ToolHash, ...] = ()
    """Sorted by name."""

    @property
    def hash(self) -> str:
        """The hash of the whole list."""
        from hashlib import sha256

        return sha256("".join(tool.hash for tool in self.tools).encode()).hexdigest()


class ListStability(NamedTuple):
    """Several readings of the list of tools, by differently named clients."""

    readings: tuple[ListReading, ...] = ()
    unseen_tools: tuple[dict[str, Any], ...] = ()
    """Tools of other readings that the usual one does not have in this form, so that no other rule judges them."""

    @property
    def usual(self) -> ListReading | None:
        """The reading that a capture has: the first one after the handshake."""
        settled = (reading for reading in self.readings if reading.moment != BEFORE)
        return next(settled, next(iter(self.readings), None))

    @property
    def unobserved(self) -> Mapping[str, str]:
        """The rules that could not be judged, with the reason."""
        return {} if len(self.readings) > 1 else {"TRU-205": "the tools could not be listed twice"}


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
    texts = [_content_text(message.get("content")) for message in _list(messages) if isinstance(message, dict)]
    return next((text for text in reversed(texts) if text), "")


def first_unanswered(questions: tuple[Question, ...]) -> str:
    """Describe the first question without an answer, and why it has none; empty if all have one.

    Only questions whose answers decide what happens count: a tool without roots works on.
    """
    for question in questions:
        if question.is_unanswered and question.kind not in ("roots", "other"):
            return f"{question.description} ({question.fault or question.reason})"
    return ""


def _without_query(url: str) -> str:
    """A URL without what varies from call to call, and may be secret."""
    before, separator, _ = url.partition("?")
    return f"{before}{separator}…" if separator else before.partition("#")[0]


def _content_text(content: Any) -> str:
    blocks = content if isinstance(content, list) else [content]
    texts = [_text(block.get("text")) for block in blocks if isinstance(block, dict)]
    return "\n".join(text for text in texts if text)


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def _text(value: Any) -> str:
    return value if isinstance(value, str) else ""


COMMON_WORDS = frozenset({"mcp", "server", "service", "api", "the", "official"})
SHORTEST_WORD = 3
_WORD = re.compile(r"[^\W_]+")


class ServerIdentity(NamedTuple):
    """The name that a server reports, beside those of its host and certificate."""

    name: str
    """`serverInfo.name`."""
    hostname: str
    is_internal: bool = False
    """Whether the host is this machine or a private network, where names show nothing."""
    common_name: str = ""
    """Of the certificate; empty without one."""
    alternative_names: tuple[str, ...] = ()
    """Of the certificate."""

    @property
    def words(self) -> tuple[str, ...]:
        """The words of the name that distinguish it."""
        words = dict.fromkeys(word for word in _WORD.findall(self.name.lower()) if len(word) >= SHORTEST_WORD)
        return tuple(word for word in words if word not in COMMON_WORDS)

    @property
    def not_applicable(self) -> Mapping[str, str]:
        """The rules that do not concern the server, with the reason."""
        reason = ""
        if not self.words:
            reason = "the name has no distinctive word"
        elif self.is_internal and not (self.common_name or self.alternative_names):
            reason = "the host is not public and has no certificate"
        return {"server_identity_consistency": reason} if reason else {}


ENOUGH_BITS = 128


class SessionIds(NamedTuple):
    """What the session ids of several handshakes have in common."""

    handshakes: int = 0
    ids: int = 0
    """How many handshakes got an id."""
    distinct: int = 0
    bits: int = 0
    """The entropy of the weakest id, at most: its length times the bits of its alphabet."""
    counts_up: bool = False
    """Whether each id is a small step above the one before."""
    is_time_based: bool = False
    """Whether they are UUIDs made from the time."""
    is_visible_ascii: bool = True
    why_none: str = ""
    """Why there are no ids, such as the stateless era."""

    @property
    def not_applicable(self) -> Mapping[str, str]:
        """The rules that do not concern the server, with the reason."""
        if self.ids or not (self.why_none or self.handshakes):
            return {}
        return {"TRU-503": self.why_none or "the server issues no session ids"}

    @property
    def unobserved(self) -> Mapping[str, str]:
        """The other rules that could not be judged, with the reason."""
        is_judged = self.ids > 1 or bool(self.not_applicable)
        return {} if is_judged else {"TRU-503": "no two handshakes succeeded"}

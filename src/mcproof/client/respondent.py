"""Respond to the questions of a server, within limits: with the answers of the user, or by declining."""

from __future__ import annotations

import asyncio
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from mcproof.client.answers import AnswerList, Reply, declined
from mcproof.client.failures import EndlessQuestionsError
from mcproof.core.observations.connection import METHODS, Question, kind_of_question, message_of
from mcproof.core.observations.probes import cropped_value

if TYPE_CHECKING:
    from collections.abc import Iterator

    from mcproof.client.answers import AnswerSource
    from mcproof.core.observations.connection import QuestionKind

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
        found: dict[str, Any] = {}
        if revision >= _FIRST_WITH_FORMS:
            found["elicitation"] = {"form": {}, "url": {}} if revision >= _FIRST_WITH_URLS else {}
        return found | {kind: {} for kind in ("sampling", "roots") if kind in self._kinds}

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
        kept = given if size <= _KEPT else cropped_value(given)
        # Recorded before the answer is known, because the request may end first.
        self.asked.append(Question(kind, method, kept, "cancel", "no answer before the end of the request"))
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

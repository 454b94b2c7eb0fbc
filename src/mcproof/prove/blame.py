"""Requests that may do harm: sent one after the other, each with a look at whether the server is still there.

A crash is blamed on the request that caused it, and on no other: where it is not plain which one that was, the
requests in question are sent again, each to a server that was started for it.
"""

from __future__ import annotations

import asyncio
from collections import deque
from typing import TYPE_CHECKING, Any, NamedTuple

from mcproof.client.calling import Reply
from mcproof.client.failures import ConnectError
from mcproof.exchange.probe_facts import spelt

if TYPE_CHECKING:
    from mcproof.client.calling import Session

SETTLE = 0.3
"""How long a server is watched that may be about to end, in seconds."""
SUSPECTS = 25
"""How many earlier requests are asked about when one crashed that does not crash alone."""
AT_ONCE = 5
"""How many of them at the same time."""
QUICK = 2.0
"""How long a server may take to show that it still answers, after one request that it did not."""
_HARM = ("crash", "hang")
_NOT_AGAIN = "which request did that is not known, as the server cannot be started again"


class Request(NamedTuple):
    """One request, and which one it was."""

    number: int
    method: str
    params: dict[str, Any]


class Sender:
    """Sends requests over a session and finds out which of them did harm."""

    def __init__(self, session: Session, *, looks: bool = True) -> None:
        self.session = session
        self._looks = looks
        """Whether it looks after every answer whether the server is still there, or only when something went wrong."""
        self.corrections: dict[int, Reply] = {}
        """What turned out later about requests that seemed to be answered."""
        self.unexplained: list[Reply] = []
        """Ends of the server that no single request explains: how, and why it is not known which did it."""
        self._recent: deque[Request] = deque(maxlen=SUSPECTS)
        self._is_own = not session.has_asked
        """Whether all requests of this connection are among the recent ones; listing harms no server."""
        self._last = 0

    async def send(self, method: str, params: dict[str, Any]) -> tuple[int, Reply | None]:
        """What came of a request, and its number; None where the server had gone before it arrived.

        Raises ConnectError where the server cannot be reached any more.
        """
        self._last += 1
        request = Request(self._last, method, params)
        if not self.session.is_connected:
            self._recent.clear()
            self._is_own = True
        reply = await self.session.ask(method, params)
        if not reply.arrived and not self._has_suspects:  # it ended after it was listed
            reply = await self.session.ask(method, params)
        if reply.outcome == "crash":
            return request.number, await self._blamed(request, reply)
        if reply.outcome == "hang":
            gone = await self.session.absence(QUICK)
            await self.session.leave(at_once=True)
            return request.number, await self._hung(request, reply, is_gone=gone is not None)
        if self._looks and (gone := await self.session.absence()) is not None:
            await self.session.leave(at_once=True)
            return request.number, await self._blamed(request, _after(reply, gone))
        self._recent.append(request)
        return request.number, reply

    async def finish(self) -> None:
        """Make sure that the server has outlived the last request, too."""
        if not self.session.is_connected or not self._recent:
            return
        await asyncio.sleep(SETTLE)
        if (gone := await self.session.absence()) is not None:
            await self._find_culprit(gone)

    async def _hung(self, request: Request, reply: Reply, *, is_gone: bool) -> Reply:
        if not is_gone:
            return reply._replace(why=f"{reply.why}; it still answers other requests")
        if self._has_suspects and self.session.can_restart:
            alone = await self._alone_after(request, reply)
            if alone.outcome not in _HARM:
                await self._find_culprit(reply)
                return alone
        return reply._replace(why=f"{reply.why}; it answers nothing any more")

    async def _blamed(self, request: Request, reply: Reply) -> Reply | None:
        """Whether a request crashed the server, or one before it did."""
        if not self._has_suspects:
            return reply
        if not self.session.can_restart:
            if not self._recent or reply.arrived:
                return reply
            self.corrections[self._recent[-1].number] = Reply("crash", None, f"it was answered, and then {reply.why}")
            self._recent.clear()
            return None
        alone = await self._alone_after(request, reply)
        if alone.outcome in _HARM:
            return alone
        await self._find_culprit(reply)
        return alone

    @property
    def _has_suspects(self) -> bool:
        """Whether another request than the last may have done harm."""
        return bool(self._recent) or not self._is_own

    async def _alone_after(self, request: Request, end: Reply) -> Reply:
        """What becomes of a server that is asked this alone, after another came to an end.

        Raises ConnectError where none can be started any more; that one came to an end stays known.
        """
        try:
            return await self.alone(request)
        except ConnectError:
            self._leave_open(end, f"{_NOT_AGAIN}{_named(request)}")
            raise

    async def _find_culprit(self, end: Reply) -> None:
        """Correct what was said of the request that ended the server some time after it was answered."""
        suspects = list(self._recent)[::-1]
        self._recent.clear()
        why = f"none of the last {len(suspects)} requests does that alone"
        if not suspects:
            why = "the request under way does not do that alone, and those before it were to other tools"
        if self.session.can_restart and not self.unexplained:  # what no request explains once, none does twice
            for first in range(0, len(suspects), AT_ONCE):
                asked = suspects[first : first + AT_ONCE]
                replies = await asyncio.gather(*map(self.alone, asked), return_exceptions=True)
                for request, reply in zip(asked, replies, strict=True):
                    if isinstance(reply, ConnectError):
                        why = _NOT_AGAIN
                    elif isinstance(reply, BaseException):
                        raise reply
                    elif reply.outcome in _HARM:
                        self.corrections[request.number] = reply
                        return
        last = _named(suspects[0]) if suspects else ""
        self._leave_open(end, f"{why}{last}")

    def _leave_open(self, end: Reply, why: str) -> None:
        self.unexplained.append(Reply(end.outcome, None, f"{end.why}; {why}"))

    async def alone(self, request: Request) -> Reply:
        """What becomes of a server that is started for this request and asked nothing else."""
        session = self.session.another()
        try:
            reply = await session.ask(request.method, request.params)
            if reply.outcome in _HARM:
                return reply
            await asyncio.sleep(SETTLE)
            gone = await session.absence()
            return reply if gone is None else _after(reply, gone)
        finally:
            await session.leave(at_once=True)


def _named(request: Request) -> str:
    return f"; the last was {request.method} with {spelt(request.params)}"


def _after(reply: Reply, gone: Reply) -> Reply:
    """The reply to a request that was answered before the server went away."""
    return Reply(gone.outcome, reply.answer, f"it was answered, and then: {gone.why}")

"""Requests that may do harm: sent one after the other, each with a look at whether the server is still there.

A crash is blamed on the request that caused it, and on no other: where it is not plain which one that was, the
requests in question are sent again, each to a server that was started for it.
"""

from __future__ import annotations

import asyncio
from collections import deque
from typing import TYPE_CHECKING, Any, NamedTuple

from mcproof.client.failures import ConnectError
from mcproof.client.session import Response
from mcproof.exchange.probe_facts import as_json

if TYPE_CHECKING:
    from mcproof.client.session import Session

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


class NumberedRequest(NamedTuple):
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
        self.corrections: dict[int, Response] = {}
        """What turned out later about requests that seemed to be answered."""
        self.unexplained: list[Response] = []
        """Ends of the server that no single request explains: how, and why it is not known which did it."""
        self._recent: deque[NumberedRequest] = deque(maxlen=SUSPECTS)
        self._is_own = not session.has_sent
        """Whether all requests of this connection are among the recent ones; listing harms no server."""
        self._last = 0

    async def send(self, method: str, params: dict[str, Any]) -> tuple[int, Response | None]:
        """What came of a request, and its number; None where the server had gone before it arrived.

        Raises ConnectError where the server cannot be reached any more.
        """
        self._last += 1
        request = NumberedRequest(self._last, method, params)
        if not self.session.is_connected:
            self._recent.clear()
            self._is_own = True
        response = await self.session.send(method, params)
        if not response.arrived and not self._has_suspects:  # it ended after it was listed
            response = await self.session.send(method, params)
        if response.outcome == "crash":
            return request.number, await self._blamed(request, response)
        if response.outcome == "hang":
            gone = await self.session.ping_failure(QUICK)
            await self.session.close(at_once=True)
            return request.number, await self._hung(request, response, is_gone=gone is not None)
        if self._looks and (gone := await self.session.ping_failure()) is not None:
            await self.session.close(at_once=True)
            return request.number, await self._blamed(request, _after(response, gone))
        self._recent.append(request)
        return request.number, response

    async def finish(self) -> None:
        """Make sure that the server has outlived the last request, too."""
        if not self.session.is_connected or not self._recent:
            return
        await asyncio.sleep(SETTLE)
        if (gone := await self.session.ping_failure()) is not None:
            await self._find_culprit(gone)

    async def _hung(self, request: NumberedRequest, response: Response, *, is_gone: bool) -> Response:
        if not is_gone:
            return response._replace(why=f"{response.why}; it still answers other requests")
        if self._has_suspects and self.session.can_restart:
            alone = await self._alone_after(request, response)
            if alone.outcome not in _HARM:
                await self._find_culprit(response)
                return alone
        return response._replace(why=f"{response.why}; it answers nothing any more")

    async def _blamed(self, request: NumberedRequest, response: Response) -> Response | None:
        """Whether a request crashed the server, or one before it did."""
        if not self._has_suspects:
            return response
        if not self.session.can_restart:
            if not self._recent or response.arrived:
                return response
            self.corrections[self._recent[-1].number] = Response(
                "crash", None, f"it was answered, and then {response.why}"
            )
            self._recent.clear()
            return None
        alone = await self._alone_after(request, response)
        if alone.outcome in _HARM:
            return alone
        await self._find_culprit(response)
        return alone

    @property
    def _has_suspects(self) -> bool:
        """Whether another request than the last may have done harm."""
        return bool(self._recent) or not self._is_own

    async def _alone_after(self, request: NumberedRequest, end: Response) -> Response:
        """What becomes of a server that is asked this alone, after another came to an end.

        Raises ConnectError where none can be started any more; that one came to an end stays known.
        """
        try:
            return await self.alone(request)
        except ConnectError:
            self._leave_open(end, f"{_NOT_AGAIN}{_named(request)}")
            raise

    async def _find_culprit(self, end: Response) -> None:
        """Correct what was said of the request that ended the server some time after it was answered."""
        suspects = list(self._recent)[::-1]
        self._recent.clear()
        why = f"none of the last {len(suspects)} requests does that alone"
        if not suspects:
            why = "the request under way does not do that alone, and those before it were to other tools"
        if self.session.can_restart and not self.unexplained:  # what no request explains once, none does twice
            for first in range(0, len(suspects), AT_ONCE):
                asked = suspects[first : first + AT_ONCE]
                responses = await asyncio.gather(*map(self.alone, asked), return_exceptions=True)
                for request, response in zip(asked, responses, strict=True):
                    if isinstance(response, ConnectError):
                        why = _NOT_AGAIN
                    elif isinstance(response, BaseException):
                        raise response
                    elif response.outcome in _HARM:
                        self.corrections[request.number] = response
                        return
        last = _named(suspects[0]) if suspects else ""
        self._leave_open(end, f"{why}{last}")

    def _leave_open(self, end: Response, why: str) -> None:
        self.unexplained.append(Response(end.outcome, None, f"{end.why}; {why}"))

    async def alone(self, request: NumberedRequest) -> Response:
        """What becomes of a server that is started for this request and asked nothing else."""
        session = self.session.new_session()
        try:
            response = await session.send(request.method, request.params)
            if response.outcome in _HARM:
                return response
            await asyncio.sleep(SETTLE)
            gone = await session.ping_failure()
            return response if gone is None else _after(response, gone)
        finally:
            await session.close(at_once=True)


def _named(request: NumberedRequest) -> str:
    return f"; the last was {request.method} with {as_json(request.params)}"


def _after(response: Response, gone: Response) -> Response:
    """The response to a request that was answered before the server went away."""
    return Response(gone.outcome, response.message, f"it was answered, and then: {gone.why}")

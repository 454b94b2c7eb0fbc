"""Blame: send requests that may harm a server, and find out which one did.

A crash is attributed to the request that caused it and to no other. If it is not clear which one that was, each of
the suspects is sent again to a fresh server. A hang is one only if the request hangs again, alone and with a longer
limit.
Why blame is found: docs/decisions/0002-blame-is-found.md.
Why harm is confirmed: docs/decisions/0034-harm-is-confirmed.md.
"""

from __future__ import annotations

import asyncio
from collections import deque
from typing import Any

from mcproof.client.errors import ConnectError
from mcproof.client.session import Response, Session
from mcproof.core.named_tuple import NamedTuple
from mcproof.core.observations.probes import SERVER_LOST, as_json

SETTLE = 0.3
"""Seconds to wait for the end of a server that may be about to end."""
SUSPECTS = 25
"""How many earlier requests are tried when the server ended and the last request does not cause it alone."""
AT_ONCE = 5
"""How many of them are tried concurrently."""
LONGER = 3.0
"""How many times the limit a request gets that is sent again alone."""
QUICK = 2.0
"""Seconds until a server must respond to a ping after a call of a tool that is known to hang."""
_CANNOT_RESTART = "the cause is unknown: the server cannot be restarted"


class NumberedRequest(NamedTuple):
    """A request with its position in the sequence."""

    number: int
    method: str
    params: dict[str, Any]

    @property
    def subject(self) -> str:
        """The tool or, for other requests, the method."""
        name = self.params.get("name")
        return name if self.method == "tools/call" and isinstance(name, str) else self.method


class Sender:
    """Sends requests over a session and attributes harm to them."""

    def __init__(self, session: Session, *, pings: bool = True) -> None:
        self.session = session
        session.is_patient = True
        self._pings = pings
        """Whether to ping after every response, or only once something went wrong."""
        self.corrections: dict[int, Response] = {}
        """Requests that got a response and turned out later to have ended the server, by number."""
        self.unexplained: list[Response] = []
        """Ends of the server that no single request explains."""
        self.searches = True
        """Whether to look for the request that ended the server, if it was not the last. An end that was unexplained
        once stays so, and searching takes long."""
        self._recent: deque[NumberedRequest] = deque(maxlen=SUSPECTS)
        self._is_own = not session.has_sent
        """Whether all requests of this connection are among the recent ones; listing does not count."""
        self._last = self._ends = 0
        self._hanging: set[str] = set()
        """The tools and methods of confirmed hangs."""

    async def send(self, method: str, params: dict[str, Any]) -> tuple[int, Response | None]:
        """Send a request; return its number and its response, or None if the server had ended before it arrived.

        Raises ConnectError if the server cannot be reached.
        """
        self._last += 1
        request = NumberedRequest(self._last, method, params)
        if not self.session.is_connected:
            self._recent.clear()
            # The server that starts now gets no requests but those that follow.
            self._is_own = True
        response = await self.session.send(method, params)
        if not response.arrived and not self._has_suspects:  # the server ended after it was listed
            response = await self.session.send(method, params)
        if response.outcome == "crash":
            return request.number, await self._explain_crash(request, response)
        if response.outcome == "hang":
            return request.number, await self._explain_hang(request, response)
        if self._pings and (failure := await self.session.ping_failure()) is not None:
            late = _after_response(response, failure)
            if late.outcome == "hang":
                return request.number, await self._explain_hang(request, late)
            await self.session.close(at_once=True)
            return request.number, await self._explain_crash(request, late)
        self._recent.append(request)
        return request.number, response

    async def check(self) -> None:
        """Ping the server; find the culprit if it has ended since the last response."""
        if not self.session.is_connected or not self._recent:
            return
        failure = await self.session.ping_failure()
        # The usual limit comes first, because it is expensive to watch the CPU time of a server.
        if failure is not None and failure.outcome == "hang":  # a slow response is no hang, so a longer limit decides
            failure = await self.session.ping_failure(LONGER * self.session.limit)
        if failure is not None and failure.is_certain:
            self._ends += failure.outcome == "crash"
            await self._find_culprit(failure)

    async def finish(self) -> None:
        """Make sure that the server has survived the last request, too."""
        if self.session.is_connected and self._recent:
            await asyncio.sleep(SETTLE)
            await self.check()

    async def _explain_hang(self, request: NumberedRequest, response: Response) -> Response | None:
        """Send a request that hangs again, alone; None if the machine is too busy to find out whether it hangs.

        Further hangs of a tool are believed at once.
        """
        if request.subject in self._hanging:
            failure = await self.session.ping_failure(QUICK)
            await self.session.close(at_once=True)
            return _hang_before(response, failure) if response.is_certain else None
        try:
            alone = await self._retry_alone(request, response)
        except ConnectError as error:
            await self.session.close(at_once=True)
            if self.session.can_restart:
                raise
            return response._replace(why=f"{response.why}; another connection fails: {error.message}")
        is_dead = False
        if alone.outcome == "hang":
            self._hanging.add(request.subject)
        elif alone.outcome != "crash" and self.session.can_restart and self._has_suspects:
            failure = await self.session.ping_failure(LONGER * self.session.limit)
            is_dead = failure is not None and failure.is_certain
        await self.session.close(at_once=True)
        if is_dead:
            await self._find_culprit(response)
        self._recent.clear()
        return alone if alone.is_certain else None

    async def _explain_crash(self, request: NumberedRequest, response: Response) -> Response | None:
        """Attribute a crash to the last request or to an earlier one."""
        self._ends += 1
        if not self._has_suspects:
            return response
        if not self.session.can_restart:
            if not self._recent or response.arrived:
                return response
            # It ended before this request arrived, and no other process can show which one did it.
            crash = Response("crash", None, f"after the response: {response.why}")
            self.corrections[self._recent[-1].number] = crash
            self._recent.clear()
            return None
        alone = await self._retry_alone(request, response)
        if alone.outcome in SERVER_LOST:
            return alone
        await self._find_culprit(response)
        return alone

    @property
    def _has_suspects(self) -> bool:
        """Whether a request other than the last may have ended the server."""
        return bool(self._recent) or not self._is_own

    async def _retry_alone(self, request: NumberedRequest, end: Response) -> Response:
        """Send a request again, alone. Raises ConnectError, after it has recorded the end of the server."""
        try:
            return await self.send_alone(request)
        except ConnectError:
            if self.session.can_restart:
                self._leave_unexplained(end, f"{_CANNOT_RESTART}{_named(request)}")
            raise

    async def _find_culprit(self, end: Response) -> None:
        """Find the recent request that ended the server some time after its response, and correct its outcome."""
        suspects = list(self._recent)[::-1]
        self._recent.clear()
        why = f"none of the last {len(suspects)} requests causes this alone"
        if not suspects:
            why = "the last request does not cause this alone, and earlier ones went to other tools"
        if self.session.can_restart and self.searches:
            for first in range(0, len(suspects), AT_ONCE):
                group = suspects[first : first + AT_ONCE]
                # Exceptions are results here, so that every server of the group is ended before one of them is raised.
                responses = await asyncio.gather(*map(self.send_alone, group), return_exceptions=True)
                for request, response in zip(group, responses, strict=True):
                    if isinstance(response, ConnectError):
                        why = _CANNOT_RESTART
                    elif isinstance(response, BaseException):
                        raise response
                    elif response.outcome in SERVER_LOST:
                        self.corrections[request.number] = response
                        return
        last = _named(suspects[0]) if suspects else ""
        self._leave_unexplained(end, f"{why}{last}")

    def take_ends(self) -> int:
        """How often the server has ended since this was asked last, also before a request or after a response."""
        ends, self._ends = self._ends, 0
        return ends

    def _leave_unexplained(self, end: Response, why: str) -> None:
        self.searches = False
        self.unexplained.append(Response(end.outcome, None, f"{end.why}; {why}"))

    async def ends_with(self, requests: list[NumberedRequest]) -> bool:
        """Whether a fresh server ends while it gets some requests, or soon after."""
        session = self.session.new_session()
        try:
            for request in requests:
                if (await session.send(request.method, request.params)).outcome == "crash":
                    return True
            await asyncio.sleep(SETTLE)
            failure = await session.ping_failure()
            return failure is not None and failure.outcome == "crash"
        finally:
            await session.close(at_once=True)

    async def send_alone(self, request: NumberedRequest) -> Response:
        """Send a request to a fresh server with a longer limit, and wait whether it survives."""
        session = self.session.new_session()
        longer = LONGER * session.limit
        try:
            response = await session.send(request.method, request.params, longer)
            if response.outcome == "hang":
                return _hang_before(response, await session.ping_failure())
            if response.outcome == "crash":
                return response
            await asyncio.sleep(SETTLE)
            failure = await session.ping_failure(longer)
            return response if failure is None else _after_response(response, failure)
        finally:
            await session.close(at_once=True)


def _named(request: NumberedRequest) -> str:
    return f"; the last one was {request.method} with {as_json(request.params)}"


def _hang_before(response: Response, failure: Response | None) -> Response:
    """A hang, with the result of the ping that followed it; a server that has ended did not hang but crash."""
    if failure is None:
        return response._replace(why=f"{response.why}; other requests still get responses")
    if failure.outcome == "crash":
        return Response("crash", None, f"{response.why}; after that, {failure.why}")
    return response._replace(why=f"{response.why}; the server no longer responds")


def _after_response(response: Response, failure: Response) -> Response:
    """The outcome of a request that got a response before the server ended."""
    why = f"after the response: {failure.why}"
    return Response(failure.outcome, response.message, why, is_certain=failure.is_certain)

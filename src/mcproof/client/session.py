"""A live server that is called again and again, and started anew where it has gone."""

from __future__ import annotations

import asyncio
import re
from time import perf_counter
from typing import TYPE_CHECKING, Any, NamedTuple

from mcproof.client.connect import connect
from mcproof.client.connection import in_seconds
from mcproof.client.endpoints import UrlEndpoint
from mcproof.client.failures import ConnectError, LostError, NoMessageError, UnsentError
from mcproof.client.secrets import hiding
from mcproof.exchange.probe_facts import LONGEST_EXCERPT, excerpt

if TYPE_CHECKING:
    from mcproof.client.connect import ConnectOptions
    from mcproof.client.connection import Connection, Limits
    from mcproof.client.endpoints import Endpoint
    from mcproof.client.peer import RpcResponse
    from mcproof.exchange.connection_facts import Anomaly, ProcessEnd
    from mcproof.exchange.probe_facts import Outcome

NOT_AN_ANSWER = frozenset(
    {"no-jsonrpc", "result-and-error", "no-result", "result-not-object", "malformed-error", "wrong-id", "not-a-number"}
    | {"not-utf8", "content-type"}
)
"""Anomalies of an answer that make it none."""
_NOISE = frozenset({"not-json", "not-an-object", "truncated", "line-too-long", "not-utf8", "batch"})
_NO_MESSAGE = frozenset({"not-json", "not-an-object", "not-utf8"})
_TOO_LARGE = 413
_TRUE = (True, "true", "True")
"""What is meant by true; that a text is none is another finding."""
_ASKED_FOR_INPUT = "input_required"


class Response(NamedTuple):
    """What came of one request."""

    outcome: Outcome
    message: RpcResponse | None
    why: str = ""
    """What there is to say where no answer came, or none that is one."""
    arrived: bool = True
    """Whether the request reached the server; not where that had gone before."""

    @property
    def result(self) -> dict[str, Any]:
        """The result of a call that was answered; empty where there is none."""
        result = self.message.result if self.message is not None else None
        return result if isinstance(result, dict) else {}

    @property
    def code(self) -> int | None:
        """The code of a JSON-RPC error."""
        error = self.message.error if self.message is not None else None
        code = error.get("code") if error is not None else None
        return code if isinstance(code, int) else None

    @property
    def text(self) -> str:
        """The answer as it came but for its number, cropped, or why there is none."""
        if self.message is None or self.why:
            return self.why
        raw = self.message.raw[: 4 * LONGEST_EXCERPT].decode(errors="replace")
        text = _without_number(raw, self.message)
        length = len(self.message.raw) - len(raw) + len(text)
        if length <= LONGEST_EXCERPT:
            return text
        size = f"… ({length:,} bytes)"
        return f"{text[: LONGEST_EXCERPT - len(size)]}{size}"  # so that nobody crops it again


Request = tuple[str, dict[str, Any] | None]
"""A method and its parameters."""


class Session:
    """One server, and the process or the connection that stands for it at the moment."""

    def __init__(self, server: Endpoint, options: ConnectOptions, limit: float) -> None:
        self.server = server
        self.limit = limit
        """How long an answer may take, in seconds."""
        self.starts = 0
        """How often it was started or connected to."""
        self._options = options
        self._connection: Connection | None = None
        self._hide = hiding(server.secrets)
        self._is_noisy = False
        self.has_asked = False
        """Whether a request was sent over the current connection, other than to list what the server offers."""
        self.noise = ""
        """The first line of a server's output that is no message, without secrets; empty while there is none."""

    @property
    def can_restart(self) -> bool:
        """Whether it is ours to start anew."""
        return not isinstance(self.server, UrlEndpoint)

    @property
    def limits(self) -> Limits:
        return self._options.limits

    @property
    def is_connected(self) -> bool:
        return self._connection is not None

    def new_session(self) -> Session:
        """A session with the same server that shares nothing with this one."""
        return Session(self.server, self._options, self.limit)

    async def connection(self) -> Connection:
        """The connection, made where there is none. Raises ConnectError, with no secret in it."""
        if self._connection is None:
            try:
                self._connection = await connect(self.server, self._options)
            except (ConnectError, LostError) as error:
                hidden = ConnectError(self._hide(error.message), file=self.server.label)
                hidden.last_lines = self._hide(error.last_lines)
                raise hidden from None
            self.starts += 1
            self._listen(self._connection)
        return self._connection

    def _listen(self, connection: Connection) -> None:
        """Keep what was sent beside messages, before it is forgotten."""
        anomalies = connection.transport.peer.anomalies
        if anomalies and not self.noise and self.can_restart:
            strays = (each.detail for each in anomalies if each.kind in _NO_MESSAGE)
            self.noise = self._hide(next(strays, ""))

    def _begin(self, connection: Connection) -> list[Anomaly]:
        """Record that a request is sent now; the anomalies that arrive from here on."""
        self._listen(connection)
        self.has_asked = True
        anomalies = connection.transport.peer.anomalies
        anomalies.clear()
        return anomalies

    async def send(self, method: str, params: dict[str, Any] | None, limit: float | None = None) -> Response:
        """Send a request and see what comes of it. Raises ConnectError where there is no server to send it to."""
        connection = await self.connection()
        anomalies = self._begin(connection)
        try:
            answer = await connection.request(method, params, limit=limit or self.limit)
        except TimeoutError:
            return self._nothing(connection, limit or self.limit)
        except NoMessageError as error:
            return Response("malformed", None, self._hide(error.message))
        except (ConnectError, LostError) as error:
            return await self._lost(error)
        if anomalies:
            wrong = next((each for each in anomalies if each.kind in NOT_AN_ANSWER), None)
            self._is_noisy = self._is_noisy or any(each.kind in _NOISE for each in anomalies)
            if wrong is not None:
                detail = _without_number(wrong.detail, answer)
                return Response("malformed", answer, self._hide(f"{wrong.kind.replace('-', ' ')}: {detail}"))
        return Response("rejected" if is_refusal(answer) else "accepted", answer)

    async def send_together(self, requests: list[Request]) -> list[tuple[Response, float]] | str:
        """Replies to requests that are under way at once, each with its seconds; or why not all is well.

        The seconds are those since the answer before, so that nobody is charged for waiting while the server is at
        the call of another; together they are what all took.
        Nobody could say whose fault it is that something went wrong; nothing is said of mere noise. The connection is
        given up where some answers may still be on their way. Raises ConnectError where there is no server to ask.
        """
        connection = await self.connection()
        anomalies = self._begin(connection)
        last = perf_counter()

        async def one(method: str, params: dict[str, Any] | None) -> tuple[Response, float]:
            nonlocal last
            answer = await connection.request(method, params, limit=self.limit)
            before, last = last, perf_counter()
            return Response("rejected" if is_refusal(answer) else "accepted", answer), last - before

        try:
            responses = await asyncio.gather(*(one(*each) for each in requests))
        except (TimeoutError, ConnectError, LostError) as error:
            await self.close(at_once=True)
            if isinstance(error, TimeoutError):
                return f"no answer within {in_seconds(self.limit)}"
            return "" if isinstance(error, NoMessageError) else self._hide(error.message)
        return "" if anomalies else responses

    def _nothing(self, connection: Connection, limit: float) -> Response:
        """No answer came in time, unless what came instead was meant to be one."""
        noise = next((each for each in connection.transport.peer.anomalies if each.kind in _NOISE), None)
        if noise is not None and not self._is_noisy:
            return Response("malformed", None, self._hide(f"what came is no JSON-RPC: {noise.detail}"))
        return Response("hang", None, f"no answer within {in_seconds(limit)}")

    async def _lost(self, error: ConnectError | LostError) -> Response:
        status = getattr(error, "status", None)
        why = self._hide(error.message)
        if status is None:
            await self.close(at_once=True)
            arrived = isinstance(error, LostError) and not isinstance(error, UnsentError)
            return Response("crash", None, why, arrived)
        return Response("rejected" if status == _TOO_LARGE else "malformed", None, why)

    async def ping_failure(self, limit: float | None = None) -> Response | None:
        """What shows that the server is not there any more; None while it answers, whatever it says."""
        connection = await self.connection()
        method = "tools/list" if connection.era == "stateless" else "ping"
        response = await self.send(method, None, limit)
        return response if response.outcome in ("hang", "crash") else None

    async def close(self, *, at_once: bool = False) -> ProcessEnd | None:
        """End the connection, and the process behind it, which may be over already; the next request starts another."""
        connection, self._connection = self._connection, None
        self.has_asked = False
        if connection is None:
            return None
        self._listen(connection)
        if at_once:
            connection.transport.kill()
        return await connection.transport.close()

    def redacted(self, text: str) -> str:
        """A text of the server's without the secrets that it was given, as much of it as a report keeps."""
        return self._hide(excerpt(text))


def _without_number(text: str, answer: RpcResponse) -> str:
    """The text of an answer with 0 for the number of its request: that is ours, and tells what else was asked."""
    number = answer.envelope.get("id")
    if type(number) is not int or abs(number) >= 10**18:
        return text
    return re.sub(rf'("id"\s{{0,9}}:\s{{0,9}}){number}(?!\d)', r"\g<1>0", text, count=1)


def is_refusal(answer: RpcResponse) -> bool:
    """Whether an answer is an error, of the protocol or of the tool; one that asks for more has done nothing yet."""
    if answer.error is not None:
        return True
    result = answer.result
    if not isinstance(result, dict):
        return False
    return result.get("isError") in _TRUE or result.get("resultType") == _ASKED_FOR_INPUT

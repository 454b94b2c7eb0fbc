"""A session: repeated requests to one server, which is restarted if it has ended."""

from __future__ import annotations

import asyncio
import re
from time import perf_counter
from typing import TYPE_CHECKING, Any

from mcproof.client.connect import connect
from mcproof.client.connection import ServerMemory, authorized, in_seconds
from mcproof.client.endpoints import UrlEndpoint
from mcproof.client.errors import (
    ConnectError,
    EndlessQuestionsError,
    LostError,
    NoMessageError,
    UnsentError,
    for_report,
)
from mcproof.client.listing import METHODS, list_everything
from mcproof.client.peer import MOST_ANOMALIES
from mcproof.client.questions import asks_for_input
from mcproof.client.redaction import hiding
from mcproof.client.waiting import CPU_FACTOR, PatientTimeout
from mcproof.core.named_tuple import NamedTuple
from mcproof.core.observations.connection import first_unanswered
from mcproof.core.observations.probes import LONGEST_EXCERPT, excerpt

if TYPE_CHECKING:
    from mcproof.client.connect import ConnectOptions
    from mcproof.client.connection import Connection, Limits
    from mcproof.client.endpoints import Endpoint
    from mcproof.client.listing import Listing
    from mcproof.client.peer import RpcResponse
    from mcproof.client.questions import AnswerSource
    from mcproof.core.observations.connection import Anomaly, ProcessEnd, Question
    from mcproof.core.observations.probes import Outcome

MALFORMED = frozenset(
    {"no-jsonrpc", "result-and-error", "no-result", "result-not-object", "malformed-error", "wrong-id", "not-a-number"}
    | {"not-utf8", "content-type"}
)
"""Anomalies that make a response malformed."""
_NOISE = frozenset({"not-json", "not-an-object", "truncated", "line-too-long", "not-utf8", "batch"})
_STRAY = _NOISE - {"batch"} | {"byte-order-mark"}
_NO_MESSAGE = frozenset({"not-json", "not-an-object", "not-utf8"})
_TOO_LARGE = (413, 431)
_TRUE = (True, "true", "True")
"""Values of `isError` that mean true; that a string is not a boolean is another finding."""


class Response(NamedTuple):
    """The response to one request, or why there is none."""

    outcome: Outcome
    message: RpcResponse | None
    why: str = ""
    """Why there is no response, or why it is malformed."""
    arrived: bool = True
    """Whether the request reached the server; False if the server had ended before."""
    timed_out: bool = False
    """Whether the whole time limit passed: a hang, or output that was not a message."""
    is_certain: bool = True
    """Whether a hang is one; False if the machine was too busy to find out."""
    questions: tuple[Question, ...] = ()
    """What the server asked before it responded, with the replies."""

    @property
    def asks(self) -> str:
        """The first question without an answer, in words; empty if there is none. The response depends on it."""
        return first_unanswered(self.questions)

    @property
    def result(self) -> dict[str, Any]:
        """The result; empty if there is none."""
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
        """The raw message without its id, cropped; or why there is none."""
        if self.message is None or self.why:
            return self.why
        raw = self.message.raw[: 4 * LONGEST_EXCERPT].decode(errors="replace")
        text = _without_id(raw, self.message)
        length = len(self.message.raw) - len(raw) + len(text)
        if length <= LONGEST_EXCERPT:
            return text
        size = f"… ({length:,} bytes)"
        return f"{text[: LONGEST_EXCERPT - len(size)]}{size}"  # short enough not to be cropped again


Request = tuple[str, dict[str, Any] | None]
"""A method and its parameters."""


class Batch(NamedTuple):
    """The responses to requests that were sent concurrently, each with its seconds."""

    responses: list[tuple[Response, float]] | None
    """None if something went wrong: it cannot be attributed to one of the requests."""
    problem: str = ""
    """What went wrong; empty for mere noise."""


class Session:
    """One server, and its current process or connection."""

    def __init__(self, server: Endpoint, options: ConnectOptions, limit: float) -> None:
        self.server = server
        self.limit = limit
        """Seconds until a response is due."""
        self.starts = 0
        """How often the server was started or connected to."""
        self._options = options
        self._connection: Connection | None = None
        self.memory = ServerMemory()
        """What all sessions with the server share."""
        self._answers: AnswerSource | None = None
        self._hide = hiding(server.secrets)
        self._is_noisy = False
        self.has_sent = False
        """Whether a request other than a listing was sent over the current connection."""
        self.is_patient = False
        """Whether a server that computes gets more time than its limit: to find hangs, not to measure time."""
        self.stray_output: list[Anomaly] = []
        """Output since the first request that is neither a message nor taken for a response."""
        self.noise = ""
        """The first line of output that is not a message, without secrets."""

    @property
    def can_restart(self) -> bool:
        """Whether the server is a command; one at a URL is not ours to restart."""
        return not isinstance(self.server, UrlEndpoint)

    @property
    def limits(self) -> Limits:
        return self._options.limits

    @property
    def is_connected(self) -> bool:
        return self._connection is not None

    @property
    def changed_lists(self) -> set[str]:
        """The kinds of items whose list has changed since it was read over the current connection."""
        return self._connection.transport.peer.notifications.changed if self._connection is not None else set()

    def answer_from(self, answers: AnswerSource) -> None:
        """Answer questions from here from now on, within the capabilities that the connection has declared."""
        self._answers = answers

    def new_session(self) -> Session:
        """A session with the same server that shares no connection with this one."""
        session = Session(self.server, self._options, self.limit)
        session.is_patient = self.is_patient
        session.memory = self.memory
        session._answers = self._answers
        return session

    async def listing(self, *keys: str) -> Listing:
        """What the server lists under these keys of a capture, or under all."""
        methods = [method for method in METHODS if not keys or method.key in keys]
        return await list_everything(await self.connection(), methods)

    async def connection(self) -> Connection:
        """Return the connection, or connect. Raises ConnectError, without secrets."""
        if self._connection is None:
            try:
                options = self._options._replace(protocol=self._options.protocol or self.memory.revision)
                self._connection = await connect(self.server, options)
            except (ConnectError, LostError) as error:
                raise for_report(error, self._hide, self.server.label) from None
            self._connection.memory = self.memory
            if self.can_restart:
                self.memory.revision = self._connection.requested
            self.starts += 1
            self._record_noise(self._connection)
        return self._connection

    def _record_noise(self, connection: Connection) -> None:
        anomalies = connection.transport.peer.anomalies
        if anomalies and not self.noise and self.can_restart:
            strays = (anomaly.detail for anomaly in anomalies if anomaly.kind in _NO_MESSAGE)
            self.noise = self._hide(next(strays, ""))

    def _begin(self, connection: Connection) -> list[Anomaly]:
        """Return the list that collects the anomalies from now on."""
        self._record_noise(connection)
        self._keep_stray_output(connection)
        connection.transport.peer.anomalies.clear()
        connection.transport.peer.notifications.kept.clear()
        connection.respondent.begin()
        self.has_sent = True
        return connection.transport.peer.anomalies

    def _keep_stray_output(self, connection: Connection) -> None:
        """Keep the output of a process since the first request, unless it is a message or was taken for a response."""
        if self.has_sent and self.can_restart and len(self.stray_output) < MOST_ANOMALIES:
            self.stray_output += [anomaly for anomaly in connection.transport.peer.anomalies if anomaly.kind in _STRAY]

    async def send(self, method: str, params: dict[str, Any] | None, limit: float | None = None) -> Response:
        """Send a request and return its response. Raises ConnectError if the server cannot be reached."""
        connection = await self.connection()
        if self._answers is not None:
            connection.respondent.answers = self._answers
        self._note_call(method, params)
        response = await self._send(connection, method, params, limit or self.limit)
        return response._replace(questions=tuple(connection.respondent.asked))

    async def _send(
        self, connection: Connection, method: str, params: dict[str, Any] | None, seconds: float
    ) -> Response:
        anomalies = self._begin(connection)
        patience: PatientTimeout | None = None

        async def exchange() -> RpcResponse:
            nonlocal patience
            if self.is_patient:
                patience = PatientTimeout(seconds, self.limit, connection.transport.cpu_usage)
            async with patience or asyncio.timeout(seconds) as scope:
                connection.respondent.time_limit = scope if isinstance(scope, asyncio.Timeout) else None
                return await connection.unlimited_request(method, params)

        try:
            message = await authorized(connection.authorizer, exchange)
        except TimeoutError:
            return self._timed_out(connection, seconds, patience)
        except EndlessQuestionsError as error:
            return Response("hang", None, error.message)
        except NoMessageError as error:
            return Response("malformed", None, self._hide(error.message))
        except (ConnectError, LostError) as error:
            return await self._lost(error)
        finally:
            connection.respondent.time_limit = None
        if anomalies:
            wrong = next((anomaly for anomaly in anomalies if anomaly.kind in MALFORMED), None)
            self._is_noisy = self._is_noisy or any(anomaly.kind in _NOISE for anomaly in anomalies)
            if wrong is not None:
                anomalies.clear()
                detail = _without_id(wrong.detail, message)
                return Response("malformed", message, self._hide(f"{wrong.kind.replace('-', ' ')}: {detail}"))
        return Response("rejected" if is_refusal(message) else "accepted", message)

    def _note_call(self, method: str, params: dict[str, Any] | None) -> None:
        """Remember which tool is called: a report names all that the server has seen."""
        name = params.get("name") if method == "tools/call" and params is not None else None
        if isinstance(name, str):
            self.memory.called.add(name)

    async def send_together(self, requests: list[Request]) -> Batch:
        """Send requests concurrently. Raises ConnectError if the server cannot be reached.

        The seconds of a response count from the response before it, so that a request is not charged for the time
        that the server spends on others; their sum is the total. The connection is closed if responses may be pending.
        """
        connection = await self.connection()
        anomalies = self._begin(connection)
        for request in requests:
            self._note_call(*request)
        last = perf_counter()

        async def one(method: str, params: dict[str, Any] | None) -> tuple[Response, float]:
            nonlocal last
            message = await connection.request(method, params, limit=self.limit)
            before, last = last, perf_counter()
            return Response("rejected" if is_refusal(message) else "accepted", message), last - before

        try:
            responses = await asyncio.gather(*(one(*request) for request in requests))
        except (TimeoutError, ConnectError, LostError) as error:
            await self.close(at_once=True)
            if isinstance(error, TimeoutError):
                return Batch(None, f"no response within {in_seconds(self.limit)}")
            return Batch(None, "" if isinstance(error, NoMessageError) else self._hide(error.message))
        is_asked = bool(connection.respondent.asked)  # by which request is unknown
        return Batch(None if anomalies or is_asked else responses)

    def _timed_out(self, connection: Connection, limit: float, patience: PatientTimeout | None) -> Response:
        """A hang, or a malformed response if output arrived that was probably meant to be one."""
        noise = next((anomaly for anomaly in connection.transport.peer.anomalies if anomaly.kind in _NOISE), None)
        if noise is not None and not self._is_noisy:
            connection.transport.peer.anomalies.clear()
            return Response("malformed", None, self._hide(f"not JSON-RPC: {noise.detail}"), timed_out=True)
        if patience is not None and patience.is_computing:
            cpu = in_seconds(CPU_FACTOR * self.limit)
            return Response("hang", None, f"no response within {cpu} of CPU time", timed_out=True)
        is_undecided = patience is not None and patience.is_undecided
        why = f"no response within {in_seconds(limit)}"
        return Response("hang", None, why, timed_out=True, is_certain=not is_undecided)

    async def _lost(self, error: ConnectError | LostError) -> Response:
        status = getattr(error, "status", None)
        why = self._hide(error.message)
        if status is None:
            await self.close(at_once=True)
            arrived = isinstance(error, LostError) and not isinstance(error, UnsentError)
            return Response("crash", None, why, arrived)
        return Response("rejected" if status in _TOO_LARGE else "malformed", None, why)

    async def ping_failure(self, limit: float | None = None) -> Response | None:
        """Ping the server; None if it responds, whatever the response."""
        connection = await self.connection()
        # The stateless era has no `ping`.
        method = "tools/list" if connection.era == "stateless" else "ping"
        response = await self.send(method, None, limit)
        return response if response.outcome in ("hang", "crash") else None

    async def close(self, *, at_once: bool = False, grace: float | None = None) -> ProcessEnd | None:
        """Close the connection and end the process; the next request starts another."""
        connection, self._connection = self._connection, None
        if connection is None:
            return None
        self._record_noise(connection)
        self._keep_stray_output(connection)
        self.has_sent = False
        anomalies = connection.transport.peer.anomalies
        before = len(anomalies)
        if at_once:
            connection.transport.kill()
            return await connection.transport.close()
        ending = await connection.transport.close(grace)
        self._record_noise(connection)  # what was printed at the start may be written only at the end
        self.stray_output += [anomaly for anomaly in anomalies[before:] if anomaly.kind in _STRAY]
        return ending

    def redacted(self, text: str) -> str:
        """A text from the server without secrets, cropped for a report."""
        return self._hide(excerpt(text))


def _without_id(text: str, message: RpcResponse) -> str:
    """The text of a message with the id 0: real ids depend on how many requests were sent before."""
    number = message.envelope.get("id")
    if type(number) is not int or abs(number) >= 10**18:
        return text
    return re.sub(rf'("id"\s{{0,9}}:\s{{0,9}}){number}(?!\d)', r"\g<1>0", text, count=1)


def is_refusal(message: RpcResponse) -> bool:
    """Whether a response is an error of the protocol or of the tool, or asks for more input."""
    if message.error is not None:
        return True
    result = message.result
    if not isinstance(result, dict):
        return False
    return reports_error(result) or asks_for_input(result)


def reports_error(result: dict[str, Any]) -> bool:
    """Whether the result of a call is an error of the tool."""
    return result.get("isError") in _TRUE

"""The client side of JSON-RPC, tolerant of servers that violate it.

Every violation is recorded as an anomaly, and the message is used anyway if its meaning is clear: a response with a
wrong id or without `jsonrpc` should not end in a timeout.
Why mcproof has a client of its own: docs/decisions/0015-own-mcp-client.md.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any

from mcproof.client.errors import ConnectError, EndlessQuestionsError, LostError, UnsentError
from mcproof.client.questions import METHOD_NOT_FOUND
from mcproof.client.tracing import PeerTrace, ServerNotifications
from mcproof.core.errors import McproofError
from mcproof.core.named_tuple import NamedTuple
from mcproof.core.observations.connection import Anomaly, cropped
from mcproof.core.text.json_document import kind_of

if TYPE_CHECKING:
    from mcproof.client.questions import Respondent

INVALID_REQUEST = -32600
PATIENCE = 0.3
"""How long a response with a wrong id is held back in case one with the right id arrives, in seconds."""
MOST_ANOMALIES = 1_000
"""How many anomalies are kept of a server that sends nothing else."""

MOST_PENDING_RESPONSES = 100
"""How many responses to the server's own requests may be pending, in case it does not read them."""

_SHOWN = 400
"""How many bytes of a message are kept as evidence."""

_NOTHING: Any = object()
_BYTE_ORDER_MARK = "\ufeff"


class RpcResponse(NamedTuple):
    """A response as received."""

    raw: bytes
    envelope: dict[str, Any]

    @property
    def result(self) -> Any:
        return self.envelope.get("result")

    @property
    def error(self) -> dict[str, Any] | None:
        """The error, if the response is not a result."""
        error = self.envelope.get("error")
        if error is None and "result" not in self.envelope:
            return {"code": None, "message": "neither a result nor an error"}
        return error if isinstance(error, dict) or error is None else {"code": None, "message": error}

    @property
    def description(self) -> str:
        """The error as a phrase: `error -32601: Method not found`."""
        error = self.error or {}
        code, message = error.get("code"), _as_text(error.get("message"))
        return cropped(f"error {_as_text(code)}: {message}" if code is not None else message)


class Peer:
    """The server as seen by the client: matches responses to requests."""

    def __init__(self, send: Callable[[bytes], Awaitable[None]]) -> None:
        self._send = send
        self._pending: dict[int, tuple[str, asyncio.Future[RpcResponse]]] = {}
        self._abandoned: set[int] = set()
        self._responding: dict[Any, asyncio.Task[None]] = {}
        """The tasks that respond to requests of the server, by the ids of those."""
        self._last_id = 0
        self._lost: Exception | None = None
        self._candidates: dict[int, tuple[asyncio.TimerHandle, bytes, dict[str, Any]]] = {}
        """Responses with wrong ids, by the request that each may belong to."""
        self._expected: int | None = None
        """The request that the current message is known to respond to, whatever its id."""
        self.anomalies: list[Anomaly] = []
        self.notifies_cancellation = True
        """Whether the server learns of a cancelled request by a message, rather than by the end of its stream."""
        self.notifications = ServerNotifications()
        self.has_responded = False
        """Whether a request has got its response."""
        self.reported = ""
        """The last error that belongs to no request; a server that refuses to start sends one before it exits."""
        self.respondent: Respondent | None = None
        """Answers the questions of the server; None if it must not ask any."""
        self.trace = PeerTrace()

    async def _transmit(self, message: dict[str, Any]) -> None:
        data = encoded(message)
        self.trace.sent(data)
        await self._send(data)

    def note(self, kind: str, detail: str, method: str | None = None) -> None:
        """Record an anomaly."""
        if len(self.anomalies) < MOST_ANOMALIES:
            self.anomalies.append(Anomaly(kind, cropped(detail), method))

    async def request(self, method: str, params: dict[str, Any] | None) -> RpcResponse:
        """Send a request and wait for its response. The caller sets the time limit; cancelling notifies the server."""
        if isinstance(self._lost, LostError):
            raise UnsentError(self._lost.message)
        if self._lost is not None:
            raise self._lost
        self._last_id += 1
        number = self._last_id
        future: asyncio.Future[RpcResponse] = asyncio.get_running_loop().create_future()
        self._pending[number] = (method, future)
        try:
            await self._transmit({"jsonrpc": "2.0", "id": number, "method": method, "params": params})
            return await future
        except asyncio.CancelledError:
            if number in self._pending:  # else its response arrived just after the cancellation
                self._abandoned.add(number)
            # The protocol does not allow cancelling the first request of a connection.
            if self.notifies_cancellation and method not in ("initialize", "server/discover"):
                await self._notify_cancelled(number)
            raise
        finally:
            self._pending.pop(number, None)
            if future.done() and not future.cancelled():
                future.exception()  # retrieved here, in case sending failed as well

    async def _notify_cancelled(self, number: int) -> None:
        with contextlib.suppress(OSError, RuntimeError, McproofError):
            async with asyncio.timeout(1):
                await self.notify("notifications/cancelled", {"requestId": number, "reason": "took too long"})

    async def notify(self, method: str, params: dict[str, Any] | None = None) -> None:
        await self._transmit({"jsonrpc": "2.0", "method": method, "params": params})

    def awaits(self, number: Any) -> bool:
        """Whether the response to this request is still pending."""
        pending = self._pending.get(number) if isinstance(number, int) else None
        return pending is not None and not pending[1].done()

    def fail(self, error: Exception) -> None:
        """Fail all pending and future requests."""
        self._lost = error
        for _, future in self._pending.values():
            if not future.done():
                future.set_exception(error)

    async def close(self) -> None:
        """Stop responding to the server."""
        tasks = list(self._responding.values())
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    def receive(self, raw: bytes, *, responds_to: int | None = None) -> None:
        """Process one message; over HTTP the request that it responds to is known, whatever its id."""
        self._expected = responds_to
        value = self._read(raw)
        if isinstance(value, list):
            self.note("batch", _shown(raw))
            for message in value:
                self._take(message, raw)
        elif value is not _NOTHING:
            self._take(value, raw)

    def refuse(self, number: int, raw: bytes) -> bool:
        """Process the JSON-RPC error of an HTTP error response, whose id may be anything; whether it is one."""
        value = self._read(raw)
        if not isinstance(value, dict) or "error" not in value or not self.awaits(number):
            return False
        self._settle(number, value, raw)
        return True

    def _read(self, raw: bytes) -> Any:
        """The parsed message; problems are recorded, and fixed if the meaning is clear."""
        self.trace.received(raw)
        if not raw.strip():
            return _NOTHING
        try:
            text = raw.decode()
        except UnicodeDecodeError:  # noted and read anyway: a faulty message may be the response
            self.note("not-utf8", raw[:_SHOWN].decode(errors="backslashreplace"))
            return self._parsed(raw.decode(errors="replace"), is_noted=True)
        if text.startswith(_BYTE_ORDER_MARK):
            self.note("byte-order-mark", text[1:_SHOWN])
            text = text[1:]
        return self._parsed(text)

    def _parsed(self, text: str, *, is_noted: bool = False) -> Any:
        try:
            try:
                return json.loads(text, object_pairs_hook=self._object, parse_constant=self._constant)
            except json.JSONDecodeError:
                raise
            except ValueError:  # an integer with more digits than Python converts, which is valid JSON
                return json.loads(
                    text, object_pairs_hook=self._object, parse_constant=self._constant, parse_int=_long_int
                )
        except ValueError:
            what = text[:_SHOWN]
        except RecursionError:
            what = f"nested too deeply: {text[:100]}"
        if not is_noted:
            self.note("not-json", what)
        return _NOTHING

    def _object(self, pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        members = dict(pairs)
        if len(members) != len(pairs):
            self.note("duplicate-key", _first_duplicate(pairs))
        return members

    def _constant(self, word: str) -> None:
        """Replace `NaN` and `Infinity`, which are not JSON, by null."""
        self.note("not-a-number", word)

    def _take(self, message: Any, raw: bytes) -> None:
        if not isinstance(message, dict):
            self.note("not-an-object", _shown(raw))
            return
        if not isinstance(message.get("method"), str):
            self._resolve(message, raw)
            return
        self._check_version(message, raw)
        if "id" not in message:
            self._notice(message["method"], message.get("params"))
            return
        sent = self._pending.get(message["id"]) if isinstance(message["id"], int) else None
        if sent is not None and sent[0] == message["method"]:
            self.fail(ConnectError("not an MCP server: it echoes its input"))
            return
        self._respond(message, len(raw))

    def _check_version(self, message: dict[str, Any], raw: bytes) -> None:
        if message.get("jsonrpc") != "2.0":
            self.note("no-jsonrpc", _shown(raw))

    def _notice(self, method: str, params: Any) -> None:
        """Process a notification: withdraw a question that the server has cancelled, and keep the rest."""
        self.notifications.add(method, params)
        if method == "notifications/cancelled" and isinstance(params, dict):
            number = params.get("requestId")
            task = self._responding.get(number) if isinstance(number, (str, int)) else None
            if task is not None:
                task.cancel()

    def _respond(self, request: dict[str, Any], size: int) -> None:
        """Respond to a request of the server.

        A task sends the response, so that reading continues: the server may read only after it has written everything.
        """
        number, method = request["id"], request["method"]
        number = number if isinstance(number, (str, int)) else None
        if len(self._responding) >= MOST_PENDING_RESPONSES:
            return
        is_question = self.respondent is not None and self.respondent.offers(method)
        if method != "ping" and not is_question:
            self.note("unexpected-request", method)
        key = number if number not in self._responding else object()
        task = asyncio.create_task(self._send_response(number, request, size, is_reused=key is not number))
        self._responding[key] = task
        task.add_done_callback(lambda _: self._responding.pop(key, None))

    async def _send_response(self, number: Any, request: dict[str, Any], size: int, *, is_reused: bool) -> None:
        response: dict[str, Any] = {"jsonrpc": "2.0", "id": number}
        try:
            response |= await self._outcome(request, size, is_reused=is_reused)
        except EndlessQuestionsError as error:
            for _, future in self._pending.values():
                if not future.done():
                    future.set_exception(error)
            # Over HTTP, the next message of the server ends the stream of the request.
            response["error"] = {"code": INVALID_REQUEST, "message": "too many questions"}
        with contextlib.suppress(McproofError):  # the server has ended
            await self._transmit(response)

    async def _outcome(self, request: dict[str, Any], size: int, *, is_reused: bool) -> dict[str, Any]:
        """The result or error of a request of the server."""
        method = request["method"]
        if method == "ping":
            return {"result": {}}
        if self.respondent is None:
            return {"error": {"code": METHOD_NOT_FOUND, "message": "this client has no such method"}}
        if is_reused:
            return {"error": {"code": INVALID_REQUEST, "message": "a request with this id is pending"}}
        reply = await self.respondent.respond(method, request.get("params"), size)
        return {"result": reply.result} if reply.error is None else {"error": reply.error}

    def keep_report(self, line: bytes) -> None:
        """Keep the error of a last line without its end."""
        with contextlib.suppress(ValueError, RecursionError):
            message = json.loads(line)
            self._keep_error(message if isinstance(message, dict) else {})

    def _keep_error(self, message: dict[str, Any]) -> None:
        error = message.get("error")
        if message.get("id") is None and isinstance(error, dict):
            self.reported = _as_text(error.get("message"))

    def _resolve(self, message: dict[str, Any], raw: bytes) -> None:
        given = message.get("id")
        self._keep_error(message)
        own_id = (
            given if isinstance(given, int) and not isinstance(given, bool) and 0 < given <= self._last_id else None
        )
        if own_id is not None and self.awaits(own_id):
            self._settle(own_id, message, raw)
            return
        if own_id is not None and self._was_cancelled(own_id):  # a late response to a cancelled request
            self._abandoned.discard(own_id)
            self._pending.pop(own_id, None)
            return
        if not ("result" in message or "error" in message) or not ("jsonrpc" in message or "id" in message):
            self.note("not-an-object", _shown(raw))  # such as a log line, which may have an `error`
            return
        number = self._guess(given, message) if own_id is None else None
        # An error without an id may be about a message that could not be read, or answer a notification: a request
        # that is pending meanwhile still gets its own response. Only a result without an id is used at once.
        is_doubtful = given != str(number) and (given is not None or "result" not in message)
        if number is not None and is_doubtful and number != self._expected:
            self._settle_later(number, message, raw)
            return
        if number is None:
            self._check_version(message, raw)
            self._note_stray(raw, message)
            return
        if given is not None or "result" in message:
            self.note("wrong-id", f"{_quoted(given)} for the request {number}", self._pending[number][0])
        self._settle(number, message, raw)

    def _was_cancelled(self, number: int) -> bool:
        """Whether a request was cancelled; its task may not have run since."""
        return number in self._abandoned or (number in self._pending and self._pending[number][1].cancelled())

    def _settle_later(self, number: int, message: dict[str, Any], raw: bytes) -> None:
        """Use a response with a wrong id for this request, unless the right one arrives shortly."""
        given = _quoted(message.get("id"))

        def settle() -> None:
            del self._candidates[number]
            if self.awaits(number):
                if message.get("id") is not None:  # an error needs no id if the request had no readable one
                    self.note("wrong-id", f"{given} for the request {number}", self._pending[number][0])
                self._settle(number, message, raw)

        if number in self._candidates:
            self._note_stray(raw, message)
        else:
            timer = asyncio.get_running_loop().call_later(PATIENCE, settle)
            self._candidates[number] = (timer, raw, message)

    def _note_stray(self, raw: bytes, message: dict[str, Any]) -> None:
        """Record a response to no request. An error without an id answers a notification, which has none."""
        is_error = message.get("id") is None and message.get("error") is not None
        self.note("answered-notification" if is_error else "unmatched-id", _shown(raw))

    def _guess(self, given: Any, message: dict[str, Any]) -> int | None:
        """The request that a response with a wrong id probably belongs to."""
        waiting = [number for number, (_, future) in self._pending.items() if not future.done()]
        for number in waiting:
            if given == str(number):
                return number
        # Two requests are pending only while the era is detected: an error is probably for the first one, which a
        # server of the older era does not know, and a result for the second.
        index = -1 if "result" in message else 0
        return waiting[index] if waiting else None

    def _settle(self, number: int, message: dict[str, Any], raw: bytes) -> None:
        if number in self._candidates:  # the response held back belongs to another request, or to none
            timer, stray, other = self._candidates.pop(number)
            timer.cancel()
            self._note_stray(stray, other)
        method, future = self._pending[number]
        self.has_responded = True
        self._check_version(message, raw)
        result, error = message.get("result"), message.get("error")
        if error is not None and "result" in message:
            self.note("result-and-error", _shown(raw), method)
        elif error is None and "result" not in message:
            self.note("no-result", _shown(raw), method)
        elif error is None and not isinstance(result, dict):
            self.note("result-not-object", _shown(raw), method)
        elif error is not None and not _is_error(error):
            self.note("malformed-error", _shown(raw), method)
        if not future.done():
            future.set_result(RpcResponse(raw, message))


def _is_error(error: Any) -> bool:
    return (
        isinstance(error, dict)
        and isinstance(error.get("code"), int)
        and not isinstance(error.get("code"), bool)
        and isinstance(error.get("message"), str)
    )


def _shown(raw: bytes) -> str:
    return raw[:_SHOWN].decode(errors="replace")


def _first_duplicate(pairs: list[tuple[str, Any]]) -> str:
    """The first name that occurs twice; empty if there is none."""
    seen: set[str] = set()
    for name, _ in pairs:
        if name in seen:
            return name
        seen.add(name)
    return ""


def _as_text(value: Any) -> str:
    """A value that should be a string or a number; an object or a list, of any size, is only named."""
    if isinstance(value, str):
        return value
    return kind_of(value) if isinstance(value, (dict, list)) else json.dumps(value)


def _quoted(value: Any) -> str:
    return f'"{value}"' if isinstance(value, str) else _as_text(value)


def _long_int(digits: str) -> int | float:
    return int(digits) if len(digits) < 4000 else float(digits)


def encoded(message: dict[str, Any]) -> bytes:
    """A message as one line of JSON; `params` is omitted if None."""
    present = {key: value for key, value in message.items() if key != "params" or value is not None}
    return json.dumps(present, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "surrogatepass")

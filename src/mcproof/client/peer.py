"""JSON-RPC from the client's side, for servers that may not keep to it.

Whatever arrives is judged, recorded and, wherever it can be, understood: a wrong id or a missing `jsonrpc` is
evidence, not a reason to wait until the time is up.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
from typing import TYPE_CHECKING, Any, NamedTuple

from mcproof.client.failures import ConnectError, LostError, UnsentError
from mcproof.errors import McproofError
from mcproof.exchange.connection_facts import Anomaly, cropped
from mcproof.text.jsontext import kind_of

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

METHOD_NOT_FOUND = -32601
PATIENCE = 0.3
"""How long an answer with a foreign id waits for one with the right id, in seconds."""
MOST_ANOMALIES = 1_000
"""How many are kept; a server that floods is known by then."""

MOST_REPLIES = 100
"""How many answers to a server may be under way; one that asks and does not listen gets no more."""

_SHOWN = 400
"""How many bytes of a message are looked at for evidence."""

_NOTHING: Any = object()
_BYTE_ORDER_MARK = "\ufeff"


class RpcResponse(NamedTuple):
    """What came back for a request."""

    raw: bytes
    envelope: dict[str, Any]

    @property
    def result(self) -> Any:
        return self.envelope.get("result")

    @property
    def error(self) -> dict[str, Any] | None:
        """The error, if the answer is one."""
        error = self.envelope.get("error")
        if error is None and "result" not in self.envelope:
            return {"code": None, "message": "neither a result nor an error"}
        return error if isinstance(error, dict) or error is None else {"code": None, "message": error}

    @property
    def complaint(self) -> str:
        """The error in words."""
        error = self.error or {}
        code, message = error.get("code"), _spelt(error.get("message"))
        return cropped(f"error {_spelt(code)}: {message}" if code is not None else message)


class Peer:
    """The other end of a connection: requests go out, answers find back to them."""

    def __init__(self, send: Callable[[bytes], Awaitable[None]]) -> None:
        self._send = send
        self._pending: dict[int, tuple[str, asyncio.Future[RpcResponse]]] = {}
        self._abandoned: set[int] = set()
        self._replies: set[asyncio.Task[None]] = set()
        self._last_id = 0
        self._lost: Exception | None = None
        self._candidates: dict[int, tuple[asyncio.TimerHandle, bytes]] = {}
        """Answers with foreign ids, by the request that each may be for."""
        self._answered: int | None = None
        """The request that the message at hand is known to answer."""
        self.anomalies: list[Anomaly] = []

    def note(self, kind: str, detail: str, method: str | None = None) -> None:
        """Record something that should not have been sent."""
        if len(self.anomalies) < MOST_ANOMALIES:
            self.anomalies.append(Anomaly(kind, cropped(detail), method))

    async def request(self, method: str, params: dict[str, Any] | None) -> RpcResponse:
        """Send a request and wait for its answer. Whoever waits sets the limit; giving up tells the server."""
        if isinstance(self._lost, LostError):
            raise UnsentError(self._lost.message)
        if self._lost is not None:
            raise self._lost
        self._last_id += 1
        number = self._last_id
        future: asyncio.Future[RpcResponse] = asyncio.get_running_loop().create_future()
        self._pending[number] = (method, future)
        try:
            await self._send(encoded({"jsonrpc": "2.0", "id": number, "method": method, "params": params}))
            return await future
        except asyncio.CancelledError:
            if number in self._pending:  # else its answer came between our giving up and here
                self._abandoned.add(number)
            if method not in ("initialize", "server/discover"):  # which the protocol does not let one cancel
                await self._tell_cancelled(number)
            raise
        finally:
            self._pending.pop(number, None)
            if future.done() and not future.cancelled():
                future.exception()  # where sending has failed as well, nobody else asks for it

    async def _tell_cancelled(self, number: int) -> None:
        with contextlib.suppress(OSError, RuntimeError, McproofError):
            async with asyncio.timeout(1):
                await self.notify("notifications/cancelled", {"requestId": number, "reason": "took too long"})

    async def notify(self, method: str, params: dict[str, Any] | None = None) -> None:
        await self._send(encoded({"jsonrpc": "2.0", "method": method, "params": params}))

    def awaits(self, number: Any) -> bool:
        """Whether the answer to this request is still due."""
        pending = self._pending.get(number) if isinstance(number, int) else None
        return pending is not None and not pending[1].done()

    def fail(self, error: Exception) -> None:
        """Let everybody who waits, or will ask later, know that nothing will come."""
        self._lost = error
        for _, future in self._pending.values():
            if not future.done():
                future.set_exception(error)

    async def close(self) -> None:
        """Stop answering the server."""
        for task in self._replies:
            task.cancel()
        await asyncio.gather(*self._replies, return_exceptions=True)

    def receive(self, raw: bytes, *, answers: int | None = None) -> None:
        """Take what a server sent as one message; it may be known which request it answers, whatever its id."""
        self._answered = answers
        value = self._read(raw)
        if isinstance(value, list):
            self.note("batch", _shown(raw))
            for each in value:
                self._take(each, raw)
        elif value is not _NOTHING:
            self._take(value, raw)

    def refuse(self, number: int, raw: bytes) -> bool:
        """Take the error that came instead of an answer, whose id says nothing; whether it is one."""
        value = self._read(raw)
        if not isinstance(value, dict) or "error" not in value or not self.awaits(number):
            return False
        self._settle(number, value, raw)
        return True

    def _read(self, raw: bytes) -> Any:
        """The JSON in a message; what is wrong with it is noted, and mended where that leaves no doubt."""
        if not raw.strip():
            return _NOTHING
        try:
            text = raw.decode()
        except UnicodeDecodeError:
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
            except ValueError:  # an integer of more digits than Python converts, which JSON allows
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
            seen: set[str] = set()
            self.note("duplicate-key", next(name for name, _ in pairs if name in seen or seen.add(name)))  # type: ignore[func-returns-value]
        return members

    def _constant(self, word: str) -> None:
        """What JavaScript writes for a number that is none."""
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
            return
        asked = self._pending.get(message["id"]) if isinstance(message["id"], int) else None
        if asked is not None and asked[0] == message["method"]:
            self.fail(ConnectError("it sends back what it was sent; this is no MCP server"))
            return
        self._answer(message["id"], message["method"])

    def _check_version(self, message: dict[str, Any], raw: bytes) -> None:
        if message.get("jsonrpc") != "2.0":
            self.note("no-jsonrpc", _shown(raw))

    def _answer(self, number: Any, method: str) -> None:
        """Answer a request of the server's: a ping is a ping, and nothing else was offered.

        Reading goes on meanwhile: a server may write until it is heard, and listen only then.
        """
        reply: dict[str, Any] = {"jsonrpc": "2.0", "id": number if isinstance(number, (str, int)) else None}
        if method == "ping":
            reply["result"] = {}
        else:
            self.note("unexpected-request", method)
            reply["error"] = {"code": METHOD_NOT_FOUND, "message": "this client has no such method"}
        if len(self._replies) < MOST_REPLIES:
            task = asyncio.create_task(self._reply(encoded(reply)))
            self._replies.add(task)
            task.add_done_callback(self._replies.discard)

    async def _reply(self, message: bytes) -> None:
        with contextlib.suppress(McproofError):  # a server that has gone needs none
            await self._send(message)

    def _resolve(self, message: dict[str, Any], raw: bytes) -> None:
        given = message.get("id")
        asked = given if isinstance(given, int) and not isinstance(given, bool) and 0 < given <= self._last_id else None
        if asked is not None and self.awaits(asked):
            self._settle(asked, message, raw)
            return
        if asked is not None and self._was_given_up(asked):  # it was on its way when we gave up
            self._abandoned.discard(asked)
            self._pending.pop(asked, None)
            return
        if not ("result" in message or "error" in message) or not ("jsonrpc" in message or "id" in message):
            self.note("not-an-object", _shown(raw))  # such as a line of a log, which may well have an `error`
            return
        number = self._guess(given, message) if asked is None else None
        if number is not None and given is not None and given != str(number) and number != self._answered:
            self._settle_later(number, message, raw)
            return
        if number is None:
            self._check_version(message, raw)
            self.note("unmatched-id", _shown(raw))
            return
        if given is not None or "result" in message:  # an error may have no id where none could be read
            self.note("wrong-id", f"{_quoted(given)} for the request {number}", self._pending[number][0])
        self._settle(number, message, raw)

    def _was_given_up(self, number: int) -> bool:
        """Whether nobody waits for an answer that was asked for; who gave up may not have been told so yet."""
        return number in self._abandoned or (number in self._pending and self._pending[number][1].cancelled())

    def _settle_later(self, number: int, message: dict[str, Any], raw: bytes) -> None:
        """Take an answer with a foreign id for this request's, unless the right one comes in a moment."""
        given = _quoted(message.get("id"))

        def settle() -> None:
            del self._candidates[number]
            if self.awaits(number):
                self.note("wrong-id", f"{given} for the request {number}", self._pending[number][0])
                self._settle(number, message, raw)

        if number in self._candidates:
            self.note("unmatched-id", _shown(raw))
        else:
            self._candidates[number] = (asyncio.get_running_loop().call_later(PATIENCE, settle), raw)

    def _guess(self, given: Any, message: dict[str, Any]) -> int | None:
        """The request that an answer with a wrong id is for."""
        waiting = [number for number, (_, future) in self._pending.items() if not future.done()]
        for number in waiting:
            if given == str(number):
                return number
        # Two wait only while the era is being found out: whoever errs has not understood the first question,
        # and whoever has a result and left that one open has understood the second.
        place = -1 if "result" in message else 0
        return waiting[place] if waiting else None

    def _settle(self, number: int, message: dict[str, Any], raw: bytes) -> None:
        if number in self._candidates:  # it was another's, or nobody's
            timer, stray = self._candidates.pop(number)
            timer.cancel()
            self.note("unmatched-id", _shown(stray))
        method, future = self._pending[number]
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


def _spelt(value: Any) -> str:
    """What a server sent where a text or a number belongs; a structure may be of any size and depth."""
    if isinstance(value, str):
        return value
    return kind_of(value) if isinstance(value, (dict, list)) else json.dumps(value)


def _quoted(value: Any) -> str:
    return f'"{value}"' if isinstance(value, str) else _spelt(value)


def _long_int(digits: str) -> int | float:
    return int(digits) if len(digits) < 4000 else float(digits)


def encoded(message: dict[str, Any]) -> bytes:
    """A message on one line; absent parameters are left out."""
    present = {key: value for key, value in message.items() if key != "params" or value is not None}
    return json.dumps(present, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "surrogatepass")

"""JSON-RPC from the client's side, for servers that may not keep to it.

Whatever arrives is judged, recorded and, wherever it can be, understood: a wrong id or a missing `jsonrpc` is
evidence, not a reason to wait until the time is up.
"""

from __future__ import annotations

import asyncio
import json
from typing import TYPE_CHECKING, Any, NamedTuple

from mcproof.wire import Anomaly, cropped

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

METHOD_NOT_FOUND = -32601
MOST_ANOMALIES = 1_000
"""How many are kept; a server that floods is known by then."""


class Answer(NamedTuple):
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
        return error if isinstance(error, dict) or error is None else {"code": None, "message": str(error)}

    @property
    def complaint(self) -> str:
        """The error in words."""
        error = self.error or {}
        code, message = error.get("code"), error.get("message")
        return cropped(f"error {code}: {message}" if code is not None else str(message))


class Peer:
    """The other end of a connection: requests go out, answers find back to them."""

    def __init__(self, send: Callable[[bytes], Awaitable[None]]) -> None:
        self._send = send
        self._pending: dict[int, tuple[str, asyncio.Future[Answer]]] = {}
        self._last_id = 0
        self.anomalies: list[Anomaly] = []

    def note(self, kind: str, detail: str, method: str | None = None) -> None:
        """Record something that should not have been sent."""
        if len(self.anomalies) < MOST_ANOMALIES:
            self.anomalies.append(Anomaly(kind, cropped(detail), method))

    async def request(self, method: str, params: dict[str, Any] | None) -> Answer:
        """Send a request and wait for its answer. Whoever waits sets the limit; giving up tells the server."""
        self._last_id += 1
        number = self._last_id
        future: asyncio.Future[Answer] = asyncio.get_running_loop().create_future()
        self._pending[number] = (method, future)
        try:
            await self._send(encoded({"jsonrpc": "2.0", "id": number, "method": method, "params": params}))
            return await future
        except asyncio.CancelledError:
            if method not in ("initialize", "server/discover"):  # which the protocol does not let one cancel
                await asyncio.shield(self._tell_cancelled(number))
            raise
        finally:
            self._pending.pop(number, None)

    async def _tell_cancelled(self, number: int) -> None:
        try:
            async with asyncio.timeout(1):
                await self.notify("notifications/cancelled", {"requestId": number, "reason": "took too long"})
        except (OSError, TimeoutError, RuntimeError):
            pass

    async def notify(self, method: str, params: dict[str, Any] | None = None) -> None:
        await self._send(encoded({"jsonrpc": "2.0", "method": method, "params": params}))

    def awaits(self, number: Any) -> bool:
        """Whether the answer to this request is still due."""
        pending = self._pending.get(number) if isinstance(number, int) else None
        return pending is not None and not pending[1].done()

    def fail(self, error: Exception) -> None:
        """Let everybody who waits know that nothing will come."""
        for _, future in self._pending.values():
            if not future.done():
                future.set_exception(error)

    async def receive(self, raw: bytes) -> None:
        """Take what a server sent as one message."""
        if not raw.strip():
            return
        try:
            text = raw.decode()
        except UnicodeDecodeError:
            self.note("not-utf8", raw[:400].decode(errors="backslashreplace"))
            return
        try:
            value = json.loads(text, object_pairs_hook=self._object, parse_constant=self._constant)
        except ValueError:
            self.note("not-json", text[:400])
            return
        except RecursionError:
            self.note("not-json", f"nested too deeply: {text[:100]}")
            return
        if isinstance(value, list):
            self.note("batch", text[:400])
            for each in value:
                await self._take(each, raw)
        else:
            await self._take(value, raw)

    def _object(self, pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        members = dict(pairs)
        if len(members) != len(pairs):
            names = [name for name, _ in pairs]
            self.note("duplicate-key", next(name for name in names if names.count(name) > 1))
        return members

    def _constant(self, word: str) -> float:
        self.note("not-a-number", word)
        return float(word.replace("Infinity", "inf"))

    async def _take(self, message: Any, raw: bytes) -> None:
        if not isinstance(message, dict):
            self.note("not-an-object", raw[:400].decode(errors="replace"))
            return
        if message.get("jsonrpc") != "2.0":
            self.note("no-jsonrpc", raw[:400].decode(errors="replace"))
        if isinstance(message.get("method"), str):
            if "id" in message:
                await self._answer(message)
            return
        self._resolve(message, raw)

    async def _answer(self, message: dict[str, Any]) -> None:
        """Answer a request of the server's: a ping is a ping, and nothing else was offered."""
        reply: dict[str, Any] = {"jsonrpc": "2.0", "id": message["id"]}
        if message["method"] == "ping":
            reply["result"] = {}
        else:
            self.note("unexpected-request", message["method"])
            reply["error"] = {"code": METHOD_NOT_FOUND, "message": "this client has no such method"}
        await self._send(encoded(reply))

    def _resolve(self, message: dict[str, Any], raw: bytes) -> None:
        number = self._number_of(message)
        if number is None:
            self.note("unmatched-id", raw[:400].decode(errors="replace"))
            return
        method, future = self._pending[number]
        result, error = message.get("result"), message.get("error")
        if error is not None and "result" in message:
            self.note("result-and-error", raw[:400].decode(errors="replace"), method)
        elif error is None and "result" not in message:
            self.note("no-result", raw[:400].decode(errors="replace"), method)
        elif error is None and not isinstance(result, dict):
            self.note("result-not-object", raw[:400].decode(errors="replace"), method)
        elif error is not None and not _is_error(error):
            self.note("malformed-error", raw[:400].decode(errors="replace"), method)
        if not future.done():
            future.set_result(Answer(raw, message))

    def _number_of(self, message: dict[str, Any]) -> int | None:
        """The request that a message answers. Where only one waits, it is that one, whatever the id says."""
        given = message.get("id")
        if isinstance(given, int) and not isinstance(given, bool) and given in self._pending:
            return given
        if isinstance(given, int) and not isinstance(given, bool) and 0 < given <= self._last_id:
            return None  # an answer that comes too late
        looks_like_one = "result" in message or "error" in message
        if not looks_like_one or len(self._pending) != 1:
            return None
        (number,) = self._pending
        self.note("wrong-id", f"{json.dumps(given)} for the request {number}", self._pending[number][0])
        return number


def _is_error(error: Any) -> bool:
    return (
        isinstance(error, dict)
        and isinstance(error.get("code"), int)
        and not isinstance(error.get("code"), bool)
        and isinstance(error.get("message"), str)
    )


def encoded(message: dict[str, Any]) -> bytes:
    """A message on one line; absent parameters are left out."""
    present = {key: value for key, value in message.items() if key != "params" or value is not None}
    return json.dumps(present, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "surrogatepass")

"""HTTP servers whose streams, sessions and headers need more than one request: good ones, and each with one fault."""

from __future__ import annotations

import asyncio
import json
from typing import Any

from servers.raw import STATELESS, RefusalError
from servers.web import CONNECTION, EVENTS, JSON, Modern, Request, Web, event

DONE = {"content": [{"type": "text", "text": "done"}]}
REGION = {
    "name": "find_region",
    "description": "Find a region.",
    "annotations": {"readOnlyHint": True},
    "inputSchema": {
        "type": "object",
        "properties": {
            "region": {"type": "string", "x-mcp-header": "Region"},
            "limit": {"type": "integer", "x-mcp-header": "Limit"},
            "nested": {"type": "object", "properties": {"deep": {"type": "boolean", "x-mcp-header": "Deep"}}},
        },
    },
}
BAD_HEADER = {
    "name": "find_share",
    "description": "Find a share.",
    "annotations": {"readOnlyHint": True},
    "inputSchema": {"type": "object", "properties": {"share": {"type": "number", "x-mcp-header": "Share"}}},
}


class Calls(Web, fault="calls"):
    """Responds to calls with plain JSON."""

    def result(self, request: Request) -> Any:
        return DONE if request.method in ("tools/call", "ping") else super().result(request)

    def seen(self, verb: str) -> list[Request]:
        return [each for each in self.requests if each.verb == verb]


# Streams that end before the response, and are resumed by a GET.


class Resumable(Calls, fault="resumable"):
    """Closes the stream of a call at once, and responds when it is resumed."""

    first = b"id: 1-0\nretry: 10\ndata:\n\n"
    closes = 1
    """How many streams end before the one with the response."""

    def __init__(self) -> None:
        super().__init__()
        self.pending: dict[str, Any] = {}

    async def handle(self, request: Request) -> None:
        if request.verb == "GET" and "last-event-id" in request.headers:
            await self.resume(request)
        else:
            await super().handle(request)

    async def answer(self, request: Request, envelope: dict[str, Any]) -> None:
        if request.method == "tools/call":
            self.pending = envelope
            await self.head(200, EVENTS)
            await self.write(self.first)
        else:
            await super().answer(request, envelope)

    async def resume(self, request: Request) -> None:
        await self.head(200, EVENTS)
        resumed = sum("last-event-id" in each.headers for each in self.seen("GET"))
        if resumed < self.closes:
            await self.write(f"id: 1-{resumed}\ndata:\n\n".encode())
        else:
            await self.write(event(self.pending))


class ResumedOften(Resumable, fault="resumed-often"):
    closes = 3


class NeverResponds(Resumable, fault="resumed-without-end"):
    closes = 10**9


class BreaksInEvent(Resumable, fault="breaks-in-event"):
    first = b'id: a\nretry: 0\ndata:\n\nid: b\ndata: {"jsonrpc": "2.0", "resu'


class BreaksConnection(Resumable, fault="breaks-connection"):
    """Promises more bytes than it sends."""

    async def answer(self, request: Request, envelope: dict[str, Any]) -> None:
        if request.method == "tools/call":
            self.pending = envelope
            await self.head(200, EVENTS, content_length="1000")
            await self.write(self.first)
        else:
            await super().answer(request, envelope)


class NotAsciiId(Resumable, fault="not-ascii-id"):
    first = "id: é-世\nretry: 10\ndata:\n\n".encode()


class ControlId(Resumable, fault="control-id"):
    first = b"id: a\x0bMcp-Evil: 1\nretry: 10\ndata:\n\n"


class NullId(Resumable, fault="null-id"):
    first = b"id: a\0b\ndata:\n\n"


class LongId(Resumable, fault="long-id"):
    first = b"id: " + b"a" * 100_000 + b"\ndata:\n\n"


class HugeRetry(Resumable, fault="huge-retry"):
    first = b"id: 1\nretry: " + b"9" * 5_000 + b"\ndata:\n\n"


class NegativeRetry(Resumable, fault="negative-retry"):
    first = b"id: 1\nretry: -5\ndata:\n\n"


class WordRetry(Resumable, fault="word-retry"):
    first = b"id: 1\nretry: soon\ndata:\n\n"


class NotResumed(Resumable, fault="not-resumed"):
    async def resume(self, request: Request) -> None:
        await self.respond(405)


class ResumedAsPage(Resumable, fault="resumed-as-page"):
    async def resume(self, request: Request) -> None:
        await self.respond(200, b"<html>Welcome</html>", "text/html")


class ResumedHanging(Resumable, fault="resumed-hanging"):
    async def resume(self, request: Request) -> None:
        await self.head(200, EVENTS)
        await asyncio.Event().wait()


class LargeEvent(Resumable, fault="large-event"):
    """Responds with an event of 10 MB."""

    async def resume(self, request: Request) -> None:
        await self.head(200, EVENTS)
        await self.write(event({**self.pending, "result": {"content": [{"type": "text", "text": "x" * 10_000_000}]}}))


# The stream for what the server sends on its own.


class Asks(Calls, fault="asks-on-its-stream"):
    """Sends a `ping` on its own stream during a call, and responds to the call after the reply."""

    def __init__(self) -> None:
        super().__init__()
        self.stream: asyncio.StreamWriter | None = None

    async def handle(self, request: Request) -> None:
        if request.verb == "GET":
            await self.open_stream()
        else:
            await super().handle(request)

    async def open_stream(self) -> None:
        await self.head(200, EVENTS)
        self.stream = CONNECTION.get()
        await asyncio.Event().wait()

    async def answer(self, request: Request, envelope: dict[str, Any]) -> None:
        if request.method == "tools/call" and self.stream is not None:
            self.stream.write(event({"jsonrpc": "2.0", "id": "own", "method": "ping"}))
            while {"jsonrpc": "2.0", "id": "own", "result": {}} not in [each.message for each in self.requests]:
                await asyncio.sleep(0.001)
        await super().answer(request, envelope)


class StreamWithoutHead(Asks, fault="stream-without-head"):
    async def open_stream(self) -> None:
        await asyncio.Event().wait()


class StreamIsPage(Asks, fault="stream-is-page"):
    async def open_stream(self) -> None:
        await self.respond(200, b"<html>Welcome</html>", "text/html")


class StreamEnds(Asks, fault="stream-ends"):
    """Ends every stream of its own at once, and responds to a call after the third."""

    async def open_stream(self) -> None:
        await self.respond(200, b"retry: 0\n\n", EVENTS)

    async def answer(self, request: Request, envelope: dict[str, Any]) -> None:
        while request.method == "tools/call" and len(self.seen("GET")) < 3:
            await asyncio.sleep(0.001)
        await super().answer(request, envelope)


class StreamFloods(Asks, fault="stream-floods"):
    """Sends text without end on its own stream, and responds to a call when nobody listens any more."""

    is_over = False

    async def open_stream(self) -> None:
        await self.head(200, EVENTS)
        try:
            while True:
                await self.write(b"data: " + b"x" * 10_000 + b"\n")
        finally:
            self.is_over = True

    async def answer(self, request: Request, envelope: dict[str, Any]) -> None:
        while request.method == "tools/call" and not self.is_over:
            await asyncio.sleep(0.001)
        await super().answer(request, envelope)


# Sessions.


class Expiring(Calls, fault="session-expires"):
    """Ends a session after three requests with it."""

    lifetime = 3
    status = 404
    body = b'{"jsonrpc": "2.0", "id": null, "error": {"code": -32001, "message": "Session not found"}}'

    def __init__(self) -> None:
        super().__init__()
        self.sessions: dict[str, int] = {}

    async def handle(self, request: Request) -> None:
        session = request.headers.get("mcp-session-id", "")
        if request.method == "initialize":
            new = f"s-{len(self.sessions)}"
            self.sessions[new] = 0
            await self.respond(200, json.dumps(self.envelope(request)).encode(), JSON, mcp_session_id=new)
        elif request.method == "server/discover":
            await super().handle(request)
        elif session not in self.sessions or self.sessions[session] >= self.lifetime:
            await self.respond(self.status, self.body, JSON)
        else:
            self.sessions[session] += request.method in ("tools/list", "tools/call")
            await super().handle(request)


class ExpiresAtOnce(Expiring, fault="session-expires-at-once"):
    """Does not know any session when it is called."""

    lifetime = 0


class NothingFound(Expiring, fault="tool-not-found"):
    """Responds to calls with 404 though the session is alive."""

    lifetime = 10**9

    async def answer(self, request: Request, envelope: dict[str, Any]) -> None:
        if request.method == "tools/call":
            error = {"code": -32602, "message": "Unknown tool"}
            await self.respond(404, json.dumps({"jsonrpc": "2.0", "id": 1, "error": error}).encode(), JSON)
        else:
            await super().answer(request, envelope)


# Parameters in headers.


class Headers(Modern, fault="parameter-headers"):
    """Refuses calls whose headers do not repeat the annotated arguments."""

    tools: tuple[Any, ...] = (REGION,)

    def result(self, request: Request) -> Any:
        if request.method == "tools/list":
            return {"tools": list(self.tools)}
        if request.method != "tools/call":
            return super().result(request)
        self.check(request)
        return {"resultType": "complete", **DONE}

    def check(self, request: Request) -> None:
        arguments = request.message["params"].get("arguments", {})
        wanted = {name: arguments.get(name) for name in ("region", "limit")}
        nested = arguments.get("nested")
        wanted["deep"] = nested.get("deep") if isinstance(nested, dict) else None
        for name, value in wanted.items():
            text = None if value is None else value if isinstance(value, str) else json.dumps(value)
            if request.headers.get(f"mcp-param-{name}") != text:
                raise RefusalError(-32020, f"Header mismatch: {name}")


class AlwaysMismatch(Headers, fault="headers-never-match"):
    def check(self, request: Request) -> None:
        raise RefusalError(-32020, "Header mismatch: whatever")


class BadHeaders(Headers, fault="bad-parameter-header"):
    tools = (REGION, BAD_HEADER)


class HangingCall(Headers, fault="stateless-hang"):
    async def handle(self, request: Request) -> None:
        if request.method == "tools/call":
            await asyncio.Event().wait()
        await super().handle(request)


class SetsSession(Headers, fault="stateless-session"):
    """Sends a session id, though the era has no sessions."""

    async def respond(self, status: int, body: bytes = b"", kind: str | None = None, **headers: str) -> None:
        await super().respond(status, body, kind, mcp_session_id="s-1", **headers)


# Revisions.


class RefusesFirst(Modern, fault="refuses-revision-once"):
    """Refuses the revision of the first request, and lists it as supported."""

    def result(self, request: Request) -> Any:
        if len(self.requests) == 1:
            raise RefusalError(-32022, "Unsupported protocol version", {"supported": [STATELESS]})
        return super().result(request)


class RefusesAlways(Modern, fault="refuses-revision-always"):
    def result(self, request: Request) -> Any:
        raise RefusalError(-32022, "Unsupported protocol version", {"supported": [STATELESS]})


class OlderOnly(Calls, fault="older-revision-only"):
    """Refuses a handshake in a newer revision, with those that it supports."""

    def result(self, request: Request) -> Any:
        if request.method == "initialize" and request.message["params"]["protocolVersion"] != "2025-06-18":
            supported = ["2025-06-18", 7, None]
            raise RefusalError(-32602, "Unsupported protocol version", {"supported": supported})
        return super().result(request)

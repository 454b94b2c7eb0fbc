"""An HTTP server with one protocol fault, in its own thread and on its own port.

It writes raw bytes, so every kind of fault is possible.
"""

from __future__ import annotations

import asyncio
import gzip
import json
import threading
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any, NamedTuple

from servers.raw import CACHING, META, NOT_FOUND, STATELESS, TOOLS, RefusalError

if TYPE_CHECKING:
    import ssl
    from typing import Self

FAULTS: dict[str, type[Web]] = {}
JSON = "application/json"
EVENTS = "text/event-stream"
CONNECTION: ContextVar[asyncio.StreamWriter] = ContextVar("connection")
"""Where the answer goes; each connection has a task of its own."""


class Request(NamedTuple):
    """What a client sent."""

    verb: str
    path: str
    headers: dict[str, str]
    message: dict[str, Any]

    @property
    def method(self) -> str:
        """The method of the message; none for an answer of the client's."""
        return str(self.message.get("method", ""))


class Web:
    """A good server of the older era: plain JSON, no session."""

    tls: ssl.SSLContext | None = None
    """For https."""

    def __init_subclass__(cls, fault: str, **others: Any) -> None:
        super().__init_subclass__(**others)
        FAULTS[fault] = cls

    def __init__(self) -> None:
        self.requests: list[Request] = []
        self.url = ""
        self.port = 0
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)
        self._server: asyncio.Server | None = None
        self._connections: set[asyncio.Task[Any]] = set()

    def __enter__(self) -> Self:
        self._thread.start()
        asyncio.run_coroutine_threadsafe(self._listen(), self._loop).result(10)
        return self

    def __exit__(self, *_: object) -> None:
        asyncio.run_coroutine_threadsafe(self._shut(), self._loop).result(10)
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(10)
        self._loop.close()

    async def _listen(self) -> None:
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", 0, ssl=self.tls)
        self.port = self._server.sockets[0].getsockname()[1]
        self.url = f"{'https' if self.tls else 'http'}://127.0.0.1:{self.port}/mcp"

    async def _shut(self) -> None:
        assert self._server is not None
        for each in self._server.sockets:
            self._loop.remove_reader(each.fileno())
        for _ in range(5):  # a server that closes between an accept and its connection leaves the socket open
            await asyncio.sleep(0)
        self._server.close()
        while self._connections:
            for task in self._connections:
                task.cancel()
            await asyncio.gather(*self._connections, return_exceptions=True)
        await asyncio.sleep(0)  # a transport closes in the next turn

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._connections.add(task)
        task.add_done_callback(self._connections.discard)
        CONNECTION.set(writer)
        try:
            head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
            first, *lines = head.strip().split("\r\n")
            verb, path, _ = first.split(" ")
            headers = {name.lower(): value for name, _, value in (line.partition(": ") for line in lines)}
            body = await reader.readexactly(int(headers.get("content-length", "0")))
            request = Request(verb, path, headers, self.parsed(body))
            self.requests.append(request)
            await self.handle(request)
        except asyncio.CancelledError:
            writer.transport.abort()  # the client may never read the rest
        except (ConnectionError, asyncio.IncompleteReadError):
            pass
        finally:
            writer.close()
            try:
                await writer.wait_closed()
            except (ConnectionError, asyncio.CancelledError):  # the client does not read the rest
                writer.transport.abort()

    def parsed(self, body: bytes) -> dict[str, Any]:
        """The message in a body; empty if it is not one."""
        try:
            value = json.loads(body)
        except ValueError:
            return {}
        return value if isinstance(value, dict) else {}

    async def handle(self, request: Request) -> None:
        if request.verb != "POST":
            await self.respond(405)
        elif request.method and "id" in request.message:
            await self.answer(request, self.envelope(request))
        else:
            await self.respond(202)

    def envelope(self, request: Request) -> dict[str, Any]:
        try:
            outcome = {"result": self.result(request)}
        except RefusalError as refusal:
            outcome = {"error": refusal.error}
        return {"jsonrpc": "2.0", "id": request.message["id"], **outcome}

    def result(self, request: Request) -> Any:
        if request.method == "initialize":
            return {
                "protocolVersion": request.message["params"]["protocolVersion"],
                "capabilities": {"tools": {}},
                "serverInfo": {"name": "library", "version": "1.0"},
            }
        if request.method == "tools/list":
            return {"tools": TOOLS}
        raise RefusalError(NOT_FOUND, f"Method not found: {request.method}")

    async def answer(self, request: Request, envelope: dict[str, Any]) -> None:
        await self.respond(200, json.dumps(envelope).encode(), JSON)

    async def respond(self, status: int, body: bytes = b"", kind: str | None = None, **headers: str) -> None:
        await self.head(status, kind, content_length=str(len(body)), **headers)
        await self.write(body)

    async def head(self, status: int, kind: str | None = None, **headers: str) -> None:
        lines = [f"{name.replace('_', '-')}: {value}" for name, value in headers.items()]
        lines += [f"Content-Type: {kind}"] if kind else []
        await self.write("\r\n".join([f"HTTP/1.1 {status} X", *lines, "Connection: close", "", ""]).encode())

    async def write(self, data: bytes) -> None:
        CONNECTION.get().write(data)
        await CONNECTION.get().drain()


def event(envelope: Any) -> bytes:
    return b"event: message\ndata: " + json.dumps(envelope).encode() + b"\n\n"


class Good(Web, fault="json"):
    pass


# Streams of events.


class Stream(Web, fault="events"):
    """Good answers as streams of events, which end with the answer."""

    async def answer(self, request: Request, envelope: dict[str, Any]) -> None:
        await self.head(200, EVENTS)
        await self.stream(envelope)

    async def stream(self, envelope: dict[str, Any]) -> None:
        await self.write(event(envelope))


class OpenStream(Stream, fault="events-left-open"):
    async def stream(self, envelope: dict[str, Any]) -> None:
        await super().stream(envelope)
        await asyncio.Event().wait()


class NoisyStream(Stream, fault="events-with-noise"):
    async def stream(self, envelope: dict[str, Any]) -> None:
        await self.write(b"\xef\xbb\xbf: hello\n\nretry: 10\nid: 1\ndata:\n\nevent: ping\ndata: not for us\n\n")
        await super().stream(envelope)


class ReturnStream(Stream, fault="events-with-crlf"):
    async def stream(self, envelope: dict[str, Any]) -> None:
        await self.write(event(envelope).replace(b"\n", b"\r\n"))


class SplitStream(Stream, fault="events-on-several-lines"):
    async def stream(self, envelope: dict[str, Any]) -> None:
        lines = json.dumps(envelope, indent=1).encode().splitlines()
        await self.write(b"".join(b"data:" + line + b"\n" for line in lines) + b"\n")


class DripStream(Stream, fault="events-drip"):
    async def stream(self, envelope: dict[str, Any]) -> None:
        for byte in event(envelope):
            await self.write(bytes([byte]))
            await asyncio.sleep(0)


class MessagesFirst(Stream, fault="events-other-messages-first"):
    async def stream(self, envelope: dict[str, Any]) -> None:
        before = len(self.replies)
        await self.write(event({"jsonrpc": "2.0", "method": "notifications/progress", "params": {}}))
        await self.write(event({"jsonrpc": "2.0", "id": "s1", "method": "ping"}))
        await self.write(event({"jsonrpc": "2.0", "id": "s2", "method": "roots/list"}))
        while len(self.replies) < before + 2:
            await asyncio.sleep(0.001)
        await super().stream(envelope)

    @property
    def replies(self) -> list[dict[str, Any]]:
        """What the client has answered so far."""
        return [each.message for each in self.requests if each.verb == "POST" and not each.method]


class ListStream(Stream, fault="events-for-lists"):
    """Good but for the lists."""

    async def answer(self, request: Request, envelope: dict[str, Any]) -> None:
        if request.method == "tools/list":
            await super().answer(request, envelope)
        else:
            await Web.answer(self, request, envelope)


class Truncated(ListStream, fault="events-truncated"):
    async def stream(self, envelope: dict[str, Any]) -> None:
        await self.write(event(envelope)[:-1])


class NoAnswer(ListStream, fault="events-without-answer"):
    async def stream(self, envelope: dict[str, Any]) -> None:
        await self.write(event({"jsonrpc": "2.0", "method": "notifications/progress", "params": {}}))


class GarbageStream(ListStream, fault="events-with-garbage"):
    async def stream(self, envelope: dict[str, Any]) -> None:
        await self.write(b"data: starting\n\n")
        await super().stream(envelope)


class EndlessStream(ListStream, fault="events-endless"):
    async def stream(self, envelope: dict[str, Any]) -> None:
        while True:
            await self.write(b"data: " + b"x" * 10_000 + b"\n")


# Faults of the answers to lists; the handshake is good.


class Lists(Web, fault="lists"):
    async def answer(self, request: Request, envelope: dict[str, Any]) -> None:
        if request.method == "tools/list":
            await self.list(envelope)
        else:
            await super().answer(request, envelope)

    async def list(self, envelope: dict[str, Any]) -> None:
        await self.respond(200, json.dumps(envelope).encode(), JSON)


class WrongType(Lists, fault="wrong-content-type"):
    async def list(self, envelope: dict[str, Any]) -> None:
        await self.respond(200, json.dumps(envelope).encode(), "text/plain; charset=utf-8")


class NoType(Lists, fault="no-content-type"):
    async def list(self, envelope: dict[str, Any]) -> None:
        await self.respond(200, json.dumps(envelope).encode())


class Empty(Lists, fault="empty-body"):
    async def list(self, envelope: dict[str, Any]) -> None:
        await self.respond(200, b"", JSON)


class Accepted(Lists, fault="202-for-request"):
    async def list(self, envelope: dict[str, Any]) -> None:
        await self.respond(202)


class Page(Lists, fault="200-with-html"):
    async def list(self, envelope: dict[str, Any]) -> None:
        await self.respond(200, b"<html>Welcome</html>", "text/html")


class ServerError(Lists, fault="500-with-html"):
    async def list(self, envelope: dict[str, Any]) -> None:
        await self.respond(500, b"<html>\n<h1>Oops</h1>\n</html>", "text/html; charset=utf-8")


class WrongId(Lists, fault="wrong-id"):
    async def list(self, envelope: dict[str, Any]) -> None:
        await super().list({**envelope, "id": 4711})


class ErrorStatus(Lists, fault="400-with-json-rpc"):
    async def list(self, envelope: dict[str, Any]) -> None:
        body = {"jsonrpc": "2.0", "id": "server-error", "error": {"code": -32600, "message": "no books"}}
        await self.respond(400, json.dumps(body).encode(), JSON)


class OtherApi(Lists, fault="400-with-other-json"):
    async def list(self, envelope: dict[str, Any]) -> None:
        await self.respond(400, b'{"error": "no books"}', JSON)


class Slow(Lists, fault="hang-on-list"):
    async def list(self, envelope: dict[str, Any]) -> None:
        await asyncio.Event().wait()


class SlowBody(Lists, fault="hang-in-body"):
    async def list(self, envelope: dict[str, Any]) -> None:
        await self.head(200, JSON, content_length="100")
        await asyncio.Event().wait()


class Closes(Lists, fault="closes-in-body"):
    async def list(self, envelope: dict[str, Any]) -> None:
        body = json.dumps(envelope).encode()
        await self.head(200, JSON, content_length=str(len(body)))
        await self.write(body[:50])


class ClosesAtOnce(Lists, fault="closes-at-once"):
    async def list(self, envelope: dict[str, Any]) -> None:
        pass


class Huge(Lists, fault="huge-body"):
    async def list(self, envelope: dict[str, Any]) -> None:
        await self.respond(200, json.dumps({**envelope, "x": "x" * 300_000}).encode(), JSON)


class Zipped(Lists, fault="gzip"):
    async def list(self, envelope: dict[str, Any]) -> None:
        await self.respond(200, gzip.compress(json.dumps(envelope).encode()), JSON, content_encoding="gzip")


class Bomb(Lists, fault="gzip-bomb"):
    async def list(self, envelope: dict[str, Any]) -> None:
        await self.respond(200, gzip.compress(b" " * 5_000_000), JSON, content_encoding="gzip")


class BadZip(Lists, fault="bad-gzip"):
    async def list(self, envelope: dict[str, Any]) -> None:
        await self.respond(200, b"this is not gzip", JSON, content_encoding="gzip")


class NotHttp(Lists, fault="not-http"):
    async def list(self, envelope: dict[str, Any]) -> None:
        await self.write(b"SSH-2.0-OpenSSH\r\n\r\n")


class Several(Lists, fault="multi-line"):
    async def list(self, envelope: dict[str, Any]) -> None:
        await self.respond(200, json.dumps(envelope, indent=2).encode(), f"{JSON}; charset=utf-8")


# Faults of everything.


class Status(Web, fault="status"):
    """Whatever is asked, the same answer."""

    status, body, kind = 404, b"nothing here", "text/plain"
    headers: dict[str, str] = {}  # noqa: RUF012

    async def handle(self, request: Request) -> None:
        await self.respond(self.status, self.body, self.kind, **self.headers)


class Unauthorised(Status, fault="401"):
    status = 401
    body = b'{"jsonrpc": "2.0", "id": null, "error": {"code": -32001, "message": "Unauthorized"}}'
    kind = JSON
    headers = {"WWW-Authenticate": 'Bearer resource_metadata="https://host/x"'}  # noqa: RUF012


class Forbidden(Status, fault="403"):
    status, body, kind = 403, b"no", "text/plain"


class NotFound(Status, fault="404"):
    pass


class NotAllowed(Status, fault="405"):
    status, body, kind = 405, b"", "text/plain"


class Broken(Status, fault="500"):
    status, body, kind = 500, b"<html>\n<h1>Oops</h1></html>", "text/html"


class Website(Status, fault="website"):
    status, body, kind = 200, b"<html>Welcome</html>", "text/html"


class RedirectHere(Status, fault="redirect-same-host"):
    status, body, kind = 307, b"", "text/plain"
    headers = {"Location": "/mcp/?key=hunter2"}  # noqa: RUF012


class RedirectThere(Status, fault="redirect-other-host"):
    status, body, kind = 301, b"", "text/plain"
    headers = {"Location": "https://me:hunter2@evil.example/mcp"}  # noqa: RUF012


class Silent(Web, fault="hang"):
    async def handle(self, request: Request) -> None:
        await asyncio.Event().wait()


class IgnoresUnknown(Web, fault="hang-on-unknown"):
    async def handle(self, request: Request) -> None:
        if request.method == "server/discover":
            await asyncio.Event().wait()
        await super().handle(request)


class StreamForNotification(Web, fault="stream-for-notification"):
    async def handle(self, request: Request) -> None:
        if request.method.startswith("notifications/"):
            await self.head(200, EVENTS)
            await asyncio.Event().wait()
        await super().handle(request)


class RefusesNotification(Web, fault="refuses-notification"):
    async def handle(self, request: Request) -> None:
        if request.method.startswith("notifications/"):
            await self.respond(500, b"no")
        else:
            await super().handle(request)


class Session(Web, fault="session"):
    """Wants a session, the revision in a header, and both to the end; as older SDKs put it."""

    session = "s-4711"

    async def handle(self, request: Request) -> None:
        if request.method == "initialize" and "mcp-session-id" not in request.headers:
            await self.respond(200, json.dumps(self.envelope(request)).encode(), JSON, mcp_session_id=self.session)
        elif request.headers.get("mcp-session-id") != self.session:
            body = {"jsonrpc": "2.0", "id": "server-error", "error": {"code": -32600, "message": "Missing session ID"}}
            await self.respond(400, json.dumps(body).encode(), JSON)
        elif request.headers.get("mcp-protocol-version") != "2025-11-25":
            await self.respond(400, b"no revision", "text/plain")
        elif request.verb == "DELETE":
            await self.respond(200)
        else:
            await super().handle(request)


class OddSession(Web, fault="odd-session"):
    """A session and a revision that no header can carry."""

    async def answer(self, request: Request, envelope: dict[str, Any]) -> None:
        await self.respond(200, json.dumps(envelope).encode(), JSON, mcp_session_id="s\xe9\xff")

    def result(self, request: Request) -> Any:
        found = super().result(request)
        return {**found, "protocolVersion": "2025\r\nX-Evil: 1 \u2028"} if request.method == "initialize" else found


class Repeats(Web, fault="repeats-headers"):
    """Repeats what it was sent in its error."""

    async def answer(self, request: Request, envelope: dict[str, Any]) -> None:
        if request.method == "tools/list":
            await self.respond(500, f"{request.path} {request.headers}".encode(), "text/plain")
        else:
            await super().answer(request, envelope)


# The newer era.


class Modern(Web, fault="modern"):
    """A good server of the newer era, which checks every header against the message."""

    async def handle(self, request: Request) -> None:
        if request.method and "id" in request.message:
            envelope = self.envelope(request)
            await self.respond(400 if "error" in envelope else 200, json.dumps(envelope).encode(), JSON)
        else:
            await self.respond(405)

    def result(self, request: Request) -> Any:
        params = request.message.get("params", {})
        revision = params.get("_meta", {}).get(META)
        if revision is None:
            raise RefusalError(-32602, "no protocol version in _meta")
        sent = (request.headers.get("mcp-protocol-version"), request.headers.get("mcp-method"))
        if sent != (revision, request.method):
            raise RefusalError(-32020, f"headers do not match: {sent}")
        if revision != STATELESS:
            raise RefusalError(-32022, "Unsupported protocol version", {"supported": [STATELESS]})
        if request.method == "server/discover":
            return {"supportedVersions": [STATELESS], "capabilities": {"tools": {}}}
        if request.method == "tools/list":
            return {"tools": TOOLS, **CACHING}
        raise RefusalError(NOT_FOUND, f"Method not found: {request.method}")


class Uncached(Modern, fault="modern-uncached"):
    """Lists its tools without saying how long the list holds."""

    def result(self, request: Request) -> Any:
        result = super().result(request)
        return {"tools": TOOLS} if request.method == "tools/list" else result


class Varying(Modern, fault="modern-varying"):
    """Lists its tools the other way round to every second connection."""

    def result(self, request: Request) -> Any:
        result = super().result(request)
        if request.method == "tools/list" and len(self.requests) > 2:
            return {**result, "tools": TOOLS[::-1]}
        return result


class Dual(Modern, fault="dual"):
    async def handle(self, request: Request) -> None:
        if META in request.message.get("params", {}).get("_meta", {}):
            await super().handle(request)
        else:
            await Web.handle(self, request)

    def result(self, request: Request) -> Any:
        if META in request.message.get("params", {}).get("_meta", {}):
            return super().result(request)
        return Web.result(self, request)


class Tomorrow(Modern, fault="modern-other-revision"):
    def result(self, request: Request) -> Any:
        raise RefusalError(-32022, "Unsupported protocol version", {"supported": ["2027-01-01"]})


# The older transport.


class Legacy(Web, fault="legacy"):
    """A good server of the older transport: a GET opens the stream, and POSTs go where its first event says."""

    endpoint = "/messages?session=4711"

    async def handle(self, request: Request) -> None:
        if request.verb == "GET":
            await self.head(200, EVENTS)
            self.stream = CONNECTION.get()
            await self.introduce()
            await asyncio.Event().wait()
        elif request.path != "/messages?session=4711":
            await self.respond(405, b"Method Not Allowed", "text/plain")
        else:
            await self.respond(202, b"Accepted")
            if "id" in request.message and request.method:
                await self.message(request)

    async def introduce(self) -> None:
        await self.write(f": hello\r\nevent: endpoint\r\ndata: {self.endpoint}\r\n\r\n".encode())

    async def message(self, request: Request) -> None:
        self.stream.write(event(self.envelope(request)))
        await self.stream.drain()


class LegacyAbsolute(Legacy, fault="legacy-absolute"):
    async def introduce(self) -> None:
        self.endpoint = self.url.replace("/mcp", "/messages?session=4711")
        await super().introduce()


class LegacyElsewhere(Legacy, fault="legacy-other-host"):
    endpoint = "http://me:hunter2@evil.example/messages?session=hunter2"


class LegacyOtherPort(Legacy, fault="legacy-other-port"):
    endpoint = "//127.0.0.1:9/messages"


class LegacyNoUrl(Legacy, fault="legacy-no-url"):
    endpoint = "http://[::bad"


class LegacySilent(Legacy, fault="legacy-no-endpoint"):
    async def introduce(self) -> None:
        pass


class LegacyEnds(Legacy, fault="legacy-stream-ends"):
    async def message(self, request: Request) -> None:
        if request.method == "tools/list":
            self.stream.write(b"data: unfinished")
            self.stream.close()
        else:
            await super().message(request)


class LegacyEndsFirst(Legacy, fault="legacy-stream-ends-first"):
    async def handle(self, request: Request) -> None:
        if request.verb == "GET":
            await self.head(200, EVENTS)
        else:
            await super().handle(request)


class LegacyRefuses(Legacy, fault="legacy-refuses-post"):
    async def handle(self, request: Request) -> None:
        if request.method == "tools/list":
            await self.respond(500, b"no books", "text/plain")
        else:
            await super().handle(request)


class LegacyFlood(Legacy, fault="legacy-endless-event"):
    async def message(self, request: Request) -> None:
        while request.method == "tools/list":
            self.stream.write(b"data: " + b"x" * 10_000 + b"\n")
            await self.stream.drain()
        await super().message(request)

"""A server whose tools ask back: `python -I -S asking.py [--http] [--grows] [--era handshake|stateless]`.

It needs only the standard library. In the handshake era it sends requests, over HTTP in the event stream of the call;
in the stateless era its results ask for input. The tools of `ODD` ask in ways that no server should. Over HTTP it
prints its port; over both transports it exits when its stdin is closed. The environment variable TOLD names a file to
which every message of the client is appended. With `--grows`, it adds the tool `grown` while it lists the others.
"""

from __future__ import annotations

import json
import os
import queue
import sys
import threading
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Generator
    from http.server import BaseHTTPRequestHandler

    Question = tuple[str, dict[str, Any]]
    Asking = Generator[Question, dict[str, Any], str]
    """Yields questions, gets replies, and returns the text of the result."""

META = "io.modelcontextprotocol/"
ERAS = {"handshake": "2025-11-25", "stateless": "2026-07-28"}
PIZZA = {
    "type": "object",
    "properties": {
        "size": {"type": "string", "title": "Size", "enum": ["S", "M", "L"], "default": "M"},
        "count": {"type": "integer", "minimum": 1, "maximum": 9, "default": 1},
        "extras": {
            "type": "array",
            "items": {"anyOf": [{"const": "c", "title": "Cheese"}, {"const": "o", "title": "Olives"}]},
            "maxItems": 2,
        },
        "name": {"type": "string", "description": "Name for the order.", "minLength": 2},
        "urgent": {"type": "boolean", "default": False},
    },
    "required": ["name"],
}
SURE = {"type": "object", "properties": {"sure": {"type": "boolean"}}, "required": ["sure"]}


class RefusalError(Exception):
    """An error of the tool."""


def form(message: Any, schema: Any = SURE, **more: Any) -> Question:
    return "elicitation/create", {"message": message, "requestedSchema": schema, **more}


def url(message: str, where: str) -> Question:
    return "elicitation/create", {"mode": "url", "message": message, "url": where, "elicitationId": "1"}


def order_pizza(_: dict[str, Any]) -> Asking:
    reply = yield form("What pizza?", PIZZA)
    return f"ordered {json.dumps(reply['content'], sort_keys=True)}" if reply["action"] == "accept" else reply["action"]


def find_book(arguments: dict[str, Any]) -> Asking:
    """Checks its arguments before it asks."""
    title = arguments.get("title")
    if not isinstance(title, str) or len(title) > 20 or set(arguments) != {"title"}:
        raise RefusalError("Invalid arguments: title must be a string of at most 20 characters")
    reply = yield form("Are you sure?")
    return "found" if reply.get("content") == {"sure": True} else "nothing found"


def lend_book(arguments: dict[str, Any]) -> Asking:
    """Never checks its arguments, and fails if it gets no answer."""
    reply = yield form("Who are you?", {"type": "object", "properties": {"name": {"type": "string"}}})
    if reply["action"] != "accept":
        raise RefusalError(f"{reply['action']}d")
    return f"lent {json.dumps(arguments)}"


def connect_account(_: dict[str, Any]) -> Asking:
    reply = yield (
        "elicitation/create",
        {"mode": "url", "message": "Sign in", "url": "https://host/in", "elicitationId": "1"},
    )
    return f"connected: {json.dumps(reply)}"


def summarize(_: dict[str, Any]) -> Asking:
    content = {"type": "text", "text": "Summarize The Name of the Rose"}
    reply = yield "sampling/createMessage", {"messages": [{"role": "user", "content": content}], "maxTokens": 50}
    return f"summary: {reply['content']['text']}" if "content" in reply else f"no summary: {json.dumps(reply)}"


def show_roots(_: dict[str, Any]) -> Asking:
    reply = yield "roots/list", {}
    return f"roots: {json.dumps(reply)}"


def ask_twice(_: dict[str, Any]) -> Asking:
    first = yield form("First?")
    second = yield form("Second?")
    return f"{first['action']}, {second['action']}"


def count_books(_: dict[str, Any]) -> Asking:
    yield from ()
    return "4711 books"


def endless(_: dict[str, Any]) -> Asking:
    while True:
        yield form("Again?")


def huge(_: dict[str, Any]) -> Asking:
    reply = yield form("x" * 10_000_000)
    return str(reply["action"])


def bad_schema(_: dict[str, Any]) -> Asking:
    reply = yield form("Anything?", {"type": "object", "properties": {"a": {"type": "strong"}}, "required": 5})
    return str(reply["action"])


def no_schema(_: dict[str, Any]) -> Asking:
    reply = yield "elicitation/create", {"message": 5, "requestedSchema": []}
    return str(reply["action"])


def bad_default(_: dict[str, Any]) -> Asking:
    schema = {"type": "object", "properties": {"a": {"type": "integer", "default": "many"}}}
    reply = yield form("How many?", schema)
    return str(reply["action"])


def script_url(_: dict[str, Any]) -> Asking:
    params = {
        "mode": "url",
        "message": "Click\x1b[31m here\nmcproof: all good",
        "url": "javascript:alert(1)//\x1b]0;x\x07",
    }
    reply = yield "elicitation/create", {**params, "elicitationId": "1"}
    return str(reply["action"])


def leaky(_: dict[str, Any]) -> Asking:
    secret = os.environ.get("SECRET", "")
    schema = {"type": "object", "properties": {"key": {"type": "string", "title": secret, "enum": [secret]}}}
    reply = yield form(f"Is {secret} right?", schema)
    return str(reply["action"])


TOOLS: dict[str, Callable[[dict[str, Any]], Asking]] = {
    each.__name__: each
    for each in (order_pizza, find_book, lend_book, connect_account, summarize, show_roots, ask_twice, count_books)
}
ODD: dict[str, Callable[[dict[str, Any]], Asking]] = {
    each.__name__: each for each in (endless, huge, bad_schema, no_schema, bad_default, script_url, leaky)
}
TITLED = {"type": "object", "properties": {"title": {"type": "string", "maxLength": 20}}, "required": ["title"]}
SCHEMAS: dict[str, Any] = {"find_book": {**TITLED, "additionalProperties": False}, "lend_book": TITLED, "grown": TITLED}
RAW = ("late", "same_id", "withdrawn", "chatty", "url_error", "stream_request", "grow")
"""Tools that send messages of their own, in the handshake era only."""


def listed(era: str, more: list[str]) -> list[dict[str, Any]]:
    names = [*more, *TOOLS, *ODD, *(RAW if era == "handshake" else ("comes_back", "state_only", "odd_requests"))]
    return [
        {
            "name": name,
            "description": "Read the books.",
            "inputSchema": SCHEMAS.get(name, {"type": "object", "properties": {}}),
            "annotations": {"readOnlyHint": True},
        }
        for name in names
    ]


def text(words: str, *, is_error: bool = False) -> dict[str, Any]:
    return {"resultType": "complete", "content": [{"type": "text", "text": words}], "isError": is_error}


class Server:
    """What both eras share; `send` writes a message to the client, and `answer_to` waits for its response."""

    def __init__(self, era: str) -> None:
        self.era = era
        self.answers: dict[Any, queue.Queue[dict[str, Any]]] = {}
        self.last_id = 100
        self.more: list[str] = []
        """Tools that are added later."""

    def result(self, message: dict[str, Any], send: Callable[[dict[str, Any]], None]) -> dict[str, Any]:
        """The result or error of a request."""
        method, params = message["method"], message.get("params") or {}
        info = {"name": "asking", "version": "1.0"}
        versions = [ERAS[self.era]]
        if self.era == "stateless" and params.get("_meta", {}).get(f"{META}protocolVersion") not in versions:
            return {"error": {"code": -32022, "message": "unsupported", "data": {"supported": versions}}}
        if method == "server/discover" and self.era == "stateless":
            return {"result": {"supportedVersions": versions, "capabilities": {"tools": {}}, "serverInfo": info}}
        if method == "initialize" and self.era == "handshake":
            return {"result": {"protocolVersion": ERAS[self.era], "capabilities": {"tools": {}}, "serverInfo": info}}
        if method == "ping" and self.era == "handshake":
            return {"result": {}}
        if method == "tools/list":
            found = listed(self.era, self.more)
            if "--grows" in sys.argv and not self.more:
                self.grow(message, send)
            return {"result": {"tools": found}}
        if method == "tools/call":
            return self.call(message, params, send)
        return {"error": {"code": -32601, "message": f"Method not found: {method}"}}

    def call(self, message: dict[str, Any], params: dict[str, Any], send: Any) -> dict[str, Any]:
        name = params.get("name")
        tool = {**TOOLS, **ODD}.get(str(name))
        try:
            if self.era == "stateless":
                return {"result": self.round(params, tool)}
            if name in self.more:
                raise RefusalError("Invalid arguments: title must be a string")
            if tool is not None:
                return {"result": text(self.conversation(tool(params.get("arguments") or {}), send))}
            if name in RAW:
                found: dict[str, Any] = getattr(self, name)(message, send)
                return found
        except RefusalError as refusal:
            return {"result": text(str(refusal), is_error=True)}
        return {"error": {"code": -32602, "message": f"Unknown tool: {name}"}}

    # The handshake era.

    def conversation(self, asking: Asking, send: Any) -> str:
        """Ask question by question; what the tool returns in the end."""
        reply: Any = None
        while True:
            try:
                method, params = asking.send(reply)
            except StopIteration as done:
                return str(done.value)
            response = self.ask(method, params, send)
            reply = response.get("result", response)
            if method == "elicitation/create" and "result" not in response:
                raise RefusalError(json.dumps(response))

    def ask(self, method: str, params: dict[str, Any], send: Any, number: Any = None) -> dict[str, Any]:
        if number is None:
            self.last_id += 1
            number = self.last_id
        self.answers[number] = queue.Queue()
        send({"jsonrpc": "2.0", "id": number, "method": method, "params": params})
        response = self.answers[number].get()
        return {key: response[key] for key in ("result", "error") if key in response}

    def late(self, message: dict[str, Any], send: Any) -> dict[str, Any]:
        """Asks after its response."""
        send({"jsonrpc": "2.0", "id": message["id"], "result": text("done")})
        send({"jsonrpc": "2.0", "id": "late", "method": "elicitation/create", "params": form("Too late?")[1]})
        return {}

    def same_id(self, _: dict[str, Any], send: Any) -> dict[str, Any]:
        """Asks twice with one id, and waits for one response."""
        self.answers[1] = queue.Queue()
        for _ignored in range(2):
            send({"jsonrpc": "2.0", "id": 1, "method": "elicitation/create", "params": form("Twice?")[1]})
        return {"result": text(json.dumps(self.answers[1].get()))}

    def withdrawn(self, _: dict[str, Any], send: Any) -> dict[str, Any]:
        """Cancels its question as soon as the client has read it."""
        send({"jsonrpc": "2.0", "id": "gone", "method": "elicitation/create", "params": form("Still there?")[1]})
        self.ask("ping", {}, send)
        send({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": "gone"}})
        return {"result": text("never mind")}

    def chatty(self, message: dict[str, Any], send: Any) -> dict[str, Any]:
        token = message["params"]["_meta"]["progressToken"]
        for method, params in (
            ("notifications/message", {"level": "warning", "data": "low on\x1b[31m ink"}),
            ("notifications/progress", {"progressToken": token, "progress": 1, "total": 2, "message": "half"}),
            ("notifications/tools/list_changed", {}),
        ):
            send({"jsonrpc": "2.0", "method": method, "params": params})
        return {"result": text("done")}

    def grow(self, _: dict[str, Any], send: Any) -> dict[str, Any]:
        self.more = ["grown"]
        send({"jsonrpc": "2.0", "method": "notifications/tools/list_changed"})
        return {"result": text("another tool")}

    def url_error(self, _: dict[str, Any], __: Any) -> dict[str, Any]:
        """Wants a URL to be opened once."""
        listed = [
            {"mode": "url", "elicitationId": "1", "url": "https://host/in?state=4711#x", "message": "Sign in first"}
        ]
        if self.last_id > 100:
            return {"result": text("welcome")}
        self.last_id += 1
        return {"error": {"code": -32042, "message": "needs more", "data": {"elicitations": listed}}}

    def stream_request(self, _: dict[str, Any], send: Any) -> dict[str, Any]:
        return {"result": text(json.dumps(self.ask("tasks/cancel", {}, send)))}

    # The stateless era.

    def round(self, params: dict[str, Any], tool: Any) -> dict[str, Any]:
        """Continue where the state says, or ask the next question."""
        replies = json.loads(params["requestState"]) if "requestState" in params else []
        replies += [] if "inputResponses" not in params else [params["inputResponses"]["q"]]
        name = params["name"]
        if name == "comes_back":
            return text("done") if replies else self.required(None, [1])
        if name == "state_only":
            return {"resultType": "input_required"}
        if name == "odd_requests":
            return {"resultType": "input_required", "inputRequests": {"q": {"method": "tasks/cancel"}, "r": {}}}
        if tool is None:
            raise RefusalError(f"Unknown tool: {name}")
        asking = tool(params.get("arguments") or {})
        try:
            question = next(asking)
            for reply in replies:
                question = asking.send(reply)
        except StopIteration as done:
            return text(str(done.value))
        return self.required(question, replies)

    def required(self, question: Question | None, replies: list[Any]) -> dict[str, Any]:
        result: dict[str, Any] = {"resultType": "input_required"}
        if question is not None:
            result["inputRequests"] = {"q": {"method": question[0], "params": question[1]}}
        return {**result, **({"requestState": json.dumps(replies)} if replies else {})}

    def receive(self, message: dict[str, Any], send: Callable[[dict[str, Any]], None]) -> None:
        """Process a message of the client."""
        if "TOLD" in os.environ:
            with open(os.environ["TOLD"], "a", encoding="utf-8") as file:
                file.write(json.dumps(message) + "\n")
        if "method" not in message:
            if message.get("id") in self.answers:
                self.answers[message["id"]].put(message)
        elif "id" in message:
            outcome = self.result(message, send)
            if outcome:
                send({"jsonrpc": "2.0", "id": message["id"], **outcome})


def serve_stdio(server: Server) -> None:
    lock = threading.Lock()

    def send(message: dict[str, Any]) -> None:
        with lock:
            sys.stdout.write(json.dumps(message) + "\n")
            sys.stdout.flush()

    for line in sys.stdin:
        try:
            message = json.loads(line)
        except ValueError:
            continue
        if not isinstance(message, dict):
            continue
        if message.get("method") == "tools/call":
            threading.Thread(target=server.receive, args=(message, send), daemon=True).start()
        else:
            server.receive(message, send)
    os._exit(0)


def serve_http(server: Server) -> None:
    from socketserver import ThreadingTCPServer

    ThreadingTCPServer.daemon_threads = True
    with ThreadingTCPServer(("127.0.0.1", 0), handler(server)) as listening:
        threading.Thread(target=listening.serve_forever, daemon=True).start()
        sys.stdout.write(f"{listening.server_address[1]}\n")
        sys.stdout.flush()
        sys.stdin.read()
        os._exit(0)


def handler(server: Server) -> type[BaseHTTPRequestHandler]:
    from http.server import BaseHTTPRequestHandler

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            message = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            if "method" not in message or "id" not in message:
                server.receive(message, lambda _: None)
                self.empty(202)
            elif server.era == "handshake":
                self.send_response(200)
                self.send_header("Content-Type", "text/event-stream")
                self.end_headers()
                server.receive(message, self.event)
            else:
                server.receive(message, self.whole)

        def event(self, message: dict[str, Any]) -> None:
            self.wfile.write(f"event: message\ndata: {json.dumps(message)}\n\n".encode())
            self.wfile.flush()

        def whole(self, message: dict[str, Any]) -> None:
            body = json.dumps(message).encode()
            self.send_response(404 if "error" in message else 200)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def empty(self, status: int) -> None:
            self.send_response(status)
            self.send_header("Content-Length", "0")
            self.end_headers()

        def do_GET(self) -> None:
            self.empty(405)

        def do_DELETE(self) -> None:
            self.empty(405)

        def log_message(self, format: str, *args: object) -> None:
            pass

    return Handler


if __name__ == "__main__":
    words = sys.argv[1:]
    era = words[words.index("--era") + 1] if "--era" in words else "handshake"
    (serve_http if "--http" in words else serve_stdio)(Server(era))

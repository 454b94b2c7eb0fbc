"""A server of which more or less can be judged: `python -I -S concluding.py HABIT [ERA] [--http]`.

Its tools check their arguments, and then: `refuses-all` (every call fails), `needs-key` (the same, for a key that is
not set), `answers-same` (nothing is checked, and every response is the same), `half-reached` (one of two tools works),
`all-reached` (both do). The era is `handshake` or `stateless`. Over HTTP it prints its URL as the first line.
"""

from __future__ import annotations

import json
import sys
from typing import Any

ERAS = {"handshake": "2025-11-25", "stateless": "2026-07-28"}
WORDS = {"type": "string", "minLength": 1, "maxLength": 20}
LIMIT = {"type": "integer", "minimum": 1, "maximum": 9}
SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {"words": WORDS, "limit": LIMIT},
    "required": ["words", "limit"],
    "additionalProperties": False,
}
TOOLS = [
    {"name": name, "description": f"{verb} books by words of the title.", "inputSchema": SCHEMA}
    for name, verb in (("find_books", "Find"), ("count_books", "Count"))
]


def responded(message: dict[str, Any], habit: str, era: str) -> dict[str, Any]:
    """The result or error of a request."""
    method, params = message.get("method"), message.get("params") or {}
    info = {"name": "concluding", "version": "1.0"}
    offered = {"capabilities": {"tools": {}}, "serverInfo": info}
    if era == "stateless":
        wanted = params.get("_meta", {}).get("io.modelcontextprotocol/protocolVersion")
        if wanted != ERAS[era]:
            return {"error": {"code": -32022, "message": "unsupported", "data": {"supported": [ERAS[era]]}}}
        if method == "server/discover":
            return {"result": {"resultType": "complete", "supportedVersions": [ERAS[era]], **offered}}
    elif method == "initialize":
        return {"result": {"protocolVersion": ERAS[era], **offered}}
    elif method == "ping":
        return {"result": {}}
    if method == "tools/list" and "cursor" not in params:
        return {"result": {"tools": TOOLS, "resultType": "complete", "ttlMs": 1000, "cacheScope": "public"}}
    if method == "tools/call":
        return called(params, habit)
    code = -32602 if method == "tools/list" else -32601
    return {"error": {"code": code, "message": "Invalid params or method"}}


def called(params: dict[str, Any], habit: str) -> dict[str, Any]:
    """The result of a call."""
    name, arguments = params.get("name"), params.get("arguments", {})
    if name not in [tool["name"] for tool in TOOLS]:
        return {"error": {"code": -32602, "message": f"Unknown tool: {name}"}}
    if habit == "answers-same":
        return text("Books are wonderful.")
    if habit == "refuses-all":
        return text("Service unavailable.", is_error=True)
    if habit == "needs-key" or (habit == "half-reached" and name == "count_books"):
        return text("The variable API_KEY is not set.", is_error=True)
    problem = objection(arguments)
    return text(f"Invalid arguments: {problem}", is_error=True) if problem else text(f"Found: {json.dumps(arguments)}")


def objection(arguments: Any) -> str:
    """What is wrong with arguments; empty if nothing is."""
    if not isinstance(arguments, dict):
        return "arguments must be an object"
    words, limit = arguments.get("words"), arguments.get("limit")
    if unknown := arguments.keys() - SCHEMA["properties"].keys():
        return f"unknown argument {', '.join(sorted(unknown))}"
    if not isinstance(words, str) or not 1 <= len(words) <= 20:
        return "`words` must be a string of 1 to 20 characters"
    if not isinstance(limit, int) or isinstance(limit, bool) or not 1 <= limit <= 9:
        return "`limit` must be an integer from 1 to 9"
    return ""


def text(words: str, *, is_error: bool = False) -> dict[str, Any]:
    content = [{"type": "text", "text": words}]
    return {"result": {"content": content, "isError": is_error, "resultType": "complete"}}


def answer_to(line: bytes | str, habit: str, era: str) -> dict[str, Any] | None:
    """The response to a line or a body; None to a notification."""
    try:
        message = json.loads(line)
    except ValueError:
        return {"jsonrpc": "2.0", "id": None, "error": {"code": -32700, "message": "Parse error"}}
    if not isinstance(message, dict):
        return {"jsonrpc": "2.0", "id": None, "error": {"code": -32600, "message": "Invalid request"}}
    if "id" not in message:
        return None
    return {"jsonrpc": "2.0", "id": message["id"], **responded(message, habit, era)}


def main(habit: str, era: str = "handshake", *options: str) -> None:
    if "--http" in options:
        serve(habit, era)
    for line in sys.stdin:
        if (answer := answer_to(line, habit, era)) is not None:
            sys.stdout.write(json.dumps(answer) + "\n")
            sys.stdout.flush()


def serve(habit: str, era: str) -> None:
    # Here, as it takes three times as long to import as everything else, and most of these servers use pipes.
    from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            answer = answer_to(self.rfile.read(int(self.headers["Content-Length"])), habit, era)
            body = b"" if answer is None else json.dumps(answer).encode()
            self.send_response(202 if answer is None else 200)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def do_GET(self) -> None:
            self.send_error(405)

        def log_message(self, *_: object) -> None:
            """Say nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    sys.stdout.write(f"http://127.0.0.1:{server.server_address[1]}/mcp\n")
    sys.stdout.flush()
    server.serve_forever()


if __name__ == "__main__":
    main(*sys.argv[1:])

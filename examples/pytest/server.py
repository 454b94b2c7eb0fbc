"""A library server over stdio, without an SDK: `python server.py`.

Servers built with an SDK are tested the same way.
"""

from __future__ import annotations

import json
import sys
from typing import Any

BOOKS = {
    "dune": {"title": "Dune", "author": "Frank Herbert", "year": 1965},
    "emma": {"title": "Emma", "author": "Jane Austen", "year": 1815},
}
TOOLS = [
    {
        "name": "find_book",
        "description": "Find a book by its title, ignoring case. Use this when a title is known, instead of guessing "
        "the author. Returns the title, the author and the year; fails if no book has the title.",
        "inputSchema": {
            "type": "object",
            "properties": {"title": {"type": "string", "description": "The title, such as Emma.", "maxLength": 100}},
            "required": ["title"],
            "additionalProperties": False,
        },
    },
    {
        "name": "count_books",
        "description": "Count the books of the library. Use this before a search, to see whether there are any. "
        "Returns the number as text, without the titles.",
        "inputSchema": {"type": "object", "properties": {}, "additionalProperties": False},
    },
]


def call(name: str, arguments: dict[str, Any]) -> dict[str, Any]:
    """Return the result of a tool call."""
    if name == "count_books" and not arguments:
        return text(str(len(BOOKS)))
    if name == "find_book" and arguments.keys() == {"title"} and isinstance(arguments["title"], str):
        book = BOOKS.get(arguments["title"].lower())
        if book is None:
            return text(f"no book with the title {arguments['title'][:100]}", is_error=True)
        return {**text(f"{book['title']} by {book['author']}, {book['year']}"), "structuredContent": book}
    return text("invalid arguments", is_error=True)


def text(content: str, *, is_error: bool = False) -> dict[str, Any]:
    """Return a text result."""
    return {"content": [{"type": "text", "text": content}], "isError": is_error}


def respond(method: str, params: dict[str, Any]) -> dict[str, Any]:
    """Return the result or error of a request."""
    if method == "initialize":
        info = {"name": "library", "version": "1.0.0"}
        return {"result": {"protocolVersion": "2025-06-18", "capabilities": {"tools": {}}, "serverInfo": info}}
    if method == "ping":
        return {"result": {}}
    if method == "tools/list":
        return {"result": {"tools": TOOLS}}
    if method == "tools/call":
        if any(tool["name"] == params.get("name") for tool in TOOLS):
            return {"result": call(params["name"], params.get("arguments") or {})}
        return {"error": {"code": -32602, "message": f"unknown tool {params.get('name')}"}}
    return {"error": {"code": -32601, "message": f"unknown method {method}"}}


def main() -> None:
    """Respond to requests until stdin is closed."""
    for line in sys.stdin:
        request = json.loads(line)
        if "id" in request:
            response = respond(request.get("method", ""), request.get("params") or {})
            sys.stdout.write(json.dumps({"jsonrpc": "2.0", "id": request["id"], **response}) + "\n")
            sys.stdout.flush()


if __name__ == "__main__":
    main()

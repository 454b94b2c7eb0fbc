"""A correct server built with the official SDK, over stdio or over both HTTP transports.

Over HTTP it prints both ports, Streamable HTTP first, once it listens.
"""

from __future__ import annotations

import asyncio
import socket
import sys

from mcp.server.mcpserver import MCPServer

app = MCPServer("library", version="1.0")


@app.tool()
def find_book(title: str, limit: int = 10) -> list[str]:
    """Find a book by words of its title."""
    return [title] * limit


@app.tool()
def lend_book(book: str) -> str:
    """Lend a book to a reader."""
    return book


@app.resource("library://shelves")
def shelves() -> str:
    """All shelves."""
    return "A, B"


@app.resource("library://shelves/{shelf}")
def shelf(shelf: str) -> str:
    """One shelf."""
    return shelf


@app.prompt()
def recommend(reader: str) -> str:
    """Recommend a book."""
    return f"What should {reader} read next?"


async def serve() -> None:
    import uvicorn

    sockets = [socket.create_server(("127.0.0.1", 0)) for _ in range(2)]
    print(*(each.getsockname()[1] for each in sockets), flush=True)  # noqa: T201
    apps = (app.streamable_http_app(), app.sse_app())
    servers = [uvicorn.Server(uvicorn.Config(each, log_level="error")) for each in apps]
    await asyncio.gather(*(server.serve([each]) for server, each in zip(servers, sockets, strict=True)))


if __name__ == "__main__":
    if sys.argv[1:] == ["web"]:
        asyncio.run(serve())
    else:
        app.run()

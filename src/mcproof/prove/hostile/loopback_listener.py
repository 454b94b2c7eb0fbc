"""A listener on loopback that remembers which requests have arrived."""

from __future__ import annotations

import asyncio
import contextlib

_HOST = "127.0.0.1"
_LONGEST_HEAD = 8_192
_MOST_REQUESTS = 10_000
_PATIENCE = 2.0
"""Seconds until the head of a request must have arrived."""
_RESPONSE = b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: 8\r\nConnection: close\r\n\r\nmcproof\n"


class LoopbackListener:
    """Accepts requests of a server under test, and responds to each with a word."""

    def __init__(self) -> None:
        self.port = 0
        self._server: asyncio.Server | None = None
        self._heads: list[bytes] = []

    async def start(self) -> None:
        """Listen on a free port. Raises OSError."""
        self._server = await asyncio.start_server(self._respond, _HOST, 0, limit=_LONGEST_HEAD)
        self.port = self._server.sockets[0].getsockname()[1]

    @property
    def address(self) -> str:
        return f"{_HOST}:{self.port}"

    def has_seen(self, token: str) -> bool:
        """Whether a request with this token has arrived."""
        return any(token.encode() in head for head in self._heads)

    async def _respond(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            with contextlib.suppress(OSError, TimeoutError, asyncio.LimitOverrunError):
                async with asyncio.timeout(_PATIENCE):
                    try:
                        head = await reader.readuntil(b"\r\n\r\n")
                    except asyncio.IncompleteReadError as error:
                        head = error.partial
                    if len(self._heads) < _MOST_REQUESTS:
                        self._heads.append(head)
                    writer.write(_RESPONSE)
                    await writer.drain()
        finally:
            writer.close()

    async def stop(self) -> None:
        """Close the port; connections in progress end within seconds."""
        if self._server is not None:
            self._server.close()
            self._server = None

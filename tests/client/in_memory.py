"""Test servers in this process: no child process, no socket, and everything above the transport as usual.

`in_memory` replaces the transport to a command of `contract.py`, and the network below the HTTP client for URLs that
`InMemory.url` returns; other servers are reached as ever. What only real pipes and sockets show is tested in
`tests/client`, and `probing.test_faults` repeats one fault of each kind over them.
"""

from __future__ import annotations

import asyncio
import selectors
import sys
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, NoReturn
from unittest.mock import patch

import httpx2

from mcproof.client.errors import LostError, UnsentError
from mcproof.client.http import fetch
from mcproof.client.peer import Peer
from mcproof.client.transports import stdio
from mcproof.core.observations.connection import ProcessEnd
from servers import contract, contract_faults
from servers.library import NEVER

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from servers.contract_faults import Broken
    from servers.library import Reply


class DiedError(Exception):
    """In place of the end of this process."""


def _die() -> NoReturn:
    raise DiedError


class InMemoryStdio:
    """In place of the transport to a child process: a server that ends as a process does."""

    name = "stdio"

    def __init__(self, server: Broken) -> None:
        self._server = server
        self._exit_code: int | None = None
        self.peer = Peer(self._write)

    async def open(self) -> None:
        pass

    async def send_bytes(self, data: bytes) -> None:
        self.peer.trace.sent(data)
        await self._write(data)

    async def _write(self, message: bytes) -> None:
        for line in message.split(b"\n"):
            if self._exit_code is not None:
                raise UnsentError(self._obituary())
            if line.strip():
                self._receive(line)
        await asyncio.sleep(0)

    def _receive(self, line: bytes) -> None:
        loop = asyncio.get_running_loop()
        try:
            reply = self._server.receive(line)
        except DiedError:
            self._exit_code = 3
            loop.call_soon(self._lose)
            return
        for answer in reply.body.split(b"\n"):
            loop.call_soon(self.peer.receive, answer)
        if reply.dies_after is not None:
            loop.call_later(reply.dies_after, self._end)

    def _end(self) -> None:
        if self._exit_code is None:
            self._exit_code = 3
            self._lose()

    def _lose(self) -> None:
        self.peer.fail(LostError(self._obituary()))

    def _obituary(self) -> str:
        return f"the server exited with code {self._exit_code}{self.last_words()}"

    def last_words(self) -> str:
        return "; last line of stderr: library: the catalogue is gone" if self._exit_code == 3 else ""

    def last_lines(self) -> str:
        return ""

    def cpu_usage(self) -> None:
        return None

    def kill(self) -> None:
        self._exit_code = -9

    async def close(self, _grace: float | None = None) -> ProcessEnd | None:
        await self.peer.close()
        died, self._exit_code = self._exit_code is not None, self._exit_code or 0
        return ProcessEnd("died" if died else "by-itself", self._exit_code)


class InMemoryHttp(httpx2.AsyncBaseTransport):
    """In place of sockets: the servers of one test, by their host; one that has ended refuses connections."""

    def __init__(self, servers: dict[str, Broken | None]) -> None:
        self._servers = servers

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        server = self._servers[request.url.host]
        if server is None:
            raise httpx2.ConnectError("Connection refused")
        if request.method != "POST":
            return httpx2.Response(405, headers={"Allow": "POST"})
        data = await request.aread()
        try:
            reply = server.receive(data, request.headers)  # type: ignore[arg-type]  # it only gets single headers
        except DiedError:
            self._servers[request.url.host] = None
            raise httpx2.RemoteProtocolError("Server disconnected without sending a response.") from None
        return await self._response(request.url.host, reply)

    async def _response(self, host: str, reply: Reply) -> httpx2.Response:
        if reply is NEVER:
            await asyncio.Event().wait()
        if reply.dies_after is not None:
            asyncio.get_running_loop().call_later(reply.dies_after, self._servers.__setitem__, host, None)
        headers = {"Content-Type": reply.kind} if reply.body else {}
        return httpx2.Response(reply.status, headers=headers, content=reply.body)


class SkippingSelector(selectors.DefaultSelector):
    """Never waits: where nothing is ready, the time of the loop moves on to the next timer instead."""

    def __init__(self) -> None:
        super().__init__()
        self.now = 0.0

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        if timeout is None:  # no timer: only a signal or another thread can go on
            return super().select()
        ready = super().select(0)
        if not ready:
            self.now += max(0.0, timeout)
        return ready


class SkippingLoop(asyncio.SelectorEventLoop):
    """An event loop in which no wait takes time, and no time limit depends on how busy the machine is."""

    def __init__(self) -> None:
        self._clock = SkippingSelector()
        super().__init__(self._clock)

    def time(self) -> float:
        return self._clock.now


class InMemory:
    """The servers of one test."""

    def __init__(self) -> None:
        self.servers: dict[str, Broken | None] = {}
        """Those over HTTP, by their host."""

    def url(self, fault: str, era: str) -> str:
        """The URL of a new server with this fault."""
        host = f"server-{len(self.servers)}.test"
        self.servers[host] = contract.server([fault, "--http", "--era", era])
        return f"http://{host}/mcp"


@contextmanager
def in_memory() -> Iterator[InMemory]:
    """Reach the servers of `contract.py` in this process for as long as the context lasts."""
    memory = InMemory()
    process: Callable[..., Any] = stdio.Stdio
    settings = fetch.connection_settings

    def transport(command: Sequence[str], environment: dict[str, str], directory: str | None) -> Any:
        *start, file = command[:4]
        if start != [sys.executable, "-I", "-S"] or file != contract.__file__:
            return process(command, environment, directory)
        return InMemoryStdio(contract.server(list(command[4:])))

    def in_this_process() -> dict[str, Any]:
        return {**settings(), "transport": InMemoryHttp(memory.servers)}

    with (
        patch.object(stdio, "Stdio", transport),
        patch.object(fetch, "connection_settings", in_this_process),
        patch.object(contract_faults, "die", _die),
        patch.object(asyncio.events, "new_event_loop", SkippingLoop),
    ):
        yield memory

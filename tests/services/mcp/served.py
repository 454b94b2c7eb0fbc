"""A server in this process, and clients of the official SDK for it."""

from __future__ import annotations

import os
import sys
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import anyio
from anyio.from_thread import start_blocking_portal
from mcp import Client, StdioServerParameters

from mcproof.services.mcp.server import Checker, RootPolicy, create_server

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    import mcp_types as types
    from anyio.from_thread import BlockingPortal

HANDSHAKE, STATELESS = "legacy", "2026-07-28"
COMMAND = (sys.executable, "-P", "-m", "mcproof", "mcp")


class Agent:
    """A client, called without an event loop."""

    def __init__(self, portal: BlockingPortal, client: Client) -> None:
        self._portal = portal
        self.client = client

    def call(self, tool: str, /, **arguments: Any) -> types.CallToolResult:
        async def call() -> types.CallToolResult:
            return await self.client.call_tool(tool, arguments)

        return self._portal.call(call)

    def document(self, tool: str, /, **arguments: Any) -> dict[str, Any]:
        """The structured result of a call that succeeds; the client checks it against the output schema."""
        result = self.call(tool, **arguments)
        assert not result.is_error, result.content
        document: dict[str, Any] | None = result.structured_content
        assert document is not None
        return document

    def error(self, tool: str, /, **arguments: Any) -> str:
        """The message of a call that fails: one line, without a traceback."""
        result = self.call(tool, **arguments)
        assert result.is_error, result.structured_content
        assert result.structured_content is None
        (content,) = result.content
        assert content.type == "text"
        assert len(content.text.splitlines()) == 1, content.text
        assert "internal error" not in content.text
        return content.text

    def ask(self, method: str, *arguments: Any, **keywords: Any) -> Any:
        """The result of another method of the client."""

        async def ask() -> Any:
            return await getattr(self.client, method)(*arguments, **keywords)

        return self._portal.call(ask)

    def ask_within(self, seconds: float, method: str, *arguments: Any) -> Any:
        """The same, given up after some seconds, which the client tells the server."""

        async def ask() -> Any:
            with anyio.fail_after(seconds):
                return await getattr(self.client, method)(*arguments)

        return self._portal.call(ask)


@contextmanager
def agent(
    *roots: Path | str, mode: str = HANDSHAKE, asks_client: bool = False, time_limit: float = 60, **options: Any
) -> Iterator[Agent]:
    """A client of a server in this process."""
    policy = RootPolicy(tuple(os.path.realpath(root) for root in roots), asks_client)
    checker = Checker(time_limit)
    client = Client(create_server(checker, policy), mode=mode, **options)
    with (
        start_blocking_portal() as portal,
        portal.wrap_async_context_manager(checker),
        portal.wrap_async_context_manager(client),
    ):
        yield Agent(portal, client)


@contextmanager
def agent_of(server: str | StdioServerParameters, *, mode: str = HANDSHAKE, **options: Any) -> Iterator[Agent]:
    """A client of a server in another process: a URL, or a command to start."""
    client = Client(server, mode=mode, **options)
    with start_blocking_portal() as portal, portal.wrap_async_context_manager(client):
        yield Agent(portal, client)


def stdio(folder: Path, *arguments: str) -> StdioServerParameters:
    """The command of the server, in a folder."""
    return StdioServerParameters(command=COMMAND[0], args=[*COMMAND[1:], *arguments], cwd=folder)

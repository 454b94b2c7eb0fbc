"""Run the server over stdio, or over Streamable HTTP on this machine."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

import anyio
from mcp.server.stdio import stdio_server
from mcp.server.transport_security import TransportSecuritySettings

from mcproof.core.console import tell
from mcproof.mcp_server.agent_server import create_server
from mcproof.mcp_server.checker_process import CheckerProcess

if TYPE_CHECKING:
    import socket

    from mcproof.mcp_server.agent_server import RootPolicy

PATH = "/mcp"
LARGEST_BODY = 16 * 1024 * 1024
"""The most bytes of an HTTP request: two catalogs as text, with escapes."""
_MOST_SESSIONS = 100
_LONGEST_LINE = 500


class SafeLog(logging.Handler):
    """Prints warnings of the libraries on standard error, one escaped line each: they quote what clients send."""

    def emit(self, record: logging.LogRecord) -> None:
        tell(record.getMessage()[:_LONGEST_LINE])


def _log_safely() -> None:
    """Replace the handler of last resort, which prints messages and tracebacks as they are."""
    logging.getLogger().addHandler(SafeLog(logging.WARNING))


def serve_stdio(roots: RootPolicy) -> None:
    """Serve the client that started this process, until it closes standard input."""
    _log_safely()
    anyio.run(_serve_stdio, roots)


async def _serve_stdio(roots: RootPolicy) -> None:
    async with CheckerProcess() as checker, stdio_server() as (incoming, outgoing):
        server = create_server(checker, roots)
        await server.run(incoming, outgoing, server.create_initialization_options())


def serve_http(roots: RootPolicy, listener: socket.socket) -> None:
    """Serve HTTP clients on this machine until interrupted."""
    _log_safely()
    anyio.run(_serve_http, roots, listener)


async def _serve_http(roots: RootPolicy, listener: socket.socket) -> None:
    import uvicorn

    async with CheckerProcess() as checker:
        app = create_server(checker, roots).streamable_http_app(
            streamable_http_path=PATH,
            max_request_body_size=LARGEST_BODY,
            max_sessions=_MOST_SESSIONS,
            transport_security=_security(listener.getsockname()[1]),
        )
        config = uvicorn.Config(
            app,
            log_config=None,
            access_log=False,
            server_header=False,
            proxy_headers=False,
            timeout_graceful_shutdown=5,
        )
        await uvicorn.Server(config).serve(sockets=[listener])


def _security(port: int) -> TransportSecuritySettings:
    """Only this machine's own names are served, so that a web page cannot reach the server through DNS."""
    names = [f"{name}:{port}" for name in ("127.0.0.1", "localhost", "[::1]")]
    return TransportSecuritySettings(
        enable_dns_rebinding_protection=True,
        allowed_hosts=names,
        allowed_origins=[f"http://{name}" for name in names],
    )

"""`mcproof mcp`."""

from __future__ import annotations

import gc
import signal
import socket
import sys

from mcproof.cli.parser import Parser
from mcproof.core.console import remark
from mcproof.core.errors import OK, InputError, UsageError, reason_of

MCP_EXAMPLES = """\
mcproof mcp  for a client that starts servers, such as Claude Code
mcproof mcp --root src --root catalogs  read only these folders
mcproof mcp --http 127.0.0.1:8765  for clients that connect to a URL
"""
MCP_NOTES = """\
The tools read snapshots and Python source in the allowed folders, or catalogs given as text. They start no server, open
no URL, run no code of a project and write no file.
"""
_LOOPBACK = ("127.0.0.1", "localhost", "::1")


def mcp_parser() -> Parser:
    parser = Parser(
        "mcp",
        "Serve the static checks of mcproof to agents, as an MCP server.",
        usage="[OPTIONS]",
        examples=MCP_EXAMPLES,
        notes=MCP_NOTES,
    )
    group = parser.group("Server")
    group.add_argument(
        "--root",
        action="append",
        default=[],
        metavar="FOLDER",
        help="a folder that may be read; repeatable (default: the roots of the client, or the working directory unless "
        "that is the home directory)",
    )
    group.add_argument(
        "--http",
        metavar="HOST:PORT",
        help="serve Streamable HTTP on this machine, at /mcp (default: standard input and output)",
    )
    return parser


def mcp_command(arguments: list[str]) -> int:
    options = mcp_parser().parse_args(arguments)
    try:
        from mcproof.services.mcp.server import PATH, RootPolicy, serve_http, serve_stdio
    except ImportError:
        raise UsageError("`mcp` needs more packages: `pip install 'mcproof[mcp]'`") from None
    from mcproof.services.workers.process import default_roots, given_roots

    gc.enable()  # unlike a single run, a server creates garbage for as long as it lives
    folders = given_roots(options.root) if options.root else default_roots()
    if options.http is None:
        if sys.stdin.isatty():
            remark("a client starts this, and speaks on standard input; docs/mcp.md has the settings. Ctrl-C ends it")
            signal.signal(signal.SIGINT, signal.SIG_DFL)  # else Ctrl-C would wait for the next line
        serve_stdio(RootPolicy(folders, asks_client=not options.root))
        return OK
    listener = _listener(options.http)
    with listener:
        host, port = listener.getsockname()[:2]
        shown = f"[{host}]" if ":" in host else host
        remark(f"serving MCP at http://{shown}:{port}{PATH}; readable: {', '.join(folders) or 'nothing'}")
        serve_http(RootPolicy(folders), listener)
    return OK


def _listener(address: str) -> socket.socket:
    """A listening socket. Raises a UsageError unless the address is one of this machine alone."""
    host, _, port = address.rpartition(":")
    host = host.removeprefix("[").removesuffix("]")
    if not port.isascii() or not port.isdigit() or len(port) > 5 or int(port) > 65_535:
        raise UsageError(f"`{address}` is not HOST:PORT, such as 127.0.0.1:8765")
    if host not in _LOOPBACK:
        raise UsageError("--http serves this machine only, without authorization: use 127.0.0.1, localhost or [::1]")
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    listener = socket.socket(family, socket.SOCK_STREAM)
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind((host, int(port)))
        listener.listen(128)
    except OSError as error:
        listener.close()
        raise InputError(f"cannot listen at {address}: {reason_of(error)}") from None
    return listener

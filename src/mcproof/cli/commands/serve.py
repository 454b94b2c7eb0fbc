"""Commands that stay up: `serve` with its tokens, `mcp`, `lsp`."""

from __future__ import annotations

import argparse
import gc
import os
import signal
import socket
import sys
import tempfile
from contextlib import AbstractContextManager, nullcontext
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from mcproof.cli.command import ARGUMENTS, HELP, Command, Option, whole_number
from mcproof.cli.options import parse_store, store
from mcproof.core.console import Style, in_columns, print_lines, print_note
from mcproof.core.errors import OK, InputError, UsageError, nearest, reason_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from mcproof.services.store.database import Database
    from mcproof.services.store.queries import StoredToken


def _lsp(_: argparse.Namespace) -> int:
    try:
        from mcproof.services.lsp.server import serve
    except ImportError:
        raise UsageError("`lsp` needs one more package: `pip install 'mcproof[lsp]'`") from None
    if sys.stdin.isatty():
        print_note(
            "an editor starts this, and speaks on standard input; docs/editors.md has the settings. Ctrl-C ends it"
        )
        signal.signal(signal.SIGINT, signal.SIG_DFL)  # else Ctrl-C would wait for the next line
    gc.enable()  # it runs for days, and syntax trees have cycles
    stdin, stdout = sys.stdin.buffer, sys.stdout
    # A copy: a stray `print` of a library goes to standard error and not between two messages.
    with os.fdopen(os.dup(stdout.fileno()), "wb") as messages:
        sys.stdout = sys.stderr  # standard output is for the protocol alone
        try:
            serve(stdin, messages)
        finally:
            sys.stdout = stdout
    return OK


_LOOPBACK = ("127.0.0.1", "localhost", "::1")


def _mcp(options: argparse.Namespace) -> int:
    try:
        from mcproof.services.mcp.server import PATH, RootPolicy, serve_http, serve_stdio
    except ImportError:
        raise UsageError("`mcp` needs more packages: `pip install 'mcproof[mcp]'`") from None

    gc.enable()  # unlike a single run, a server creates garbage for as long as it lives
    roots = RootPolicy.of_user(options.root)
    if options.http is None:
        if sys.stdin.isatty():
            print_note(
                "a client starts this, and speaks on standard input; docs/mcp.md has the settings. Ctrl-C ends it"
            )
            signal.signal(signal.SIGINT, signal.SIG_DFL)  # else Ctrl-C would wait for the next line
        serve_stdio(roots)
        return OK
    listener = _listener(options.http)
    with listener:
        host, port = listener.getsockname()[:2]
        shown = f"[{host}]" if ":" in host else host
        print_note(f"serving MCP at http://{shown}:{port}{PATH}; readable: {', '.join(roots.folders) or 'nothing'}")
        serve_http(roots._replace(asks_client=False), listener)
    return OK


def _listener(address: str) -> socket.socket:
    """A listening socket. Raises a UsageError unless the address is one of this machine alone."""
    host, _, port = address.rpartition(":")
    host = host.removeprefix("[").removesuffix("]")
    if not port.isascii() or not port.isdigit() or len(port) > 5 or int(port) > 65_535:
        raise UsageError(f"`{address}` is not HOST:PORT, such as 127.0.0.1:8765")
    # There is no authorization, so nobody else may reach it.
    if host not in _LOOPBACK:
        raise UsageError("--http serves this machine only, without authorization: use 127.0.0.1, localhost or [::1]")
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    listener = socket.socket(family, socket.SOCK_STREAM)
    try:
        # A restart must not wait for the connections of the last run to time out.
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)  # else bodies wait for the acknowledged head
        listener.bind((host, int(port)))
        listener.listen(128)
    except OSError as error:
        listener.close()
        raise InputError(f"cannot listen at {address}: {reason_of(error)}") from None
    return listener


ACTIONS = ("create", "list", "revoke")
SERVER, TOKENS = "Server", "Tokens"
"""Titles of groups of options."""
SCOPES = ("read", "lint", "record")
DAYS = 90


def run_token_action(words: list[str], options: argparse.Namespace) -> int:
    """Create, list or revoke tokens; `words` are those after `token`."""
    action, *names = words or [""]
    if action not in ACTIONS:
        hint = nearest(action, list(ACTIONS)) if action else ""
        raise UsageError(f"`mcproof serve token` needs create NAME, list or revoke NAME{hint}")
    if len(names) != (action != "list"):
        raise UsageError(f"`token {action}` takes {'no name' if action == 'list' else 'the name of one token'}")
    if action != "create" and (options.scope or options.server is not None or options.days is not None):
        raise UsageError("--scope, --server and --days are for `token create`")
    from mcproof.services.store.database import open_database

    database = open_database(parse_store(options).database)
    from mcproof.services.store.queries import list_tokens, revoke_token  # after the check that SQLAlchemy is installed

    try:
        if action == "list":
            print_lines(_table(list_tokens(database), Style.of(sys.stdout)), sys.stdout)
        elif action == "revoke":
            revoke_token(database, names[0])
            print_note(f"revoked the token {names[0]}")
        else:
            sys.stdout.write(_created(database, names[0], options) + "\n")
    finally:
        database.close()
    return OK


def _created(database: Database, name: str, options: argparse.Namespace) -> str:
    from mcproof.services.store.queries import LONGEST_NAME, create_token

    if not name.strip() or not name.isprintable() or len(name) > LONGEST_NAME:
        raise UsageError(f"the name of a token has 1 to {LONGEST_NAME} printable characters")
    scopes = tuple(options.scope or ("record",))
    if options.server is not None and "record" not in scopes:
        raise UsageError("--server is for the scope `record`")
    days = options.days or DAYS
    token = create_token(database, name, scopes, server=options.server, days=days, now=datetime.now(UTC))
    print_note(f"created the token {name} for {', '.join(scopes)}, valid for {days} days; it is not shown again")
    return token


def _table(tokens: list[StoredToken], style: Style) -> Iterator[str]:
    if not tokens:
        yield "no tokens\n"
        return
    now = datetime.now(UTC)
    rows = [
        [
            style.text(token.name),
            ", ".join(token.scopes),
            style.text(token.server or "every server") if token.permits("record") else "",
            f"{'expired' if token.is_expired(now) else 'expires'} {token.expires[:10]}",
        ]
        for token in tokens
    ]
    yield from (f"{line}\n" for line in in_columns(rows))


def _serve(options: argparse.Namespace) -> int:
    if options.action:
        if options.action[0] != "token":
            raise UsageError(f"`mcproof serve` takes no argument `{options.action[0]}`; there is `token`")
        return run_token_action(options.action[1:], options)
    if options.scope or options.server is not None or options.days is not None:
        raise UsageError("--scope, --server and --days are for `token create`")
    if options.allow_commands and options.config is None:
        raise UsageError("--allow-commands is for the [[watch]] entries of --config FILE")
    if options.demo and (options.database is not None or options.config is not None):
        raise UsageError("--demo has a store of its own; leave out --database and --config")
    try:
        from mcproof.services.web.server import serve
    except ImportError:
        raise UsageError("`serve` needs more packages: `pip install 'mcproof[web]'`") from None
    from mcproof.services.store.database import open_database

    # The store of the demo goes with its folder, however the service ends.
    folder: AbstractContextManager[str] = tempfile.TemporaryDirectory() if options.demo else nullcontext("")
    with folder as place:
        database = open_database(os.path.join(place, "demo.sqlite") if options.demo else parse_store(options).database)
        try:
            serve(database, options)
        finally:
            database.close()
    return OK


def _network(text: str) -> str:
    from ipaddress import ip_network

    try:
        return str(ip_network(text))
    except ValueError:
        raise argparse.ArgumentTypeError(f"`{text}` is not a network, such as 10.1.0.0/16 or ::1") from None


def _port(text: str) -> int:
    if not text.isascii() or not text.isdigit() or len(text) > 5 or int(text) > 65_535:
        raise argparse.ArgumentTypeError(f"`{text}` is not a port")
    return int(text)


COMMANDS = (
    Command(
        "serve",
        "Serve the recorded results: a page with every server, their history and badges, and a REST API.",
        (
            Option(ARGUMENTS, "action token ACTION", "create, list or revoke tokens of the REST API", nargs="*"),
            Option(SERVER, "--host ADDRESS", "where to listen (default 127.0.0.1)", default="127.0.0.1"),
            Option(SERVER, "--port N", "the port (default 8000; 0 for a free one)", type=_port, default=8000),
            Option(
                SERVER,
                "--allow-host NAME",
                "a host name that is served, besides this machine's; repeatable",
                repeatable=True,
            ),
            Option(
                SERVER,
                "--allow-network CIDR",
                "a network that visitors' URLs and webhooks may lead to, besides public addresses; repeatable",
                repeatable=True,
                type=_network,
            ),
            Option(
                SERVER,
                "--trusted-proxy CIDR",
                "a network of proxies that name the client in Forwarded or X-Forwarded-For; repeatable",
                repeatable=True,
                type=_network,
            ),
            Option(SERVER, "--demo", "serve an example, from a store that is deleted at the end"),
            Option(
                SERVER,
                "--require-token SCOPE",
                "serve only requests with a token of this scope, read or lint; repeatable",
                repeatable=True,
                choices=("read", "lint"),
            ),
            Option(
                SERVER,
                "--log-format",
                "the lines on standard error (default text)",
                choices=("text", "json"),
                default="text",
            ),
            Option("Watched servers", "--allow-commands", "start the commands that [[watch]] entries of --config name"),
            Option(
                TOKENS,
                "--scope SCOPE",
                "what a new token is for: read, lint or record (the default); repeatable",
                repeatable=True,
                choices=SCOPES,
            ),
            Option(TOKENS, "--server NAME", "a new token records only this server; may have `*`"),
            Option(
                TOKENS,
                "--days N",
                f"a new token expires after this time (default {DAYS})",
                type=whole_number("a number of days", 1, 3650),
            ),
            store("use this configuration, and watch the servers that it names"),
        ),
        usage="[OPTIONS]\n[OPTIONS] token create NAME | token list | token revoke NAME",
        examples="""\
mcproof serve  the recorded servers, at http://127.0.0.1:8000
mcproof serve --demo  an example with history, in a store of its own
mcproof serve --config watch.toml  also check servers at intervals, and report changes
mcproof serve token create ci --server books  a token with which CI records runs of a server
mcproof serve --host 0.0.0.0 --allow-host mcproof.example.com  on a network
mcproof serve --allow-network 127.0.0.0/8  check servers on this machine from the page, too
""",
        run=_serve,
    ),
    Command(
        "lsp",
        "Serve an editor: findings while you type, fixes, completion, and token counts over tools.",
        (
            Option(
                HELP, "--stdio", "speak on standard input and output: the default, accepted for editors that pass it"
            ),
        ),
        examples="mcproof lsp  speak the Language Server Protocol on standard input and output\n",
        notes="""\
Editors start it; see docs/editors.md for their settings. It checks snapshots, suites, configurations, and source in \
Python, JavaScript or TypeScript that registers tools, while you type, with the nearest mcproof.toml. It never runs \
the code of a project, starts no server and writes no file: every change goes through the editor.
""",
        run=_lsp,
    ),
    Command(
        "mcp",
        "Serve the static checks of mcproof to agents, as an MCP server.",
        (
            Option(
                SERVER,
                "--root FOLDER",
                "a folder that may be read; repeatable (default: the roots of the client, or the working "
                "directory unless that is the home directory)",
                repeatable=True,
            ),
            Option(
                SERVER,
                "--http HOST:PORT",
                "serve Streamable HTTP on this machine, at /mcp (default: standard input and output)",
            ),
        ),
        examples="""\
mcproof mcp  for a client that starts servers, such as Claude Code
mcproof mcp --root src --root catalogs  read only these folders
mcproof mcp --http 127.0.0.1:8765  for clients that connect to a URL
""",
        notes="""\
The tools read snapshots and Python, JavaScript or TypeScript source in the allowed folders, or catalogs given as
text. They start no server, open no URL, run no code of a project and write no file.
""",
        run=_mcp,
    ),
)

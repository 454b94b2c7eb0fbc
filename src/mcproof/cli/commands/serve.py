"""Commands that stay up: `serve` with its tokens, `mcp`, `lsp`."""

from __future__ import annotations

import argparse
import os
import tempfile
from contextlib import nullcontext
from typing import TYPE_CHECKING

from mcproof.cli.parser import Parser
from mcproof.cli.record_options import add_store, parse_store
from mcproof.cli.token_actions import add_tokens, run_token_action
from mcproof.core.errors import OK, UsageError

if TYPE_CHECKING:
    from contextlib import AbstractContextManager

SERVE_EXAMPLES = """\
mcproof serve  the recorded servers, at http://127.0.0.1:8000
mcproof serve --demo  an example with history, in a store of its own
mcproof serve --config watch.toml  also check servers at intervals, and report changes
mcproof serve token create ci --server books  a token with which CI records runs of a server
mcproof serve --host 0.0.0.0 --allow-host mcproof.example.com  on a network
mcproof serve --allow-network 127.0.0.0/8  check servers on this machine from the page, too
"""


def serve_parser() -> Parser:
    parser = Parser(
        "serve",
        "Serve the recorded results: a page with every server, their history and badges, and a REST API.",
        usage="[OPTIONS]\n[OPTIONS] token create NAME | token list | token revoke NAME",
        examples=SERVE_EXAMPLES,
    )
    parser.add_argument(
        "action", nargs="*", metavar="token ACTION", help="create, list or revoke tokens of the REST API"
    )
    group = parser.group("Server")
    group.add_argument("--host", default="127.0.0.1", metavar="ADDRESS", help="where to listen (default 127.0.0.1)")
    group.add_argument(
        "--port", type=_port, default=8000, metavar="N", help="the port (default 8000; 0 for a free one)"
    )
    named = "a host name that is served, besides this machine's; repeatable"
    group.add_argument("--allow-host", action="append", default=[], metavar="NAME", help=named)
    reached = "a network that visitors' URLs and webhooks may lead to, besides public addresses; repeatable"
    group.add_argument("--allow-network", action="append", type=_network, default=[], metavar="CIDR", help=reached)
    group.add_argument("--demo", action="store_true", help="serve an example, from a store that is deleted at the end")
    needed = "serve only requests with a token of this scope, read or lint; repeatable"
    group.add_argument(
        "--require-token", action="append", default=[], choices=("read", "lint"), metavar="SCOPE", help=needed
    )
    group.add_argument(
        "--log-format", choices=("text", "json"), default="text", help="the lines on standard error (default text)"
    )
    starts = "start the commands that [[watch]] entries of --config name"
    parser.group("Watched servers").add_argument("--allow-commands", action="store_true", help=starts)
    add_tokens(parser)
    add_store(parser, "use this configuration, and watch the servers that it names")
    return parser


def serve_command(arguments: list[str]) -> int:
    options = serve_parser().parse_args(arguments)
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

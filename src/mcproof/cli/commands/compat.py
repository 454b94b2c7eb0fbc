"""`mcproof compat`."""

from __future__ import annotations

import argparse

from mcproof.cli.check_options import add_policy, parse_policy
from mcproof.cli.outputs import add_outputs, parse_outputs
from mcproof.cli.parser import Parser, words
from mcproof.cli.request_runner import run_command
from mcproof.cli.target_options import TARGETS_USAGE, add_configured_live, add_live, add_targets, parse_targets
from mcproof.execution.planning import COMPAT
from mcproof.execution.run_requests import CompatRequest

EXAMPLES = """\
mcproof compat -- python server.py  every client, and what to change first
mcproof compat tools.json --client cursor,claude-code@2.1.40  all facts about two clients
mcproof compat tools.json --require claude-code,vscode-copilot  a gate for CI
"""


def parser() -> Parser:
    parser = Parser(
        "compat",
        "Show in which MCP clients and model APIs a server breaks, and what to change.",
        usage=TARGETS_USAGE,
        examples=EXAMPLES,
    )
    add_targets(parser)
    named = "`mcproof clients` lists them; comma-separated, repeatable"
    clients = parser.group("Clients")
    clients.add_argument(
        "--client",
        action="append",
        default=[],
        metavar="NAME[@VERSION]",
        help=f"report only on these clients, with all their facts: {named}",
    )
    clients.add_argument(
        "--server-key", default="", metavar="KEY", help="the server's name in client configurations (default: its own)"
    )
    gates = parser.group("Gates")
    breaks = f"fail if the server breaks in one of these: {named}"
    gates.add_argument("--require", action="append", default=[], metavar="NAME", help=breaks)
    gates.add_argument("--min-clients", type=_count, metavar="N", help="fail if it works in fewer clients than this")
    add_policy(parser, COMPAT.fail_on)
    add_outputs(parser)
    add_live(parser)
    add_configured_live(parser)
    return parser


def command(arguments: list[str]) -> int:
    options = parser().parse_args(arguments)
    outputs = parse_outputs(options)
    request = CompatRequest(
        targets=parse_targets(options, *options.targets),
        clients=words(options.client),
        server_key=options.server_key,
        require=words(options.require),
        min_clients=options.min_clients,
        policy=parse_policy(options),
        detail=outputs.detail,
    )
    return run_command(request, outputs)


def _count(text: str) -> int:
    if not text.isascii() or not text.isdigit():
        raise argparse.ArgumentTypeError(f"`{text}` is not a number of clients")
    return int(text)

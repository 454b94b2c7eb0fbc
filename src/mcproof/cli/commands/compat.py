"""`mcproof compat`."""

from __future__ import annotations

import argparse

from mcproof.cli.check_options import add_policy, parse_policy
from mcproof.cli.fix_options import add_client_fixing, parse_fixing
from mcproof.cli.outputs import add_amount, add_outputs, parse_outputs
from mcproof.cli.parser import Parser, words
from mcproof.cli.request_runner import run_request
from mcproof.cli.target_options import TARGETS_USAGE, add_configured_live, add_live, add_targets, parse_targets
from mcproof.core.errors import UsageError
from mcproof.runs.planning import COMPAT
from mcproof.runs.requests import CompatRequest

COMPAT_EXAMPLES = """\
mcproof compat -- python server.py  every client, and what to change first
mcproof compat tools.json --client cursor,claude-code@2.1.40  all facts about two clients
mcproof compat tools.json --require claude-code,vscode-copilot  a gate for CI
mcproof compat tools.json --diff  the edits that help clients and harm none
"""


def compat_parser() -> Parser:
    parser = Parser(
        "compat",
        "Show in which MCP clients and model APIs a server breaks, and what to change.",
        usage=TARGETS_USAGE,
        examples=COMPAT_EXAMPLES,
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
    add_client_fixing(parser)
    add_policy(parser, COMPAT.fail_on)
    add_outputs(parser, records=True)
    add_amount(parser)
    add_live(parser)
    add_configured_live(parser)
    return parser


def compat_command(arguments: list[str]) -> int:
    options = compat_parser().parse_args(arguments)
    fixing, outputs = parse_fixing(options), parse_outputs(options)
    if fixing is None and options.for_clients:
        raise UsageError("--for needs --fix or --diff; --client chooses the clients of a report")
    if fixing is not None and (options.client or options.require or options.min_clients is not None):
        raise UsageError("--client, --require and --min-clients are about the report; --fix takes --for")
    request = CompatRequest(
        targets=parse_targets(options, *options.targets),
        clients=words(options.client or options.for_clients),
        server_key=options.server_key,
        require=_required(options.require),
        min_clients=options.min_clients,
        policy=parse_policy(options),
        detail=outputs.detail,
    )
    if fixing is None:
        return run_request(request, outputs)
    from mcproof.cli.fix_command import fix_command

    return fix_command(request, fixing)


def _required(values: list[str]) -> tuple[str, ...]:
    """Parse `--require`: names of clients, whose versions only `--client` sets."""
    names = words(values)
    if pinned := next((name for name in names if "@" in name), None):
        name = pinned.partition("@")[0]
        raise UsageError(f"--require takes no version: use `--client {pinned} --require {name}`")
    return names


def _count(text: str) -> int:
    if not text.isascii() or not text.isdigit():
        raise argparse.ArgumentTypeError(f"`{text}` is not a number of clients")
    return int(text)

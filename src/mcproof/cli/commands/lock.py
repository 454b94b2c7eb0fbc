"""`mcproof lock`."""

from __future__ import annotations

import sys

from mcproof.cli.check_options import add_config, parse_config
from mcproof.cli.outputs import add_format, add_verbosity
from mcproof.cli.parser import Parser
from mcproof.cli.request_runner import ConsoleListener
from mcproof.cli.target_options import TARGETS_USAGE, add_configured_live, add_live, add_targets, parse_targets
from mcproof.core.console import Style, print_document, print_lines
from mcproof.core.errors import OK
from mcproof.runs.requests import LockRequest, Policy

LOCK_NOTES = """\
The lock, mcproof.lock in this folder, has the texts of all tools, resources and prompts and of the instructions, each
with its hash. `lint --locked` and `scan --locked` compare a target with its entry and exit 1 on any difference. Running
`mcproof lock` again shows what changed and replaces the entries of its targets; the other entries stay.
"""
LOCK_EXAMPLES = """\
mcproof lock -- npx -y some-server  lock a server that you have reviewed
mcproof lock .mcp.json --all  every server of a client configuration
mcproof lint --locked -- npx -y some-server  fail if it offers anything else
"""


def lock_parser() -> Parser:
    parser = Parser(
        "lock",
        "Lock what servers offer, so that later changes are noticed.",
        usage=TARGETS_USAGE,
        examples=LOCK_EXAMPLES,
        notes=LOCK_NOTES,
    )
    add_targets(parser)
    add_config(parser)
    add_format(parser, "text", "json")
    add_verbosity(parser)
    add_live(parser)
    add_configured_live(parser)
    return parser


def lock_command(arguments: list[str]) -> int:
    options = lock_parser().parse_args(arguments)
    request = LockRequest(parse_targets(options, *options.targets), Policy(parse_config(options)))
    from mcproof.report.listings import lock_document, lock_lines
    from mcproof.runs.diff import lock_targets

    listener = ConsoleListener()
    try:
        outcome = lock_targets(request, listener)
    finally:
        listener.clear()
    if options.format == "json":
        print_document(lock_document(outcome))
    else:
        print_lines(lock_lines(outcome, Style.of(sys.stdout)), sys.stdout)
    return OK

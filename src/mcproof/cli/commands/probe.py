"""`mcproof probe`, and the options that `prove` shares with it."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

from mcproof.cli.call_options import CALLS, add_calls, parse_calls
from mcproof.cli.check_options import add_policy, parse_policy
from mcproof.cli.outputs import add_amount, add_outputs, parse_outputs
from mcproof.cli.parser import Parser, seconds, whole_number, words
from mcproof.cli.request_runner import run_request
from mcproof.cli.target_options import SERVER_USAGE, add_live, add_server, parse_targets
from mcproof.runs.planning import PROBE
from mcproof.runs.requests import ProbeRequest

if TYPE_CHECKING:
    import argparse

    from mcproof.cli.outputs import OutputOptions

Request = TypeVar("Request", bound=ProbeRequest)

PROBE_EXAMPLES = """\
mcproof probe -- python server.py  every probe, on every tool that is read-only
mcproof probe https://host/mcp --tool search  only one tool
mcproof probe --checks unknown_tool,missing_required -- python server.py
"""


def probe_parser() -> Parser:
    parser = Parser(
        "probe",
        "Send a live server bad requests, and check that it rejects them. `mcproof prove` sends more, one for each "
        "promise of each schema.",
        usage=SERVER_USAGE,
        examples=PROBE_EXAMPLES,
    )
    add_probing(parser)
    return parser


def probe_command(arguments: list[str]) -> int:
    options = probe_parser().parse_args(arguments)
    outputs = parse_outputs(options)
    return run_request(parse_probing(ProbeRequest, options, outputs), outputs)


def add_probing(parser: Parser) -> None:
    """Add the options of the commands that send probes."""
    add_server(parser)
    group = parser.group(CALLS)
    group.add_argument(
        "--checks",
        action="append",
        default=[],
        metavar="PROBE",
        help="send only these probes; comma-separated, repeatable",
    )
    add_calls(parser)
    group.add_argument(
        "--oversize",
        type=whole_number("bytes", 1, 32 * 1024 * 1024),
        default=1024 * 1024,
        metavar="BYTES",
        help="length of the oversized string (default 1048576)",
    )
    group.add_argument("--max-time", type=seconds, metavar="SECONDS", help="stop after this time")
    add_policy(parser, PROBE.fail_on)
    add_outputs(parser, records=True)
    add_amount(parser)
    add_live(parser)


def parse_probing(kind: type[Request], options: argparse.Namespace, outputs: OutputOptions) -> Request:
    """Parse the options of `add_probing` into a request of a kind."""
    return kind(
        targets=parse_targets(options, *options.targets, needs_server=True),
        calls=parse_calls(options),
        checks=words(options.checks),
        max_seconds=options.max_time,
        oversize=options.oversize,
        policy=parse_policy(options),
        detail=outputs.detail,
    )

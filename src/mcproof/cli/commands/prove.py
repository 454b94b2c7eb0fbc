"""`mcproof prove`."""

from __future__ import annotations

from mcproof.cli.call_options import CALLS, add_security
from mcproof.cli.commands.probe import add_probing, parse_probing
from mcproof.cli.outputs import parse_outputs
from mcproof.cli.parser import Parser, whole_number
from mcproof.cli.request_runner import run_request
from mcproof.cli.target_options import SERVER_USAGE
from mcproof.core.observations.probes import MAX_CALLS
from mcproof.runs.requests import ProveRequest

PROVE_EXAMPLES = """\
mcproof prove -- python server.py  the contract matrix of a server
mcproof prove --allow create_note -- python server.py  also call a tool that changes something
mcproof prove --output report.html -- python server.py  a page with every request and response
"""


def prove_parser() -> Parser:
    parser = Parser(
        "prove",
        "Show which promises of its schemas a live server keeps: the strict rules and the probes side by side.",
        usage=SERVER_USAGE,
        examples=PROVE_EXAMPLES,
    )
    add_probing(parser)
    group = parser.group(CALLS)
    group.add_argument(
        "--max-calls",
        type=whole_number("calls", 1, 1_000_000),
        default=MAX_CALLS,
        metavar="N",
        help=f"probes per tool; one of each kind first (default {MAX_CALLS})",
    )
    group.add_argument(
        "--strict",
        action="store_true",
        help='also fail if a value of a wrong type is converted, such as "5" for 5',
    )
    add_security(parser)
    return parser


def prove_command(arguments: list[str], *, stores_failures: bool = True) -> int:
    options = prove_parser().parse_args(arguments)
    outputs = parse_outputs(options)
    request = parse_probing(ProveRequest, options, outputs)
    request = request._replace(
        max_calls=options.max_calls,
        is_strict=options.strict,
        security=options.security,
        calls=request.calls._replace(stores_failures=stores_failures),
    )
    return run_request(request, outputs)

"""`mcproof fuzz`."""

from __future__ import annotations

from mcproof.cli.call_options import add_calls, add_security, parse_calls
from mcproof.cli.check_options import add_policy, parse_policy
from mcproof.cli.outputs import add_amount, add_outputs, parse_outputs
from mcproof.cli.parser import Parser, seconds, whole_number
from mcproof.cli.request_runner import run_request
from mcproof.cli.target_options import SERVER_USAGE, add_live, add_server, parse_targets
from mcproof.runs.planning import FUZZ
from mcproof.runs.requests import FuzzRequest

FUZZ_EXAMPLES = """\
mcproof fuzz --max-time 60 -- python server.py
mcproof fuzz --tool search --cases 2000 --seed 7 -- python server.py
mcproof fuzz --security -- python server.py  hostile arguments, too
"""


def fuzz_parser() -> Parser:
    parser = Parser(
        "fuzz",
        "Call the tools of a live server with generated arguments until something breaks.",
        usage=SERVER_USAGE,
        examples=FUZZ_EXAMPLES,
    )
    add_server(parser)
    group = parser.group("Cases")
    group.add_argument(
        "--seed",
        type=whole_number("seeds", 0, 2**63 - 1),
        default=0,
        metavar="N",
        help="seed of the random cases; the same seed gives the same cases (default 0)",
    )
    group.add_argument(
        "--cases",
        type=whole_number("cases", 1, 100_000_000),
        default=200,
        metavar="N",
        help="cases per tool (default 200)",
    )
    group.add_argument("--max-time", type=seconds, metavar="SECONDS", help="stop after this time")
    group.add_argument("--strict", action="store_true", help="also fail if an invalid call is accepted")
    group.add_argument(
        "--processes",
        type=whole_number("processes", 1, 64),
        metavar="N",
        help="server processes at once (default: one per core, up to 4; one connection to a URL)",
    )
    add_calls(parser)
    add_security(parser)
    add_policy(parser, FUZZ.fail_on)
    add_outputs(parser, records=True)
    add_amount(parser)
    add_live(parser)
    return parser


def fuzz_command(arguments: list[str]) -> int:
    options = fuzz_parser().parse_args(arguments)
    outputs = parse_outputs(options)
    request = FuzzRequest(
        targets=parse_targets(options, *options.targets, needs_server=True),
        calls=parse_calls(options),
        seed=options.seed,
        cases=options.cases,
        max_seconds=options.max_time,
        is_strict=options.strict,
        security=options.security,
        processes=options.processes,
        policy=parse_policy(options),
        detail=outputs.detail,
    )
    return run_request(request, outputs)

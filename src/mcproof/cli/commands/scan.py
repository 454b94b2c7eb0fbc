"""`mcproof scan`."""

from __future__ import annotations

from mcproof.cli.check_options import add_comparison, add_policy, add_selection, parse_policy, parse_selection
from mcproof.cli.outputs import add_amount, add_outputs, parse_outputs
from mcproof.cli.parser import Parser
from mcproof.cli.request_runner import run_request
from mcproof.cli.target_options import TARGETS_USAGE, add_configured_live, add_live, add_targets, parse_targets
from mcproof.runs.planning import SCAN
from mcproof.runs.requests import ScanRequest

SCAN_EXAMPLES = """\
mcproof scan https://host/mcp  TLS, headers, authorization, texts and tools of a remote server
mcproof scan -- npx -y some-server  a server before it is added to an agent
mcproof scan src/  the code of a Python server: where arguments reach a shell, SQL, a path
mcproof scan .mcp.json --all --fail-on-verdict review  every configured server, in CI
"""


def scan_parser() -> Parser:
    parser = Parser(
        "scan",
        "Say whether an agent may connect to a server: a score, a verdict (allow, review, block) and the evidence.",
        usage=TARGETS_USAGE,
        examples=SCAN_EXAMPLES,
    )
    add_targets(parser)
    gates = parser.group("Gates")
    verdicts = "exit 1 on this verdict or a worse one (default block)"
    gates.add_argument("--fail-on-verdict", choices=("review", "block"), default="block", help=verdicts)
    add_comparison(parser)
    observing = parser.group("Observing")
    calls = "also call up to 3 tools that are read-only by their own annotation"
    observing.add_argument("--deep", action="store_true", help=calls)
    add_selection(parser)
    add_policy(parser, SCAN.fail_on)
    add_outputs(parser, records=True)
    add_amount(parser)
    add_live(parser)
    add_configured_live(parser)
    return parser


def scan_command(arguments: list[str]) -> int:
    options = scan_parser().parse_args(arguments)
    outputs = parse_outputs(options)
    request = ScanRequest(
        targets=parse_targets(options, *options.targets),
        rules=parse_selection(options),
        fails_on=options.fail_on_verdict,
        deep=options.deep,
        locked=options.locked,
        against=options.against,
        policy=parse_policy(options),
        detail=outputs.detail,
    )
    return run_request(request, outputs)

"""`mcproof lint`."""

from __future__ import annotations

from mcproof.checks.rule import RULESETS
from mcproof.cli.check_options import RULES, add_comparison, add_policy, add_selection, parse_policy, parse_selection
from mcproof.cli.fix_options import add_fixing, parse_fixing
from mcproof.cli.outputs import add_amount, add_outputs, parse_outputs
from mcproof.cli.parser import Parser, words
from mcproof.cli.request_runner import run_request
from mcproof.cli.target_options import TARGETS_USAGE, add_configured_live, add_live, add_targets, parse_targets
from mcproof.core.errors import UsageError
from mcproof.runs.planning import LINT
from mcproof.runs.requests import LintRequest

LINT_EXAMPLES = """\
mcproof lint  everything below this folder
mcproof lint tools.json  a snapshot
mcproof lint src/  Python source, which is not run
mcproof lint -- python server.py  a live server
mcproof lint .mcp.json#weather  a server of a client configuration
mcproof lint --ruleset all --fail-on warning  every rule, and stricter
mcproof lint tools.json --client cursor,claude-code  errors for what breaks in two clients
mcproof lint --output results.sarif  also a file for CI
mcproof lint --locked  fail if anything changed since `mcproof lock`
"""


def lint_parser() -> Parser:
    parser = Parser(
        "lint",
        "Check a catalog for problems that confuse agents and clients.",
        usage=TARGETS_USAGE,
        examples=LINT_EXAMPLES,
    )
    add_targets(parser)
    parser.group(RULES).add_argument(
        "--ruleset",
        action="append",
        default=[],
        metavar="NAME",
        help=f"the rulesets to run, comma-separated, repeatable: {', '.join(RULESETS)} or all "
        f"(default {','.join(LINT.rulesets)})",
    )
    parser.group(RULES).add_argument(
        "--client",
        action="append",
        default=[],
        metavar="NAME[@VERSION]",
        help="a client that matters: what breaks there is an error, and all its facts are checked; "
        "`mcproof clients` lists them; comma-separated, repeatable",
    )
    add_selection(parser)
    add_comparison(parser)
    add_policy(parser, LINT.fail_on)
    add_fixing(parser)
    add_outputs(parser, records=True)
    add_amount(parser)
    add_live(parser)
    add_configured_live(parser)
    return parser


def lint_command(arguments: list[str]) -> int:
    options = lint_parser().parse_args(arguments)
    fixing, outputs = parse_fixing(options), parse_outputs(options)
    request = LintRequest(
        targets=parse_targets(options, *options.targets),
        rules=parse_selection(options, words(options.ruleset)),
        policy=parse_policy(options),
        detail=outputs.detail,
        clients=words(options.client),
        locked=options.locked,
        against=options.against,
    )
    if fixing is None:
        return run_request(request, outputs)
    if options.locked or options.against is not None:
        raise UsageError("--locked and --against compare catalogs, and nothing is compared with --fix")
    from mcproof.cli.fix_command import fix_command

    return fix_command(request, fixing)

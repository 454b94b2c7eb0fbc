"""`mcproof schema-lint`."""

from __future__ import annotations

from mcproof.cli.check_options import add_policy, add_selection, parse_policy, parse_selection
from mcproof.cli.fix_options import add_fixing, parse_fixing
from mcproof.cli.outputs import add_amount, add_outputs, parse_outputs
from mcproof.cli.parser import Parser
from mcproof.cli.request_runner import run_request
from mcproof.cli.target_options import TARGETS_USAGE, add_configured_live, add_live, add_targets, parse_targets
from mcproof.runs.planning import SCHEMA_LINT
from mcproof.runs.requests import SchemaLintRequest

SCHEMA_LINT_NOTES = """\
The fix closes objects (`additionalProperties: false`) and adds `required` lists. It invents no types and no bounds:
those findings are left for the author. If closing an object would change what another schema accepts, the finding is
left too, with the reason. In Python source, the fix changes schemas that are one literal of a tool's own.
"""
SCHEMA_LINT_EXAMPLES = """\
mcproof schema-lint tools.json  report; exit 1 on any finding
mcproof schema-lint tools.json --diff  show what the fix would change
mcproof schema-lint tools.json --fix --write  change the file
"""


def schema_lint_parser() -> Parser:
    parser = Parser(
        "schema-lint",
        "Check how strictly input schemas constrain calls, and tighten them.",
        usage=TARGETS_USAGE,
        examples=SCHEMA_LINT_EXAMPLES,
        notes=SCHEMA_LINT_NOTES,
    )
    add_targets(parser)
    add_fixing(parser)
    add_selection(parser)
    add_policy(parser, SCHEMA_LINT.fail_on)
    add_outputs(parser, records=True)
    add_amount(parser)
    add_live(parser)
    add_configured_live(parser)
    return parser


def schema_lint_command(arguments: list[str]) -> int:
    options = schema_lint_parser().parse_args(arguments)
    fixing, outputs = parse_fixing(options), parse_outputs(options)
    request = SchemaLintRequest(
        targets=parse_targets(options, *options.targets),
        rules=parse_selection(options),
        policy=parse_policy(options),
        detail=outputs.detail,
    )
    if fixing is None:
        return run_request(request, outputs)
    from mcproof.cli.fix_command import fix_command

    return fix_command(request, fixing)

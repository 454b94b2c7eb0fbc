"""`mcproof lint`."""

from __future__ import annotations

from mcproof.cli.fix_options import add_fixing, check_or_fix
from mcproof.cli.options import Parser, add_fail_on, add_live, add_outputs, add_selection, add_settings, add_targets
from mcproof.cli.planning import Command
from mcproof.linting.registry import RULESETS

COMMAND = Command(
    "lint",
    tuple(ruleset.name for ruleset in RULESETS.values() if ruleset.is_default),
    selects=True,
    on_source=("polish",),
)


def parser() -> Parser:
    parser = Parser("lint", "Check a catalog: what would confuse an agent or a client.")
    add_targets(parser)
    add_outputs(parser)
    parser.add_argument(
        "--ruleset",
        action="append",
        default=[],
        metavar="NAME",
        help=f"the families of rules to run, comma-separated, repeatable: {', '.join(RULESETS)} or all "
        f"(default {','.join(COMMAND.rulesets)})",
    )
    add_selection(parser)
    add_fail_on(parser, COMMAND.fail_on)
    add_settings(parser)
    add_live(parser)
    add_fixing(parser)
    return parser


def command(arguments: list[str]) -> int:
    return check_or_fix(COMMAND, parser().parse_args(arguments))

"""`mcproof schema-lint`."""

from __future__ import annotations

from mcproof.cli.fix_options import add_fixing, check_or_fix
from mcproof.cli.options import Parser, add_fail_on, add_live, add_outputs, add_selection, add_settings, add_targets
from mcproof.cli.planning import Command

COMMAND = Command("schema-lint", ("strict", "catalog"), fail_on="note")

EPILOG = """\
The fix closes objects (`additionalProperties: false`) and lists what is required. It invents no type and no
size: those stay findings for the author. Where closing one object would change what another accepts, the
finding stays too and says why. In Python source it changes schemas that are one literal of a tool's own.
"""


def parser() -> Parser:
    parser = Parser(
        "schema-lint", "Check how strictly the input schemas constrain a call, and tighten them.", epilog=EPILOG
    )
    add_targets(parser)
    add_outputs(parser)
    add_selection(parser)
    add_fail_on(parser, COMMAND.fail_on)
    add_settings(parser)
    add_live(parser)
    add_fixing(parser)
    return parser


def command(arguments: list[str]) -> int:
    return check_or_fix(COMMAND, parser().parse_args(arguments))

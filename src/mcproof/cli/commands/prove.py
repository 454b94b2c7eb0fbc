"""`mcproof prove`."""

from __future__ import annotations

from mcproof.cli.commands.probe import add_probing, run
from mcproof.cli.options import Parser
from mcproof.cli.planning import Command
from mcproof.results.run import BROKEN

COMMAND = Command("prove", ("strict", "wire"), fail_on=BROKEN, calls=True)


def parser() -> Parser:
    parser = Parser(
        "prove", "Show which promises of its schemas a live server keeps: the strict rules and the probes side by side."
    )
    add_probing(parser)
    return parser


def command(arguments: list[str]) -> int:
    return run(COMMAND, parser().parse_args(arguments), explores=True)

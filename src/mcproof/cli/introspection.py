"""What each command takes, read off its parser: for the reference page and for shell completion."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, NamedTuple

from mcproof.cli.main import COMMANDS

if TYPE_CHECKING:
    import argparse

    from mcproof.cli.options import Parser


class Argument(NamedTuple):
    """An option or a positional argument of a command."""

    flags: tuple[str, ...]
    """How an option is spelt; empty for a positional argument."""
    value: str
    """What it takes, as the help calls it; empty for a switch."""
    choices: tuple[str, ...]
    repeatable: bool
    help: str


class Anatomy(NamedTuple):
    """A command with all that it takes."""

    name: str
    summary: str
    description: str
    usage: str
    epilog: str
    positionals: tuple[Argument, ...]
    options: tuple[Argument, ...]


def parser_of(command: str) -> Parser:
    parser: Parser = import_module(f"mcproof.cli.commands.{command.replace('-', '_')}").parser()
    return parser


def anatomies() -> list[Anatomy]:
    """Every command, in the order of the help."""
    return [_anatomy(name, summary) for name, summary in COMMANDS.items()]


def _anatomy(name: str, summary: str) -> Anatomy:
    parser = parser_of(name)
    arguments = [_argument(action) for action in parser._actions]
    return Anatomy(
        name,
        summary,
        parser.description or "",
        " ".join(parser.format_usage().removeprefix("usage: ").split()),
        parser.epilog or "",
        tuple(each for each in arguments if not each.flags),
        tuple(each for each in arguments if each.flags),
    )


def _argument(action: argparse.Action) -> Argument:
    takes_value = action.nargs != 0
    choices = tuple(map(str, action.choices)) if action.choices is not None else ()
    metavar = action.metavar if isinstance(action.metavar, str) else "|".join(choices) or action.dest.upper()
    return Argument(
        tuple(action.option_strings),
        metavar if takes_value else "",
        choices,
        type(action).__name__ == "_AppendAction" or action.nargs in ("*", "+"),
        action.help or "",
    )

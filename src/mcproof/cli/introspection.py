"""The arguments of each command, from its parser: for the reference page and for shell completion."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from mcproof.cli.main import COMMANDS, command_functions

if TYPE_CHECKING:
    import argparse

    from mcproof.cli.parser import Parser


class Argument(NamedTuple):
    """An option or a positional argument of a command."""

    flags: tuple[str, ...]
    """The names of an option; empty for a positional argument."""
    value: str
    """The placeholder of the value; empty for a switch."""
    choices: tuple[str, ...]
    repeatable: bool
    help: str


class CommandArguments(NamedTuple):
    """A command with its arguments."""

    name: str
    summary: str
    description: str
    usage: str
    notes: str
    examples: str
    groups: tuple[tuple[str, tuple[Argument, ...]], ...]
    """The titles of groups, each with its arguments, in the order of the help."""

    @property
    def positionals(self) -> list[Argument]:
        return [each for _, arguments in self.groups for each in arguments if not each.flags]

    @property
    def options(self) -> list[Argument]:
        return [each for _, arguments in self.groups for each in arguments if each.flags]


def parser_of(command: str) -> Parser:
    _, parser = command_functions(command)
    return parser()


def all_commands() -> list[CommandArguments]:
    """All commands, in the order of the help."""
    return [_command(name, summary) for name, summary in COMMANDS.items()]


def _command(name: str, summary: str) -> CommandArguments:
    parser = parser_of(name)
    return CommandArguments(
        name=name,
        summary=summary,
        description=parser.description or "",
        usage=_usage(parser),
        notes=parser.notes,
        examples=parser.examples,
        groups=tuple((title, tuple(map(_argument, actions))) for title, actions in parser.groups),
    )


def _usage(parser: Parser) -> str:
    """The ways to call a command, one a line."""
    ways = parser.format_usage().removeprefix("usage: ").split(f"\n       {parser.prog} ")
    return f"\n{parser.prog} ".join(" ".join(way.split()) for way in ways)


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

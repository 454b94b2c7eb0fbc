"""An argument parser that raises mcproof's errors, and the types of option values."""

from __future__ import annotations

import argparse
import os
import sys
from typing import TYPE_CHECKING, NoReturn

from mcproof.cli.command import ARGUMENTS, HELP
from mcproof.core.console import set_console
from mcproof.core.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Callable

    from mcproof.cli.command import Command

_NARROWEST, _WIDEST = 40, 100
"""The limits of the width of help texts."""
_BESIDE = 46
"""The length of an example that still has its purpose beside it."""
_NARROWEST_PURPOSE = 24
"""The fewest columns for purposes beside the examples."""


class _HelpFormatter(argparse.RawDescriptionHelpFormatter):
    """Help in a given width; argparse would import a module for each option to ask for the terminal's."""

    def __init__(self, prog: str, width: int = _WIDEST) -> None:
        super().__init__(prog, width=width, max_help_position=26 if width >= 70 else 10)


class Parser(argparse.ArgumentParser):
    """The parser of a command; it raises instead of printing and exiting."""

    def __init__(self, command: Command) -> None:
        super().__init__(
            prog=f"mcproof {command.name}",
            usage="\n       ".join(command.ways),
            description=command.description,
            allow_abbrev=False,
            formatter_class=_HelpFormatter,
        )
        self.command = command
        self.arguments: list[str] = []
        """The command line that is parsed."""
        self._positionals.title, self._optionals.title = ARGUMENTS, HELP
        groups = {ARGUMENTS: self._positionals, HELP: self._optionals}
        for option in command.arguments:
            if option.group not in groups:
                groups[option.group] = self.add_argument_group(option.group)
            groups[option.group].add_argument(*option.names, **option.settings)
        if command.starts_server:
            self.set_defaults(server_command=())

    def parse_args(self, arguments: list[str]) -> argparse.Namespace:  # type: ignore[override]
        """Parse the options; the words after `--` are the command of a server."""
        at = arguments.index("--") if "--" in arguments else len(arguments)
        if at < len(arguments) and self.command.without_server:
            raise UsageError(self.command.without_server)
        self.arguments = arguments
        options = self._parse(arguments[:at])
        options.parser = self
        if at < len(arguments):
            if not self.command.starts_server:
                raise UsageError(f"`{self.prog}` starts no server; it takes nothing after `--`")
            options.server_command = tuple(arguments[at + 1 :])
            if not options.server_command:
                raise UsageError("`--` needs the command that starts a server, such as `-- python server.py`")
        set_console(getattr(options, "color", "auto"), getattr(options, "verbosity", 0))
        return options

    def _parse(self, arguments: list[str]) -> argparse.Namespace:
        return self.parse_intermixed_args(arguments) if self.command.item else super().parse_args(arguments)

    @property
    def option_names(self) -> list[str]:
        return list(self._option_string_actions)

    def taken_by(self, option: str) -> int:
        """How many of the following words an option takes as its value."""
        action = self._option_string_actions.get(option)
        return 0 if action is None or action.nargs == 0 else 1

    def format_help(self) -> str:
        """Usage, arguments and options in groups, notes and examples, in the width of the terminal."""
        width = help_width()
        formatter = _HelpFormatter(self.prog, width)
        formatter.add_usage(self.usage, self._actions, [])
        formatter.add_text(filled(self.description or "", width))
        first, last, *others = self._action_groups
        for group in (first, *others, last):
            formatter.start_section(group.title)
            formatter.add_arguments(group._group_actions)
            formatter.end_section()
        formatter.add_text(filled(self.command.notes, width))
        if self.command.examples:
            formatter.add_text("\n".join(["Examples:", *laid_out(self.command.examples, width)]))
        return formatter.format_help()

    def error(self, message: str) -> NoReturn:
        from mcproof.cli.help import option_error

        raise option_error(self, message)


def help_width() -> int:
    """The width of help texts: that of the terminal, within limits."""
    columns = os.environ.get("COLUMNS", "")
    try:
        width = int(columns) if columns.isdecimal() else os.get_terminal_size(sys.stdout.fileno()).columns
    except (OSError, ValueError, AttributeError):  # not a terminal
        return _WIDEST
    return max(_NARROWEST, min(_WIDEST, width)) - 2


def filled(text: str, width: int) -> str:
    """The paragraphs of a text, wrapped; indented lines are kept as they are."""
    from textwrap import fill

    paragraphs = text.strip().split("\n\n")
    return "\n\n".join(each if each.startswith(" ") else fill(" ".join(each.split()), width) for each in paragraphs)


def laid_out(examples: str, width: int) -> list[str]:
    """Examples as lines, each with its purpose beside it; below it if the command is long or the terminal narrow."""
    from textwrap import wrap

    pairs = [line.partition("  ")[::2] for line in examples.splitlines()]
    beside = max((len(command) for command, _ in pairs if len(command) <= _BESIDE), default=0)
    room = width - beside - 4
    lines = []
    for command, purpose in pairs:
        if len(command) <= beside and room >= _NARROWEST_PURPOSE:
            first, *others = wrap(purpose, room) or [""]
            lines.append(f"  {command:{beside}}  {first}".rstrip())
            lines += [" " * (beside + 4) + other for other in others]
        else:
            lines += [f"  {command}", *(f"      {part}" for part in wrap(purpose, max(20, width - 6)))]
    return lines


def seconds(text: str) -> float:
    """Parse a duration."""
    try:
        length = float(text)
    except ValueError:
        length = 0.0
    if not 0 < length < 1_000_000:
        raise argparse.ArgumentTypeError(f"`{text}` is not a number of seconds")
    return length


def whole_number(unit: str, least: int = 0, most: int | None = None) -> Callable[[str], int]:
    """Return a parser of whole numbers, which may have limits."""
    limits = "" if most is None else f" from {least:,} to {most:,}"

    def parse(text: str) -> int:
        is_number = text.isascii() and text.isdigit()
        if not is_number or (most is not None and (len(text) > 18 or not least <= int(text) <= most)):
            raise argparse.ArgumentTypeError(f"`{text}` is not a number of {unit}{limits}")
        return int(text)

    return parse


def words(values: list[str]) -> tuple[str, ...]:
    """Split the values of a repeatable, comma-separated option."""
    return tuple(word.strip() for value in values for word in value.split(",") if word.strip())

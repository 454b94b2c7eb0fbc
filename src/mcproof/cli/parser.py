"""An argument parser that raises mcproof's errors, and the types of option values."""

from __future__ import annotations

import argparse
import os
import sys
from typing import TYPE_CHECKING, NoReturn

from mcproof.core.console import set_console
from mcproof.core.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Callable

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
    """An argument parser that raises instead of printing and exiting."""

    def __init__(
        self,
        command: str,
        description: str,
        *,
        usage: str = "[OPTIONS]",
        examples: str = "",
        notes: str = "",
        item: str = "",
    ) -> None:
        """Create the parser of a command. `usage` is what follows its name, one way to call it per line.

        `examples` are commands, one per line, each with its purpose after two spaces. `notes` are paragraphs. With
        `item`, what follows the target, options may be between positional arguments.
        """
        prog = f"mcproof {command}"
        super().__init__(
            prog=prog,
            usage="\n       ".join(f"{prog} {way}".rstrip() for way in usage.splitlines() or [""]),
            description=description,
            allow_abbrev=False,
            formatter_class=_HelpFormatter,
        )
        self.examples = examples
        self.notes = notes
        self.item = item
        self.arguments: list[str] = []
        """The command line that is parsed."""
        self._groups: dict[str, argparse._ArgumentGroup] = {}
        self._positionals.title, self._optionals.title = "Arguments", "Help"

    def group(self, title: str) -> argparse._ArgumentGroup:
        """The group of options with this title, which is created if it does not exist."""
        if title not in self._groups:
            self._groups[title] = self.add_argument_group(title)
        return self._groups[title]

    @property
    def groups(self) -> list[tuple[str, list[argparse.Action]]]:
        """The titles of the groups that have arguments, each with its arguments; the help option comes last."""
        first, last, *others = self._action_groups
        return [(each.title or "", each._group_actions) for each in (first, *others, last) if each._group_actions]

    def parse_args(self, arguments: list[str]) -> argparse.Namespace:  # type: ignore[override]
        """Parse the options; the words after `--` are the command of a server."""
        at = arguments.index("--") if "--" in arguments else len(arguments)
        self.arguments = arguments
        options = self._parse(arguments[:at])
        options.parser = self
        if at < len(arguments):
            if not hasattr(options, "server_command"):
                raise UsageError(f"`{self.prog}` starts no server; it takes nothing after `--`")
            options.server_command = tuple(arguments[at + 1 :])
            if not options.server_command:
                raise UsageError("`--` needs the command that starts a server, such as `-- python server.py`")
        set_console(getattr(options, "color", "auto"), getattr(options, "verbosity", 0))
        return options

    def _parse(self, arguments: list[str]) -> argparse.Namespace:
        return self.parse_intermixed_args(arguments) if self.item else super().parse_args(arguments)

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
        for title, actions in self.groups:
            formatter.start_section(title)
            formatter.add_arguments(actions)
            formatter.end_section()
        formatter.add_text(filled(self.notes, width))
        if self.examples:
            formatter.add_text("\n".join(["Examples:", *laid_out(self.examples, width)]))
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


def whole_number(unit: str, least: int, most: int) -> Callable[[str], int]:
    """Return a parser of whole numbers in a range."""

    def parse(text: str) -> int:
        if not text.isascii() or not text.isdigit() or len(text) > 18 or not least <= int(text) <= most:
            raise argparse.ArgumentTypeError(f"`{text}` is not a number of {unit} from {least:,} to {most:,}")
        return int(text)

    return parse


def words(values: list[str]) -> tuple[str, ...]:
    """Split the values of a repeatable, comma-separated option."""
    return tuple(word.strip() for value in values for word in value.split(",") if word.strip())

"""Commands as data: what a command is called, which options it takes, and which request they fill.

Below that is the parser, which raises mcproof's errors, and the types of option values.
Why: docs/decisions/0061-commands-as-rows.md.
"""

from __future__ import annotations

import argparse
import os
import sys
from typing import TYPE_CHECKING, Any, NoReturn

from mcproof.core.console import print_note, set_console
from mcproof.core.errors import UsageError
from mcproof.core.named_tuple import NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence


argparse._ = str  # type: ignore[attr-defined]  # its texts are English here; a search for translations takes 1 ms
ARGUMENTS, HELP = "Arguments", "Help"
"""The titles of the first group of options, which has the positional arguments, and of the last."""
SERVERS, AUTHORIZATION, RECORDING = "Live servers", "Authorization", "Store"
"""The titles of groups whose options servers may have as well."""
SERVERS, AUTHORIZATION, RECORDING = "Live servers", "Authorization", "Store"
"""The titles of groups of options that servers may have as well."""


class Option:
    """An option or a positional argument."""

    starts_server = False

    def __init__(
        self,
        group: str,
        usage: str,
        help: str,
        *,
        to: str = "",
        read: Callable[[Any], Any] | None = None,
        repeatable: bool = False,
        **settings: Any,
    ) -> None:
        """Create an option from its usage, which is its names and the placeholder of its value: `-o, --output FILE`.

        The usage of a switch has no placeholder; that of a positional argument begins with its attribute. `settings`
        are further arguments of argparse's `add_argument`. A repeatable option has a list of values. The value, passed
        through `read`, fills the field `to` of the request.
        """
        words = usage.split(" ")
        # The usage is written once, as help shows it; names and placeholder are read from it.
        names = [word for word in words if word.startswith("-")] or words[:1]
        self.names = tuple(name.rstrip(",") for name in names)
        if placeholder := " ".join(words[len(names) :]):
            settings["metavar"] = placeholder
        elif self.flags and "choices" not in settings:
            # Nothing after the names: a switch. Choices are their own placeholder.
            settings.setdefault("action", "store_true")
        if repeatable:
            settings |= {"action": "append", "default": []}
        self.group = group
        self.help = help
        self.settings = {"help": help, **settings}
        self.choices = tuple(map(str, settings.get("choices", ())))
        self.is_repeatable = repeatable or settings.get("nargs") in ("*", "+")
        self._to = to
        self._read = read

    @property
    def flags(self) -> tuple[str, ...]:
        """The names of an option; empty for a positional argument."""
        return self.names if self.names[0].startswith("-") else ()

    @property
    def value(self) -> str:
        """The placeholder of the value; empty for a switch."""
        if self.settings.get("action", "append") != "append":
            return ""
        return self.settings.get("metavar") or "|".join(self.choices) or self._attribute.upper()

    @property
    def members(self) -> tuple[Option, ...]:
        return (self,)

    @property
    def fills(self) -> Mapping[str, Callable[[argparse.Namespace], Any]]:
        """The field of the request that this option fills, if any, with what computes it."""
        return {self._to: self._field} if self._to else {}

    def _field(self, options: argparse.Namespace) -> Any:
        value = getattr(options, self._attribute)
        return value if self._read is None else self._read(value)

    @property
    def _attribute(self) -> str:
        """The name of the parsed value, by the rule of argparse."""
        long = next((name for name in self.names if name.startswith("--")), self.names[0])
        return self.settings.get("dest") or long.lstrip("-").replace("-", "_")


class Options:
    """Options that commands take together."""

    def __init__(
        self, *members: Option | Options, starts_server: bool = False, **fills: Callable[[argparse.Namespace], Any]
    ) -> None:
        """Create a group that fills these fields of the request; its members alone fill none.

        With `starts_server`, the words after `--` are the command of a server.
        """
        self.members: tuple[Option, ...] = tuple(option for member in members for option in member.members)
        self.starts_server = starts_server
        self.fills: Mapping[str, Callable[[argparse.Namespace], Any]] = fills


_OF_SERVERS = (SERVERS, AUTHORIZATION, RECORDING, HELP)
_OF_PROGRAMS = ("--config", "--no-config", "--quiet", "--verbose", "--color")
"""The groups of options that servers may have as well, and further options that most programs have."""
_HELP = Option(HELP, "-h, --help", "show this help message and exit", action="help")


class Command(NamedTuple):
    """A command of the command line."""

    name: str
    description: str
    options: Sequence[Option | Options] = ()
    usage: str = "[OPTIONS]"
    """What follows the name, one way to call it a line."""
    examples: str = ""
    """Commands, one a line, each with its purpose after two spaces."""
    notes: str = ""
    """Paragraphs."""
    request: Callable[..., Any] = dict
    """The class of the request that the options fill."""
    run: Callable[[argparse.Namespace], int] | None = None
    """Runs the command; None to execute the request and to render the result."""
    item: str = ""
    """What follows the target. With it, options may be between positional arguments."""
    without_server: str = ""
    """Why the command starts no server, if `--` is a likely mistake."""

    @property
    def starts_server(self) -> bool:
        return any(option.starts_server for option in self.options)

    @property
    def arguments(self) -> list[Option]:
        """All options and positional arguments, in the order of the row."""
        return [member for option in self.options for member in option.members]

    @property
    def groups(self) -> dict[str, list[Option]]:
        """The titles of the groups, each with its options, in the order of the help."""
        listed = [_HELP, *self.arguments]
        # `fromkeys` keeps the order of the first mention, so a group stands where its first option does.
        first, last, *others = dict.fromkeys([ARGUMENTS, *(option.group for option in listed)])
        titles = (first, *others, last)
        grouped = {title: [option for option in listed if option.group == title] for title in titles}
        return {title: options for title, options in grouped.items() if options}

    @property
    def listed(self) -> list[Option]:
        """All options and positional arguments, in the order of the help."""
        return [option for options in self.groups.values() for option in options]

    @property
    def positionals(self) -> list[Option]:
        return [option for option in self.arguments if not option.flags]

    @property
    def ways(self) -> list[str]:
        """The ways to call the command."""
        return [f"mcproof {self.name} {way}".rstrip() for way in self.usage.splitlines() or [""]]

    def parser(self) -> Parser:

        return Parser(self)

    def request_of(self, options: argparse.Namespace) -> Any:
        """The request that parsed options describe. Raises a UsageError if they contradict each other."""
        return self.request(**{field: read(options) for option in self.options for field, read in option.fills.items()})


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
            # An abbreviation in a script would change its meaning with the next option that begins alike.
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
        # By hand: argparse would take options of the server that follow `--` for positional arguments of ours.
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
        if passed := self._misplaced(arguments[at + 1 :]):
            # A gate that only the server sees would gate nothing, and nobody would notice.
            print_note(f"options after `--` go to the server: {', '.join(passed)}; put those of mcproof before `--`")
        return options

    def _misplaced(self, words: Sequence[str]) -> list[str]:
        """The options among the words of a server that the server is unlikely to have."""
        own = {name for option in self.command.arguments if option.group not in _OF_SERVERS for name in option.flags}
        names = dict.fromkeys(word.partition("=")[0] for word in words if word.startswith("--"))
        return [name for name in names if name in own.difference(_OF_PROGRAMS)]

    def _parse(self, arguments: list[str]) -> argparse.Namespace:
        # Only for commands that ask for it: options between positional arguments take argparse a second pass.
        return self.parse_intermixed_args(arguments) if self.command.item else super().parse_args(arguments)

    @property
    def option_names(self) -> list[str]:
        return list(self._option_string_actions)

    def taken_by(self, option: str) -> int:
        """How many of the following words an option takes as its value."""
        action = self._option_string_actions.get(option)
        # `nargs` of a switch is 0 and of an option with one value None; no option here takes more.
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
    # As argparse does: `COLUMNS` wins, so that help can be generated in one width.
    columns = os.environ.get("COLUMNS", "")
    try:
        width = int(columns) if columns.isdecimal() else os.get_terminal_size(sys.stdout.fileno()).columns
    except (OSError, ValueError, AttributeError):  # not a terminal
        return _WIDEST
    # Some terminals break a line that fills the last column.
    return max(_NARROWEST, min(_WIDEST, width)) - 2


def filled(text: str, width: int) -> str:
    """The paragraphs of a text, wrapped; indented lines are kept as they are."""
    from textwrap import fill

    paragraphs = text.strip().split("\n\n")
    return "\n\n".join(
        paragraph if paragraph.startswith(" ") else fill(" ".join(paragraph.split()), width) for paragraph in paragraphs
    )


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
    except ValueError:  # refused below, in the words for every wrong duration
        length = 0.0
    # `nan` fails this comparison as well, and `inf` would make later sums of limits useless.
    if not 0 < length < 1_000_000:
        raise argparse.ArgumentTypeError(f"`{text}` is not a number of seconds")
    return length


def whole_number(unit: str, least: int = 0, most: int | None = None) -> Callable[[str], int]:
    """Return a parser of whole numbers, which may have limits."""
    limits = "" if most is None else f" from {least:,} to {most:,}"

    def parse(text: str) -> int:
        # Not `int(text)`: it also reads `1_000`, ` 7 ` and digits of other scripts.
        is_number = text.isascii() and text.isdigit()
        if not is_number or (most is not None and (len(text) > 18 or not least <= int(text) <= most)):
            raise argparse.ArgumentTypeError(f"`{text}` is not a number of {unit}{limits}")
        return int(text)

    return parse


def words(values: list[str]) -> tuple[str, ...]:
    """Split the values of a repeatable, comma-separated option."""
    return tuple(word.strip() for value in values for word in value.split(",") if word.strip())

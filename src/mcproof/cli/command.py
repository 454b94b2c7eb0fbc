"""Commands as data: what a command is called, which options it takes, and which request they fill.

The parser, the help, the completion scripts and the reference page read the same rows.
Why not a function for each command: docs/decisions/0061-commands-as-rows.md.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable, Mapping, Sequence

    from mcproof.cli.parser import Parser

ARGUMENTS, HELP = "Arguments", "Help"
"""The titles of the first group of options, which has the positional arguments, and of the last."""


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
        names = [word for word in words if word.startswith("-")] or words[:1]
        self.names = tuple(name.rstrip(",") for name in names)
        if placeholder := " ".join(words[len(names) :]):
            settings["metavar"] = placeholder
        elif self.flags and "choices" not in settings:
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
        from mcproof.cli.parser import Parser

        return Parser(self)

    def request_of(self, options: argparse.Namespace) -> Any:
        """The request that parsed options describe. Raises a UsageError if they contradict each other."""
        return self.request(**{field: read(options) for option in self.options for field, read in option.fills.items()})

"""An argument parser that raises mcproof's errors, and the types of option values."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, NoReturn

from mcproof.errors import UsageError, nearest

if TYPE_CHECKING:
    from collections.abc import Callable


class _HelpFormatter(argparse.RawDescriptionHelpFormatter):
    """Help in a fixed width; argparse would import a module at every start to ask for the terminal's."""

    def __init__(self, prog: str) -> None:
        super().__init__(prog, width=100, max_help_position=26)


class Parser(argparse.ArgumentParser):
    """An argument parser that raises instead of printing and exiting."""

    def __init__(
        self, command: str, description: str, *, epilog: str | None = None, is_intermixed: bool = False
    ) -> None:
        """With `is_intermixed`, options may be between positional arguments."""
        super().__init__(
            prog=f"mcproof {command}",
            description=description,
            epilog=epilog,
            allow_abbrev=False,
            formatter_class=_HelpFormatter,
        )
        self._is_intermixed = is_intermixed

    def parse_args(self, arguments: list[str]) -> argparse.Namespace:  # type: ignore[override]
        """Parse the options; the words after `--` are the command of a server."""
        if "--" not in arguments:
            return self._parse(arguments)
        at = arguments.index("--")
        options = self._parse(arguments[:at])
        if not hasattr(options, "server_command"):
            raise UsageError(f"`{self.prog}` starts no server; it takes nothing after `--`")
        options.server_command = tuple(arguments[at + 1 :])
        if not options.server_command:
            raise UsageError("`--` needs the command that starts a server, such as `-- python server.py`")
        return options

    def _parse(self, arguments: list[str]) -> argparse.Namespace:
        return self.parse_intermixed_args(arguments) if self._is_intermixed else super().parse_args(arguments)

    @property
    def option_names(self) -> list[str]:
        return list(self._option_string_actions)

    def error(self, message: str) -> NoReturn:
        from mcproof.client.secrets import redacted_command

        hint = ""
        if message.startswith("unrecognized arguments: -"):
            hint = nearest(message.split()[2].partition("=")[0], self.option_names)
        message = " ".join(redacted_command(message.split(" ")))
        raise UsageError(f"{message}{hint}; `{self.prog} --help` shows the options")


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

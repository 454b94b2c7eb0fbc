"""The arguments that several commands share, and a parser whose complaints are mcproof's."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, NoReturn

from mcproof.errors import UsageError, nearest
from mcproof.report.formats import FORMATS

if TYPE_CHECKING:
    from collections.abc import Callable

FAIL_ON = ("error", "warning", "note", "never")


class _HelpFormatter(argparse.RawDescriptionHelpFormatter):
    """Help in a fixed width; asking for the terminal's would import a module at every start, needed or not."""

    def __init__(self, prog: str) -> None:
        super().__init__(prog, width=100, max_help_position=26)


class Parser(argparse.ArgumentParser):
    """An argument parser that raises instead of printing and leaving."""

    def __init__(self, command: str, description: str, *, epilog: str | None = None) -> None:
        super().__init__(
            prog=f"mcproof {command}",
            description=description,
            epilog=epilog,
            allow_abbrev=False,
            formatter_class=_HelpFormatter,
        )

    def parse_args(self, arguments: list[str]) -> argparse.Namespace:  # type: ignore[override]
        """The options; what follows `--` is a server to start, and none of ours."""
        if "--" not in arguments:
            return super().parse_args(arguments)
        at = arguments.index("--")
        options = super().parse_args(arguments[:at])
        if not hasattr(options, "server_command"):
            raise UsageError(f"`{self.prog}` starts no server; it takes nothing after `--`")
        options.server_command = tuple(arguments[at + 1 :])
        if not options.server_command:
            raise UsageError("`--` is followed by the command that starts a server, such as `-- python server.py`")
        return options

    def error(self, message: str) -> NoReturn:
        from mcproof.client.secrets import redacted_command

        hint = ""
        if message.startswith("unrecognized arguments: -"):
            hint = nearest(message.split()[2].partition("=")[0], list(self._option_string_actions))
        message = " ".join(redacted_command(message.split(" ")))
        raise UsageError(f"{message}{hint}; `{self.prog} --help` shows the options")


def add_targets(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "targets",
        metavar="TARGET",
        nargs="*",
        help="a snapshot, a folder of snapshots, Python source, -, a URL, FILE.json#NAME of a client configuration, "
        "or a name of the configuration; without any, all that the configuration names. "
        "-- COMMAND ARG... at the end starts a server",
    )


def add_format(parser: argparse.ArgumentParser, *formats: str) -> None:
    parser.add_argument("--format", choices=formats, default=formats[0], help=f"how to print (default {formats[0]})")


def add_outputs(parser: argparse.ArgumentParser, *, stores: bool = True) -> None:
    """Where the report goes, in which formats, and whether it can be stored for later."""
    parser.add_argument(
        "--format",
        choices=list(FORMATS),
        default="text",
        metavar="FORMAT",
        help=f"how to print: {', '.join(FORMATS)} (default text)",
    )
    parser.add_argument(
        "--output",
        action="append",
        default=[],
        metavar="[FORMAT:]FILE",
        help="also write a file, in the format of its extension or the one in front; repeatable",
    )
    if stores:
        parser.add_argument("--report", metavar="FILE", help="also write the run report, for `mcproof report`")
    else:
        parser.set_defaults(report=None)


def add_config(parser: argparse.ArgumentParser) -> None:
    """Which configuration holds, where it is not the nearest one above the target."""
    parser.add_argument("--config", metavar="FILE", help="read this configuration, not the nearest above each target")
    parser.add_argument("--no-config", action="store_true", help="read no configuration")


def add_settings(parser: argparse.ArgumentParser) -> None:
    """What configures a run, and what it accepts."""
    add_config(parser)
    parser.add_argument("--baseline", metavar="FILE", help="accept the findings in this file; fail on new ones")
    parser.add_argument("--update-baseline", action="store_true", help="accept what is there now: write the baseline")


def add_live(parser: argparse.ArgumentParser, *, takes_all: bool = False) -> None:
    """How live servers are started and reached; where `takes_all` is set, all of a client configuration are meant."""
    parser.set_defaults(server_command=())
    parser.add_argument(
        "--env",
        action="append",
        default=[],
        metavar="NAME[=VALUE]",
        help="give a started server this variable, by default with the value that it has here; repeatable",
    )
    parser.add_argument(
        "--header",
        action="append",
        default=[],
        metavar="'NAME: VALUE'",
        help="send this header to a URL; ${VARIABLE} is filled in from the environment; repeatable",
    )
    parser.add_argument("--cwd", metavar="FOLDER", help="start servers in this folder")
    parser.add_argument(
        "--timeout",
        type=seconds,
        metavar="SECONDS",
        help="how long an answer may take (default 30, and 60 for the first)",
    )
    parser.add_argument("--protocol", metavar="REVISION", help="speak this protocol revision, such as 2025-06-18")
    if takes_all:
        parser.set_defaults(all=True)
    else:
        parser.add_argument("--all", action="store_true", help="start every server of a client configuration")


def seconds(text: str) -> float:
    """A length of time, as an option gives it."""
    try:
        length = float(text)
    except ValueError:
        length = 0.0
    if not 0 < length < 1_000_000:
        raise argparse.ArgumentTypeError(f"`{text}` is not a number of seconds")
    return length


def add_selection(parser: argparse.ArgumentParser) -> None:
    """Which rules run."""
    rule = "a rule's id or name, or a ruleset; comma-separated, repeatable"
    parser.add_argument("--select", action="append", default=[], metavar="RULE", help=f"run only these: {rule}")
    parser.add_argument("--ignore", action="append", default=[], metavar="RULE", help=f"leave these out: {rule}")


def add_fail_on(parser: argparse.ArgumentParser, default: str) -> None:
    if default not in FAIL_ON:
        what = f"what makes exit code 1: {default}, what the server did wrong (the default), or a level of findings"
        parser.add_argument("--fail-on", choices=(default, *FAIL_ON), help=what)
        return
    parser.add_argument(
        "--fail-on", choices=FAIL_ON, help=f"the least level that makes exit code 1 (default {default})"
    )


def add_calls(parser: argparse.ArgumentParser) -> None:
    """Which tools are called, and with what."""
    parser.add_argument(
        "--tool",
        action="append",
        default=[],
        metavar="NAME",
        help="call only these tools; * and ? stand for others; comma-separated, repeatable",
    )
    parser.add_argument(
        "--skip", action="append", default=[], metavar="NAME", help="leave these tools out; as for --tool"
    )
    parser.add_argument(
        "--allow-writes",
        action="store_true",
        help="also call tools that, by their annotations or names, change something",
    )
    parser.add_argument(
        "--args",
        action="append",
        default=[],
        metavar="[TOOL=]JSON",
        help="valid arguments for a tool, instead of generated ones; @FILE reads an object of them by tool; repeatable",
    )
    parser.add_argument(
        "--max-call-ms",
        type=whole_number("milliseconds", 1, 3_600_000),
        default=10_000,
        metavar="N",
        help="how long a call may take before it counts as a hang (default 10000)",
    )


def whole_number(unit: str, least: int, most: int) -> Callable[[str], int]:
    """A reader of numbers, for an option."""

    def read(text: str) -> int:
        if not text.isascii() or not text.isdigit() or len(text) > 18 or not least <= int(text) <= most:
            raise argparse.ArgumentTypeError(f"`{text}` is not a number of {unit} from {least:,} to {most:,}")
        return int(text)

    return read


def words(values: list[str]) -> list[str]:
    """The words of a repeatable, comma-separated option."""
    return [word.strip() for value in values for word in value.split(",") if word.strip()]

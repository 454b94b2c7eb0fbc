"""The arguments that several commands share, and a parser whose complaints are mcproof's."""

from __future__ import annotations

import argparse
from typing import NoReturn

from mcproof.errors import UsageError, nearest
from mcproof.report.formats import FORMATS

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
        if "--" in arguments:
            raise UsageError("live servers cannot be started yet; save the answer to `tools/list` and name that file")
        return super().parse_args(arguments)

    def error(self, message: str) -> NoReturn:
        hint = ""
        if message.startswith("unrecognized arguments: -"):
            hint = nearest(message.split()[2].partition("=")[0], list(self._option_string_actions))
        raise UsageError(f"{message}{hint}; `{self.prog} --help` shows the options")


def add_targets(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "targets",
        metavar="TARGET",
        nargs="*",
        help="a snapshot, a folder of snapshots, -, or a name that the configuration gives one; "
        "without any, all that the configuration names",
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


def add_selection(parser: argparse.ArgumentParser) -> None:
    """Which rules run."""
    rule = "a rule's id or name, or a ruleset; comma-separated, repeatable"
    parser.add_argument("--select", action="append", default=[], metavar="RULE", help=f"run only these: {rule}")
    parser.add_argument("--ignore", action="append", default=[], metavar="RULE", help=f"leave these out: {rule}")


def add_fail_on(parser: argparse.ArgumentParser, default: str) -> None:
    parser.add_argument(
        "--fail-on", choices=FAIL_ON, help=f"the least level that makes exit code 1 (default {default})"
    )


def words(values: list[str]) -> list[str]:
    """The words of a repeatable, comma-separated option."""
    return [word.strip() for value in values for word in value.split(",") if word.strip()]

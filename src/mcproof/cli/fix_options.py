"""`--fix`, `--diff` and `--write` of the commands with fixable findings."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from mcproof.core.errors import UsageError

if TYPE_CHECKING:
    import argparse

    from mcproof.cli.parser import Parser


class FixOptions(NamedTuple):
    """How to fix, and what to do with the fixed files: print, replace or show them as a diff."""

    prints_diff: bool
    writes: bool
    keep_optional: bool


def add_fixing(parser: Parser) -> None:
    group = _add_fixing(parser, "print the tightened catalog or Python file")
    group.add_argument(
        "--keep-optional",
        action="store_true",
        help="leave parameters with a default, or that may be null, out of a new `required` list",
    )


def add_client_fixing(parser: Parser) -> None:
    group = _add_fixing(parser, "print the snapshot with the edits that help clients and harm none")
    group.add_argument(
        "--for",
        action="append",
        default=[],
        dest="for_clients",
        metavar="NAME[@VERSION]",
        help="with --fix or --diff: fix for these clients (default: all), comma-separated, repeatable",
    )
    parser.set_defaults(keep_optional=False)


def _add_fixing(parser: Parser, help_of_fix: str) -> argparse._ArgumentGroup:
    group = parser.group("Fixing")
    group.add_argument("--fix", action="store_true", help=help_of_fix)
    group.add_argument("--write", action="store_true", help="with --fix: replace the files instead of printing")
    group.add_argument("--diff", action="store_true", help="print what --fix would change; change nothing")
    return group


def parse_fixing(options: argparse.Namespace) -> FixOptions | None:
    """Parse the options of `add_fixing`; None for no fix. Raises a UsageError if they contradict others."""
    wanted = options.fix or options.diff
    if options.write and options.diff:
        raise UsageError("--write and --diff exclude each other: --diff changes nothing")
    if options.write and not options.fix:
        raise UsageError("--write needs --fix")
    if options.keep_optional and not wanted:
        raise UsageError("--keep-optional needs --fix or --diff")
    if options.write and "-" in options.targets:
        raise UsageError("--write needs a file: standard input cannot be replaced")
    if options.diff and options.format != "text":
        raise UsageError(f"--diff prints a diff; it does not go with --format {options.format}")
    if wanted and (options.output or options.report or options.update_baseline):
        raise UsageError("--fix and --diff print no report; for --output, --report or --update-baseline, run again")
    return FixOptions(options.diff, options.write, options.keep_optional) if wanted else None

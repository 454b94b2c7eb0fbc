"""`mcproof diff`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mcproof.cli.check_options import FAIL_ON
from mcproof.cli.outputs import add_outputs, parse_outputs
from mcproof.cli.parser import Parser
from mcproof.cli.request_runner import run_request
from mcproof.cli.target_options import add_live, parse_targets
from mcproof.core.errors import InputError, UsageError
from mcproof.runs.requests import DiffRequest

if TYPE_CHECKING:
    import argparse

DIFF_NOTES = """\
A change breaks callers if a call that was valid is now rejected, or if a result lacks something that it had. If that
is undecidable, the change is reported as "cannot tell", never as compatible. Levels: breaking is an error, cannot tell
a warning, compatible a note.
"""
DIFF_EXAMPLES = """\
mcproof diff released.json tools.json  two snapshots; exit 1 if callers break
mcproof diff released.json -- python server.py  a snapshot and a live server
"""


def diff_parser() -> Parser:
    parser = Parser(
        "diff",
        "Show what changed between two catalogs, and what breaks callers.",
        usage="[OPTIONS] OLD NEW\n[OPTIONS] OLD -- COMMAND ARG...",
        examples=DIFF_EXAMPLES,
        notes=DIFF_NOTES,
    )
    target = (
        "a snapshot, Python source, -, a URL, FILE.json#NAME of a client configuration, or a name from the "
        "configuration"
    )
    parser.add_argument("old", metavar="OLD", help=f"the catalog that callers know: {target}")
    started = "-- COMMAND ARG... at the end"
    parser.add_argument("new", metavar="NEW", nargs="?", help=f"the new catalog: {target}; or {started}")
    parser.group("Failing").add_argument(
        "--fail-on", choices=FAIL_ON, default="error", help="exit 1 on changes at or above this level (default error)"
    )
    add_outputs(parser)
    add_live(parser)
    return parser


def diff_command(arguments: list[str]) -> int:
    options = diff_parser().parse_args(arguments)
    return run_request(_parse(options), parse_outputs(options))


def _parse(options: argparse.Namespace) -> DiffRequest:
    if (options.new is None) == (not options.server_command):
        raise UsageError("name the new catalog once: as NEW, or as the server that `-- COMMAND ARG...` starts")
    if options.all:
        raise UsageError("--all names several servers; name two catalogs")
    if options.old == options.new == "-":
        raise InputError("both catalogs cannot be standard input; name a file for one of them")
    new = parse_targets(options, *([] if options.new is None else [options.new]))
    old = new._replace(names=(options.old,), live=new.live._replace(command=()))
    return DiffRequest(old=old, new=new, fail_on=options.fail_on)

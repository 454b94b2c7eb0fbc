"""`mcproof capture`."""

from __future__ import annotations

import os
import sys

from mcproof.cli.outputs import OUTPUT, add_verbosity, refuse_unwritable
from mcproof.cli.parser import Parser
from mcproof.cli.request_runner import ConsoleListener
from mcproof.cli.target_options import SERVER_USAGE, add_live, parse_targets
from mcproof.core.console import plural, remark
from mcproof.core.errors import OK, UsageError
from mcproof.runs.config import settings_for
from mcproof.runs.loop import catalog_text, read_one

CAPTURE_NOTES = """\
A capture has the server info and every list that the server serves, all pages of them. The other commands read it, with
the same findings about the catalog. It has no facts about the connection, and no secrets.
"""
CAPTURE_EXAMPLES = """\
mcproof capture -o tools.json -- python server.py  a snapshot of a live server
mcproof capture src/  the catalog that Python source would serve
"""


def capture_parser() -> Parser:
    parser = Parser(
        "capture",
        "Save the catalog of a live server, or of any other target.",
        usage=SERVER_USAGE,
        examples=CAPTURE_EXAMPLES,
        notes=CAPTURE_NOTES,
    )
    parser.add_argument(
        "target",
        metavar="TARGET",
        nargs="?",
        help="a URL, FILE.json#NAME of a client configuration, a snapshot, Python source, -, or a name from the "
        "configuration; or -- COMMAND ARG... at the end",
    )
    parser.group(OUTPUT).add_argument(
        "-o", "--output", metavar="FILE", help="the file to write (default, and -: standard output)"
    )
    add_verbosity(parser)
    add_live(parser)
    return parser


def capture_command(arguments: list[str]) -> int:
    options = capture_parser().parse_args(arguments)
    if options.all:
        raise UsageError("--all names several servers; a capture has one")
    if options.target is None and not options.server_command:
        raise UsageError("nothing to capture: name a TARGET, or put `-- COMMAND ARG...` at the end")
    if options.output == "-":
        options.output = None
    if options.output is not None:
        _refuse_output(options.output, options.target)
    targets = parse_targets(options, *([] if options.target is None else [options.target]))
    settings = settings_for(os.curdir)
    catalog = read_one(targets, settings.timeout, ConsoleListener(), settings=settings)
    data = catalog_text(catalog).encode("utf-8", "backslashreplace")
    if options.output is None:
        sys.stdout.flush()
        sys.stdout.buffer.write(data)
        sys.stdout.buffer.flush()
        return OK
    from mcproof.core.text.files import write_file

    write_file(options.output, data)
    remark(f"{options.output}: {plural(len(catalog.tools), 'tool')} captured")
    return OK


def _refuse_output(file: str, target: str | None) -> None:
    """Raise a UsageError if the file cannot be written, or is the one that configures the server."""
    refuse_unwritable([file])
    configuration, mark, _ = (target or "").rpartition("#")
    if mark and os.path.realpath(configuration) == os.path.realpath(file):
        raise UsageError(f"`{file}` is what is read; name another file to write to")

"""`mcproof tools`."""

from __future__ import annotations

import os
import sys

from mcproof.cli.outputs import add_format, add_verbosity
from mcproof.cli.parser import Parser
from mcproof.cli.request_runner import ConsoleListener
from mcproof.cli.target_options import SERVER_USAGE, add_live, parse_targets
from mcproof.core.console import Style, print_document, print_lines, tell
from mcproof.core.errors import OK, UsageError
from mcproof.runs.config import settings_for
from mcproof.runs.loop import read_one

TOOLS_EXAMPLES = """\
mcproof tools -- python server.py  what a server offers
mcproof tools tools.json --format json  the same of a snapshot, for programs
"""
TOOLS_NOTES = """\
Hints are the annotations of a tool, as the server declares them. Tokens are an estimate of what a tool adds to every
request of an agent.
"""


def tools_parser() -> Parser:
    parser = Parser(
        "tools",
        "List the tools of a server, with parameters, hints and token cost.",
        usage=SERVER_USAGE,
        examples=TOOLS_EXAMPLES,
        notes=TOOLS_NOTES,
    )
    parser.add_argument(
        "target",
        metavar="TARGET",
        nargs="?",
        help="a URL, FILE.json#NAME of a client configuration, a snapshot, Python source, -, or a name from the "
        "configuration; or -- COMMAND ARG... at the end",
    )
    add_format(parser, "text", "json")
    add_verbosity(parser)
    add_live(parser)
    return parser


def tools_command(arguments: list[str]) -> int:
    options = tools_parser().parse_args(arguments)
    if options.all:
        raise UsageError("--all names several servers; `mcproof tools` lists one")
    if options.target is None and not options.server_command:
        raise UsageError("nothing to list: name a TARGET, or put `-- COMMAND ARG...` at the end")
    targets = parse_targets(options, *([] if options.target is None else [options.target]))
    settings = settings_for(os.curdir)
    catalog = read_one(targets, settings.timeout, ConsoleListener(), settings=settings, is_partial_allowed=True)
    if catalog.missing is not None:
        tell(f"not the whole catalog: {catalog.missing}")
    from mcproof.report.listings import listing_document, tool_listing, tool_table

    listing = tool_listing(catalog)
    if options.format == "json":
        print_document(listing_document(listing))
    else:
        print_lines(tool_table(listing, Style.of(sys.stdout)), sys.stdout)
    return OK

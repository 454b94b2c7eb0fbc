"""`mcproof history`."""

from __future__ import annotations

import argparse
import json
import sys

from mcproof.cli.outputs import OUTPUT, add_format
from mcproof.cli.parser import Parser
from mcproof.cli.record_options import add_store, parse_store
from mcproof.core.console import Style, print_lines
from mcproof.core.errors import OK

HISTORY_EXAMPLES = """\
mcproof lint tools.json --record  keep a result
mcproof history tools.json  grade, tokens and findings over time
"""


def history_parser() -> Parser:
    parser = Parser(
        "history",
        "Show grade, tokens and findings of a server over time, from the runs that were recorded with --record.",
        usage="[OPTIONS] NAME",
        examples=HISTORY_EXAMPLES,
    )
    parser.add_argument("name", metavar="NAME", help="the server: its --name, or the target as it was given")
    add_store(parser)
    add_format(parser, "text", "json")
    parser.group(OUTPUT).add_argument(
        "--last", type=_number_of_runs, default=20, metavar="N", help="how many runs to show (default 20)"
    )
    return parser


def history_command(arguments: list[str]) -> int:
    options = history_parser().parse_args(arguments)
    from mcproof.services.store.database import open_database
    from mcproof.services.store.history import history_document, history_lines

    database = open_database(parse_store(options).database, creates=False)
    from mcproof.services.store.queries import history_of  # after the check that SQLAlchemy is installed

    try:
        history = history_of(database, options.name, options.last)
    finally:
        database.close()
    if options.format == "json":
        sys.stdout.write(json.dumps(history_document(history), indent=2) + "\n")
    else:
        print_lines(history_lines(history, Style.of(sys.stdout)), sys.stdout)
    return OK


def _number_of_runs(text: str) -> int:
    if not text.isascii() or not text.isdigit() or not 1 <= int(text[:9]) <= 10_000:
        raise argparse.ArgumentTypeError(f"`{text}` is not a number from 1 to 10,000")
    return int(text)

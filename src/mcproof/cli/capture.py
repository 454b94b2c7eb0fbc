"""`mcproof capture`."""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING

from mcproof.cli.main import OK
from mcproof.cli.options import Parser, add_live
from mcproof.cli.session import read_one
from mcproof.errors import UsageError
from mcproof.report.text import plural

if TYPE_CHECKING:
    from mcproof.catalog import Catalog

EPILOG = """\
A capture holds what the server said of itself and every list that it serves, page by page. Every other command reads
it, with the same findings about the catalog; what only a connection shows is not in it, and no secret is.
"""


def parser() -> Parser:
    parser = Parser("capture", "Save the catalog of a live server, or of any other target.", epilog=EPILOG)
    parser.add_argument(
        "target",
        metavar="TARGET",
        nargs="?",
        help="a URL, FILE.json#NAME of a client configuration, a snapshot, or -; or -- COMMAND ARG... at the end",
    )
    parser.add_argument("-o", "--output", metavar="FILE", help="the file to write (default: standard output)")
    add_live(parser)
    return parser


def command(arguments: list[str]) -> int:
    options = parser().parse_args(arguments)
    if options.all:
        raise UsageError("--all names several servers; a capture is of one")
    if options.target is None and not options.server_command:
        raise UsageError("nothing to capture: name a TARGET, or put `-- COMMAND ARG...` at the end")
    catalog = read_one(options.target, options)
    text = _text(catalog)
    if options.output is None:
        sys.stdout.write(text)
        return OK
    from mcproof.files import write_file

    write_file(options.output, text.encode("utf-8", "backslashreplace"))
    sys.stderr.write(f"mcproof: {options.output}: {plural(len(catalog.tools), 'tool')} captured\n")
    return OK


def _text(catalog: Catalog) -> str:
    """The catalog in the shape of a capture; a list of tools, which knows no server, stays one."""
    if catalog.wire is not None:
        return catalog.document.text
    document = catalog.server.raw or {"tools": [tool.raw for tool in catalog.tools]}
    return json.dumps(document, indent=2, ensure_ascii=False) + "\n"

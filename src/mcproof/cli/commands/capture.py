"""`mcproof capture`."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING

from mcproof.cli.execute import read_one
from mcproof.cli.main import OK
from mcproof.cli.options import Parser, add_live
from mcproof.cli.outputs import refuse_impossible
from mcproof.console import plural, print_lines, safe
from mcproof.errors import UsageError

if TYPE_CHECKING:
    from mcproof.catalog.model import Catalog

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
    if options.output is not None:
        _refuse_output(options.output, options.target)
    catalog = read_one(options.target, options)
    data = _text(catalog).encode("utf-8", "backslashreplace")
    if options.output is None:
        sys.stdout.flush()
        sys.stdout.buffer.write(data)
        sys.stdout.buffer.flush()
        return OK
    from mcproof.text.atomic import write_file

    write_file(options.output, data)
    print_lines([f"mcproof: {safe(options.output)}: {plural(len(catalog.tools), 'tool')} captured\n"], sys.stderr)
    return OK


def _refuse_output(file: str, target: str | None) -> None:
    """Say before a server is started that the file cannot be written, or that it is the one that names the server."""
    refuse_impossible([file])
    configuration, mark, _ = (target or "").rpartition("#")
    if mark and os.path.realpath(configuration) == os.path.realpath(file):
        raise UsageError(f"`{file}` is what is read; name another file to write to")


def _text(catalog: Catalog) -> str:
    """The catalog as it was written, without what stands around it; a list of tools, which knows no server, gets a key.

    Writing the values anew would lose what JSON can say and Python cannot, such as a number that is too large.
    """
    document = catalog.document
    if catalog.server.raw:
        whole = catalog.server.pointer
    else:
        whole = catalog.tools[0].pointer.rpartition("/")[0].removesuffix("/tools")
    span = document.spans([whole])[whole]
    text = document.text[span.start : span.end]
    return f'{{"tools": {text}}}\n' if text.startswith("[") else f"{text}\n"

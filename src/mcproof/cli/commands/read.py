"""`mcproof read`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mcproof.cli.item_request import item_parser, item_request, run_item_request
from mcproof.errors import UsageError

if TYPE_CHECKING:
    from mcproof.cli.parser import Parser

EPILOG = """\
mcproof read library://hours -- python server.py
mcproof read https://host/mcp library://hours

The URI need not be listed: it may match a template. Exit code 1: the server responds with an error.
"""


def parser() -> Parser:
    return item_parser("read", "Read a resource, and show its contents.", "URI", epilog=EPILOG)


def command(arguments: list[str]) -> int:
    options = parser().parse_args(arguments)
    request = item_request(options, "resources/read", "URI")
    if request.arguments or request.pairs:
        raise UsageError("a resource has no arguments; name one URI")
    return run_item_request(request, as_json=options.format == "json")

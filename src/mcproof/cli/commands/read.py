"""`mcproof read`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mcproof.cli.item_request import item_command, item_parser

if TYPE_CHECKING:
    from mcproof.cli.parser import Parser

EXAMPLES = """\
mcproof read library://hours -- python server.py
mcproof read https://host/mcp library://hours
"""
NOTES = """\
The URI need not be listed: it may match a template. Exit code 1: the server responds with an error.
"""


def parser() -> Parser:
    return item_parser(
        "read", "Read a resource, and show its contents.", "URI", takes_arguments=False, examples=EXAMPLES, notes=NOTES
    )


def command(arguments: list[str]) -> int:
    return item_command(parser().parse_args(arguments), "resources/read", "URI")

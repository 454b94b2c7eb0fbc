"""`mcproof read`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mcproof.cli.item_request import item_command, item_parser

if TYPE_CHECKING:
    from mcproof.cli.parser import Parser

READ_EXAMPLES = """\
mcproof read library://hours -- python server.py
mcproof read https://host/mcp library://hours
"""
READ_NOTES = """\
The URI need not be listed: it may match a template. Exit code 1: the server responds with an error.
"""


def read_parser() -> Parser:
    return item_parser(
        "read",
        "Read a resource, and show its contents.",
        "URI",
        takes_arguments=False,
        examples=READ_EXAMPLES,
        notes=READ_NOTES,
    )


def read_command(arguments: list[str]) -> int:
    return item_command(read_parser().parse_args(arguments), "resources/read", "URI")

"""`mcproof call`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mcproof.cli.item_request import item_command, item_parser

if TYPE_CHECKING:
    from mcproof.cli.parser import Parser

CALL_EXAMPLES = """\
mcproof call search query=rose limit=5 -- python server.py
mcproof call https://host/mcp search '{"query": "rose"}'
echo '{"query": "rose"}' | mcproof call .mcp.json#library search -
"""
CALL_NOTES = """\
The schema of the tool decides whether a value is a number, a boolean, JSON or text; a repeated key gives a list.
Arguments are checked against the schema before anything is sent. Naming a tool is permission to call it. Exit code 1:
the server responds with an error.
"""


def call_parser() -> Parser:
    return item_parser(
        "call",
        "Call a tool, and show its result.",
        "TOOL",
        takes_arguments=True,
        examples=CALL_EXAMPLES,
        notes=CALL_NOTES,
    )


def call_command(arguments: list[str]) -> int:
    return item_command(call_parser().parse_args(arguments), "tools/call", "TOOL")

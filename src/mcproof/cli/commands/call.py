"""`mcproof call`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mcproof.cli.item_request import item_parser, item_request, run_item_request

if TYPE_CHECKING:
    from mcproof.cli.parser import Parser

EPILOG = """\
mcproof call search query=rose limit=5 -- python server.py
mcproof call https://host/mcp search '{"query": "rose"}'
echo '{"query": "rose"}' | mcproof call .mcp.json#library search -

The schema of the tool decides whether a value is a number, a boolean, JSON or text; a repeated key gives a list.
Arguments are checked against the schema before anything is sent. Naming a tool is permission to call it. Exit code 1:
the server responds with an error.
"""


def parser() -> Parser:
    arguments = "ARGS are key=value words, a JSON object, or - for one on standard input"
    return item_parser("call", "Call a tool, and show its result.", "TOOL", arguments=arguments, epilog=EPILOG)


def command(arguments: list[str]) -> int:
    options = parser().parse_args(arguments)
    request = item_request(options, "tools/call", "TOOL")
    return run_item_request(request, as_json=options.format == "json")

"""`mcproof prompt`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mcproof.cli.item_request import item_parser, item_request, run_item_request

if TYPE_CHECKING:
    from mcproof.cli.parser import Parser

EPILOG = """\
mcproof prompt recommend genre=crime -- python server.py

Arguments are checked against the list of the prompt before anything is sent. Exit code 1: the server responds with an
error.
"""


def parser() -> Parser:
    arguments = "ARGS are key=value words, a JSON object, or - for one on standard input"
    return item_parser("prompt", "Get a prompt, and show its messages.", "NAME", arguments=arguments, epilog=EPILOG)


def command(arguments: list[str]) -> int:
    options = parser().parse_args(arguments)
    request = item_request(options, "prompts/get", "NAME")
    return run_item_request(request, as_json=options.format == "json")

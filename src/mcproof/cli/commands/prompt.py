"""`mcproof prompt`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mcproof.cli.item_request import item_command, item_parser

if TYPE_CHECKING:
    from mcproof.cli.parser import Parser

PROMPT_EXAMPLES = """\
mcproof prompt recommend genre=crime -- python server.py
"""
PROMPT_NOTES = """\
Arguments are checked against the list of the prompt before anything is sent. Exit code 1: the server responds with an
error.
"""


def prompt_parser() -> Parser:
    return item_parser(
        "prompt",
        "Get a prompt, and show its messages.",
        "NAME",
        takes_arguments=True,
        examples=PROMPT_EXAMPLES,
        notes=PROMPT_NOTES,
    )


def prompt_command(arguments: list[str]) -> int:
    return item_command(prompt_parser().parse_args(arguments), "prompts/get", "NAME")

"""What `call`, `read` and `prompt` share: `TARGET ITEM`, or `ITEM … -- COMMAND`; the response as text or JSON."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING, Any

from mcproof.cli.call_options import CALLS, add_answer, parse_object, read_object
from mcproof.cli.outputs import add_format, add_verbosity
from mcproof.cli.parser import Parser
from mcproof.cli.request_runner import ConsoleListener
from mcproof.cli.target_options import add_live, parse_targets
from mcproof.core.console import Style, print_document, print_lines, tell
from mcproof.core.errors import FINDINGS, OK, UsageError
from mcproof.runs.call import OneRequest, send_one
from mcproof.runs.config import settings_for

if TYPE_CHECKING:
    import argparse

    from mcproof.runs.call import Method

TARGET = (
    "TARGET is a URL, FILE.json#NAME of a client configuration or a name from the configuration; "
    "or put -- COMMAND ARG... at the end instead"
)


ARGUMENTS = "ARGS are key=value words, a JSON object, or - for one on standard input"


def item_parser(
    command: str, description: str, item: str, *, takes_arguments: bool, examples: str, notes: str
) -> Parser:
    """A parser for `mcproof COMMAND TARGET ITEM`, with arguments after the item if it takes some."""
    words = f"{item} [ARGS...]" if takes_arguments else item
    usage = f"[OPTIONS] TARGET {words}\n[OPTIONS] {words} -- COMMAND ARG..."
    parser = Parser(command, description, usage=usage, examples=examples, notes=notes, item=words)
    described = f"{TARGET}; {ARGUMENTS}" if takes_arguments else TARGET
    parser.add_argument("words", metavar=f"TARGET {words}", nargs="*", help=described)
    add_format(parser, "text", "json")
    add_verbosity(parser)
    if takes_arguments:
        parser.group(CALLS).add_argument(
            "--unchecked", action="store_true", help="send it even if the name is unknown or the arguments are invalid"
        )
    add_answer(parser)
    add_live(parser)
    return parser


def item_command(options: argparse.Namespace, method: Method, item: str) -> int:
    """Send the request that the options of `item_parser` describe, and print the response; return the exit code."""
    request = _request(options, method, item)
    if method == "resources/read" and (request.arguments or request.pairs):
        raise UsageError("a resource has no arguments; name one URI")
    if sys.stdin.isatty() and sys.stderr.isatty():
        from mcproof.cli.terminal_user import TerminalUser

        request = request._replace(user=TerminalUser)
    response = send_one(request, settings_for(os.curdir), ConsoleListener())
    if options.format == "json":
        from mcproof.report.json import response_document

        print_document(response_document(response))
    else:
        from mcproof.report.text import response_text

        print_lines(response_text(response, Style.of(sys.stdout)), sys.stdout)
        if response.failure:
            sys.stdout.flush()
            tell(response.failure)
    return FINDINGS if response.failure else OK


def _request(options: argparse.Namespace, method: Method, item: str) -> OneRequest:
    if options.all:
        raise UsageError("--all names several servers; a request goes to one")
    names = () if options.server_command else tuple(options.words[:1])
    words = options.words[len(names) :]
    if not words:
        how = "before `--`" if options.server_command else "after the TARGET, or before `-- COMMAND ARG...`"
        raise UsageError(f"nothing to send: name a {item} {how}")
    targets = parse_targets(options, *names, needs_server=True)
    name, *arguments = words
    values, pairs = _arguments(arguments)
    return OneRequest(
        targets=targets,
        method=method,
        item=name,
        arguments=values,
        pairs=pairs,
        is_checked=not getattr(options, "unchecked", False),
    )


def _arguments(words: list[str]) -> tuple[dict[str, Any], tuple[tuple[str, str], ...]]:
    """Parse arguments: JSON objects, `-` for one on standard input, or `key=value`."""
    values: dict[str, Any] = {}
    pairs = []
    for word in words:
        if word == "-":
            values |= read_object(word)
        elif word.lstrip()[:1] in ("{", "["):
            values |= parse_object(word, "ARGS")
        else:
            key, equals, text = word.partition("=")
            if not equals or not key:
                raise UsageError(f"`{word}` is not an argument: write key=value, or all arguments as a JSON object")
            pairs.append((key, text))
    return values, tuple(pairs)

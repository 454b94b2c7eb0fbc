"""The options of the commands that call tools."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from mcproof.cli.parser import whole_number, words
from mcproof.core.errors import UsageError
from mcproof.runs.requests import CallOptions, GivenArguments

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterator

    from mcproof.cli.parser import Parser

CALLS = "Calls"
"""The title of a group of options."""

_PATTERNS = "wildcards * and ? allowed; comma-separated, repeatable"


def add_calls(parser: Parser) -> None:
    group = parser.group(CALLS)
    group.add_argument(
        "--tool",
        action="append",
        default=[],
        metavar="NAME",
        help=f"call only these tools; {_PATTERNS}",
    )
    add_permissions(parser)
    group.add_argument(
        "--allow-writes", action="store_true", help="call every tool, also those that may change something"
    )
    group.add_argument(
        "--args",
        action="append",
        default=[],
        metavar="[TOOL=]JSON",
        help="valid arguments for a tool, instead of generated ones; @FILE reads an object with arguments by tool; "
        "repeatable",
    )
    group.add_argument(
        "--max-call-ms",
        type=whole_number("milliseconds", 1, 3_600_000),
        default=10_000,
        metavar="N",
        help="time limit for a call, after which it counts as a hang (default 10000)",
    )
    add_answer(parser)


def add_answer(parser: Parser) -> None:
    parser.group(CALLS).add_argument(
        "--answer",
        metavar="FILE",
        help="answer what the server asks the user, a model or for roots, with the replies in this YAML or JSON file",
    )


def add_security(parser: Parser) -> None:
    parser.group(CALLS).add_argument(
        "--security",
        action="store_true",
        help="also send hostile arguments: path traversal, injected commands, SQL and templates, loopback URLs",
    )


def add_permissions(parser: Parser) -> None:
    group = parser.group(CALLS)
    group.add_argument(
        "--allow",
        action="append",
        default=[],
        metavar="TOOL",
        help=f"call these tools although they may change something; {_PATTERNS}",
    )
    group.add_argument(
        "--deny",
        "--skip",
        action="append",
        default=[],
        metavar="TOOL",
        help=f"never call these tools, whatever else allows it; {_PATTERNS}",
    )


def parse_calls(options: argparse.Namespace) -> CallOptions:
    return CallOptions(
        tools=words(options.tool),
        allow=words(options.allow),
        deny=words(options.deny),
        allow_writes=options.allow_writes,
        arguments=tuple(each for word in options.args for each in _given(word)),
        limit=options.max_call_ms / 1000,
    )


def _given(word: str) -> Iterator[GivenArguments]:
    """Parse a value of `--args`: `JSON`, `TOOL=JSON` or `@FILE`."""
    if word.startswith("@"):
        for tool, values in read_object(word[1:]).items():
            yield GivenArguments(tool, _object(values, f"--args {word}: `{tool}`"))
        return
    tool, equals, text = word.partition("=")
    if not equals or tool.lstrip().startswith("{"):
        yield GivenArguments(None, parse_object(word, "--args"))
    else:
        yield GivenArguments(tool, parse_object(text, f"--args of `{tool}`"))


def read_object(name: str) -> dict[str, Any]:
    """Read a JSON object from a file, or `-` for standard input. Raises McproofError."""
    from mcproof.targets.arguments import Input, decoded, read_bytes

    source = Input(name)
    return parse_object(decoded(read_bytes(source), source.title), source.title)


def parse_object(text: str, what: str) -> dict[str, Any]:
    """Parse a JSON object. Raises a UsageError that names it `what`."""
    return _object(_json(text, what), what)


def _json(text: str, what: str) -> Any:
    try:
        return json.loads(text)
    except json.JSONDecodeError as error:
        raise UsageError(f"{what}: not JSON: {error.msg.lower()} (line {error.lineno}, column {error.colno})") from None
    except (ValueError, RecursionError):
        raise UsageError(f"{what}: JSON that cannot be read") from None


def _object(value: Any, what: str) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise UsageError(f"{what}: arguments are a JSON object")
    return value

"""Commands that send what the user asks for: `call`, `read`, `prompt`, `tools`, `capture`."""

from __future__ import annotations

import json
import os
import sys
from typing import TYPE_CHECKING, Any

from mcproof.cli.command import ARGUMENTS, Command, Option
from mcproof.cli.options import ANSWER, CALLS, parse_object, read_object
from mcproof.cli.outputs import OUTPUT, TEXT_OR_JSON, VERBOSITY, refuse_unwritable
from mcproof.cli.run import ConsoleListener
from mcproof.cli.target_options import CATALOG, LIVE, SERVER_USAGE, parse_targets
from mcproof.core.console import (
    Style,
    listed_names,
    plural,
    print_bytes,
    print_document,
    print_lines,
    print_message,
    print_note,
)
from mcproof.core.errors import FINDINGS, OK, UsageError, nearest
from mcproof.runs import execute
from mcproof.runs.requests import CaptureRequest, SingleRequest
from mcproof.targets.snapshots import catalog_text

if TYPE_CHECKING:
    import argparse

    from mcproof.core.catalog.model import Catalog
    from mcproof.runs.requests import Method


_TARGET = (
    "TARGET is a URL, FILE.json#NAME of a client configuration or a name from the configuration; "
    "or put -- COMMAND ARG... at the end instead"
)

_ARGS = "ARGS are key=value words, a JSON object, or - for one on standard input"


def _send(options: argparse.Namespace, method: Method, item: str) -> int:
    """Send a request, and print the response; return the exit code."""
    request = _request(options, method, item)
    if method == "resources/read" and (request.arguments or request.pairs):
        raise UsageError("a resource has no arguments; name one URI")
    # In a pipe there is no answer, and a question would hang the script.
    if sys.stdin.isatty() and sys.stderr.isatty():
        from mcproof.cli.terminal_user import TerminalUser

        request = request._replace(user=TerminalUser)
    response = execute(request, ConsoleListener())
    from mcproof.report.formats import render_response

    pieces = render_response(response, options.format, Style.of(sys.stdout))
    if options.format == "json":
        print_document(pieces)
    else:
        print_lines(pieces, sys.stdout)
        if response.failure:
            sys.stdout.flush()
            print_message(response.failure)
    return FINDINGS if response.failure else OK


def _request(options: argparse.Namespace, method: Method, item: str) -> SingleRequest:
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
    return SingleRequest(
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
        # A list is JSON of the wrong kind, which its error says better than a missing equals sign.
        elif word.lstrip()[:1] in ("{", "["):
            values |= parse_object(word, "ARGS")
        else:
            key, equals, text = word.partition("=")
            if not equals or not key:
                raise UsageError(f"`{word}` is not an argument: write key=value, or all arguments as a JSON object")
            pairs.append((key, text))
    return values, tuple(pairs)


def _capture(options: argparse.Namespace) -> int:
    if options.all:
        raise UsageError("--all names several servers; a capture has one")
    if options.target is None and not options.server_command:
        raise UsageError("nothing to capture: name a TARGET, or put `-- COMMAND ARG...` at the end")
    if options.output == "-":
        options.output = None
    if options.output is not None:
        _refuse_output(options.output, options.target)
    catalog = _read(options)
    data = catalog_text(catalog).encode("utf-8", "backslashreplace")
    if options.output is None:
        print_bytes([data])
        return OK
    from mcproof.core.text.files import write_file

    write_file(options.output, data)
    print_note(f"{options.output}: {plural(len(catalog.tools), 'tool')} captured")
    return OK


def _read(options: argparse.Namespace, *, is_part_allowed: bool = False) -> Catalog:
    """Read the catalog of the one target."""
    targets = parse_targets(options, *([] if options.target is None else [options.target]))
    return execute(CaptureRequest(targets, is_part_allowed=is_part_allowed), ConsoleListener())


def _refuse_output(file: str, target: str | None) -> None:
    """Raise a UsageError if the file cannot be written, or is the one that configures the server."""
    refuse_unwritable([file])
    # `capture .mcp.json#name -o .mcp.json` would replace the configuration that it reads.
    configuration, separator, _ = (target or "").rpartition("#")
    if separator and os.path.realpath(configuration) == os.path.realpath(file):
        raise UsageError(f"`{file}` is what is read; name another file to write to")


def _tools(options: argparse.Namespace) -> int:
    if options.all:
        raise UsageError("--all names several servers; `mcproof tools` lists one")
    if options.server_command and options.tool is None:
        options.target, options.tool = None, options.target
    if options.target is None and not options.server_command:
        raise UsageError("nothing to list: name a TARGET, or put `-- COMMAND ARG...` at the end")
    catalog = _read(options, is_part_allowed=True)
    if catalog.missing is not None:
        print_message(f"not the whole catalog: {catalog.missing}")
    from mcproof.report.listings import listing_document, tool_lines, tool_listing, tool_table

    if options.tool is not None:
        tool = next((tool for tool in catalog.tools if tool.name == options.tool), None)
        if tool is None:
            names = [tool.name for tool in catalog.tools]
            raise UsageError(
                f"unknown tool `{options.tool}`{nearest(options.tool, names)}; there are {listed_names(names)}"
            )
        if options.format == "json":
            print_document([json.dumps(tool.raw, indent=2), "\n"])
        else:
            print_lines(tool_lines(tool, Style.of(sys.stdout)), sys.stdout)
        return OK
    listing = tool_listing(catalog)
    if options.format == "json":
        print_document(listing_document(listing))
    else:
        print_lines(tool_table(listing, Style.of(sys.stdout)), sys.stdout)
    return OK


_UNCHECKED = Option(CALLS, "--unchecked", "send it even if the name is unknown or the arguments are invalid")


def _item_command(
    name: str, description: str, method: Method, item: str, *, takes_arguments: bool, examples: str, notes: str
) -> Command:
    """The row of `mcproof COMMAND TARGET ITEM`, with arguments after the item if it takes some."""
    words = f"{item} [ARGS...]" if takes_arguments else item
    described = f"{_TARGET}; {_ARGS}" if takes_arguments else _TARGET
    return Command(
        name,
        description,
        (
            Option(ARGUMENTS, f"words TARGET {words}", described, nargs="*"),
            TEXT_OR_JSON,
            VERBOSITY,
            *((_UNCHECKED,) if takes_arguments else ()),
            ANSWER,
            LIVE,
        ),
        usage=f"[OPTIONS] TARGET {words}\n[OPTIONS] {words} -- COMMAND ARG...",
        examples=examples,
        notes=notes,
        run=lambda options: _send(options, method, item),
        item=words,
    )


COMMANDS = (
    Command(
        "tools",
        "List the tools of a server, with parameters, hints and token cost; or show one tool whole.",
        (
            CATALOG,
            Option(ARGUMENTS, "tool TOOL", "the name of a tool to show with its description and schemas", nargs="?"),
            TEXT_OR_JSON,
            VERBOSITY,
            LIVE,
        ),
        usage="[OPTIONS] TARGET [TOOL]\n[OPTIONS] [TOOL] -- COMMAND ARG...",
        examples="""\
mcproof tools -- python server.py  what a server offers
mcproof tools search -- python server.py  one tool, with its description and schemas
mcproof tools tools.json --format json  the same of a snapshot, for programs
""",
        notes="""\
With `--format json`, one tool is printed as the server sends it.
Hints are the annotations of a tool, as the server declares them. Tokens are an estimate of what a tool adds to every
request of an agent.
""",
        run=_tools,
    ),
    _item_command(
        "call",
        "Call a tool, and show its result.",
        "tools/call",
        "TOOL",
        takes_arguments=True,
        examples="""\
mcproof call search query=rose limit=5 -- python server.py
mcproof call https://host/mcp search '{"query": "rose"}'
echo '{"query": "rose"}' | mcproof call .mcp.json#library search -
""",
        notes="""\
The schema of the tool decides whether a value is a number, a boolean, JSON or text; a repeated key gives a list.
Arguments are checked against the schema before anything is sent. Naming a tool is permission to call it. Exit code 1:
the server responds with an error.
""",
    ),
    _item_command(
        "read",
        "Read a resource, and show its contents.",
        "resources/read",
        "URI",
        takes_arguments=False,
        examples="""\
mcproof read library://hours -- python server.py
mcproof read https://host/mcp library://hours
""",
        notes="""\
The URI need not be listed: it may match a template. Exit code 1: the server responds with an error.
""",
    ),
    _item_command(
        "prompt",
        "Get a prompt, and show its messages.",
        "prompts/get",
        "NAME",
        takes_arguments=True,
        examples="""\
mcproof prompt recommend genre=crime -- python server.py
""",
        notes="""\
Arguments are checked against the list of the prompt before anything is sent. Exit code 1: the server responds with an
error.
""",
    ),
    Command(
        "capture",
        "Save the catalog of a live server, or of any other target.",
        (
            CATALOG,
            Option(OUTPUT, "-o, --output FILE", "the file to write (default, and -: standard output)"),
            VERBOSITY,
            LIVE,
        ),
        usage=SERVER_USAGE,
        examples="""\
mcproof capture -o tools.json -- python server.py  a snapshot of a live server
mcproof capture src/  the catalog that source would serve
""",
        notes="""\
A capture has the server info and every list that the server serves, all pages of them. The other commands read it, with
the same findings about the catalog. It has no facts about the connection, and no secrets.
""",
        run=_capture,
    ),
)

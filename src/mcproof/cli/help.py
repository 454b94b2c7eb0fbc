"""Errors for targets that cannot be what the user meant, each with the command line that works."""

from __future__ import annotations

import os
from contextlib import suppress
from typing import TYPE_CHECKING

from mcproof.cli.near_misses import shown_words
from mcproof.core.errors import McproofError, UsageError
from mcproof.runs.config import settings_for
from mcproof.targets.folders import is_launcher, is_program, mistake_of, node_start, python_start, quoted_command

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterable, Iterator, Sequence

    from mcproof.cli.parser import Parser


_ANY_COMMAND = "`-- COMMAND ARG...` at the end"


def refuse_mistakes(options: argparse.Namespace, names: Iterable[str], *, needs_server: bool) -> None:
    """Raise a UsageError if a target is a command, or source that cannot be read or called."""
    parser, arguments = options.parser, options.parser.arguments
    if options.server_command and (words := quoted_command(options.server_command[0])):
        shown = _command_line(parser, arguments[: arguments.index("--")], (), words)
        raise UsageError(f"the command after `--` is quoted as one word; did you mean `{shown}`?")
    if (error := misplaced_command(parser, arguments)) is not None:
        raise error
    for name in names:
        if name in _configured():
            continue
        mistake = mistake_of(name)
        if mistake is not None:
            how = f"`{_with(parser, arguments, name, mistake.words)}`{mistake.note}" if mistake.words else _ANY_COMMAND
            raise UsageError(f"{name}: {mistake.what}; start the server instead: {how}")
        if needs_server and (os.path.isdir(name) or (name.endswith(".py") and os.path.isfile(name))):
            words = python_start(name) or node_start(name)
            how = f"`{_with(parser, arguments, name, words)}`" if words else _ANY_COMMAND
            what = "a folder" if os.path.isdir(name) else "source"
            raise UsageError(f"{name}: this is {what}, not a live server; start the server: {how}")


def misplaced_command(parser: Parser, arguments: Sequence[str]) -> UsageError | None:
    """The error for a command of a server without `--` before it, or as one quoted word; None if there is none."""
    if "--" in arguments or parser.get_default("server_command") is None:
        return None
    is_first = True
    for at, word in _positionals(parser, arguments):
        words = quoted_command(word)
        is_command = bool(words) or (is_program(word) if is_first else is_launcher(word) and not os.path.exists(word))
        if is_command and word not in _configured():
            ours, others = ([], words) if words else _separated(parser, arguments[at:])
            before = [*arguments[:at], *(arguments[at + 1 :] if words else ours)]
            what = f"`{word}` is a command, not a target"
            if parser.item and is_first:
                shown = f"{parser.prog} {parser.item} -- {shown_words(others)}"
            else:
                shown = _command_line(parser, before, (), others)
            return UsageError(f"{what}; put `--` before it: `{shown}`")
        is_first = False
    return None


def _positionals(parser: Parser, arguments: Sequence[str]) -> Iterator[tuple[int, str]]:
    """The words of a command line that are neither options nor their values, with their positions."""
    at = 0
    while at < len(arguments):
        word = arguments[at]
        if word.startswith("-") and word != "-":
            at += parser.taken_by(word)
        else:
            yield at, word
        at += 1


def _separated(parser: Parser, arguments: Sequence[str]) -> tuple[Sequence[str], Sequence[str]]:
    """Words split into long options of mcproof with their values, and the others."""
    ours: list[str] = []
    others: list[str] = []
    at = 0
    while at < len(arguments):
        is_ours = arguments[at].startswith("--") and arguments[at].partition("=")[0] in parser.option_names
        count = 1 + (parser.taken_by(arguments[at]) if is_ours else 0)
        (ours if is_ours else others).extend(arguments[at : at + count])
        at += count
    return ours, others


def _with(parser: Parser, arguments: Sequence[str], name: str, words: Sequence[str]) -> str:
    """The command line with a target replaced by options and `-- COMMAND ARG...`."""
    at = words.index("--")
    kept = [word for word in arguments if word != name]
    return _command_line(parser, kept, words[:at], words[at + 1 :])


def _command_line(parser: Parser, before: Sequence[str], options: Sequence[str], command: Sequence[str]) -> str:
    return f"{parser.prog} {shown_words([*before, *options, '--', *command])}"


def _configured() -> Iterable[str]:
    """The names of targets in the configuration; none if it is invalid, which is reported elsewhere."""
    with suppress(McproofError):
        return settings_for(os.curdir).targets
    return ()

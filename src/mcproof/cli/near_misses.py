"""Errors for commands and options that do not exist, each with the one that was probably meant."""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING

from mcproof.core.console import shell_word
from mcproof.core.errors import UsageError, nearest

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from mcproof.cli.parser import Parser

_COMMANDS = {
    "attack": "fuzz --security",
    "check": "lint",
    "compare": "diff",
    "create": "init",
    "docs": "explain",
    "export": "capture",
    "fix": "schema-lint --fix",
    "generate": "init",
    "inspect": "tools",
    "invoke": "call",
    "list": "tools",
    "ls": "tools",
    "new": "init",
    "render": "report",
    "save": "capture",
    "score": "grade",
    "security": "fuzz --security",
    "settings": "config",
    "snapshot": "capture",
    "test": "run",
    "tests": "run",
    "verify": "prove",
    "version": "--version",
}
"""Commands of other tools, and what they are called here."""
_OPTIONS = {
    "--disable": "--ignore",
    "--enable": "--select",
    "--exclude": "--ignore",
    "--exitfirst": "--fail-fast",
    "--json": "--format json",
    "--markdown": "--format markdown",
    "--maxfail": "--fail-fast",
    "--no-color": "--color never",
    "--out": "--output",
    "--output-file": "--output",
    "--output-format": "--format",
    "--rule": "--select",
    "--rules": "--select",
    "--sarif": "--format sarif",
    "--silent": "--quiet",
    "--strict": "--ruleset strict",
    "-f": "--format",
    "-o": "--output",
    "-s": "--quiet",
    "-t": "--tool",
    "-x": "--fail-fast",
}
"""Options of other tools, and what they are called here; used if the command has that option."""
_CHOICE = re.compile(r"(argument .*?): invalid choice: '(.*)' \(choose from .*\)", re.DOTALL)


def command_error(arguments: Sequence[str], known: Iterable[str]) -> UsageError:
    """The error for a command line whose first word is not a command."""
    from mcproof.targets.folders import is_program

    name = arguments[0]
    shown = shown_words([name])
    if name == "--" or "://" in name or name.endswith((".json", ".py")) or os.path.isdir(name):
        return UsageError(f"no command before `{shown}`; did you mean `mcproof lint {shown_words(arguments)}`?")
    if meant := _COMMANDS.get(name.lower()):
        return UsageError(f"unknown command `{shown}` (did you mean `{meant}`?)")
    if hint := nearest(name, [*known, "--help", "--version"]):
        return UsageError(f"unknown command `{shown}`{hint}")
    if is_program(name):
        return UsageError(f"no command before `{shown}`; did you mean `mcproof lint -- {shown_words(arguments)}`?")
    return UsageError(f"unknown command `{shown}`; there are {', '.join(known)}")


def option_error(parser: Parser, message: str) -> UsageError:
    """The error for options that a parser does not accept."""
    from mcproof.cli.mistakes import misplaced_command
    from mcproof.client.redaction import redacted_command

    if (misplaced := misplaced_command(parser, parser.arguments)) is not None:
        return misplaced
    hint = ""
    if message.startswith("unrecognized arguments: -"):
        hint = _option_hint(message.split()[2].partition("=")[0], parser.option_names)
    elif choice := _CHOICE.match(message):
        known = next((list(map(str, each.choices or ())) for each in parser._actions if _is_named(each, choice[1])), [])
        message = f"{choice[1]}: invalid choice: '{choice[2]}' (choose from {', '.join(known)})"
        hint = nearest(choice[2], known)
    message = " ".join(redacted_command(message.split(" ")))
    return UsageError(f"{message}{hint}; `{parser.prog} --help` shows the options")


def _option_hint(name: str, known: list[str]) -> str:
    meant = _OPTIONS.get(name.lower(), "")
    return f" (did you mean `{meant}`?)" if meant.partition(" ")[0] in known else nearest(name, known)


def _is_named(action: object, name: str) -> bool:
    """Whether an error message about `argument NAME` is about an action."""
    return name.removeprefix("argument ") == "/".join(getattr(action, "option_strings", ())) or (
        name.removeprefix("argument ") in (getattr(action, "metavar", None), getattr(action, "dest", None))
    )


def shown_words(words: Iterable[str]) -> str:
    """Words of a command line, quoted for the shell and without secrets."""
    from mcproof.client.redaction import redacted_command

    return " ".join(map(shell_word, redacted_command(list(words))))

"""Help for the command line: the overview, the arguments of each command, and hints after mistakes.

A wrong command, option or target gets an error with the command line that was probably meant.
"""

from __future__ import annotations

import os
import re
from contextlib import suppress
from textwrap import wrap
from typing import TYPE_CHECKING

from mcproof.cli.command import filled, help_width, laid_out
from mcproof.cli.main import COMMAND_GROUPS, COMMANDS, RENAMED, command_named
from mcproof.core.console import shell_word
from mcproof.core.errors import McproofError, UsageError, nearest
from mcproof.runs.config import settings_for
from mcproof.source.pipeline import SOURCE_SUFFIXES
from mcproof.targets.folders import is_launcher, is_program, mistake_of, quoted_command, start_words

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from mcproof.cli.command import Command, Parser


def all_commands() -> list[Command]:
    """All commands, in the order of the help."""
    return list(map(command_named, COMMANDS))


_COMMANDS = {
    "attack": "fuzz --security",
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


def is_target(name: str, commands: Iterable[str]) -> bool:
    """Whether the first word of a command line is a target of `check`, and no command that was misspelt."""
    # What can only be a target: no command has such a name, so no mistake is hidden.
    if name == "--" or "://" in name or "#" in name or name.endswith((".json", *SOURCE_SUFFIXES)):
        return True
    is_named = os.path.exists(name) or name in _configured()
    is_path = os.sep in name or name in (os.curdir, os.pardir)
    # A folder called `lnt` must not turn a misspelt `lint` into a check of it.
    return is_named and (is_path or not (nearest(name, list(commands)) or name.lower() in _COMMANDS))


def command_error(arguments: Sequence[str], commands: Iterable[str]) -> UsageError:
    """The error for a command line whose first word is not a command."""
    from mcproof.targets.folders import is_program

    name = arguments[0]
    shown = shown_words([name])
    if meant := _COMMANDS.get(name.lower()):
        return UsageError(f"unknown command `{shown}` (did you mean `{meant}`?)")
    if hint := nearest(name, [*commands, *RENAMED, "--help", "--version"]):
        target = f"; `mcproof check {shown}` checks what is there" if os.path.exists(name) else ""
        return UsageError(f"unknown command `{shown}`{hint}{target}")
    if is_program(name):
        return UsageError(f"no command before `{shown}`; did you mean `mcproof check -- {shown_words(arguments)}`?")
    return UsageError(f"unknown command `{shown}`; there are {', '.join(commands)}")


def option_error(parser: Parser, message: str) -> UsageError:
    """The error for options that a parser does not accept."""
    from mcproof.client.redaction import redacted_command

    # First: an option of the server looks like an unknown one of ours, and the remedy is another.
    if (misplaced := misplaced_command(parser, parser.arguments)) is not None:
        return misplaced
    hint = ""
    if message.startswith("unrecognized arguments: -"):
        hint = _option_hint(message.split()[2].partition("=")[0], parser.option_names)
    elif choice := _CHOICE.match(message):
        name = choice[1].removeprefix("argument ")
        named = (option for option in parser.command.arguments if name in ("/".join(option.names), option.value))
        choices = list(next(named).choices)
        message = f"{choice[1]}: invalid choice: '{choice[2]}' (choose from {', '.join(choices)})"
        hint = nearest(choice[2], choices)
    # argparse quotes the words that it does not know, and one of them may be a token.
    message = " ".join(redacted_command(message.split(" ")))
    return UsageError(f"{message}{hint}; `{parser.prog} --help` shows the options")


def _option_hint(name: str, options: list[str]) -> str:
    meant = _OPTIONS.get(name.lower(), "")
    return f" (did you mean `{meant}`?)" if meant.partition(" ")[0] in options else nearest(name, options)


def shown_words(words: Iterable[str]) -> str:
    """Words of a command line, quoted for the shell and without secrets."""
    from mcproof.client.redaction import redacted_command

    return " ".join(map(shell_word, redacted_command(list(words))))


_ANY_COMMAND = "`-- COMMAND ARG...` at the end"


def refuse_mistakes(options: argparse.Namespace, names: Iterable[str], *, needs_server: bool) -> None:
    """Raise a UsageError if a target is a command, or source that cannot be read or called."""
    parser, arguments = options.parser, options.parser.arguments
    if options.server_command and (words := quoted_command(options.server_command[0])):
        shown = _command_line(parser, arguments[: arguments.index("--")], (), words)
        raise UsageError(f"the command after `--` is quoted as one word; did you mean `{shown}`?")
    # `mcproof lint "python server.py"` and `mcproof lint python server.py`: the two mistakes that beginners make.
    if (error := misplaced_command(parser, arguments)) is not None:
        raise error
    for name in names:
        if name in _configured():
            continue
        mistake = mistake_of(name)
        if mistake is not None:
            raise UsageError(f"{name}: {mistake}; start the server instead: {_ANY_COMMAND}")
        if needs_server and (os.path.isdir(name) or (name.endswith(SOURCE_SUFFIXES) and os.path.isfile(name))):
            words, note = start_words(name)
            how = f"`{_with(parser, arguments, name, words)}`{note}" if words else _ANY_COMMAND
            what = "a folder" if os.path.isdir(name) else "source"
            raise UsageError(f"{name}: this is {what}, not a live server; start the server: {how}")


def misplaced_command(parser: Parser, arguments: Sequence[str]) -> UsageError | None:
    """The error for a command of a server without `--` before it, or as one quoted word; None if there is none."""
    if "--" in arguments or not parser.command.starts_server:
        return None
    is_first = True
    for index, word in _positionals(parser, arguments):
        words = quoted_command(word)
        # Only the first word may be any program: later ones may be tools or arguments that are called like one.
        is_command = bool(words) or (is_program(word) if is_first else is_launcher(word) and not os.path.exists(word))
        if is_command and word not in _configured():
            ours, others = ([], words) if words else _separated(parser, arguments[index:])
            before = [*arguments[:index], *(arguments[index + 1 :] if words else ours)]
            what = f"`{word}` is a command, not a target"
            if parser.command.item and is_first:
                shown = f"{parser.prog} {parser.command.item} -- {shown_words(others)}"
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
        # Short options are left to the server: `-v` means something to most programs.
        is_ours = arguments[at].startswith("--") and arguments[at].partition("=")[0] in parser.option_names
        count = 1 + (parser.taken_by(arguments[at]) if is_ours else 0)
        (ours if is_ours else others).extend(arguments[at : at + count])
        at += count
    return ours, others


def _with(parser: Parser, arguments: Sequence[str], name: str, words: Sequence[str]) -> str:
    """The command line with a target replaced by options and `-- COMMAND ARG...`."""
    at = words.index("--")
    others = [word for word in arguments if word != name]
    return _command_line(parser, others, words[:at], words[at + 1 :])


def _command_line(parser: Parser, before: Sequence[str], options: Sequence[str], command: Sequence[str]) -> str:
    return f"{parser.prog} {shown_words([*before, *options, '--', *command])}"


def _configured() -> Iterable[str]:
    """The names of targets in the configuration; none if it is invalid, which is reported elsewhere."""
    with suppress(McproofError):
        return settings_for(os.curdir).targets
    return ()


_WHICH = """\
`check` has the answers of lint, prove, grade, compat and scan in short; each of them has all of its own. Only check,
prove and fuzz call tools: read-only ones, unless you allow more.
"""
_TARGETS = """\
A TARGET is a snapshot (the result of `tools/list` saved as JSON), source in Python, JavaScript or TypeScript, a folder
with them, - for standard input, a URL, FILE.json#NAME of a client configuration, or a name from `[targets]` of
mcproof.toml. -- COMMAND ARG... at the end starts a server.
"""
_EXAMPLES = """\
mcproof -- python server.py  how good it is, and what to fix first: `check`
mcproof lint  what confuses agents and clients in this folder
mcproof init -- python server.py  write a first test suite, mcproof.yaml
"""
_END = """\
Exit codes: 0 no findings, 1 findings or a failed gate, 2 could not do the job, 130 interrupted.
`mcproof COMMAND --help` shows the options of a command.
"""


def overview() -> str:
    """The help of mcproof itself, in the width of the terminal."""
    width = help_width()
    lines = ["mcproof proves that an MCP server is fit for agents.", ""]
    lines += ["Usage: mcproof [COMMAND] [OPTIONS] TARGET..."]
    for title, commands in COMMAND_GROUPS.items():
        lines += ["", f"{title}:", *_table({name: summary for name, (_, summary) in commands.items()}, width)]
        lines += ["", filled(_WHICH, width)] if "fuzz" in commands else []
    lines += ["", filled(_TARGETS, width), "", "Examples:", *laid_out(_EXAMPLES, width), "", filled(_END, width), ""]
    return "\n".join(lines)


def _table(rows: Mapping[str, str], width: int) -> Iterator[str]:
    for name, text in rows.items():
        yield from wrap(text, width, initial_indent=f"  {name:13}", subsequent_indent=" " * 15)

"""`mcproof COMMAND …`: find the command, run it, turn errors into one line and an exit code.

A command's module is imported only when it is called, because start-up time counts. The exit code of a run is
decided in `runs.exit_code`.
Why nothing else is imported: docs/decisions/0001-argparse-and-namedtuple.md.
"""

from __future__ import annotations

import gc
import os
import sys
from contextlib import suppress
from importlib import import_module
from typing import TYPE_CHECKING

from mcproof.client.transports.processes import STARTED
from mcproof.core.errors import FAILED, INTERRUPTED, OK, McproofError, from_exception, reason_of

if TYPE_CHECKING:
    from mcproof.cli.command import Command

COMMAND_GROUPS = {
    "Start here": {
        "check": ("checks", "how fit a server is for agents: grade, clients, trust, promises; what to fix first"),
        "lint": ("checks", "all that confuses agents and clients, each with its line and its fix"),
        "prove": ("live", "whether a live server keeps what its schemas promise, tool by tool"),
        "run": ("suites", "whether your own tests pass: suites in YAML"),
        "explain": ("reference", "what a rule, a letter, a verdict or a client means, and how to fix a finding"),
    },
    "One question in full": {
        "grade": ("checks", "why this letter from A to F, what raises it, and how many tokens each tool costs"),
        "compat": ("checks", "in which MCP clients a server breaks, and what to change"),
        "scan": ("checks", "whether an agent may connect, such as to a server that you did not write"),
        "schema-lint": ("checks", "how strictly input schemas constrain calls; tightens them"),
        "fuzz": ("live", "what crashes a live server or leaks; with --security, what can be injected"),
        "replay": ("live", "send a stored failure again: fixed, or still failing"),
        "diff": ("checks", "show what changed between two catalogs, and what breaks callers"),
        "lock": ("checks", "lock what servers offer, so that later changes are noticed"),
    },
    "Look at a server, write tests": {
        "tools": ("requests", "list the tools of a server, with parameters, hints and token cost"),
        "call": ("requests", "call a tool, with its arguments checked first, and show its result"),
        "read": ("requests", "read a resource, and show its contents"),
        "prompt": ("requests", "get a prompt, and show its messages"),
        "capture": ("requests", "save the catalog of a live server, or of any other target"),
        "auth": ("auth", "log in to servers that require authorization"),
        "init": ("init", "write a first test suite for a server"),
        "validate": ("suites", "check test suites without starting anything"),
    },
    "Many servers, over time": {
        "sweep": ("sweep", "grade thousands of servers, on one machine or a cluster"),
        "history": ("store", "show grade, tokens and findings of a server over time"),
        "serve": ("serve", "serve the recorded results as web pages and a REST API"),
        "store": ("store", "export, import, prune or check the store of recorded runs"),
    },
    "Editors, agents, settings": {
        "lsp": ("serve", "serve an editor: findings while you type, fixes, completion"),
        "mcp": ("serve", "serve agents: the static checks as an MCP server"),
        "report": ("store", "render a stored run report in another format"),
        "config": ("config", "show the settings for a target, and the source of each"),
        "completion": ("reference", "print a shell completion script"),
        "demo": ("init", "check an example server"),
    },
}
"""The commands in the order of the help, each with its module in `cli.commands` and its purpose."""
COMMANDS = {name: summary for commands in COMMAND_GROUPS.values() for name, (_, summary) in commands.items()}
RENAMED = {
    "probe": ("live", "prove --quick"),
    "rules": ("reference", "explain rules"),
    "clients": ("reference", "explain clients"),
    "advisories": ("reference", "explain advisories"),
    "schema": ("reference", "validate --schema"),
}
"""Commands that go on working and are not listed, each with what it is called now."""
_MODULES = {name: module for commands in (*COMMAND_GROUPS.values(), RENAMED) for name, (module, _) in commands.items()}
_MAIN = "check"
"""The command for a target without a command."""


def run() -> None:
    """Run the console script."""
    # Results are kept until the run ends, and the rest is freed by reference counting: the collector finds nothing.
    gc.disable()
    for stream in (sys.stdout, sys.stderr):
        if stream is not None and hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")
    if sys.stderr is None:
        # `pythonw` and some services start without standard error, and messages would end the run.
        sys.stderr = open(os.devnull, "w")  # noqa: SIM115 (open as long as the process runs)
    # Before any server is started: what is left of it ends with this process, however that ends.
    STARTED.guard()
    code = main(sys.argv[1:])
    with suppress(OSError):
        sys.stderr.flush()
    os._exit(code)  # nothing is left to clean up, and freeing every object of a large catalog takes time


def main(arguments: list[str]) -> int:
    """Run one command and return its exit code; never raises."""
    code = OK
    try:
        if sys.stdout is None:
            raise McproofError("standard output is closed; nothing can be printed")
        # Output is flushed here and not at exit, where a full disk could no longer change the exit code.
        code = _dispatch(arguments)
        sys.stdout.flush()
    except KeyboardInterrupt:  # Ctrl-C is a way to end a run, and no defect that needs a traceback
        _fail(McproofError("interrupted"), arguments)
        return INTERRUPTED
    except BrokenPipeError:  # the reader is gone, such as `head`
        _discard_output()
    except OSError as error:  # other files handle their own errors: this one is about standard output
        _discard_output()
        return _fail(McproofError(f"the output cannot be written: {reason_of(error)}"), [])
    except Exception as error:  # a defect of mcproof: users get one line, as for every error
        return _fail(from_exception(error), arguments)
    return code


def _dispatch(arguments: list[str]) -> int:
    if not arguments or arguments[0] in ("-h", "--help", "help"):
        return _help(arguments[1:])
    if arguments[0] in ("-V", "--version"):
        from mcproof import __version__

        sys.stdout.write(f"mcproof {__version__}\n")
        return OK
    name = arguments[0]
    if name not in _MODULES:
        from mcproof.cli.help import command_error, is_target

        if not is_target(name, COMMANDS):
            raise command_error(arguments, COMMANDS)
        # `mcproof TARGET` is `mcproof check TARGET`, so that the shortest command answers the first question.
        name, arguments = _MAIN, [_MAIN, *arguments]
    command = command_named(name)
    if any(word.startswith("--trace") for word in arguments):  # else nothing is imported: start-up time counts
        from mcproof.cli.target_options import TRACE, is_traced, traced

        if is_traced(arguments) and TRACE in command.arguments:
            return traced(lambda words: run_command(command, words), arguments[1:])
    return run_command(command, arguments[1:])


def command_named(name: str) -> Command:
    """The row of a command; its module is imported here, not before."""
    module = import_module(f"mcproof.cli.commands.{_MODULES[name]}")
    command: Command = next(command for command in module.COMMANDS if command.name == name)
    return command


def run_command(command: Command, arguments: list[str]) -> int:
    """Parse the arguments of a command and run it; return its exit code."""
    options = command.parser().parse_args(arguments)
    if command.run is not None:
        return command.run(options)
    from mcproof.cli.run import run_check

    return run_check(command, options)


def _help(names: list[str]) -> int:
    """Print the help of a command, or the list of commands."""
    # `mcproof help help` shows the overview, as git does, and does not call itself for ever.
    if names and names[0] != "help":
        return _dispatch([names[0], "--help"])
    from mcproof.cli.help import overview

    sys.stdout.write(overview())
    return OK


def _fail(error: McproofError, arguments: list[str]) -> int:
    """Report an error in the requested format, or as a line on standard error."""
    wanted = _wanted_format(arguments)
    # A program that asked for JSON gets its error as JSON, also if the command line is wrong.
    if wanted not in ("", "text", "concise") and sys.stdout is not None:
        from mcproof.core.console import print_document
        from mcproof.report.formats import render_failure

        try:
            print_document(render_failure(error, arguments[0], wanted))
            return FAILED
        except OSError:
            _discard_output()
        except LookupError:  # the format itself may be the mistake
            pass
    from mcproof.core.console import print_message

    print_message(str(error))
    return FAILED


def _wanted_format(arguments: list[str]) -> str:
    """The requested format, even if the rest of the command line is invalid."""
    wanted = ""
    ours = arguments[: arguments.index("--")] if "--" in arguments else arguments
    for position, word in enumerate(ours, 1):
        if word.startswith("--format="):
            wanted = word.removeprefix("--format=")
        elif word == "--format":
            wanted = "".join(ours[position : position + 1])
    return wanted


def _discard_output() -> None:
    from mcproof.core.console import discard_output

    discard_output()

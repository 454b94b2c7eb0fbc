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
    from collections.abc import Callable

    from mcproof.cli.parser import Parser

COMMAND_GROUPS = {
    "Check a catalog": {
        "lint": "check a catalog for problems that confuse agents and clients",
        "schema-lint": "check how strictly input schemas constrain calls, and tighten them",
        "grade": "grade a catalog from A to F, with its token cost",
        "compat": "show in which MCP clients a server breaks, and what to change",
        "scan": "report whether an agent may connect to a server, and why",
        "diff": "show what changed between two catalogs, and what breaks callers",
        "lock": "lock what servers offer, so that later changes are noticed",
        "sweep": "grade thousands of servers, on one machine or a cluster",
    },
    "Test a live server": {
        "probe": "send a live server bad requests, and check that it rejects them",
        "prove": "show which promises of its schemas a live server keeps, tool by tool",
        "fuzz": "call the tools of a live server with generated arguments",
        "replay": "send a stored failure again: fixed, or still failing",
    },
    "Look at a server": {
        "tools": "list the tools of a server, with parameters, hints and token cost",
        "call": "call a tool, with its arguments checked first, and show its result",
        "read": "read a resource, and show its contents",
        "prompt": "get a prompt, and show its messages",
        "capture": "save the catalog of a live server, or of any other target",
        "auth": "log in to servers that require authorization",
    },
    "Test suites": {
        "init": "write a first test suite for a server",
        "run": "run test suites in YAML",
        "validate": "check test suites without starting anything",
        "schema": "print the JSON Schema of test suites, for editors",
    },
    "Results over time": {
        "serve": "serve the recorded results as web pages and a REST API",
        "history": "show grade, tokens and findings of a server over time",
        "store": "export, import, prune or check the store of recorded runs",
    },
    "In editors and agents": {
        "lsp": "serve an editor: findings while you type, fixes, completion",
        "mcp": "serve agents: the static checks as an MCP server",
    },
    "Rules, reports and settings": {
        "rules": "list all rules",
        "advisories": "list known vulnerabilities of MCP servers and frameworks",
        "clients": "list MCP clients and model APIs, and what is known of each",
        "explain": "show what a rule checks, why, and how to fix a finding",
        "report": "render a stored run report in another format",
        "config": "show the settings for a target, and the source of each",
        "completion": "print a shell completion script",
        "demo": "lint, grade and prove an example server",
    },
}
_MODULES = {
    "mcproof.cli.commands.checks": (
        "lint",
        "schema-lint",
        "grade",
        "compat",
        "scan",
        "diff",
        "lock",
    ),
    "mcproof.cli.commands.sweep": ("sweep",),
    "mcproof.cli.commands.live": (
        "probe",
        "prove",
        "fuzz",
        "replay",
    ),
    "mcproof.cli.commands.requests": (
        "tools",
        "call",
        "read",
        "prompt",
        "capture",
    ),
    "mcproof.cli.commands.auth": ("auth",),
    "mcproof.cli.commands.init": (
        "init",
        "demo",
    ),
    "mcproof.cli.commands.suites": (
        "run",
        "validate",
    ),
    "mcproof.cli.commands.reference": (
        "schema",
        "rules",
        "advisories",
        "clients",
        "explain",
        "completion",
    ),
    "mcproof.cli.commands.serve": (
        "serve",
        "lsp",
        "mcp",
    ),
    "mcproof.cli.commands.store": (
        "history",
        "store",
        "report",
    ),
    "mcproof.cli.commands.config": ("config",),
}
"""The commands of each module: its functions are named for the command, such as `lint_command` and `lint_parser`."""
_MODULE_OF = {name: module for module, names in _MODULES.items() for name in names}
COMMANDS = {name: summary for commands in COMMAND_GROUPS.values() for name, summary in commands.items()}


def run() -> None:
    """Run the console script."""
    # Results are kept until the run ends, and the rest is freed by reference counting: the collector finds nothing.
    gc.disable()
    for stream in (sys.stdout, sys.stderr):
        if stream is not None and hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")
    if sys.stderr is None:
        sys.stderr = open(os.devnull, "w")  # noqa: SIM115 (open as long as the process runs)
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
        code = _dispatch(arguments)
        sys.stdout.flush()
    except KeyboardInterrupt:
        _fail(McproofError("interrupted"), arguments)
        return INTERRUPTED
    except BrokenPipeError:  # the reader is gone, such as `head`
        _discard_output()
    except OSError as error:  # other files handle their own errors: this one is about standard output
        _discard_output()
        return _fail(McproofError(f"the output cannot be written: {reason_of(error)}"), [])
    except Exception as error:
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
    if name not in COMMANDS:
        from mcproof.cli.help import command_error

        raise command_error(arguments, COMMANDS)
    command, parser = command_functions(name)
    if any(word.startswith("--trace") for word in arguments):  # else nothing is imported: start-up time counts
        from mcproof.cli.target_options import is_traced, traced

        if is_traced(arguments) and "--trace" in parser().option_names:
            return traced(command, arguments[1:])
    return command(arguments[1:])


def command_functions(name: str) -> tuple[Callable[[list[str]], int], Callable[[], Parser]]:
    """The function that runs a command, and the one that makes its parser; its module is imported here, not before."""
    module, stem = import_module(_MODULE_OF[name]), name.replace("-", "_")
    return getattr(module, f"{stem}_command"), getattr(module, f"{stem}_parser")


def _help(names: list[str]) -> int:
    """Print the help of a command, or the list of commands."""
    if names and names[0] != "help":
        return _dispatch([names[0], "--help"])
    from mcproof.cli.help import overview

    sys.stdout.write(overview(COMMAND_GROUPS))
    return OK


def _fail(error: McproofError, arguments: list[str]) -> int:
    """Report an error in the requested format, or as a line on standard error."""
    wanted = _wanted_format(arguments)
    if wanted not in ("", "text", "concise") and sys.stdout is not None:
        from mcproof.core.console import print_document
        from mcproof.report.formats import render_failure

        try:
            print_document(render_failure(error, arguments[0], wanted))
            return FAILED
        except OSError:
            _discard_output()
        except LookupError:  # an unknown format
            pass
    from mcproof.core.console import tell

    tell(str(error))
    return FAILED


def _wanted_format(arguments: list[str]) -> str:
    """The requested format, even if the rest of the command line is invalid."""
    wanted = ""
    ours = arguments[: arguments.index("--")] if "--" in arguments else arguments
    for at, word in enumerate(ours, 1):
        if word.startswith("--format="):
            wanted = word.removeprefix("--format=")
        elif word == "--format":
            wanted = "".join(ours[at : at + 1])
    return wanted


def _discard_output() -> None:
    from mcproof.core.console import discard_output

    discard_output()

"""`mcproof COMMAND …`: find the command, run it, turn errors into one line and an exit code.

A command's module is imported only when it is called, and only its arguments are defined: the start is part of
what a user waits for.
"""

from __future__ import annotations

import gc
import os
import sys
from contextlib import suppress
from importlib import import_module

from mcproof.errors import McproofError, UsageError, nearest, reason_of

OK, FINDINGS, FAILED, INTERRUPTED = 0, 1, 2, 130
"""Exit codes: nothing to complain of; findings or a failed gate; the job could not be done; stopped by the user."""

COMMANDS = {
    "lint": "check a catalog: what would confuse an agent or a client",
    "schema-lint": "check, and tighten, how strictly the input schemas constrain a call",
    "grade": "grade a catalog from A to F, with its cost in tokens",
    "capture": "save the catalog of a live server, or of any other target",
    "probe": "send a live server bad requests, and see whether it refuses them",
    "prove": "show which promises of its schemas a live server keeps, tool by tool",
    "fuzz": "call the tools of a live server with generated arguments until something breaks",
    "replay": "send a stored failure again: fixed, or still failing",
    "init": "write a first suite of tests for a server",
    "run": "run suites: tests of MCP servers in YAML",
    "validate": "check suites of tests without starting anything",
    "schema": "print the JSON Schema of suites, for editors",
    "diff": "show what changed between two catalogs, and whether it breaks callers",
    "report": "render a stored run report in another format",
    "rules": "list every rule",
    "explain": "say what a rule checks, why, and how to fix it",
    "config": "show the settings that hold for a target, and where each comes from",
    "completion": "print a script that completes mcproof in a shell",
    "demo": "lint, grade and prove an example server",
}

HELP = """\
mcproof proves that an MCP server is fit for agents.

Usage: mcproof COMMAND [OPTIONS] TARGET...

Commands:
{commands}

A TARGET is a snapshot (the answer to `tools/list` saved as JSON), a folder of those, Python source (a file or folder),
- for standard input, a URL, or FILE.json#NAME of a client configuration. -- COMMAND ARG... at the end starts a server.

  mcproof grade -- python server.py      how good is it, and what would help most
  mcproof prove -- python server.py      does it keep what its schemas promise
  mcproof lint https://host/mcp          every finding about a live server
  mcproof lint src/                      every finding about the tools that Python source registers, without running it
  mcproof lint tools.json                every finding about a snapshot, with the line it is about
  mcproof init -- python server.py       write a first suite of tests for it, mcproof.yaml
  mcproof run                            the tests in mcproof.yaml
  mcproof schema-lint tools.json --fix   print the catalog with tightened schemas

Exit codes: 0 nothing found, 1 findings or a failed gate, 2 could not do the job.
`mcproof COMMAND --help` tells more.
"""


def run() -> None:
    """The console script."""
    # The facts of a run are kept until it ends, and what is not is freed by counting: collecting finds nothing.
    gc.disable()
    for stream in (sys.stdout, sys.stderr):
        if stream is not None and hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")
    if sys.stderr is None:
        sys.stderr = open(os.devnull, "w")  # noqa: SIM115 (it lives as long as the process)
    code = main(sys.argv[1:])
    with suppress(OSError):
        sys.stderr.flush()
    os._exit(code)  # nothing is left to clean up, and freeing every object of a large catalog takes time


def main(arguments: list[str]) -> int:
    """Run one command and return its exit code, whatever happens."""
    code = OK
    try:
        if sys.stdout is None:
            raise McproofError("standard output is closed; there is nowhere to print to")
        code = _dispatch(arguments)
        sys.stdout.flush()
    except McproofError as error:
        return _fail(error, arguments)
    except KeyboardInterrupt:
        _fail(McproofError("interrupted"), arguments)
        return INTERRUPTED
    except BrokenPipeError:  # the reader has gone, as `head` does
        _discard_output()
    except OSError as error:  # every file is opened where its errors are caught: this is standard output
        _discard_output()
        return _fail(McproofError(f"the output cannot be written: {reason_of(error)}"), [])
    except RecursionError:
        return _fail(McproofError("this JSON is nested too deeply; no tool catalog is"), arguments)
    except MemoryError:
        return _fail(McproofError("out of memory: the input is too large for this machine"), arguments)
    except Exception as error:  # a traceback helps nobody at a terminal
        return _fail(McproofError(_internal(error)), arguments)
    return code


def _dispatch(arguments: list[str]) -> int:
    if not arguments or arguments[0] in ("-h", "--help", "help"):
        width = max(map(len, COMMANDS)) + 2
        sys.stdout.write(HELP.format(commands="\n".join(f"  {name:{width}}{text}" for name, text in COMMANDS.items())))
        return OK
    if arguments[0] in ("-V", "--version"):
        from mcproof import __version__

        sys.stdout.write(f"mcproof {__version__}\n")
        return OK
    name = arguments[0]
    if name not in COMMANDS:
        known = list(COMMANDS)
        raise UsageError(f"unknown command `{name}`{nearest(name, known)}; there are {', '.join(known)}")
    module = import_module(f"mcproof.cli.commands.{name.replace('-', '_')}")
    code: int = module.command(arguments[1:])
    return code


def _fail(error: McproofError, arguments: list[str]) -> int:
    wanted = _wanted_format(arguments)
    if wanted not in ("", "text", "concise") and sys.stdout is not None:
        from mcproof.console import print_document
        from mcproof.report.formats import render_failure

        try:
            print_document(render_failure(error, arguments[0], wanted))
            return FAILED
        except OSError:
            _discard_output()
        except LookupError:  # no format at all
            pass
    _tell(str(error))
    return FAILED


def _tell(sentence: str) -> None:
    from mcproof.console import tell

    tell(sentence)


def _wanted_format(arguments: list[str]) -> str:
    """The format that was asked for, even by a command line that makes no sense otherwise."""
    wanted = ""
    ours = arguments[: arguments.index("--")] if "--" in arguments else arguments
    for at, word in enumerate(ours, 1):
        if word.startswith("--format="):
            wanted = word.removeprefix("--format=")
        elif word == "--format":
            wanted = "".join(ours[at : at + 1])
    return wanted


def _internal(error: Exception) -> str:
    trace = error.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    where = f" ({trace.tb_frame.f_globals.get('__name__')}, line {trace.tb_lineno})" if trace is not None else ""
    return f"internal error, please report it: {type(error).__name__}: {error}{where}"


def _discard_output() -> None:
    from mcproof.console import discard_output

    discard_output()

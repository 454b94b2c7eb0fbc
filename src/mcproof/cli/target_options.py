"""Options that name targets and reach live servers, with authorization and `--trace`.

`--trace` is taken off the command line before the command runs, so commands need not know about it.
Why the trace is global: docs/decisions/0035-one-trace-per-process.md.
"""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING

from mcproof.cli.authorization_options import add_authorization, parse_authorization
from mcproof.cli.parser import seconds
from mcproof.core.errors import UsageError
from mcproof.runs.requests import TargetSelection
from mcproof.targets.arguments import LiveOptions

if TYPE_CHECKING:
    import argparse

    from mcproof.cli.parser import Parser
    from mcproof.client.questions import AnswerSource

SERVERS = "Live servers"
"""The title of a group of options."""
TARGETS_USAGE = "[OPTIONS] [TARGET...]\n[OPTIONS] -- COMMAND ARG..."
SERVER_USAGE = "[OPTIONS] TARGET\n[OPTIONS] -- COMMAND ARG..."
_VARIABLE = re.compile(r"\$\{([A-Za-z_][A-Za-z0-9_]*)\}")
_HEADER = re.compile(r"([!#$%&'*+.^_`|~0-9A-Za-z-]+)\s*:\s*(.*)", re.DOTALL)


def add_targets(parser: Parser) -> None:
    parser.add_argument(
        "targets",
        metavar="TARGET",
        nargs="*",
        help="a snapshot, Python source, a folder with either, -, a URL, FILE.json#NAME of a client configuration, "
        "or a name from the configuration (default: the files among the targets of the configuration, or else this "
        "folder). -- COMMAND ARG... at the end starts a server",
    )


def add_server(parser: Parser) -> None:
    """Add the target of the commands that call tools."""
    parser.add_argument(
        "targets",
        metavar="TARGET",
        nargs="*",
        help="a URL, FILE.json#NAME of a client configuration, or a name from the configuration. "
        "-- COMMAND ARG... at the end starts a server",
    )


def add_configured_live(parser: Parser) -> None:
    """Add the option for commands that check all targets of a configuration."""
    parser.group(SERVERS).add_argument(
        "--live",
        action="store_true",
        help="also check the live servers in `[targets]` of the configuration",
    )


def add_trace(parser: Parser) -> None:
    """Add `--trace` for the help; `mcproof.cli.trace_option` takes it off the command line."""
    parser.group(SERVERS).add_argument(
        "--trace",
        nargs="?",
        metavar="FILE",
        help="show all messages to and from servers on standard error, or write them to FILE, such as trace.jsonl "
        "(--trace=FILE for any name)",
    )


def add_live(parser: Parser) -> None:
    """Add the options for live servers."""
    parser.set_defaults(server_command=(), live=False)
    group = parser.group(SERVERS)
    group.add_argument(
        "--env",
        action="append",
        default=[],
        metavar="NAME[=VALUE]",
        help="set a variable for a started server (default: its value here); repeatable",
    )
    group.add_argument(
        "--header",
        action="append",
        default=[],
        metavar="'NAME: VALUE'",
        help="send a header to a URL; ${VARIABLE} is replaced from the environment; repeatable",
    )
    group.add_argument("--cwd", metavar="FOLDER", help="start servers in this folder")
    group.add_argument(
        "--timeout",
        type=seconds,
        metavar="SECONDS",
        help="time limit for a response (default 30)",
    )
    add_start_timeout(parser)
    group.add_argument(
        "--protocol", metavar="REVISION", help="speak, and judge by, this protocol revision, such as 2025-06-18"
    )
    add_trace(parser)
    group.add_argument("--all", action="store_true", help="start every server of a client configuration")
    add_authorization(parser)


def add_start_timeout(parser: Parser) -> None:
    """Add `--start-timeout`."""
    parser.group(SERVERS).add_argument(
        "--start-timeout",
        type=seconds,
        metavar="SECONDS",
        help="time limit from the start of a server to its first response (default 60)",
    )


def parse_targets(options: argparse.Namespace, *names: str, needs_server: bool = False) -> TargetSelection:
    """Parse the options for targets, which are live servers if the command `needs_server`.

    Error messages repeat no values, which may be secret.
    """
    is_quoted = any(" " in word for word in options.server_command[:1])
    if is_quoted or any(_is_unusual(name, needs_server) for name in names):
        from mcproof.cli.mistakes import refuse_mistakes

        refuse_mistakes(options, names, needs_server=needs_server)
    if options.cwd is not None and not os.path.isdir(options.cwd):
        raise UsageError(f"--cwd: there is no folder `{options.cwd}`")
    live = LiveOptions(
        command=options.server_command,
        environment=dict(map(_variable, options.env)),
        inherited=tuple(os.environ[name] for name in options.env if "=" not in name and name in os.environ),
        headers=dict(map(_header, options.header)),
        access=parse_authorization(options, may_log_in=options.login),
        directory=options.cwd,
        all_configured=options.all,
        uses_configured=options.live,
    )
    return TargetSelection(
        names=names,
        live=live,
        timeout=options.timeout,
        start_timeout=options.start_timeout,
        protocol=options.protocol,
        answers=_answers(getattr(options, "answer", None)),
    )


def _answers(file: str | None) -> AnswerSource | None:
    """Read the answers of `--answer`."""
    if file is None:
        return None
    from mcproof.client.questions import AnswerList
    from mcproof.testing.suites.loading import read_answer_file

    return AnswerList(read_answer_file(file))


def _is_unusual(name: str, needs_server: bool) -> bool:
    """Whether a target may be a mistake; a cheap test, because the exact one takes longer to import."""
    is_quoted = any(map(str.isspace, name))
    is_usual = name == "-" or (name.endswith((".json", ".py")) and not is_quoted) or os.path.isdir(name)
    return not is_usual or (needs_server and not name.endswith(".json"))


def header_variables(options: argparse.Namespace) -> list[str]:
    """The environment variables that `--header` refers to."""
    return [found[1] for text in options.header for found in _VARIABLE.finditer(text)]


def _variable(text: str) -> tuple[str, str]:
    name, equals, value = text.partition("=")
    if not name:
        raise UsageError("--env needs a name, as in `--env API_KEY` or `--env MODE=test`")
    if equals:
        return name, value
    if name not in os.environ:
        raise UsageError(f"--env {name}: not set here; `--env {name}=VALUE` gives it a value")
    return name, os.environ[name]


def _header(text: str) -> tuple[str, str]:
    found = _HEADER.fullmatch(text)
    if found is None:
        raise UsageError("--header needs a name and a value, as in `--header 'Authorization: Bearer ${TOKEN}'`")

    def value_of(variable: re.Match[str]) -> str:
        if variable[1] not in os.environ:
            raise UsageError(f"--header {found[1]}: the environment has no variable {variable[1]}")
        return os.environ[variable[1]]

    value = _VARIABLE.sub(value_of, found[2])
    if any(ord(character) < 32 and character != "\t" for character in value):
        raise UsageError(f"--header {found[1]}: the value has a line break or another control character")
    return found[1], value

"""Options that name targets and reach live servers, with authorization and `--trace`.

`--trace` is taken off the command line before the command runs, so commands need not know about it.
Why the trace is global: docs/decisions/0035-one-trace-per-process.md.
"""

from __future__ import annotations

import json
import os
import re
import sys
from contextlib import suppress
from typing import TYPE_CHECKING, TextIO

from mcproof.cli.command import ARGUMENTS, AUTHORIZATION, SERVERS, Option, Options, seconds
from mcproof.cli.options import VARIABLE
from mcproof.cli.outputs import refuse_unwritable
from mcproof.client.endpoints import AccessOptions
from mcproof.core.console import Style, print_message, safe, without_commands
from mcproof.core.errors import UsageError, WriteError, reason_of
from mcproof.runs.requests import TargetSelection
from mcproof.targets.arguments import LiveOptions

if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable

    from mcproof.client.questions import AnswerSource
    from mcproof.client.tracing import TracedMessage

CLIENT = Options(
    Option(
        AUTHORIZATION,
        "--client-id ID",
        "OAuth client id, or the URL of a client metadata document (default: mcproof registers itself)",
    ),
    Option(AUTHORIZATION, "--client-secret-env NAME", "variable with the secret of the OAuth client"),
    Option(AUTHORIZATION, "--client-key-env NAME", "variable with the private key of the OAuth client, in PEM"),
    Option(
        AUTHORIZATION,
        "--issuer URL",
        "use only this authorization server; required with a secret or key",
    ),
    Option(AUTHORIZATION, "--scope SCOPES", "request these scopes too, separated by spaces"),
)
"""The options that name an OAuth client."""


def parse_authorization(options: argparse.Namespace, *, may_log_in: bool, callback_port: int = 0) -> AccessOptions:
    """Parse the options of `CLIENT`."""
    access = AccessOptions(
        client_id=options.client_id or "",
        secret_variable=options.client_secret_env or "",
        key_variable=options.client_key_env or "",
        issuer=options.issuer or "",
        scope=options.scope or "",
        callback_port=callback_port,
        may_log_in=may_log_in,
    )
    if access.secret_variable and access.key_variable:
        raise UsageError("--client-secret-env and --client-key-env exclude each other: a client has a secret or a key")
    for option, name in (("secret", access.secret_variable), ("key", access.key_variable)):
        if name and not access.client_id:
            raise UsageError(f"--client-{option}-env needs --client-id")
        if name and not os.environ.get(name):
            raise UsageError(f"--client-{option}-env: the environment has no variable {name}")
    if access.client_id and not (access.uses_client_credentials or may_log_in):
        raise UsageError("--client-id needs --client-secret-env or --client-key-env, or --login for a user")
    return access


TARGETS_USAGE = "[OPTIONS] [TARGET...]\n[OPTIONS] -- COMMAND ARG..."
SERVER_USAGE = "[OPTIONS] TARGET\n[OPTIONS] -- COMMAND ARG..."
_HEADER = r"(?s)([!#$%&'*+.^_`|~0-9A-Za-z-]+)\s*:\s*(.*)"

CONFIGURED_LIVE = Option(SERVERS, "--live", "also check the live servers in `[targets]` of the configuration")
"""For commands that check all targets of a configuration."""
TRACE = Option(
    SERVERS,
    "--trace FILE",
    "show all messages to and from servers on standard error, or write them to FILE, such as trace.jsonl "
    "(--trace=FILE for any name)",
    nargs="?",
)
"""For the help: `traced` takes it off the command line."""
START_TIMEOUT = Option(
    SERVERS,
    "--start-timeout SECONDS",
    "time limit from the start of a server to its first response (default 60)",
    to="start_timeout",
    type=seconds,
)
LIVE = Options(
    Option(
        SERVERS,
        "--env NAME[=VALUE]",
        "set a variable for a started server (default: its value here); repeatable",
        repeatable=True,
    ),
    Option(
        SERVERS,
        "--header 'NAME: VALUE'",
        "send a header to a URL; ${VARIABLE} is replaced from the environment; repeatable",
        repeatable=True,
    ),
    Option(SERVERS, "--cwd FOLDER", "start servers in this folder"),
    Option(SERVERS, "--timeout SECONDS", "time limit for a response (default 30)", type=seconds),
    START_TIMEOUT,
    Option(SERVERS, "--protocol REVISION", "speak, and judge by, this protocol revision, such as 2025-06-18"),
    TRACE,
    Option(SERVERS, "--all", "start every server of a client configuration"),
    Option(AUTHORIZATION, "--login", "log in with the browser when a server requires authorization"),
    CLIENT,
    starts_server=True,
)
"""The options for live servers."""


def parse_targets(options: argparse.Namespace, *names: str, needs_server: bool = False) -> TargetSelection:
    """Parse the options for targets, which are live servers if the command `needs_server`.

    Error messages repeat no values, which may be secret.
    """
    is_quoted = any(" " in word for word in options.server_command[:1])
    if is_quoted or any(_is_unusual(name, needs_server) for name in names):
        from mcproof.cli.help import refuse_mistakes

        refuse_mistakes(options, names, needs_server=needs_server)
    if options.cwd is not None and not os.path.isdir(options.cwd):
        raise UsageError(f"--cwd: there is no folder `{options.cwd}`")
    live = LiveOptions(
        command=options.server_command,
        environment=dict(map(_variable, options.env)),
        # Values of the user that reach the server are secrets to hide in what it returns.
        inherited=tuple(os.environ[name] for name in options.env if "=" not in name and name in os.environ),
        headers=dict(map(_header, options.header)),
        access=parse_authorization(options, may_log_in=options.login),
        directory=options.cwd,
        all_configured=options.all,
        uses_configured=getattr(options, "live", False),
    )
    return TargetSelection(
        names=names,
        live=live,
        timeout=options.timeout,
        start_timeout=options.start_timeout,
        protocol=options.protocol,
        answers=_answers(getattr(options, "answer", None)),
    )


TARGETS = Options(
    Option(
        ARGUMENTS,
        "targets TARGET",
        "a snapshot, Python, JavaScript or TypeScript source, a folder with any of them, -, a URL, FILE.json#NAME of a "
        "client configuration, or a name from the configuration (default: the files among the targets of the "
        "configuration, or else this folder). -- COMMAND ARG... at the end starts a server",
        nargs="*",
    ),
    targets=lambda options: parse_targets(options, *options.targets),
)
SERVER = Options(
    Option(
        ARGUMENTS,
        "targets TARGET",
        "a URL, FILE.json#NAME of a client configuration, or a name from the configuration. "
        "-- COMMAND ARG... at the end starts a server",
        nargs="*",
    ),
    targets=lambda options: parse_targets(options, *options.targets, needs_server=True),
)
"""The target of the commands that call tools."""
CATALOG = Option(
    ARGUMENTS,
    "target TARGET",
    "a URL, FILE.json#NAME of a client configuration, a snapshot, Python, JavaScript or TypeScript source, -, or a "
    "name from the configuration; or -- COMMAND ARG... at the end",
    nargs="?",
)
"""The target of the commands that read one catalog."""


def _answers(file: str | None) -> AnswerSource | None:
    """Read the answers of `--answer`."""
    if file is None:
        return None
    from mcproof.client.questions import AnswerList
    from mcproof.testing.suites.entries import read_answer_file

    return AnswerList(read_answer_file(file))


def _is_unusual(name: str, needs_server: bool) -> bool:
    """Whether a target may be a mistake; a cheap test, because the exact one takes longer to import."""
    is_quoted = any(map(str.isspace, name))
    # The usual targets pay nothing for the search for mistakes.
    is_usual = name == "-" or (name.endswith((".json", ".py")) and not is_quoted) or os.path.isdir(name)
    return not is_usual or (needs_server and not name.endswith(".json"))


def header_variables(options: argparse.Namespace) -> list[str]:
    """The environment variables that `--header` refers to."""
    return [variable[1] for text in options.header for variable in re.finditer(VARIABLE, text)]


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
    header = re.fullmatch(_HEADER, text)
    if header is None:
        raise UsageError("--header needs a name and a value, as in `--header 'Authorization: Bearer ${TOKEN}'`")

    def value_of(variable: re.Match[str]) -> str:
        if variable[1] not in os.environ:
            raise UsageError(f"--header {header[1]}: the environment has no variable {variable[1]}")
        return os.environ[variable[1]]

    value = re.sub(VARIABLE, value_of, header[2])
    # A line break would begin another header of the user's choice, or of whoever set the variable.
    if any(ord(character) < 32 and character != "\t" for character in value):
        raise UsageError(f"--header {header[1]}: the value has a line break or another control character")
    return header[1], value


OPTION = "--trace"
_SUFFIXES = (".jsonl", ".ndjson", ".log", ".txt", ".trace")
_LONGEST_LINE = 400
"""The length of a line on standard error that is not a terminal."""
LARGEST_FILE = 1 << 30
"""The most bytes written to a file, in case a server never stops."""


def traced(command: Callable[[list[str]], int], arguments: list[str]) -> int:
    """Run a command without its `--trace`, and trace what it sends and receives."""
    from mcproof.client.tracing import Trace, tracing

    ours = arguments[: arguments.index("--")] if "--" in arguments else arguments
    at = next(number for number, word in enumerate(ours) if _is_option(word))
    taken, file = _taken(ours, at)
    # Counted in our own words only: `-- server --trace` is an option of the server.
    others = [*arguments[:at], *arguments[at + taken :]]
    if any(_is_option(word) for word in others[: len(ours) - taken]):
        raise UsageError(f"{OPTION} is given twice")
    if file is None:
        with tracing(Trace(TerminalTrace(sys.stderr))):
            return command(others)
    _refuse_file(file, others[: len(ours) - taken])
    with FileTrace(file) as sink, tracing(Trace(sink)):
        return command(others)


def is_traced(arguments: list[str]) -> bool:
    """Whether the command line has `--trace`, other than as a word of a server's command."""
    ours = arguments[: arguments.index("--")] if "--" in arguments else arguments
    return any(map(_is_option, ours))


def _is_option(word: str) -> bool:
    return word == OPTION or word.startswith(f"{OPTION}=")


def _taken(words: list[str], at: int) -> tuple[int, str | None]:
    """How many words the option takes, and its file; None for the terminal."""
    _, equals, file = words[at].partition("=")
    if equals:
        if not file:
            raise UsageError(f"{OPTION}= needs a file")
        return 1, file
    following = words[at + 1] if at + 1 < len(words) else ""
    return (2, following) if _is_trace_file(following) else (1, None)


def _is_trace_file(word: str) -> bool:
    """Whether the word after `--trace` is its file, and not a target or the name of a tool."""
    if word.startswith("-") or "://" in word or "#" in word or "=" in word or os.path.isdir(word):
        return False
    # A file that exists is a target; the trace is written to one that does not, or that looks like a log.
    return word.endswith(_SUFFIXES) or (os.sep in word and not os.path.exists(word))


def _refuse_file(file: str, words: list[str]) -> None:
    """Raise a UsageError if the file cannot be written, or is one that the command reads or writes."""
    refuse_unwritable([file])
    named = [part for word in words for part in (word, *re.split("[:=#]", word)) if part]
    if os.path.realpath(file) in map(os.path.realpath, named):
        raise UsageError(f"{OPTION} {file}: the command line names this file twice")


class TerminalTrace:
    """Writes a line for each message, no longer than the terminal is wide."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self._style = Style.of(stream)
        self._is_terminal = stream.isatty()
        self._width = self._style.width if self._is_terminal else _LONGEST_LINE

    def __call__(self, traced: TracedMessage) -> None:
        arrow = self._style.symbol(*(("→", "->") if traced.direction == "sent" else ("←", "<-")))
        content = traced.text if traced.text is not None else json.dumps(traced.message, ensure_ascii=False)
        start = f"{traced.seconds:8.3f}s {traced.connection} {arrow} "
        line = f"{start}{self._style.fitting(content, self._width - len(start))}"
        clear = "\r\x1b[K" if self._is_terminal else ""  # a line that shows progress
        with suppress(OSError):  # closed
            self._stream.write(f"{clear}{without_commands(line)}\n")
            self._stream.flush()


class FileTrace:
    """Writes JSON Lines: whole messages, to a file that only its owner can read."""

    def __init__(self, file: str) -> None:
        self._file = file
        self._left = LARGEST_FILE

    def __enter__(self) -> FileTrace:
        flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC
        try:
            # Messages have arguments and results, which are nobody else's business.
            self._stream = open(self._file, "wb", opener=lambda name, _: os.open(name, flags, 0o600))
        except OSError as error:
            raise WriteError(f"cannot be written: {reason_of(error)}", file=self._file) from None
        return self

    def __exit__(self, *_: object) -> None:
        with suppress(OSError):  # reported already
            self._stream.close()

    def __call__(self, traced: TracedMessage) -> None:
        if not self._left:
            return
        from mcproof.runs.records import SCHEMA_VERSION  # here, as every command has this option: 0.5 ms

        content = {"message": traced.message} if traced.text is None else {"text": traced.text}
        record = {
            "schema_version": SCHEMA_VERSION,
            "time": traced.time,
            "seconds": round(traced.seconds, 6),
            "connection": traced.connection,
            "direction": traced.direction,
            **content,
        }
        line = json.dumps(record).encode() + b"\n"
        if len(line) > self._left:
            self._stop(f"larger than {LARGEST_FILE:,} bytes")
            return
        try:
            self._stream.write(line)
            self._stream.flush()
            self._left -= len(line)
        except OSError as error:  # a full disk must not end the run that is traced
            self._stop(reason_of(error))

    def _stop(self, why: str) -> None:
        """End the trace, and let the command go on: its result does not depend on it."""
        self._left = 0
        print_message(f"{safe(self._file)}: the trace is incomplete: {why}")

"""`--trace [FILE]` of every command that talks to live servers.

It is taken off the command line before the command runs, so commands need not know about it.
"""

from __future__ import annotations

import json
import os
import re
import sys
from contextlib import suppress
from typing import TYPE_CHECKING

from mcproof.cli.outputs import refuse_unwritable
from mcproof.core.console import Style, safe, tell, without_commands
from mcproof.core.errors import UsageError, WriteError, reason_of
from mcproof.runs.records import SCHEMA_VERSION

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import TextIO

    from mcproof.client.tracing import TracedMessage

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
        except OSError as error:
            self._stop(reason_of(error))

    def _stop(self, why: str) -> None:
        """End the trace, and let the command go on: its result does not depend on it."""
        self._left = 0
        tell(f"{safe(self._file)}: the trace is incomplete: {why}")

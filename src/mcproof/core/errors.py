"""Exit codes, the errors that end a run with exit code 2, and remarks about what was not done.

Each error carries a one-line message and, if known, a location. No other exception is meant for users, so the
command line can render all of them as text or JSON. Which exit code a run gets is decided in `runs.exit_code`.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Annotated, Literal

from mcproof.core.named_tuple import NamedTuple
from mcproof.core.stored_form import Position, Text, member, record

OK, FINDINGS, FAILED, INTERRUPTED = 0, 1, 2, 130
"""Exit codes: no findings; findings or a failed gate; could not do the job; stopped by the user."""


def located(message: str, *location: str | int | None) -> str:
    """A message prefixed with its location: file, line and column, as far as they are known."""
    where = ":".join(str(part) for part in location if part is not None)
    return f"{where}: {message}" if where else message


class McproofError(Exception):
    """The job could not be done; `message` is one line: the cause and, if there is one, the remedy."""

    def __init__(
        self, message: str, *, file: str | None = None, line: int | None = None, column: int | None = None
    ) -> None:
        super().__init__(message)
        self.message = message
        self.file = file
        self.line = line
        self.column = column

    def __str__(self) -> str:
        return located(self.message, self.file, self.line, self.column)


class UsageError(McproofError):
    """The command line names something that does not exist, or combines options that exclude each other."""


class InputError(McproofError):
    """The input cannot be read, or contains nothing to check."""


class ConfigError(McproofError):
    """The configuration cannot be read, or contains an unknown key or value."""


class WriteError(McproofError):
    """A file cannot be written; the original is unchanged."""


def reason_of(error: Exception) -> str:
    """The operating system's reason for an error, in lower case: "permission denied"."""
    return (getattr(error, "strerror", None) or str(error)).lower()


def nearest(word: str, names: list[str]) -> str:
    """A hint with the known word closest to `word`, or an empty string: " (did you mean `x`?)"."""
    from difflib import get_close_matches  # only needed on errors

    close = get_close_matches(word.lower(), [name.lower() for name in names], n=1)
    match = next((name for name in names if close and name.lower() == close[0]), None)
    return f" (did you mean `{match}`?)" if match else ""


def from_exception(error: Exception) -> McproofError:
    """Return the error that a user sees for any exception: one line, no traceback."""
    if isinstance(error, McproofError):
        return error
    if isinstance(error, RecursionError):
        return InputError("JSON nested too deeply for a tool catalog")
    if isinstance(error, MemoryError):
        return InputError("out of memory: the input is too large for this machine")
    trace = error.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    where = f" ({trace.tb_frame.f_globals.get('__name__')}, line {trace.tb_lineno})" if trace is not None else ""
    return McproofError(f"internal error, please report it: {type(error).__name__}: {error}{where}")


SESSION_EXPIRED = "session-expired"
"""The kind of notice about a server that has ended a session in use."""


NOTICE_KINDS = [
    "stale-baseline",
    "unused-ignore",
    "bad-ignore",
    "not-checked",
    "noise-on-stdout",
    "session-expired",
]


@record("kind", "message", "file", "line", "level")
class Notice(NamedTuple):
    """A notice about the configuration, the baseline, a comment, the source or a server."""

    kind: Annotated[str, member(enum=NOTICE_KINDS)]
    """`stale-baseline` (an accepted finding that no longer occurs; it fails the run), `unused-ignore`, `bad-ignore`
    (an invalid comment), `not-checked` (source that discovery cannot follow), `noise-on-stdout` (a server of a suite
    writes non-protocol text to stdout), or `session-expired` (a server has ended a session in use)."""
    message: Text
    """The message."""
    file: Text
    """The configuration, the baseline, the source or the suite."""
    line: Position | None
    """The line in that file, counted from 1, or None."""

    @property
    def level(self) -> Literal["error", "warning", "note"]:
        """The level."""
        if self.kind == "stale-baseline":
            return "error"
        return "note" if self.kind in ("not-checked", SESSION_EXPIRED) else "warning"

    def __str__(self) -> str:
        return located(self.message, self.file, self.line)


@record()
class Untested(NamedTuple):
    """Something that this run could not test."""

    what: Text
    """Rules, a ruleset, or a property of the server."""
    why: Text
    """The reason."""
    rules: tuple[Text, ...] = ()
    """The ids of the rules, if it is about rules."""

    @classmethod
    def of(cls, rules: Iterable[str], why: str) -> Untested:
        ids = tuple(rules)
        return cls(", ".join(ids), why, ids)


class SettingLocation(NamedTuple):
    """The location of a setting: the file as a user would name it, and the line."""

    file: str
    line: int

    def __str__(self) -> str:
        return f"{self.file}:{self.line}"

"""The errors that end a run with exit code 2: the job could not be done.

Each carries one line that says what is wrong and, where it is known, the place. Nothing else is raised on
purpose and shown to a user, so the command line can turn any of them into a sentence or into JSON.
"""

from __future__ import annotations


class McproofError(Exception):
    """The job could not be done; `message` says why and what to do, in one line."""

    def __init__(
        self, message: str, *, file: str | None = None, line: int | None = None, column: int | None = None
    ) -> None:
        super().__init__(message)
        self.message = message
        self.file = file
        self.line = line
        self.column = column

    def __str__(self) -> str:
        place = ":".join(str(part) for part in (self.file, self.line, self.column) if part is not None)
        return f"{place}: {self.message}" if place else self.message


class UsageError(McproofError):
    """The command line asks for something that does not exist or does not fit together."""


class InputError(McproofError):
    """The input cannot be read, or holds nothing that could be checked."""


class ConfigError(McproofError):
    """The configuration cannot be read, or says something that mcproof does not know."""


class WriteError(McproofError):
    """A file cannot be replaced; the original is untouched."""


def reason_of(error: Exception) -> str:
    """The operating system's reason for an error, in lower case: "permission denied"."""
    return (getattr(error, "strerror", None) or str(error)).lower()


def nearest(word: str, known: list[str]) -> str:
    """A hint that names the known word closest to `word`, or nothing: " (did you mean `x`?)"."""
    from difflib import get_close_matches  # only needed when something is already wrong

    close = get_close_matches(word.lower(), [name.lower() for name in known], n=1)
    match = next((name for name in known if close and name.lower() == close[0]), None)
    return f" (did you mean `{match}`?)" if match else ""

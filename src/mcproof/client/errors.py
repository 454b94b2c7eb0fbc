"""Errors of connecting to a server and of losing the connection, and what a user can do about them.

All of them can be shown: `for_report` removes secrets and adds the name of the server.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from mcproof.client.redaction import redacted_url
from mcproof.core.console import shell_word
from mcproof.core.errors import McproofError

WITHOUT_BROWSER = (
    "`--client-id ID --client-secret-env NAME` or `--header 'Authorization: Bearer ${TOKEN}'`, or `auth` in a suite"
)


def login_advice(url: str, scope: str = "") -> str:
    """The command that logs in, and what to use where no user can."""
    scopes = f" --scope {shell_word(scope)}" if scope else ""
    return f"run `mcproof auth login {shell_word(redacted_url(url))}{scopes}`; in CI, use {WITHOUT_BROWSER}"


UNAUTHORIZED = (401, 403)
"""The HTTP statuses that another authorization may change."""
TOO_MANY = 429
"""The HTTP status of a server that gets too many requests."""


class ConnectError(McproofError):
    """The server cannot be started or reached, or does not support the protocol."""

    last_lines: str = ""
    """The last lines of its stderr, if the message does not have them all."""
    status: int | None = None
    """The HTTP status that the server returned instead of a response."""
    retry_after: float | None = None
    """How many seconds the server asks to wait."""
    is_transient: bool = False
    """Whether the network failed, so that another try may succeed."""


class UnreachableError(ConnectError):
    """There is no connection to the server, or it does not respond in time."""


class HttpStatusError(ConnectError):
    """An HTTP error status."""

    status: int

    def __init__(self, status: int, message: str, retry_after: float | None = None) -> None:
        super().__init__(message)
        self.status = status
        self.retry_after = retry_after

    @property
    def is_final(self) -> bool:
        """Whether every other request would get the same status."""
        return self.status in UNAUTHORIZED or self.status == TOO_MANY or 300 <= self.status < 400


class UnauthorizedError(HttpStatusError):
    """HTTP 401 or 403: the server requires another authorization than the one it got."""

    def __init__(self, status: int, message: str, evidence: str, challenge: str, sent: str) -> None:
        super().__init__(status, message)
        self.evidence = evidence
        """The part of the message that describes the response."""
        self.challenge = challenge
        """The value of `WWW-Authenticate`; empty if there is none."""
        self.sent = sent
        """The value of `Authorization` that was refused; empty if none was sent."""


class AuthorizationError(HttpStatusError):
    """No authorization is available; the message is the reason."""

    def __init__(self, message: str, status: int = UNAUTHORIZED[0]) -> None:
        super().__init__(status, message)


class ExpiredSessionError(HttpStatusError):
    """HTTP 404: the server has ended the session, and the request was not processed."""

    def __init__(self, session: str) -> None:
        super().__init__(404, "the server has ended the session (HTTP 404)")
        self.session = session


class LostError(McproofError):
    """The server ended, or closed the connection, while a response was pending."""

    last_lines: str = ""
    """The last lines of its stderr, if the message does not have them all."""
    is_transient: bool = False
    """Whether the network failed, so that another try may succeed."""


class UnsentError(LostError):
    """The server had ended before the request was sent."""


class NoMessageError(LostError):
    """The response is not JSON-RPC."""


class EndlessQuestionsError(LostError):
    """The server asks one question after the other instead of responding."""


Failure = TypeVar("Failure", ConnectError, LostError)


def transient(error: Failure) -> Failure:
    """Return an error, marked as one that another try may not meet."""
    error.is_transient = True
    return error


def for_report(error: ConnectError | LostError, hide: Callable[[str], str], label: str) -> ConnectError:
    """Return an error without secrets, and with the name of the server."""
    reported = ConnectError(hide(error.message), file=label)
    reported.last_lines = hide(error.last_lines)
    reported.is_transient = error.is_transient
    if isinstance(error, ConnectError):
        reported.status, reported.retry_after = error.status, error.retry_after
    return reported

"""Errors of connecting to a server and of losing the connection."""

from __future__ import annotations

from mcproof.errors import McproofError


class ConnectError(McproofError):
    """The server cannot be started or reached, or does not support the protocol."""

    last_lines: str = ""
    """The last lines of its stderr, if the message does not have them all."""


class LostError(McproofError):
    """The server ended, or closed the connection, while a response was pending."""

    last_lines: str = ""
    """The last lines of its stderr, if the message does not have them all."""


class UnsentError(LostError):
    """The server had ended before the request was sent."""


class NoMessageError(LostError):
    """The response is not JSON-RPC."""


class EndlessQuestionsError(LostError):
    """The server asks one question after the other instead of responding."""

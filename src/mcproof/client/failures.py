"""Why a connection could not be made or did not last."""

from __future__ import annotations

from mcproof.errors import McproofError


class ConnectError(McproofError):
    """The server could not be started or reached, or does not speak the protocol."""

    last_lines: str = ""
    """The end of what it wrote to its standard error, where that is more than the message has."""


class LostError(McproofError):
    """The server went away while an answer was due."""

    last_lines: str = ""
    """The end of what it wrote to its standard error, where that is more than the message has."""


class UnsentError(LostError):
    """The server had gone before a request was sent."""


class NoMessageError(LostError):
    """An answer came, and it is no JSON-RPC."""

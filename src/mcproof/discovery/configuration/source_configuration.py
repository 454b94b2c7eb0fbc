"""Facts about the configuration that source gives a server."""

from __future__ import annotations

from typing import NamedTuple


class SourcePlace(NamedTuple):
    """A line of a source file."""

    file: str
    line: int
    column: int
    """From one, in characters."""


class OpenBinding(NamedTuple):
    """A server that listens on all interfaces, and does not authenticate, unless it is configured otherwise."""

    address: str
    """`0.0.0.0` or `::`."""
    place: SourcePlace
    """Where the address is written."""
    how: str
    """How it gets there, such as `default of MCP_HOST`."""
    served: SourcePlace
    """The call that listens."""
    optional_authentication: SourcePlace | None = None
    """Authentication that is off by default, if there is one."""


class SourceSecret(NamedTuple):
    """A secret that is written in source."""

    place: SourcePlace
    shown: str
    """The part of it that may be shown."""


class ForwardedToken(NamedTuple):
    """A token of the caller that is sent on to another service."""

    place: SourcePlace
    """Where it is sent."""
    received: SourcePlace
    """Where it is read from the request."""
    function: str


class SourceConfiguration(NamedTuple):
    """What the source of a server shows about its configuration."""

    bindings: tuple[OpenBinding, ...] = ()
    secrets: tuple[SourceSecret, ...] = ()
    tokens: tuple[ForwardedToken, ...] = ()
    unobserved: dict[str, str] = {}  # noqa: RUF012 (never mutated)
    """The rules that could not be judged, each with the reason."""

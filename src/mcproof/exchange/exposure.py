"""How a server can be reached, which decides how much a risky tool weighs."""

from __future__ import annotations

from typing import NamedTuple


class Exposure(NamedTuple):
    """Who can reach a server, as far as it is known."""

    is_http: bool = False
    """Whether it is served over HTTP rather than started by its user."""
    needs_credentials: bool = False
    """Whether it was reached with credentials, or refused access without them."""

    listens_openly: bool = False
    """Whether its source serves it on all interfaces without authentication."""

    @property
    def is_open(self) -> bool:
        """Whether it is served over HTTP to anyone."""
        return self.is_http and not self.needs_credentials

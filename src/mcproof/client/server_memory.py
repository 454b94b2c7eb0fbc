"""What the connections to one server share."""

from __future__ import annotations

from mcproof.client.protocol_headers import ParameterHeaders


class ServerMemory:
    """Facts about a server that outlast a connection."""

    def __init__(self) -> None:
        self.parameter_headers = ParameterHeaders()
        self.expired_sessions = 0
        """How often the server has ended a session that was in use, so that another was started."""

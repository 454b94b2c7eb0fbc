"""Connections that end if a client sends or reads too slowly, so that a few clients cannot take all of them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

if TYPE_CHECKING:
    import asyncio
    from collections.abc import Hashable

HEAD, BODY, READING = "head", "body", "reading"
SECONDS = {HEAD: 15.0, BODY: 120.0, READING: 30.0}
"""How long a client may take to send the head of a request, to send its body, and to read nothing of a response."""
LOOK_SECONDS = 1.0
"""The time between two looks at a connection."""


class TimedConnection(H11Protocol):
    """HTTP/1.1 of uvicorn, which by itself limits only the time between two requests."""

    _look: asyncio.TimerHandle | None = None
    _phase: tuple[str, Hashable] | None = None
    _began = 0.0

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._examine()

    def connection_lost(self, exc: Exception | None) -> None:
        if self._look is not None:
            self._look.cancel()
        super().connection_lost(exc)

    def _examine(self) -> None:
        """Abort the connection if it is in the same phase for too long; look again later."""
        now, phase = self.loop.time(), self._current_phase()
        if phase != self._phase:
            self._phase, self._began = phase, now
        elif phase is not None and now - self._began >= SECONDS[phase[0]]:
            self.transport.abort()
            return
        self._look = self.loop.call_later(LOOK_SECONDS, self._examine)

    def _current_phase(self) -> tuple[str, Hashable] | None:
        """Return what the client has to do, and what tells it from the same phase of another request.

        None while the service is at work.
        """
        unsent = self.transport.get_write_buffer_size()
        if unsent:
            return READING, unsent
        if self.conn.their_state is h11.IDLE:
            return HEAD, self.cycle
        return (BODY, self.cycle) if self.conn.their_state is h11.SEND_BODY else None

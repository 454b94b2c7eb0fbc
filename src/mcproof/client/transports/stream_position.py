"""The position at which a stream of events has ended, and the time until it may be resumed."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from mcproof.client.failures import LostError

if TYPE_CHECKING:
    from mcproof.client.transports.sse import EventParser

MOST_RESUMPTIONS = 100
"""How often one stream is resumed; the time limit of a request usually ends it first."""
DEFAULT_WAIT = 1.0
"""Seconds to wait if the server sends no `retry`."""
SHORTEST_WAIT = 0.1
LONGEST_WAIT = 300.0
"""Limits of what a server may ask for, in seconds."""


class StreamPosition:
    """The last event of a stream, and the server's time to reconnect."""

    def __init__(self) -> None:
        self.last_id = ""
        self._retry: int | None = None

    def update(self, parser: EventParser) -> None:
        """Take over the last event id and the `retry` time of a parser."""
        self.last_id = parser.last_id or self.last_id
        self._retry = self._retry if parser.retry is None else parser.retry

    @property
    def is_known(self) -> bool:
        """Whether there is an event to resume after, with an id that a header can carry."""
        return bool(self.last_id) and self.last_id.isprintable() and self.last_id == self.last_id.strip()

    async def wait(self, why: str) -> None:
        """Wait for the `retry` time of the server. Raises LostError if it is too long."""
        seconds = DEFAULT_WAIT if self._retry is None else self._retry / 1000
        if seconds > LONGEST_WAIT:
            raise LostError(f"{why}, and the server wants {seconds:,.0f} seconds before it is resumed")
        await asyncio.sleep(max(seconds, SHORTEST_WAIT))

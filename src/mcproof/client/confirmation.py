"""Confirm what a busy machine can feign: a slow start, and a process that does not exit in time."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mcproof.client.failures import ConnectError, LostError
from mcproof.core.observations.connection import LINGERING, SLOW_START

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from mcproof.client.connection import Connection
    from mcproof.core.observations.connection import ConnectionFacts

GRACE = 5.0
"""Seconds that a process has to exit when it matters whether it does; real servers take up to four."""
LONGER_GRACE = 10.0
"""The same for a second process, which has not been asked for anything."""


async def confirmed(facts: ConnectionFacts, connect: Callable[[], Awaitable[Connection]]) -> ConnectionFacts:
    """The facts, with a slow start and a failed exit only if a second process shows them too."""
    is_slow = facts.seconds_to_response > SLOW_START
    lingers = facts.ending is not None and facts.ending.how in LINGERING
    if not is_slow and not lingers:
        return facts
    seconds, ending = 0.0, None
    try:
        connection = await connect()
    except (ConnectError, LostError):  # not confirmed
        pass
    else:
        usage = connection.transport.cpu_usage()
        seconds = connection.seconds_to_response - (usage.waited if usage is not None else 0.0)
        ending = await connection.transport.close(LONGER_GRACE if lingers else GRACE)
    return facts._replace(
        seconds_to_response=min(facts.seconds_to_response, seconds) if is_slow else facts.seconds_to_response,
        ending=ending if lingers else facts.ending,
    )

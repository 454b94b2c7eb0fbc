"""Shrink a failing call: send smaller arguments as long as they fail in the same way."""

from __future__ import annotations

from time import monotonic
from typing import TYPE_CHECKING, Any

from mcproof.core.observations.probes import SERVER_LOST
from mcproof.generation.smaller_values import reductions

if TYPE_CHECKING:
    from collections.abc import Callable

    from mcproof.client.session import Response, Session
    from mcproof.core.schema.validation import Oracle

MOST_CALLS, MOST_SLOW_CALLS = 200, 6
MOST_SECONDS = 10.0
"""The budget of one failure."""


def same_promise(oracle: Oracle, arguments: Any, *, is_valid: bool) -> Callable[[Any], bool]:
    """Whether smaller arguments are still valid, or still break the same promise and no further one."""
    if is_valid:
        return oracle.accepts
    first, broken = oracle.first_error(arguments), oracle.broken_promises(arguments)

    def breaks_no_other(smaller: Any) -> bool:
        return oracle.first_error(smaller) == first and oracle.broken_promises(smaller) <= broken

    return breaks_no_other


async def shrink(
    session: Session,
    tool: str,
    arguments: Any,
    may_be_sent: Callable[[Any], bool],
    fails: Callable[[Any, Response], bool],
    *,
    is_slow: bool,
    is_late: Callable[[], bool] = lambda: False,
) -> Any:
    """The smallest arguments found within the budget that still fail in the same way."""
    left = MOST_SLOW_CALLS if is_slow else MOST_CALLS
    end = monotonic() + MOST_SECONDS
    best = arguments
    progressed = True
    while progressed:
        progressed = False
        for candidate in reductions(best):
            if left <= 0 or monotonic() > end or is_late():
                return best
            if not may_be_sent(candidate):
                continue
            left -= 1
            response = await session.send("tools/call", {"name": tool, "arguments": candidate})
            if response.outcome in SERVER_LOST:
                await session.close(at_once=True)
            if fails(candidate, response):
                best, progressed = candidate, True
                break
    return best

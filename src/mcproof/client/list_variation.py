"""Compare the tools that two connections to a stateless server list."""

from __future__ import annotations

import asyncio
import json
from typing import TYPE_CHECKING, Any

from mcproof.client import confirmation
from mcproof.client.failures import ConnectError, LostError
from mcproof.client.listing import METHODS, list_everything
from mcproof.core.observations.connection import Anomaly, cropped

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from mcproof.client.connection import Connection
    from mcproof.client.listing import Listing

_LONGEST = 20.0
"""Seconds for the second connection; without a list by then, nothing is reported."""
_TOOLS = METHODS[0]


async def list_variation(
    first: Listing, connect: Callable[[], Awaitable[Connection]], clean: Callable[[dict[str, Any]], None]
) -> Anomaly | None:
    """How a second connection lists other tools than the first; None if it does not, or cannot be opened.

    `clean` does to the second list what was done to the first.
    """
    if _TOOLS.key not in first.lists or first.unserved:
        return None
    try:
        async with asyncio.timeout(_LONGEST):
            connection = await connect()
            try:
                second = await list_everything(connection, (_TOOLS,))
            finally:
                await connection.transport.close(confirmation.GRACE)
    except (ConnectError, LostError, TimeoutError):
        return None
    if second.unserved or _TOOLS.key not in second.lists:
        return None
    clean(second.lists)
    try:
        return variation(first.lists[_TOOLS.key], second.lists[_TOOLS.key])
    except RecursionError:  # nested too deep to be compared
        return None


def variation(first: list[Any], second: list[Any]) -> Anomaly | None:
    """How a list of tools differs from another one; None if they are equal."""
    if first == second:
        return None
    texts, others = sorted(map(_text, first)), sorted(map(_text, second))
    if texts == others:
        return Anomaly("list-order-varies", "a second connection lists the tools in another order", _TOOLS.method)
    names, other_names = set(map(_name, first)), set(map(_name, second))
    odd = sorted(names ^ other_names)
    what = f"`{odd[0]}` is listed on one of two connections only" if odd else "a second connection lists other details"
    return Anomaly("list-varies", cropped(what), _TOOLS.method)


def _text(tool: Any) -> str:
    return json.dumps(tool, sort_keys=True)


def _name(tool: Any) -> str:
    return str(tool.get("name")) if isinstance(tool, dict) else ""

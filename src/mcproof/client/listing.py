"""List everything that a server offers, page by page, and compare two lists of one server."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable, Iterable, Iterator
from typing import Any

from mcproof.client import waiting
from mcproof.client.connection import Connection, in_seconds
from mcproof.client.errors import ConnectError, HttpStatusError, LostError
from mcproof.core.named_tuple import NamedTuple
from mcproof.core.observations.connection import Anomaly, cropped
from mcproof.core.text.json_document import kind_of

MOST_READINGS = 3
"""How often a list is requested that changes all the time."""
MOST_PAGES = 1_000
MOST_ITEMS = 200_000
MOST_BYTES = 256 * 1024 * 1024
"""Limits of one list: pages, items, and bytes of all responses."""


class Listed(NamedTuple):
    """A method that lists items."""

    capability: str
    method: str
    key: str
    """The member of the result, and of a capture, that holds the items."""
    is_optional: bool = False
    """Whether a server with the capability need not implement the method."""


METHODS = (
    Listed("tools", "tools/list", "tools"),
    Listed("resources", "resources/list", "resources"),
    Listed("resources", "resources/templates/list", "resourceTemplates", is_optional=True),
    Listed("prompts", "prompts/list", "prompts"),
)
_METHOD_NOT_FOUND = -32601


class Listing:
    """The lists of one server, and the methods that failed though their capability is declared."""

    def __init__(self) -> None:
        self.lists: dict[str, list[Any]] = {}
        self.pages: dict[str, int] = {}
        """The number of pages of each list."""
        self.unserved: list[tuple[str, str]] = []
        self.is_complete = True
        """Whether every request got a response; if not, a late one may arrive, or the server has ended."""


async def list_everything(connection: Connection, methods: Iterable[Listed] = METHODS) -> Listing:
    """Request every list that the capabilities declare; without capabilities, the tools."""
    capabilities = connection.introduction.get("capabilities")
    declared = set(capabilities) if isinstance(capabilities, dict) else {"tools"}
    listing = Listing()
    for listed in methods:
        if listed.capability in declared:
            await _list_until_stable(connection, listed, listing)
    return listing


async def _list_until_stable(connection: Connection, listed: Listed, listing: Listing) -> None:
    """Request a list again if the server reports a change meanwhile: some add items after the first request."""
    changed = connection.transport.peer.notifications.changed
    for _ in range(MOST_READINGS):
        changed.discard(listed.capability)
        await _list(connection, listed, listing)
        if listed.capability not in changed or listing.unserved:
            return


async def _list(connection: Connection, listed: Listed, listing: Listing) -> None:
    items: list[Any] = []
    cursors: set[str] = set()
    cursor: str | None = None
    read = 0
    note = connection.transport.peer.note
    scopes: list[str] = []
    for _ in range(MOST_PAGES):
        try:
            response = await connection.request(listed.method, None if cursor is None else {"cursor": cursor})
        except TimeoutError:  # the other lists may still be served
            listing.unserved.append((listed.method, f"no response within {in_seconds(connection.limits.request)}"))
            listing.is_complete = False
            break
        except (ConnectError, LostError) as problem:  # keep what was listed so far
            if isinstance(problem, HttpStatusError) and problem.status == 401:
                raise  # the user can do something about it
            listing.unserved.append((listed.method, problem.message))
            listing.is_complete = False
            break
        read += len(response.raw)
        error = response.error
        if error is not None:
            if not (listed.is_optional and error.get("code") == _METHOD_NOT_FOUND):
                listing.unserved.append((listed.method, response.description))
            break
        page = response.result.get(listed.key) if isinstance(response.result, dict) else None
        if not isinstance(page, list):
            listing.unserved.append((listed.method, _other_form(response.result, listed.key)))
            break
        items += page
        listing.pages[listed.key] = listing.pages.get(listed.key, 0) + 1
        if connection.era == "stateless":
            for fault in caching_faults(response.result, scopes):
                note("caching-hint", fault, listed.method)
        cursor = response.result.get("nextCursor")
        if cursor is None:
            break
        if not isinstance(cursor, str):
            note("bad-cursor", f"`nextCursor` is {kind_of(cursor)}", listed.method)
            break
        if cursor in cursors:
            note("cursor-loop", f"the cursor {cursor!r} is repeated", listed.method)
            break
        cursors.add(cursor)
        if len(items) > MOST_ITEMS:
            note("endless-pages", f"more than {MOST_ITEMS:,} items", listed.method)
            break
        if read > MOST_BYTES:
            note("endless-pages", f"more than {MOST_BYTES:,} bytes", listed.method)
            break
    else:
        note("endless-pages", f"more than {MOST_PAGES:,} pages", listed.method)
    listing.lists[listed.key] = items


def caching_faults(result: dict[str, Any], scopes: list[str]) -> Iterator[str]:
    """What is wrong with the members that the stateless era requires of a list; `scopes` are those of earlier pages."""
    if result.get("resultType") != "complete":
        yield "`resultType` is not `complete`" if "resultType" in result else "`resultType` is missing"
    ttl = result.get("ttlMs")
    if isinstance(ttl, bool) or not isinstance(ttl, (int, float)) or ttl < 0:
        yield "`ttlMs` is not a non-negative number" if "ttlMs" in result else "`ttlMs` is missing"
    scope = result.get("cacheScope")
    if scope not in ("public", "private"):
        yield "`cacheScope` is neither `public` nor `private`" if "cacheScope" in result else "`cacheScope` is missing"
    elif scope not in scopes:
        if scopes:
            yield f"`cacheScope` is `{scope}` on one page and `{scopes[0]}` on another"
        scopes.append(scope)


def _other_form(result: Any, key: str) -> str:
    """What a result has instead of a list."""
    if not isinstance(result, dict):
        return f"the result is {kind_of(result)}"
    return f"`{key}` is {kind_of(result[key])}" if key in result else f"the result has no `{key}`"


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
                await connection.transport.close(waiting.GRACE)
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

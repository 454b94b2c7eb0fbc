"""Everything that a server lists, page by page, as far as its capabilities promise it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from mcproof.client.failures import ConnectError, LostError
from mcproof.text.jsontext import kind_of

if TYPE_CHECKING:
    from collections.abc import Iterable

    from mcproof.client.connection import Connection

MOST_PAGES = 1_000
MOST_ITEMS = 200_000
MOST_BYTES = 256 * 1024 * 1024
"""How much one list may have: of pages, of items, and of everything that its answers say."""


class Listed(NamedTuple):
    """A method that lists something."""

    capability: str
    method: str
    key: str
    """Where the items stand in an answer, and in a capture."""
    is_optional: bool = False
    """Whether a server with the capability may not know the method."""


METHODS = (
    Listed("tools", "tools/list", "tools"),
    Listed("resources", "resources/list", "resources"),
    Listed("resources", "resources/templates/list", "resourceTemplates", is_optional=True),
    Listed("prompts", "prompts/list", "prompts"),
)
_METHOD_NOT_FOUND = -32601


class Listing:
    """The lists of one server, and the methods that did not serve what was promised."""

    def __init__(self) -> None:
        self.lists: dict[str, list[Any]] = {}
        self.unserved: list[tuple[str, str]] = []
        self.is_complete = True
        """Whether every request was answered; if not, a late response may still arrive, or the server has ended."""


async def list_everything(connection: Connection, methods: Iterable[Listed] = METHODS) -> Listing:
    """Ask for every list, or some, that the capabilities declare; without any capabilities, for the tools."""
    capabilities = connection.introduction.get("capabilities")
    declared = set(capabilities) if isinstance(capabilities, dict) else {"tools"}
    listing = Listing()
    for listed in methods:
        if listed.capability in declared:
            await _list(connection, listed, listing)
    return listing


async def _list(connection: Connection, listed: Listed, listing: Listing) -> None:
    items: list[Any] = []
    cursors: set[str] = set()
    cursor: str | None = None
    read = 0
    note = connection.transport.peer.note
    for _ in range(MOST_PAGES):
        try:
            answer = await connection.request(listed.method, None if cursor is None else {"cursor": cursor})
        except TimeoutError:
            listing.unserved.append((listed.method, f"no answer within {connection.limits.request:g} seconds"))
            listing.is_complete = False
            break
        except (ConnectError, LostError) as problem:  # what was listed so far is worth keeping
            listing.unserved.append((listed.method, problem.message))
            listing.is_complete = False
            break
        read += len(answer.raw)
        error = answer.error
        if error is not None:
            if not (listed.is_optional and error.get("code") == _METHOD_NOT_FOUND):
                listing.unserved.append((listed.method, answer.complaint))
            break
        page = answer.result.get(listed.key) if isinstance(answer.result, dict) else None
        if not isinstance(page, list):
            listing.unserved.append((listed.method, _instead(answer.result, listed.key)))
            break
        items += page
        cursor = answer.result.get("nextCursor")
        if cursor is None:
            break
        if not isinstance(cursor, str):
            note("bad-cursor", f"`nextCursor` is {kind_of(cursor)}", listed.method)
            break
        if cursor in cursors:
            note("cursor-loop", f"the cursor {cursor!r} comes again", listed.method)
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


def _instead(result: Any, key: str) -> str:
    """What an answer holds in the place of a list."""
    if not isinstance(result, dict):
        return f"the result is {kind_of(result)}"
    return f"`{key}` is {kind_of(result[key])}" if key in result else f"the result has no `{key}`"

"""Pages that many ask for are made once a second: for all who ask at that time, and not for each of them.

What a page shows is in the store, so every page takes a thread and some queries. A crowd that follows one link, or a
badge on a page elsewhere, would ask for the same ones again and again.
"""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from time import monotonic
from typing import TYPE_CHECKING

from starlette.requests import Request

from mcproof.core.named_tuple import NamedTuple

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

    Key = tuple[str, bytes, str]

SECONDS = 1.0
"""How old a page may be; what this process records is shown at once."""
MOST_PAGES, LARGEST_PAGE = 256, 256 << 10
_STARTS = ("/servers/", "/badge/", "/runs/", "/rules", "/api/v1/servers")
"""How the paths of pages begin that are the same for every user, besides the first page."""


class _Page(NamedTuple):
    headers: tuple[tuple[bytes, bytes], ...]
    body: bytes
    until: float


class PageStore:
    """The pages that were made a moment ago."""

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds
        self._pages: OrderedDict[Key, _Page] = OrderedDict()
        self.running: dict[Key, asyncio.Future[_Page | None]] = {}

    def find(self, key: Key) -> _Page | None:
        page = self._pages.get(key)
        return page if page is not None and page.until > monotonic() else None

    def add(self, key: Key, page: _Page) -> None:
        self._pages.pop(key, None)
        self._pages[key] = page
        if len(self._pages) > MOST_PAGES:
            self._pages.popitem(last=False)

    def clear(self) -> None:
        """Forget all pages, also those that are being made: something was recorded since."""
        self._pages.clear()
        self.running.clear()


class PageCache:
    """Responds with a recent page, or with one that is being made for another request."""

    def __init__(self, app: ASGIApp, store: PageStore) -> None:
        self._app = app
        self._store = store

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        key = self._key(scope)
        if key is None:
            await self._app(scope, receive, send)
            return
        page = self._store.find(key)
        # A crowd that arrives when a page has just become too old must not have it made for each of them.
        if page is None and (running := self._store.running.get(key)) is not None:
            page = await asyncio.shield(running)
        if page is None:
            await self._make(key, scope, receive, send)
            return
        # Copies, because what is around this adds headers.
        await send({"type": "http.response.start", "status": 200, "headers": [*page.headers]})
        await send({"type": "http.response.body", "body": page.body})

    def _key(self, scope: Scope) -> Key | None:
        if scope["type"] != "http" or scope["method"] != "GET" or not self._store.seconds:
            return None
        if scope["path"] != "/" and not scope["path"].startswith(_STARTS):
            return None
        headers = Request(scope).headers
        # A page shows its own address, and one that the client has already is not sent again.
        return None if "if-none-match" in headers else (scope["path"], scope["query_string"], headers.get("host", ""))

    async def _make(self, key: Key, scope: Scope, receive: Receive, send: Send) -> None:
        """Have a page made and sent, and keep it if it is one."""
        future: asyncio.Future[_Page | None] = asyncio.get_running_loop().create_future()
        self._store.running[key] = future
        until = monotonic() + self._store.seconds
        start: Message | None = None

        async def keep(message: Message) -> None:
            nonlocal start
            if message["type"] == "http.response.start":
                start = message
                return
            # Those who wait for the page get it before it is sent: whoever asked first may read it as slowly as they
            # like.
            if start is not None:
                self._finish(key, future, _whole(start, message, until))
                head, start = start, None
                await send(head)
            await send(message)

        try:
            await self._app(scope, receive, keep)
        finally:
            self._finish(key, future, None)

    def _finish(self, key: Key, future: asyncio.Future[_Page | None], page: _Page | None) -> None:
        """Keep a page that was made, and give it to all who wait for it."""
        if future.done():
            return
        # Unless something was recorded in the meantime: then it shows what was before.
        if self._store.running.get(key) is future:
            del self._store.running[key]
            if page is not None:
                self._store.add(key, page)
        future.set_result(page)


def _whole(start: Message, body: Message, until: float) -> _Page | None:
    """Return a page that may be kept; None for a failure, a stream and one that is too large."""
    data = body.get("body", b"")
    if start["status"] != 200 or body.get("more_body", False) or len(data) > LARGEST_PAGE:
        return None
    return _Page(tuple(start["headers"]), data, until)

"""The older transport of a server at a URL: HTTP with SSE, as of revision 2024-11-05."""

from __future__ import annotations

import asyncio
import contextlib
from typing import TYPE_CHECKING

from mcproof.client.failures import ConnectError, HttpStatusError, LostError
from mcproof.client.secrets import redacted_url
from mcproof.client.transports.http_exchange import (
    HttpTransport,
    body_of,
    chunks,
    content_type,
    new_client,
    refusal,
    refuse_redirect,
    sent,
)
from mcproof.client.transports.sse import LONGEST_EVENT, EventParser
from mcproof.core.observations.connection import cropped

if TYPE_CHECKING:
    import httpx2

    from mcproof.client.transports.http_exchange import Sign
    from mcproof.core.observations.connection import ProcessEnd


class LegacySse(HttpTransport):
    """HTTP with SSE: one stream carries all events, and its first event names the URL to post messages to."""

    name = "sse"

    def __init__(self, url: str, headers: dict[str, str], connect: float, sign: Sign | None = None) -> None:
        super().__init__(url, headers, connect, sign)
        self._endpoint: asyncio.Future[str] | None = None
        self._task: asyncio.Task[None] | None = None

    async def open(self) -> None:
        """Open the stream and wait for the `endpoint` event."""
        self._client = new_client(self._headers, self._connect, self._sign)
        self._endpoint = asyncio.get_running_loop().create_future()
        self._task = asyncio.create_task(self._listen())
        await asyncio.shield(self._endpoint)

    async def _listen(self) -> None:
        assert self._client is not None and self._endpoint is not None  # noqa: S101, PT018
        try:
            async with sent(self._client, "GET", self._url, {"Accept": "text/event-stream"}) as response:
                refuse_redirect(response)
                if not response.is_success or content_type(response) != "text/event-stream":
                    raise refusal(response, await body_of(response))
                await self._take_events(response)
        except (ConnectError, LostError) as error:
            if not self._endpoint.done():
                self._endpoint.set_exception(error)
            self.peer.fail(error)

    async def _take_events(self, response: httpx2.Response) -> None:
        assert self._endpoint is not None  # noqa: S101
        parser = EventParser()
        async for chunk in chunks(response, limited=False):
            for event in parser.feed(chunk):
                if event.type == "message":
                    self.peer.receive(event.data)
                elif event.type == "endpoint" and not self._endpoint.done():
                    self._endpoint.set_result(self._resolved(event.data.decode(errors="replace").strip()))
            if parser.dropped:
                raise LostError(f"an event is larger than {LONGEST_EVENT:,} bytes")
        if parser.is_incomplete:
            self.peer.note("truncated", "the event stream ended inside an event")
        raise LostError("the server closed its event stream")

    def _resolved(self, endpoint: str) -> str:
        import httpx2

        base = httpx2.URL(self._url)
        try:
            url = base.join(endpoint)
        except (httpx2.InvalidURL, ValueError):
            raise ConnectError(f"the server's `endpoint` event is not a URL: {cropped(endpoint)}") from None
        if (url.scheme, url.host, url.port) != (base.scheme, base.host, base.port):
            raise ConnectError(f"the server redirects messages to another host, {redacted_url(str(url))}; not followed")
        return str(url)

    async def send_bytes(self, data: bytes) -> None:
        """Send data that need not be a message, and ignore an error status."""
        self.peer.trace.sent(data)
        with contextlib.suppress(HttpStatusError):
            await self._post(data)

    async def _post(self, message: bytes) -> None:
        assert self._client is not None and self._endpoint is not None  # noqa: S101, PT018
        headers = {"Content-Type": "application/json", **self.protocol_headers({})}
        async with sent(self._client, "POST", await self._endpoint, headers, message) as response:
            refuse_redirect(response)
            if not response.is_success:
                raise refusal(response, await body_of(response))

    async def close(self, _grace: float | None = None) -> ProcessEnd | None:
        await self.peer.close()
        try:
            if self._task is not None:
                self._task.cancel()
                await asyncio.gather(self._task, return_exceptions=True)
            if self._endpoint is not None and self._endpoint.done():
                self._endpoint.exception()
        finally:
            if self._client is not None:
                await self._client.aclose()
        return None

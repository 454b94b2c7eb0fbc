"""Post events to webhooks: at least once, with retries, until they are given up."""

from __future__ import annotations

import asyncio
import os
import re
from typing import TYPE_CHECKING, Any

from mcproof.core.errors import McproofError
from mcproof.store.watch_states import due_deliveries, pending_deliveries, postpone_delivery, remove_delivery
from mcproof.web.watch.webhook_signatures import signed_headers

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping

    from mcproof.client.http.policy import NetworkPolicy
    from mcproof.runs.config import Webhook
    from mcproof.store.database import Database
    from mcproof.store.watch_states import Delivery
    from mcproof.web.health import Metrics
    from mcproof.web.service_log import ServiceLog

    Post = Callable[[str, dict[str, str], str], Awaitable[int]]
    """Sends a body to a URL with headers; returns the status. Raises a WebhookError."""

RETRY_SECONDS = (5, 60, 300, 1800, 7200, 21_600)
"""The pauses after failed attempts; an event is given up after one more."""
POST_SECONDS = 15.0
MOST_AT_ONCE = 4
_BATCH = 20
_GONE = 410
_VARIABLE = re.compile(r"\$\{([A-Za-z_][A-Za-z0-9_]*)\}")


class WebhookError(McproofError):
    """A webhook could not be reached."""


def variable(name: str) -> str:
    """Return an environment variable. Raises a WebhookError if it is not set."""
    value = os.environ.get(name)
    if not value:
        raise WebhookError(f"the environment variable {name} is not set")
    return value


def filled_url(webhook: Webhook) -> str:
    """Return the URL of a webhook with its variables filled in. Raises a WebhookError if one is not set."""
    return _VARIABLE.sub(lambda found: variable(found[1]), webhook.url)


async def post_guarded(policy: NetworkPolicy, url: str, headers: dict[str, str], body: str) -> int:
    """Post to a URL that passes the checks of addresses; redirects are not followed."""
    import httpx2

    from mcproof.client.errors import ConnectError
    from mcproof.client.http.policy import NetworkGuard, guarded_client

    try:
        async with asyncio.timeout(POST_SECONDS), guarded_client(NetworkGuard(policy)) as client:
            request = client.build_request("POST", url, headers=headers, content=body.encode())
            response = await client.send(request, stream=True)  # the body of the response is not read
            await response.aclose()
            return int(response.status_code)
    except ConnectError as error:
        raise WebhookError(error.message) from None
    except TimeoutError:
        raise WebhookError(f"no response within {POST_SECONDS:g} s") from None
    except (httpx2.HTTPError, httpx2.InvalidURL, OSError) as error:
        raise WebhookError(f"cannot be reached ({type(error).__name__})") from None


class WebhookQueue:
    """The events that are not delivered yet. They are in the store, so a restart loses none."""

    def __init__(
        self,
        database: Database,
        webhooks: Mapping[str, Webhook],
        post: Post,
        clock: Callable[[], float],
        metrics: Metrics,
        log: ServiceLog,
    ) -> None:
        self._database = database
        self._webhooks = webhooks
        self._post = post
        self._clock = clock
        self._metrics = metrics
        self._log = log

    async def send_due(self) -> float | None:
        """Send the events that are due; return when the next attempt is due, or None if nothing is waiting."""
        room = asyncio.Semaphore(MOST_AT_ONCE)

        async def send(delivery: Delivery) -> None:
            async with room:
                await self._send(delivery)

        due = await asyncio.to_thread(due_deliveries, self._database, int(self._clock()), _BATCH)
        await asyncio.gather(*map(send, due))
        waiting, following = await asyncio.to_thread(pending_deliveries, self._database)
        self._metrics.set("mcproof_webhooks_pending", waiting)
        return following

    async def _send(self, delivery: Delivery) -> None:
        webhook = self._webhooks.get(delivery.watch)
        if webhook is None:
            await self._drop(delivery, "its entry has no webhook any more")
            return
        try:
            url, now = filled_url(webhook), int(self._clock())
            headers = signed_headers(variable(webhook.secret), delivery.id, now, delivery.body)
            status = await self._post(url, headers, delivery.body)
        except WebhookError as error:
            await self._retry(delivery, error.message)
            return
        if 200 <= status < 300:
            await asyncio.to_thread(remove_delivery, self._database, delivery)
            self._count("delivered")
            message = f"{delivery.watch}: event {delivery.id} delivered"
            self._log.write("webhook.delivered", message, **_fields(delivery))
        elif status == _GONE:
            await self._drop(delivery, "the receiver does not want events any more (410)")
        else:
            await self._retry(delivery, f"the receiver responded with {status}")

    async def _retry(self, delivery: Delivery, reason: str) -> None:
        if delivery.attempts >= len(RETRY_SECONDS):
            await self._drop(delivery, reason)
            return
        pause = RETRY_SECONDS[delivery.attempts]
        await asyncio.to_thread(postpone_delivery, self._database, delivery, int(self._clock()) + pause)
        self._count("failed")
        message = f"{delivery.watch}: event {delivery.id} not delivered, next attempt in {pause} s: {reason}"
        self._log.write("webhook.failed", message, "warning", **_fields(delivery), reason=reason, retry_seconds=pause)

    async def _drop(self, delivery: Delivery, reason: str) -> None:
        await asyncio.to_thread(remove_delivery, self._database, delivery)
        self._count("given_up")
        message = f"{delivery.watch}: event {delivery.id} given up: {reason}"
        self._log.write("webhook.given_up", message, "error", **_fields(delivery), reason=reason)

    def _count(self, outcome: str) -> None:
        self._metrics.increase("mcproof_webhook_attempts_total", outcome=outcome)


def _fields(delivery: Delivery) -> dict[str, Any]:
    return {"server": delivery.watch, "id": delivery.id, "attempt": delivery.attempts + 1}

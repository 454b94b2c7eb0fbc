"""Watched servers over time: when one is due, what changed, and the events that webhooks receive.

The schedule has no clock and starts nothing, so tests need not wait. Events are in the store until they are
delivered or given up, and are signed as Standard Webhooks describes.
Why events are stored with their run: docs/decisions/0059-events-in-the-transaction.md.
"""

from __future__ import annotations

import asyncio
import hmac
import json
import os
import re
from base64 import b64decode, b64encode
from binascii import Error as Base64Error
from datetime import UTC, datetime
from hashlib import sha256
from typing import TYPE_CHECKING, Any
from uuid import uuid4

from mcproof.checks.rule import VERDICTS
from mcproof.core.errors import McproofError
from mcproof.core.named_tuple import NamedTuple
from mcproof.core.stored_form import record
from mcproof.runs.results import Gate
from mcproof.services.store.recording import (
    Delivery,
    WatchState,
    due_deliveries,
    pending_deliveries,
    postpone_delivery,
    remove_delivery,
)
from mcproof.services.store.run_record import RunRecord
from mcproof.targets.client_config import ConfiguredServer

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping, Sequence

    from mcproof.client.http.policy import NetworkPolicy
    from mcproof.runs.config import WatchEntry, Webhook
    from mcproof.services.store.database import Database
    from mcproof.services.web.health import Metrics, ServiceLog


SCHEMA_VERSION = 1
_STATE_FIELDS = ("grade", "score", "tokens", "verdict", "surface")


class EventSubject:
    """What all events of one check have in common: the server, the run, and the states before and after it."""

    def __init__(self, server: str, run: str, time: str, before: WatchState | None, after: WatchState) -> None:
        self._server = server
        self._run = run
        self._time = time
        self._states = before, after

    def delivery(self, event: WatchEvent, due: int) -> Delivery:
        """Return an event that is due for delivery."""
        identity = str(uuid4())
        before, after = self._states
        data: dict[str, Any] = {
            "server": self._server,
            "run": self._run,
            "summary": event.summary,
            "before": None if before is None else _state_record(before),
            "after": _state_record(after),
            **event.details,
        }
        body = {
            "schema_version": SCHEMA_VERSION,
            "id": identity,
            "type": event.type,
            "timestamp": self._time,
            "data": data,
        }
        return Delivery(identity, self._server, json.dumps(body), due=due)


def _state_record(state: WatchState) -> dict[str, Any]:
    return {field: getattr(state, field) for field in _STATE_FIELDS}


FAILURES_TO_BE_GONE = 2
"""How many runs in a row must fail before a server is reported as gone."""
RECHECK_SECONDS = 60
"""When a server is checked again after a first failure, unless its interval is shorter."""
_SPREAD = 20
"""Runs are delayed by up to this part of the interval, so that entries with one interval do not run at once."""


def spread_of(name: str, every: int) -> int:
    """Return by how many seconds the runs of an entry are delayed: always the same for one name."""
    # By the name and not at random, so that a restart does not move the runs.
    return int.from_bytes(sha256(name.encode("utf-8", "surrogatepass")).digest()[:4]) % (every // _SPREAD + 1)


def seconds_of(time: str) -> float:
    """Return a time of the store in seconds since 1970; 0 if it is damaged."""
    try:
        return datetime.strptime(time, "%Y-%m-%dT%H:%M:%SZ").replace(tzinfo=UTC).timestamp()
    except ValueError:  # without a valid time, the check is due at once
        return 0.0


class WatchSchedule:
    """The next run of each entry. After a restart it continues from the last runs in the store."""

    def __init__(self, entries: Iterable[WatchEntry], states: Mapping[str, WatchState], now: float) -> None:
        self._entries = {entry.name: entry for entry in entries}
        self._running: set[str] = set()
        self._due = dict.fromkeys(self._entries, now)
        for name, state in states.items():
            started = min(seconds_of(state.last_run), now)  # the clock may have been set back
            self._due[name] = started + self._pause(self._entries[name], state.failures)

    @property
    def running(self) -> int:
        return len(self._running)

    def take(self, now: float, room: int) -> list[WatchEntry]:
        """Return entries that are due, those that wait longest first, at most `room`; they count as running."""
        waiting = sorted((due, name) for name, due in self._due.items() if due <= now and name not in self._running)
        taken = [self._entries[name] for _, name in waiting[: max(0, room)]]
        self._running.update(entry.name for entry in taken)
        return taken

    def finish(self, name: str, started: float, failures: int) -> None:
        """Plan the next run of an entry, with the number of runs in a row that have failed."""
        self._running.discard(name)
        self._due[name] = started + self._pause(self._entries[name], failures)

    def next_due(self) -> float | None:
        """Return when the next entry is due, of those that are not running."""
        return min((due for name, due in self._due.items() if name not in self._running), default=None)

    def _pause(self, entry: WatchEntry, failures: int) -> int:
        # One failure is a hiccup: the server is looked at again soon, and nothing is reported yet.
        if 0 < failures < FAILURES_TO_BE_GONE:
            return min(entry.every, RECHECK_SECONDS)
        return entry.every + spread_of(entry.name, entry.every)


class WatchEvent(NamedTuple):
    """Something that a webhook reports."""

    type: str
    summary: str
    """In words, for people."""
    details: dict[str, Any] = {}  # noqa: RUF012 (never mutated)


class Comparison(NamedTuple):
    """The state of a server after a run, and what changed."""

    state: WatchState
    events: list[WatchEvent]


def compare(entry: WatchEntry, before: WatchState | None, runs: Sequence[ObservedRun]) -> Comparison:
    """Compare the runs of one check with the state before it; the first check of a server only has failed gates."""
    earlier = before or WatchState(runs[0].run.started)
    error = next((observed_run.run.error for observed_run in runs if observed_run.run.error is not None), None)
    if error is not None:
        failures = earlier.failures + 1
        is_gone = earlier.is_gone or failures >= FAILURES_TO_BE_GONE
        state = earlier._replace(last_run=runs[0].run.started, failures=failures, is_gone=is_gone)
        gone = WatchEvent("server.gone", "the server cannot be checked any more", {"error": error})
        return Comparison(state, [gone] if is_gone and not earlier.is_gone else [])
    gates = [gate for observed_run in runs for gate in gates_of(entry, observed_run.run)]
    state = _state(earlier, runs)._replace(failed_gates=tuple(gate.gate for gate in gates if not gate.passed))
    return Comparison(state, [*_events(earlier, state), *_gate_events(earlier, gates)])


def _state(earlier: WatchState, runs: Sequence[ObservedRun]) -> WatchState:
    """Return the state after runs that have checked the server; what they did not judge stays as it was."""
    state = earlier._replace(last_run=runs[0].run.started, failures=0, is_gone=False)
    for run, surface in runs:
        fresh: dict[str, Any] = {field: getattr(run, field) for field in ("grade", "score", "tokens", "verdict")}
        fresh |= {"surface": surface, "catalog": run.digest}
        state = state._replace(**{field: value for field, value in fresh.items() if value is not None})
    return state


def gates_of(entry: WatchEntry, run: RunRecord) -> Iterator[Gate]:
    """Yield the gates of an entry that a run can judge, each with whether it is met."""
    if run.command == "lint":
        if entry.min_grade is not None and run.grade is not None:
            yield Gate("min-grade", entry.min_grade, run.grade, run.grade <= entry.min_grade)
        if entry.max_tokens is not None and run.tokens is not None:
            yield Gate("max-tokens", entry.max_tokens, run.tokens, run.tokens <= entry.max_tokens)
    elif entry.fail_on_verdict is not None and run.verdict is not None:
        is_met = _badness(run.verdict) < _badness(entry.fail_on_verdict)
        yield Gate("fail-on-verdict", entry.fail_on_verdict, run.verdict, is_met)


def _badness(verdict: str) -> int:
    return [str(verdict) for verdict in VERDICTS].index(verdict)


def _events(before: WatchState, after: WatchState) -> Iterator[WatchEvent]:
    if before.is_gone:
        yield WatchEvent("server.back", "the server can be checked again")
    if before.grade is not None and after.grade is not None and after.grade > before.grade:
        yield WatchEvent("grade.fell", f"the grade fell from {before.grade} to {after.grade}")
    if before.verdict is not None and after.verdict is not None and _badness(after.verdict) > _badness(before.verdict):
        yield WatchEvent("verdict.fell", f"the verdict fell from {before.verdict} to {after.verdict}")
    if before.surface is not None and after.surface != before.surface:
        yield WatchEvent("surface.changed", "what the server offers has changed")


def _gate_events(before: WatchState, gates: list[Gate]) -> Iterator[WatchEvent]:
    """Yield one event for the gates that fail now and did not before."""
    failed = [gate for gate in gates if not gate.passed and gate.gate not in before.failed_gates]
    if failed:
        words = ", ".join(f"{gate.gate} {gate.limit} (now {gate.actual})" for gate in failed)
        records = [{"gate": gate.gate, "limit": gate.limit, "actual": gate.actual} for gate in failed]
        yield WatchEvent("gate.failed", f"a gate is no longer met: {words}", {"gates": records})


@record()
class WatchJob(NamedTuple):
    """A server to check. Variables of its configuration are filled in by the process that does."""

    target: str | ConfiguredServer
    checks: tuple[str, ...]
    config: str | None
    """The configuration with the rules and limits."""
    allows_commands: bool

    @property
    def may_start_server(self) -> bool:
        """Whether the target is a command, or a client configuration that may name one."""
        return self.allows_commands and (isinstance(self.target, str) or "command" in self.target.entry)

    @classmethod
    def of_entry(cls, entry: WatchEntry, config: str | None, *, allows_commands: bool) -> WatchJob:
        return cls(entry.target, entry.checks, config, allows_commands)


@record()
class ObservedRun(NamedTuple):
    """A run of a watched server, as the process that checked it reports it."""

    run: RunRecord
    surface: str | None = None
    """The hash of what the server offers."""


PREFIX = "whsec_"


def signing_key(secret: str) -> bytes:
    """Return the key of a secret: `whsec_` with base64, or any other text as it is."""
    if secret.startswith(PREFIX):
        try:
            return b64decode(secret.removeprefix(PREFIX), validate=True)
        except Base64Error:
            pass
    return secret.encode()


def signed_headers(secret: str, identity: str, timestamp: int, body: str) -> dict[str, str]:
    """Return the headers of a webhook: its id, the time of this attempt, and the signature of both and the body."""
    content = f"{identity}.{timestamp}.{body}".encode()
    signature = b64encode(hmac.digest(signing_key(secret), content, "sha256")).decode()
    return {
        "webhook-id": identity,
        "webhook-timestamp": str(timestamp),
        "webhook-signature": f"v1,{signature}",
        "content-type": "application/json",
    }


if TYPE_CHECKING:
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
    return _VARIABLE.sub(lambda match: variable(match[1]), webhook.url)


async def post_guarded(policy: NetworkPolicy, url: str, headers: dict[str, str], body: str) -> int:
    """Post to a URL that passes the checks of addresses; redirects are not followed, and no body is read."""
    from mcproof.client.errors import ConnectError, LostError
    from mcproof.client.http.fetch import FetchLimits, fetch
    from mcproof.client.http.policy import NetworkGuard

    limits = FetchLimits(POST_SECONDS, size=0, redirects=0)
    try:
        exchange = await fetch(
            url, method="POST", headers=headers, body=body.encode(), limits=limits, guard=NetworkGuard(policy)
        )
    except TimeoutError:
        raise WebhookError(f"no response within {POST_SECONDS:g} s") from None
    except (ConnectError, LostError) as error:
        cause = error.__cause__
        shown = error.message if cause is None else f"cannot be reached ({type(cause).__name__})"
        raise WebhookError(shown) from None
    return exchange.last.status


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
        # How a receiver unsubscribes, by Standard Webhooks.
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

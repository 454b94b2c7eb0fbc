"""Keep watched servers current: run each when it is due, record it, and queue the events for its webhook.

`watch_plan` reads the servers from the configuration; mistakes are reported before anything starts.
Why events are stored with their run: docs/decisions/0059-events-in-the-transaction.md.
"""

from __future__ import annotations

import asyncio
import json
import time
import zlib
from contextlib import suppress
from typing import TYPE_CHECKING
from uuid import uuid4

from mcproof.client.http.policy import NetworkGuard, NetworkPolicy
from mcproof.core.console import plural
from mcproof.core.errors import ConfigError, McproofError
from mcproof.core.named_tuple import NamedTuple
from mcproof.runs.config import StoreSettings, WatchEntry, read_settings
from mcproof.services.store.queries import stored_catalog
from mcproof.services.store.recording import (
    WatchState,
    add_deliveries,
    prune,
    record_known,
    save_watch_state,
    watch_states,
)
from mcproof.services.web.clients import Shares
from mcproof.services.web.health import Metrics, ServiceLog, place_of
from mcproof.services.web.reading import StoreReader
from mcproof.services.web.watch_check import WatchError, check_in_process
from mcproof.services.web.watch_events import (
    Comparison,
    EventSubject,
    ObservedRun,
    WatchJob,
    WatchSchedule,
    WebhookQueue,
    compare,
    filled_url,
    variable,
)
from mcproof.targets.arguments import shown_target
from mcproof.targets.client_config import server_of

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Sequence

    from mcproof.services.store.database import Database
    from mcproof.services.web.watch_events import Post


if TYPE_CHECKING:
    Check = Callable[[WatchJob, str], Awaitable[list[ObservedRun]]]
    """Checks a server, which a label names. Raises a WatchError."""

MOST_AT_ONCE = 4
"""How many servers are checked at once."""
STOP_SECONDS = 30.0
"""How long checks may take to finish when the service stops; then they are ended, and due again at the next start."""
_LONGEST_PAUSE = 60.0
_DAY = 86_400.0


class WatchPlan(NamedTuple):
    """What a watcher does."""

    entries: tuple[WatchEntry, ...]
    config: str | None = None
    """The configuration with the rules and limits of the checks."""
    allows_commands: bool = False
    retention: StoreSettings | None = None
    """How long runs are kept; None if nothing is deleted."""


class Watcher:
    """Checks the servers of a plan until it is stopped."""

    def __init__(
        self,
        database: Database,
        plan: WatchPlan,
        *,
        post: Post,
        metrics: Metrics,
        log: ServiceLog,
        check: Check = check_in_process,
        clock: Callable[[], float] | None = None,
    ) -> None:
        self._database = database
        self._plan = plan
        self._check = check
        self._clock = clock or time.time
        """For what others see: events, and when they are sent again."""
        self._steady_clock = clock or _steady_clock()
        """For the next checks."""
        self._metrics = metrics
        self._log = log
        states = watch_states(database, [entry.name for entry in plan.entries])
        self._schedule = WatchSchedule(plan.entries, states, self._steady_clock())
        webhooks = {entry.name: entry.webhook for entry in plan.entries if entry.webhook is not None}
        self._queue = WebhookQueue(database, webhooks, post, self._clock, metrics, log)
        self._reader = StoreReader(Shares(MOST_AT_ONCE, MOST_AT_ONCE))
        self._checks: set[asyncio.Task[None]] = set()
        self._loops: list[asyncio.Task[None]] = []
        self._is_stopping = False
        self._check_ended, self._event_added = asyncio.Event(), asyncio.Event()
        metrics.set("mcproof_watch_entries", len(plan.entries))
        metrics.set("mcproof_watch_running", 0)

    def start(self) -> None:
        """Start to check servers, deliver events and delete old runs."""
        self._loops = [asyncio.create_task(loop()) for loop in (self._check_forever, self._deliver_forever)]
        if self._plan.retention is not None and (self._plan.retention.days or self._plan.retention.keep):
            self._loops.append(asyncio.create_task(self._prune_forever(self._plan.retention)))

    async def stop(self, seconds: float = STOP_SECONDS) -> None:
        """Start nothing more, let running checks finish, and end those that take too long."""
        self._is_stopping = True
        if self._checks:
            self._log.write("service.stopping", f"waiting for {plural(len(self._checks), 'check')} to finish")
            await asyncio.wait(self._checks, timeout=seconds)
        tasks = [*self._checks, *self._loops]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        self._reader.close()

    async def _check_forever(self) -> None:
        while not self._is_stopping:
            self.start_due()
            due = self._schedule.next_due() if len(self._checks) < MOST_AT_ONCE else None
            await _wait(self._check_ended, _pause(due, self._steady_clock()))

    async def _deliver_forever(self) -> None:
        while True:
            due = await self.deliver()
            await _wait(self._event_added, _pause(due, self._clock()))

    async def _prune_forever(self, retention: StoreSettings) -> None:
        while True:
            try:
                done = await asyncio.to_thread(prune, self._database, days=retention.days, keep=retention.keep)
                if done.runs:
                    self._log.write("store.pruned", f"deleted {plural(done.runs, 'old run')}", runs=done.runs)
            except McproofError as error:  # deleting old runs can wait for the next day
                self._log.write("store.failed", str(error), "error")
            await asyncio.sleep(_DAY)

    def start_due(self) -> None:
        """Start the checks that are due, as many as there is room for."""
        for entry in self._schedule.take(self._steady_clock(), MOST_AT_ONCE - len(self._checks)):
            task = asyncio.create_task(self._run(entry))
            self._checks.add(task)
            task.add_done_callback(self._ended)
        self._metrics.set("mcproof_watch_running", len(self._checks))

    async def finish_running(self) -> None:
        """Wait for the checks that are running."""
        if self._checks:
            await asyncio.wait(self._checks)

    async def deliver(self) -> float | None:
        """Deliver the events that are due; return when the next attempt is due."""
        try:
            return await self._queue.send_due()
        except McproofError as error:
            self._log.write("store.failed", str(error), "error")
            return None

    def _ended(self, task: asyncio.Task[None]) -> None:
        self._checks.discard(task)
        self._metrics.set("mcproof_watch_running", len(self._checks))
        self._check_ended.set()

    async def _run(self, entry: WatchEntry) -> None:
        """Check a server, record its runs and plan the next check."""
        started, failures = self._steady_clock(), 0
        job = WatchJob.of_entry(entry, self._plan.config, allows_commands=self._plan.allows_commands)
        try:
            runs = await self._check(job, shown_target(entry.target))
            compared = await self._recorded(entry, runs)
            failures = compared.state.failures
            self._report(entry, runs, compared)
        except WatchError as error:
            self._count("not_checked")
            self._log.write("watch.failed", f"{entry.name}: not checked: {error}", "error", server=entry.name)
        except McproofError as error:
            self._count("not_recorded")
            self._log.write("store.failed", f"{entry.name}: not recorded: {error}", "error", server=entry.name)
        except Exception as error:  # the watcher outlives a defect that one server triggers
            self._count("not_checked")
            message = f"{entry.name}: internal error, please report it: {type(error).__name__} ({place_of(error)})"
            self._log.write("service.error", message, "error", server=entry.name)
        finally:
            self._schedule.finish(entry.name, started, failures)

    async def _recorded(self, entry: WatchEntry, runs: Sequence[ObservedRun]) -> Comparison:
        """Record runs, the new state and the events in one transaction, so that a kill loses all of it or nothing."""
        before = (await asyncio.to_thread(watch_states, self._database, [entry.name])).get(entry.name)
        compared = compare(entry, before, runs)
        uids = [str(uuid4()) for _ in runs]
        subject = EventSubject(entry.name, uids[0], runs[0].run.started, before, compared.state)
        due = int(self._clock())
        deliveries = []
        for event in compared.events if entry.webhook is not None else ():
            if event.type == "surface.changed":
                event = event._replace(details=await self._surface_details(before, runs))  # noqa: PLW2901
            deliveries.append(subject.delivery(event, due))

        def write() -> None:
            with self._database.writing() as connection:
                for uid, observed_run in zip(uids, runs, strict=True):
                    record_known(connection, observed_run.run, entry.name, uid)
                save_watch_state(connection, entry.name, compared.state)
                add_deliveries(connection, deliveries)

        await asyncio.to_thread(write)
        return compared

    async def _surface_details(self, before: WatchState | None, runs: Sequence[ObservedRun]) -> dict[str, object]:
        """Return how the catalog differs; empty lists if one is no longer in the store, or cannot be compared."""
        new = next((observed.run.catalog for observed in runs if observed.run.catalog is not None), None)
        if before is not None and before.catalog is not None and new is not None:
            with suppress(McproofError):  # deleted by retention
                old = await asyncio.to_thread(stored_catalog, self._database, before.catalog)
                outcome = await self._reader.read_once("drift", zlib.decompress(old), zlib.decompress(new))
                if not outcome.problem:
                    return dict(json.loads(outcome.text))
        return {"changes": [], "more_changes": 0}

    def _report(self, entry: WatchEntry, runs: Sequence[ObservedRun], compared: Comparison) -> None:
        state = compared.state
        self._count("unreachable" if state.failures else "checked")
        self._event_added.set()
        words = [f"grade {state.grade}"] if state.grade else []
        words += [state.verdict] if state.verdict else []
        if state.failures:
            error = next(run.error.removeprefix(f"{run.target}: ") for run, _ in runs if run.error is not None)
            words = [f"cannot be checked: {error}"]
        words += [event.summary for event in compared.events]
        self._log.write(
            "watch.checked",
            f"{entry.name}: {'; '.join(words) or 'checked'}",
            "warning" if state.failures else "info",
            server=entry.name,
            is_reachable=not state.failures,
            grade=state.grade,
            verdict=state.verdict,
            events=[event.type for event in compared.events],
            seconds=round(sum(observed_run.run.seconds for observed_run in runs), 3),
        )

    def _count(self, outcome: str) -> None:
        self._metrics.increase("mcproof_watch_checks_total", outcome=outcome)


def _steady_clock() -> Callable[[], float]:
    """Return a clock that starts with the time of the system, and does not follow when that is set.

    If the system is set back by a day, servers must not go unchecked for a day.
    """
    offset = time.time() - time.monotonic()
    return lambda: offset + time.monotonic()


def _pause(due: float | None, now: float) -> float:
    return _LONGEST_PAUSE if due is None else min(max(due - now, 0.0), _LONGEST_PAUSE)


async def _wait(event: asyncio.Event, seconds: float) -> None:
    """Wait for an event, at most some seconds, and forget it."""
    with suppress(TimeoutError):
        async with asyncio.timeout(seconds):
            await event.wait()
    event.clear()


def watch_plan(config: str | None, policy: NetworkPolicy, *, allows_commands: bool) -> WatchPlan:
    """Return the plan of a file that the user names; nothing is watched without one. Raises a ConfigError."""
    if config is None:
        return WatchPlan(())
    settings = read_settings(config)
    for entry in settings.watches:
        try:
            _check_target(entry, allows_commands=allows_commands)
            _check_webhook(entry, policy)
        except McproofError as error:
            file, line = entry.location
            raise ConfigError(f"`{entry.name}`: {error.message}", file=file, line=line) from None
    return WatchPlan(settings.watches, config, allows_commands, settings.store)


def _check_target(entry: WatchEntry, *, allows_commands: bool) -> None:
    """Raise an error if a target is a command that may not be started, or needs a variable that is not set."""
    if isinstance(entry.target, str):
        return
    if "command" in entry.target.entry and not allows_commands:
        raise ConfigError("the target is a command, which needs --allow-commands")
    server_of(entry.target)


def _check_webhook(entry: WatchEntry, policy: NetworkPolicy) -> None:
    """Raise an error if a webhook needs a variable that is not set, or its URL is not allowed."""
    if entry.webhook is not None:
        variable(entry.webhook.secret)
        try:
            NetworkGuard(policy).check_url(filled_url(entry.webhook))
        except McproofError as error:
            raise ConfigError(f"the webhook is refused: {error.message}") from None

"""A fuzzing campaign: the cases of all tools in turns, on several server processes, the same for the same seed.

Tools take turns, a slice of cases at a time. `WorkQueue` hands out slices, then failures to shrink. Slices are
counted in the order of their cases, so the number of processes does not change the result.
Why a report does not depend on that number: docs/decisions/0009-fuzz-determinism.md.
"""

from __future__ import annotations

import asyncio
from contextlib import suppress
from time import monotonic
from typing import TYPE_CHECKING, Any, NamedTuple

from mcproof.client.errors import ConnectError
from mcproof.client.redaction import plain_secrets
from mcproof.client.session import Response, Session
from mcproof.client.waiting import all_of
from mcproof.core.errors import Untested
from mcproof.core.observations.probes import CASE_OUTCOMES, SEVERAL, ItemProbes, Outcome, ProbeRecord
from mcproof.probing.fuzz.tool import CaseSlice, FoundFailure, FuzzPlan, SliceSender, ToolFuzzer
from mcproof.probing.probes.sending import Incomplete, TimeLimit, WorkerPool

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine, Iterator

    from mcproof.client.capture import OpenServer
    from mcproof.client.connect import ConnectOptions
    from mcproof.client.endpoints import Endpoint
    from mcproof.core.catalog.model import Catalog
    from mcproof.probing.permission import Permission
    from mcproof.probing.probes.failures import StoredFailure


FIRST = 5
"""The cases of a tool in the first round, which is short so that every tool has its turn soon."""
LATER = 20
_MOST_TOOLS = 50
_MOST_WEIGHT = 1_000_000
"""The tools and the size of their schemas that take turns after the first round: their generators use memory."""


def turns(fuzzers: list[ToolFuzzer]) -> Iterator[CaseSlice]:
    """Yield the slices of all tools: the first of each, then the others, group by group."""
    groups = list(_groups(fuzzers))
    for fuzzer in fuzzers:
        if (first := fuzzer.take(FIRST)) is not None:
            yield first
        # The generators of all tools together would use too much memory, so those of this tool start again later.
        if len(groups) > 1:
            fuzzer.rest()
    for group in groups:
        waiting = group
        while waiting:
            unfinished = []
            for fuzzer in waiting:
                if (later := fuzzer.take(LATER)) is not None:
                    unfinished.append(fuzzer)
                    yield later
            waiting = unfinished


def _groups(fuzzers: list[ToolFuzzer]) -> Iterator[list[ToolFuzzer]]:
    group: list[ToolFuzzer] = []
    weight = 0
    for fuzzer in fuzzers:
        if group and (len(group) == _MOST_TOOLS or weight + fuzzer.weight > _MOST_WEIGHT):
            yield group
            group, weight = [], 0
        group.append(fuzzer)
        weight += fuzzer.weight
    if group:
        yield group


_SHRINKING = 0.15
"""The share of the time limit that is left for shrinking, if there are failures."""
_MOST_AHEAD = 64
"""How many slices may wait for an earlier one of the same tool to be counted."""
_MOST_LOST = 3
"""After how many failed starts in a row the server is gone."""


class ShrinkJob(NamedTuple):
    """A failure to shrink."""

    fuzzer: ToolFuzzer
    key: tuple[str, ...]
    """The outcome, and what else distinguishes the failure."""

    @property
    def is_harmful(self) -> bool:
        return self.key[0] in ("crash", "hang")


class WorkQueue:
    """Hands out work until there is no more, the time is up, or the server is gone."""

    def __init__(self, fuzzers: list[ToolFuzzer], limit: TimeLimit) -> None:
        self.gone = ""
        """Why the server cannot be called any more; empty if it can."""
        self._fuzzers = fuzzers
        self._turns = turns(fuzzers)
        self._limit = limit
        self._under_way = 0
        self._uncounted = 0
        self._lost = 0
        self._shrinking: dict[int, ToolFuzzer] = {}
        """The tools whose failures may be shrunk, by identity."""
        self._changed = asyncio.Event()

    def is_late(self) -> bool:
        """Whether the time is up."""
        return self._limit.is_over()

    def is_late_for_cases(self) -> bool:
        """Whether the rest of the time is needed for shrinking."""
        left, seconds = self._limit.left, self._limit.seconds
        if left is None or seconds is None:
            return False
        return left <= 0 or (left < _SHRINKING * seconds and any(fuzzer.has_failed for fuzzer in self._fuzzers))

    async def next(self) -> CaseSlice | ShrinkJob | None:
        """The next piece of work; None if there is no more. Waits for others if their work may lead to more."""
        while not self.gone and not self.is_late():
            if (job := self._next_failure()) is not None:
                return job
            if (slice_ := self._next_slice()) is not None:
                return slice_
            if not self._under_way and not self._release_failures():
                return None
            if self._under_way:
                self._changed.clear()
                await self._changed.wait()
        return None

    def _next_slice(self) -> CaseSlice | None:
        if self._uncounted >= _MOST_AHEAD or self.is_late_for_cases():
            return None
        slice_ = next(self._turns, None)
        if slice_ is not None:
            self._under_way += 1
        return slice_

    def _next_failure(self) -> ShrinkJob | None:
        for fuzzer in self._shrinking.values():
            if (key := fuzzer.take_failure()) is not None:
                return ShrinkJob(fuzzer, key)
        return None

    def _release_failures(self) -> bool:
        """Let the failures of all tools be shrunk; False if they were before."""
        count = len(self._shrinking)
        self._shrinking.update((id(fuzzer), fuzzer) for fuzzer in self._fuzzers)
        return len(self._shrinking) > count

    def finish(self, slice_: CaseSlice) -> None:
        """Count a slice that was sent."""
        self._lost = 0
        self._end(slice_)

    def lose(self, slice_: CaseSlice, why: str) -> None:
        """Count what was sent of a slice, after which the server could not be started."""
        slice_.trouble = f"the server is gone: {why}"
        self._lost += 1
        if self._lost >= _MOST_LOST:
            self.gone = slice_.trouble
        self._end(slice_)

    def _end(self, slice_: CaseSlice) -> None:
        fuzzer = slice_.fuzzer
        self._under_way -= 1
        self._uncounted += 1 - fuzzer.finish(slice_)
        if fuzzer.is_complete:
            self._shrinking[id(fuzzer)] = fuzzer
        self._changed.set()


_PROGRESS_INTERVAL = 0.1
"""Seconds between two updates of the progress."""
START_DELAY = 0.5
"""Seconds of work after which a further server process is started."""
_SERIOUS = ("injection", "crash", "hang", "protocol_violation", "leak", "accepted")


class FuzzResult(NamedTuple):
    """The result of a campaign."""

    outcomes: dict[str, int]
    cases: dict[str, int]
    """The number of cases sent to each tool."""
    failures: list[FoundFailure]
    stored: list[StoredFailure]
    item_probes: list[ItemProbes]
    untested: list[Untested]
    incomplete: Incomplete = ""
    """Why not every tool got at least its deterministic cases; empty if all did."""
    was_cut: bool = False
    """Whether requests were pending when the time was up, so that the state of the server is unknown."""


def fuzz(
    catalog: Catalog,
    server: OpenServer,
    plan: FuzzPlan,
    progress: Callable[[int, int, str], None],
) -> FuzzResult:
    """Call every tool that may be called; an interrupt keeps the results so far.

    The first worker calls the process that was listed, and each other worker starts its own. Further processes are
    started only to find out which call ended a server (`blame`), and to replace a server that has ended.
    """
    run = _FuzzRun(catalog, server.session, plan, progress)
    finished = server.run(*run.workers())
    return run.fuzzed(interrupted=not finished)


async def fuzz_within(catalog: Catalog, server: Endpoint, options: ConnectOptions, plan: FuzzPlan) -> FuzzResult:
    """Async variant of `fuzz` with its own session; the caller handles interrupts."""
    session = Session(server, options, plan.limit)
    run = _FuzzRun(catalog, session, plan, lambda *_: None)
    try:
        await all_of(*run.workers())
    finally:
        await session.close()
    return run.fuzzed(interrupted=False)


class _FuzzRun:
    """The state of a campaign: the tools, their workers and the results."""

    def __init__(
        self,
        catalog: Catalog,
        session: Session,
        plan: FuzzPlan,
        progress: Callable[[int, int, str], None],
    ) -> None:
        self._catalog = catalog
        self._session = session
        self._plan = plan
        self._progress = progress
        self._fuzzers = [
            ToolFuzzer(permission.tool, catalog.protocol, plan, plain_secrets(session.server.named_secrets))
            for permission in plan.permissions
            if permission.is_granted
        ]
        limit = TimeLimit(plan.seconds)
        self._queue = WorkQueue(self._fuzzers, limit)
        self._pool = WorkerPool(session, plan.processes, limit, START_DELAY)
        self._calls = 0
        self._last_progress = 0.0

    def workers(self) -> list[Callable[[], Coroutine[Any, Any, None]]]:
        """The jobs that do all the work between them."""
        return self._pool.jobs(self._work) if self._fuzzers else []

    async def _work(self, session: Session) -> None:
        sender, last = self._sender(session), None
        while (work := await self._queue.next()) is not None or last is not None:
            if last is not None and (work is None or isinstance(work, ShrinkJob)):
                # No slice follows soon that would show whether the server survived this one.
                if not self._queue.is_late():
                    await sender.finish(last)
                last = None
            if isinstance(work, ShrinkJob):
                with suppress(ConnectError):
                    await work.fuzzer.shrink(work.key, session, self._queue.is_late)
                if work.is_harmful:  # a call of shrinking may still end the server, which is not for the next to answer
                    await session.close(at_once=True)
                sender = self._sender(session)
            elif work is not None:
                last = work
                try:
                    await sender.send(work)
                    self._queue.finish(work)
                except ConnectError as error:
                    self._queue.lose(work, error.message)

    def _sender(self, session: Session) -> SliceSender:
        return SliceSender(session, self._queue.is_late_for_cases, self._count_call)

    def _count_call(self) -> None:
        self._calls += 1
        if monotonic() - self._last_progress > _PROGRESS_INTERVAL:
            self._show_progress(self._calls)

    def _show_progress(self, done: int) -> None:
        self._last_progress = monotonic()
        words = ", ".join(f"{count:,} {name}" for name, count in self._outcomes().items() if count)
        self._progress(done, max(done, sum(fuzzer.expected for fuzzer in self._fuzzers)), words)

    def _outcomes(self) -> dict[str, int]:
        return {name: sum(fuzzer.outcomes[name] for fuzzer in self._fuzzers) for name in CASE_OUTCOMES}

    def fuzzed(self, *, interrupted: bool) -> FuzzResult:
        """The result, in the order of the catalog."""
        why = "interrupted" if interrupted else "time limit reached"
        for fuzzer in self._fuzzers:
            fuzzer.finish_early(self._queue.gone or why)
        self._show_progress(sum(fuzzer.sent for fuzzer in self._fuzzers))
        all_failures = [failure for fuzzer in self._fuzzers for failure in fuzzer.failures()]
        failures = self._merged([failure for failure in all_failures if failure.judgement.outcome != "clean"])
        revision = self._catalog.protocol
        item_probes = [
            ItemProbes(fuzzer.tool, fuzzer.records(), revision, fuzzer.refused_faults)
            for fuzzer in self._fuzzers
            if fuzzer.sent
        ]
        ends: dict[Outcome, list[Response]] = {}
        for end in [end for fuzzer in self._fuzzers for end in fuzzer.unexplained]:
            # Several ends that no call explains are one finding.
            ends.setdefault(end.outcome, []).append(end)
        if ends:
            open_ends = [
                ProbeRecord("fuzz", SEVERAL, "response", outcome, response=listed[0].why, times=len(listed))
                for outcome, listed in ends.items()
            ]
            item_probes.insert(0, ItemProbes(self._catalog.server, open_ends, revision))
        untested = [Untested(f"tool {permission.tool.label}", permission.reason) for permission in self._refused()]
        for fuzzer in self._fuzzers:
            untested += fuzzer.untested()
        return FuzzResult(
            outcomes=self._outcomes(),
            cases={fuzzer.tool.name: fuzzer.sent for fuzzer in self._fuzzers},
            failures=failures,
            stored=[failure.stored(self._plan) for failure in failures],
            item_probes=item_probes,
            untested=untested,
            incomplete=self._incomplete(interrupted=interrupted),
            was_cut=self._pool.was_cut,
        )

    def _incomplete(self, *, interrupted: bool) -> Incomplete:
        if interrupted:
            return "interrupted"
        if all(fuzzer.has_been_tried for fuzzer in self._fuzzers):
            return ""
        return "server gone" if self._queue.gone else "out of time" if self._queue.is_late_for_cases() else ""

    def _merged(self, failures: list[FoundFailure]) -> list[FoundFailure]:
        """The failures, most serious first; those shrunk to the same arguments are merged."""
        merged: dict[str, FoundFailure] = {}
        for failure in sorted(failures, key=lambda failure: _SERIOUS.index(failure.judgement.outcome)):
            name = failure.stored(self._plan).id
            earlier = merged.get(name)
            merged[name] = failure if earlier is None else earlier._replace(times=earlier.times + failure.times)
        return list(merged.values())

    def _refused(self) -> list[Permission]:
        return [permission for permission in self._plan.permissions if not permission.is_granted]

"""A fuzzing campaign: the cases of all tools in turns, on several server processes, the same for the same seed.

Tools take turns, a slice of cases at a time; failures are shrunk once the cases of their tool are sent. Slices are
counted in the order of their cases, so the number of processes does not change the result.
Why a report does not depend on that number: docs/decisions/0009-fuzz-determinism.md.
"""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING

from mcproof.client.errors import ConnectError
from mcproof.client.redaction import literal_secrets
from mcproof.client.session import Response, Session
from mcproof.core.errors import Untested
from mcproof.core.named_tuple import NamedTuple
from mcproof.core.observations.probes import CASE_OUTCOMES, SEVERAL, ItemProbes, Outcome, ProbeRecord
from mcproof.probing.calls import Called, CallPlan, Campaign, Incomplete, Job, Progress, in_silence, run, run_within
from mcproof.probing.fuzz.tool import CaseSlice, FoundFailure, FuzzPlan, SliceSender, ToolFuzzer

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from mcproof.client.capture import OpenServer
    from mcproof.client.connect import ConnectOptions
    from mcproof.client.endpoints import Endpoint
    from mcproof.core.catalog.model import Catalog


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


START_DELAY = 0.5
"""Seconds of work after which a further server process is started."""
_SERIOUS = ("injection", "crash", "hang", "protocol_violation", "leak", "accepted")


class FuzzResult(NamedTuple):
    """The result of a campaign."""

    called: Called
    """Incomplete unless every tool got at least its deterministic cases."""
    outcomes: dict[str, int]
    cases: dict[str, int]
    """The number of cases sent to each tool."""
    failures: list[FoundFailure]
    reached: list[str]
    """The tools of which a valid call was accepted."""


def fuzz(
    catalog: Catalog, server: OpenServer, calls: CallPlan, progress: Progress, *, seed: int, cases: int
) -> FuzzResult:
    """Call every tool of an open server that may be called; an interrupt keeps the results so far.

    `cases` is the number for each tool.
    """
    campaign = FuzzCampaign(catalog, server.session, FuzzPlan(calls, seed, cases), progress)
    run(server, campaign)
    return campaign.fuzzed()


async def fuzz_within(
    catalog: Catalog, server: Endpoint, options: ConnectOptions, calls: CallPlan, *, seed: int, cases: int
) -> FuzzResult:
    """Fuzz a server over a session of its own, in this event loop."""
    session = Session(server, options, calls.limit)
    campaign = FuzzCampaign(catalog, session, FuzzPlan(calls, seed, cases))
    try:
        await run_within(campaign)
    finally:
        await session.close()
    return campaign.fuzzed()


class FuzzCampaign(Campaign["CaseSlice | ShrinkJob"]):
    """The cases of all tools, their workers and the results."""

    def __init__(self, catalog: Catalog, session: Session, plan: FuzzPlan, progress: Progress = in_silence) -> None:
        super().__init__(session, plan.calls, progress, START_DELAY)
        self._catalog = catalog
        self._fuzzers = [
            ToolFuzzer(permission.tool, catalog.protocol, plan, literal_secrets(session.server.named_secrets))
            for permission in plan.calls.permissions
            if permission.is_granted
        ]
        self._turns = turns(self._fuzzers)
        self._uncounted = 0
        """How many slices wait for an earlier one of the same tool to be counted."""
        self._lost = 0
        """How many starts of the server have failed in a row."""
        self._shrinking: dict[int, ToolFuzzer] = {}
        """The tools whose failures may be shrunk, by identity."""

    def jobs(self) -> Sequence[Job]:
        return self._pool.jobs(self._work) if self._fuzzers else []

    def _take(self) -> CaseSlice | ShrinkJob | None:
        for fuzzer in self._shrinking.values():
            if (key := fuzzer.take_failure()) is not None:
                return ShrinkJob(fuzzer, key)
        if self._uncounted >= _MOST_AHEAD or self._is_late_for_cases():
            return None
        slice_ = next(self._turns, None)
        if slice_ is not None:
            self._under_way += 1
        return slice_

    def _release(self) -> bool:
        """Let the failures of all tools be shrunk; False if they were before."""
        count = len(self._shrinking)
        self._shrinking.update((id(fuzzer), fuzzer) for fuzzer in self._fuzzers)
        return len(self._shrinking) > count

    def _is_late_for_cases(self) -> bool:
        """Whether the rest of the time is needed for shrinking."""
        left, seconds = self._limit.left, self._limit.seconds
        if left is None or seconds is None:
            return False
        return left <= 0 or (left < _SHRINKING * seconds and any(fuzzer.has_failed for fuzzer in self._fuzzers))

    def _lose(self, slice_: CaseSlice, why: str) -> None:
        """Count what was sent of a slice, after which the server could not be started."""
        slice_.trouble = f"the server is gone: {why}"
        self._lost += 1
        if self._lost >= _MOST_LOST:
            self.trouble = slice_.trouble

    def _finish(self, slice_: CaseSlice) -> None:
        fuzzer = slice_.fuzzer
        self._uncounted += 1 - fuzzer.finish(slice_)
        if fuzzer.is_complete:
            self._shrinking[id(fuzzer)] = fuzzer
        self._end_work()

    async def _work(self, session: Session) -> None:
        sender, last = self._sender(session), None
        while (work := await self._next()) is not None or last is not None:
            if last is not None and (work is None or isinstance(work, ShrinkJob)):
                # No slice follows soon that would show whether the server survived this one.
                if not self._limit.is_over():
                    await sender.finish(last)
                last = None
            if isinstance(work, ShrinkJob):
                with suppress(ConnectError):
                    await work.fuzzer.shrink(work.key, session, self._limit.is_over)
                if work.is_harmful:  # a call of shrinking may still end the server, which is not for the next to answer
                    await session.close(at_once=True)
                sender = self._sender(session)
            elif work is not None:
                last = work
                try:
                    await sender.send(work)
                    self._lost = 0
                except ConnectError as error:
                    self._lose(work, error.message)
                self._finish(work)

    def _sender(self, session: Session) -> SliceSender:
        return SliceSender(session, self._is_late_for_cases, self._count_call)

    def _label(self) -> tuple[int, int, str]:
        words = ", ".join(f"{count:,} {name}" for name, count in self._outcomes().items() if count)
        return self._sent, max(self._sent, sum(fuzzer.expected for fuzzer in self._fuzzers)), words

    def _outcomes(self) -> dict[str, int]:
        return {name: sum(fuzzer.outcomes[name] for fuzzer in self._fuzzers) for name in CASE_OUTCOMES}

    def fuzzed(self) -> FuzzResult:
        """The result, in the order of the catalog."""
        why = "interrupted" if self.is_interrupted() else "time limit reached"
        for fuzzer in self._fuzzers:
            fuzzer.finish_early(self.trouble or why)
        self._sent = sum(fuzzer.sent for fuzzer in self._fuzzers)  # without the calls of shrinking
        self._show_progress()
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
        untested = [
            Untested(f"tool {permission.tool.label}", permission.reason)
            for permission in self._calls.permissions
            if not permission.is_granted
        ]
        for fuzzer in self._fuzzers:
            untested += fuzzer.untested()
        stored = [failure.stored(self._calls) for failure in failures]
        return FuzzResult(
            called=Called(item_probes, stored, untested, self._incomplete(), self._pool.was_cut),
            outcomes=self._outcomes(),
            cases={fuzzer.tool.name: fuzzer.sent for fuzzer in self._fuzzers},
            failures=failures,
            reached=[fuzzer.tool.name for fuzzer in self._fuzzers if fuzzer.was_reached],
        )

    def _incomplete(self) -> Incomplete:
        if self.is_interrupted():
            return "interrupted"
        if all(fuzzer.has_been_tried for fuzzer in self._fuzzers):
            return ""
        return "server gone" if self.trouble else "out of time" if self._is_late_for_cases() else ""

    def _merged(self, failures: list[FoundFailure]) -> list[FoundFailure]:
        """The failures, most serious first; those shrunk to the same arguments are merged."""
        merged: dict[str, FoundFailure] = {}
        for failure in sorted(failures, key=lambda failure: _SERIOUS.index(failure.judgement.outcome)):
            name = failure.stored(self._calls).id
            earlier = merged.get(name)
            merged[name] = failure if earlier is None else earlier._replace(times=earlier.times + failure.times)
        return list(merged.values())

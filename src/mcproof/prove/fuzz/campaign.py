"""A fuzzing campaign: call the tools of a server with generated arguments, the same ones for the same seed.

Each tool is called over one process, and several tools are called concurrently. No pings are sent between calls; if
the server ends, blame finds the call that caused it.
"""

from __future__ import annotations

from time import monotonic
from typing import TYPE_CHECKING, NamedTuple

from mcproof.client.failures import ConnectError
from mcproof.client.interrupts import all_of
from mcproof.client.secrets import plain_secrets
from mcproof.client.session import Session
from mcproof.exchange.probe_facts import CASE_OUTCOMES, SEVERAL, ItemProbes, ProbeRecord
from mcproof.prove.blame import Sender
from mcproof.prove.fuzz.tool_fuzzer import ToolFuzzer
from mcproof.results.run import Untested

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine, Iterator
    from typing import Any

    from mcproof.catalog.model import Catalog
    from mcproof.client.connect import ConnectOptions
    from mcproof.client.endpoints import Endpoint
    from mcproof.client.open_server import OpenServer
    from mcproof.client.session import Response
    from mcproof.exchange.probe_facts import Outcome
    from mcproof.prove.failure_store import StoredFailure
    from mcproof.prove.fuzz.tool_fuzzer import FoundFailure, FuzzPlan
    from mcproof.prove.permission import Permission

_PROGRESS_INTERVAL = 0.1
"""Seconds between two updates of the progress."""
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
    interrupted: bool


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
    finished = server.run(*run.workers(lambda: server.is_interrupted))
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
        self._deadline = None if plan.seconds is None else monotonic() + plan.seconds
        self._fuzzers = [
            ToolFuzzer(each.tool, catalog.protocol, plan, plain_secrets(session.server.named_secrets))
            for each in plan.permissions
            if each.is_granted
        ]
        self._last_progress = 0.0

    def workers(
        self, is_interrupted: Callable[[], bool] = lambda: False
    ) -> list[Callable[[], Coroutine[Any, Any, None]]]:
        """The jobs that call all tools between them: the first over the given session, the others over their own."""
        waiting = iter(self._fuzzers)
        count = min(self._plan.processes, len(self._fuzzers))
        first = [lambda: self._call(waiting, self._session)] if count else []
        return [*first, *[lambda: self._call_separately(waiting, is_interrupted)] * (count - 1)]

    async def _call_separately(self, waiting: Iterator[ToolFuzzer], is_interrupted: Callable[[], bool]) -> None:
        session = self._session.new_session()
        try:
            await self._call(waiting, session)
        finally:
            await session.close(at_once=is_interrupted())

    async def _call(self, waiting: Iterator[ToolFuzzer], session: Session) -> None:
        """Call one tool after the other over one session."""
        for fuzzer in waiting:
            try:
                await fuzzer.run(Sender(session, pings=False), self._is_late, self._show_progress)
            except ConnectError as error:
                fuzzer.stopped = f"the server is gone: {error.message}"

    def _is_late(self) -> bool:
        return self._deadline is not None and monotonic() > self._deadline

    def _show_progress(self) -> None:
        now = monotonic()
        if now - self._last_progress > _PROGRESS_INTERVAL:
            self._last_progress = now
            counted = self._outcomes()
            done = sum(each.sent for each in self._fuzzers)
            words = ", ".join(f"{count:,} {name}" for name, count in counted.items() if count)
            self._progress(done, self._plan.cases * len(self._fuzzers), words)

    def _outcomes(self) -> dict[str, int]:
        return {name: sum(each.outcomes[name] for each in self._fuzzers) for name in CASE_OUTCOMES}

    def fuzzed(self, *, interrupted: bool) -> FuzzResult:
        """The result, in the order of the catalog."""
        found = [failure for each in self._fuzzers for failure in each.failures()]
        failures = self._merged([failure for failure in found if failure.judgement.outcome != "clean"])
        revision = self._catalog.protocol
        item_probes = [
            ItemProbes(each.tool, each.records(), revision, each.refused_faults) for each in self._fuzzers if each.sent
        ]
        ends: dict[Outcome, list[Response]] = {}
        for end in [end for each in self._fuzzers for end in each.unexplained]:
            ends.setdefault(end.outcome, []).append(end)
        if ends:
            open_ends = [
                ProbeRecord("fuzz", SEVERAL, "response", outcome, response=listed[0].why, times=len(listed))
                for outcome, listed in ends.items()
            ]
            item_probes.insert(0, ItemProbes(self._catalog.server, open_ends, revision))
        untested = [Untested(f"tool {each.tool.label}", each.reason) for each in self._refused()]
        for each in self._fuzzers:
            untested += each.untested("interrupted" if interrupted else "the server is gone")
        cases = {each.tool.name: each.sent for each in self._fuzzers}
        stored = [failure.stored(self._plan) for failure in failures]
        return FuzzResult(
            outcomes=self._outcomes(),
            cases=cases,
            failures=failures,
            stored=stored,
            item_probes=item_probes,
            untested=untested,
            interrupted=interrupted,
        )

    def _merged(self, failures: list[FoundFailure]) -> list[FoundFailure]:
        """The failures, most serious first; those shrunk to the same arguments are merged."""
        merged: dict[str, FoundFailure] = {}
        for each in sorted(failures, key=lambda failure: _SERIOUS.index(failure.judgement.outcome)):
            name = each.stored(self._plan).id
            known = merged.get(name)
            merged[name] = each if known is None else known._replace(times=known.times + each.times)
        return list(merged.values())

    def _refused(self) -> list[Permission]:
        return [each for each in self._plan.permissions if not each.is_granted]

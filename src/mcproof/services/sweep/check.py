"""The work of a sweep: a function from a target and a plan to an attempt, the same in every engine.

Why the work is one function: docs/decisions/0056-a-row-is-the-record.md.
"""

from __future__ import annotations

import asyncio
import gc
from functools import lru_cache
from typing import TYPE_CHECKING

from mcproof import __version__
from mcproof.checks.rule import find_rule
from mcproof.client.connect import ConnectOptions
from mcproof.client.connection import Limits
from mcproof.client.endpoints import CommandEndpoint
from mcproof.core.errors import FAILED, FINDINGS, OK, McproofError, from_exception
from mcproof.core.named_tuple import NamedTuple
from mcproof.core.stored_form import record
from mcproof.runs import execute
from mcproof.runs.events import Clock, collecting
from mcproof.runs.requests import (
    CallOptions,
    CatalogDocument,
    Detail,
    LintRequest,
    Policy,
    ProveRequest,
    ScanRequest,
    TargetSelection,
)
from mcproof.runs.results import RunResult, TargetResult, Trouble
from mcproof.services.store.run_record import RunRecord, record_of
from mcproof.services.sweep import SweepPlan
from mcproof.services.sweep.registry import Failing, SweepTarget
from mcproof.services.sweep.results import (
    CHECKED,
    Timing,
    checked_row,
    failed_row,
    failing,
    proof_members,
    retry_wait,
    trust_members,
)
from mcproof.targets.arguments import Input, LiveOptions, read_catalog
from mcproof.targets.snapshots import captured_catalog, catalog_text, refuse_part

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from typing import Any

    from mcproof.core.catalog.model import Catalog
    from mcproof.runs.events import TargetFinished
    from mcproof.runs.requests import RunRequest

MOST_SECONDS_OF_REQUEST, MOST_SECONDS_OF_START = 30.0, 60.0
_COLLECTED_EVERY = 200
"""How many targets are checked between two runs of the garbage collector."""

_WARM_UP = b'{"tools": [{"name": "a", "inputSchema": {"type": "object"}}]}'


@record()
class SweepTask(NamedTuple):
    """A target to check, for the n-th time."""

    number: int
    target: SweepTarget
    attempt: int = 1


@record()
class SweepJob(NamedTuple):
    """What a worker process gets: the plan, and a task or none. The one without a task is the first."""

    plan: SweepPlan
    task: SweepTask | None = None


@record()
class Attempt(NamedTuple):
    """What became of one try of a target."""

    line: str
    """The row of the target."""
    outcome: str
    wait: float | None = None
    """Seconds to wait at least before another try; None if no try would help."""
    stored: tuple[RunRecord, ...] = ()


class _Work:
    """What one process needs for all targets of a sweep. Raises an error if its plan is invalid."""

    def __init__(self, plan: SweepPlan) -> None:
        self.plan = plan
        request, start = min(plan.limit, MOST_SECONDS_OF_REQUEST), min(plan.limit, MOST_SECONDS_OF_START)
        self._selection = TargetSelection(timeout=request, start_timeout=start)
        # A report for the store is valid only with all parts of its findings.
        self._detail = Detail(lines=plan.records, identities=plan.records, scores=True, positions=plan.records)
        # A small catalog, as if from a live server, imports and builds what every target needs, and names the rules.
        catalog = read_catalog(Input("warm-up.json", data=_WARM_UP))
        live = Input("warm-up.json", server=CommandEndpoint(("warm-up",), {}), catalog=catalog)
        self._rules = execute(self._lint(live)).rules
        self.connecting = ConnectOptions(
            Limits(request=request, start=start, total=plan.limit, start_setting="--timeout"),
            compares_lists=any(find_rule(rule.id).traits.compares_lists for rule in self._rules),
        )
        self._done = 0

    @property
    def _policy(self) -> Policy:
        return Policy(self.plan.settings)

    def _lint(self, source: Input) -> LintRequest:
        return LintRequest(self._selection._replace(inputs=(source,)), self.plan.rules, self._policy, self._detail)

    def judged(self, task: SweepTask, source: Input, clock: Clock) -> Attempt:
        """Return the attempt for a catalog, without the parts that call the server. Raises McproofError."""
        self.collect()
        finished: list[TargetFinished] = []
        execute(self._lint(source), collecting(finished))
        if not finished:  # the run was interrupted
            raise KeyboardInterrupt
        ((result, catalog, _),) = finished
        stored = self._stored(result, clock, catalog)
        more: dict[str, Any] = {}
        for request, members in self._requests(task.target):
            run = execute(request)
            more |= members(run.targets[0])
            if self.plan.records and catalog is not None:
                stored = (*stored, record_of(run, run.targets[0], catalog_text(catalog)))
        line = checked_row(task.target, result, more, _timing(clock, task))
        return Attempt(line, CHECKED, stored=stored)

    def _stored(self, result: TargetResult, clock: Clock, catalog: Catalog | None) -> tuple[RunRecord, ...]:
        """Return the result for the store, as `lint --record` has it; empty if it is not recorded.

        It has no notices: what one target does not need, such as an ignore, another may.
        """
        if not self.plan.records:
            return ()
        is_live = catalog is not None and catalog.connection is not None
        run = RunResult(
            command="lint",
            version=__version__,
            targets=[result],
            rules=[rule for rule in self._rules if rule.ruleset != "wire" or is_live],
            exit_code=FAILED if result.trouble is not None else OK if result.passed else FINDINGS,
            started=clock.started,
            seconds=clock.seconds,
        )
        return (record_of(run, result, None if catalog is None else catalog_text(catalog)),)

    def failed(self, task: SweepTask, why: Failing, clock: Clock, wait: float | None = None) -> Attempt:
        """Return the attempt for a target that could not be checked."""
        line = failed_row(task.target, why, _timing(clock, task))
        result = TargetResult(task.target.label, Trouble(why.message, None, None, None))
        return Attempt(line, why.outcome, wait, self._stored(result, clock, None))

    def _requests(self, target: SweepTarget) -> Iterable[tuple[RunRequest, Callable[[Any], dict[str, Any]]]]:
        selection = self._selection_of(target)
        if self.plan.scans:
            yield ScanRequest(selection, policy=self._policy, detail=self._detail), trust_members
        if self.plan.proves and target.is_live:
            calls, detail = CallOptions(stores_failures=False), self._detail._replace(scores=False)
            limit = self.plan.limit
            yield ProveRequest(selection, calls, max_seconds=limit, policy=self._policy, detail=detail), proof_members

    def _selection_of(self, target: SweepTarget) -> TargetSelection:
        endpoint = target.endpoint
        if endpoint is None:
            data = target.data
            if data is None:
                return self._selection._replace(names=(target.file,))
            return self._selection._replace(documents=(CatalogDocument(target.file, data),))
        if isinstance(endpoint, CommandEndpoint):
            live = LiveOptions(
                command=endpoint.words,
                environment=endpoint.environment,
                inherited=endpoint.filled,
                directory=endpoint.directory,
            )
            return self._selection._replace(live=live)
        live = LiveOptions(headers=endpoint.headers, inherited=endpoint.filled)
        return self._selection._replace(names=(endpoint.url,), live=live)

    def collect(self) -> None:
        """Free what refers to itself; the automatic collector would look at everything much more often."""
        self._done += 1
        if self._done % _COLLECTED_EVERY == 0:
            gc.collect()


def _timing(clock: Clock, task: SweepTask) -> Timing:
    return Timing(clock.started, clock.seconds, task.attempt)


# A process works for one sweep, so it has one plan.
@lru_cache(maxsize=1)
def _work(plan: SweepPlan) -> _Work:
    return _Work(plan)


def validate_plan(plan: SweepPlan) -> None:
    """Raise an error if a plan names rules or a configuration that do not exist."""
    _work(plan)


def warm_up(plan: SweepPlan) -> None:
    """Import and build what every target needs, before the first one."""
    gc.disable()  # between tasks instead, see `_Work.collect`
    _work(plan)
    # All that exists by now lives as long as the process, so no collection needs to look at it.
    gc.freeze()


def check_capture_job(job: SweepJob, _: object) -> Attempt | None:
    """Check a capture in a worker process."""
    if job.task is None:
        warm_up(job.plan)
        return None
    return check_capture(job.task, job.plan)


async def check_live_job(job: SweepJob) -> Attempt | None:
    """Check a live server in a worker process, concurrently with others."""
    if job.task is None:
        warm_up(job.plan)
        return None
    return await check_live(job.task, job.plan)


def check_capture(task: SweepTask, plan: SweepPlan) -> Attempt:
    """Check a capture; never raises."""
    clock, target, work = Clock(), task.target, _work(plan)
    try:
        return work.judged(task, Input(target.file, data=target.data), clock)
    except Exception as error:  # a file that triggers a defect must not end the worker of thousands
        return work.failed(task, failing(from_exception(error), is_live=False), clock)


async def check_live(task: SweepTask, plan: SweepPlan) -> Attempt:
    """List and check a live server; never raises, and leaves no process behind."""
    from mcproof.client.capture import capture

    clock, target = Clock(), task.target
    endpoint = target.endpoint
    if endpoint is None:
        raise ValueError("not a live server")
    work = _work(plan)
    try:
        async with asyncio.timeout(plan.limit):
            captured = await capture(endpoint, work.connecting)

            def judge() -> Attempt:
                source = Input(target.label, server=endpoint)
                catalog = captured_catalog(captured, source)
                refuse_part(catalog)
                return work.judged(task, source._replace(catalog=catalog), clock)

            # In a thread, so that a large catalog does not keep the event loop from other servers.
            return await asyncio.to_thread(judge)
    except TimeoutError:
        return work.failed(task, timed_out(plan), clock)
    except McproofError as error:
        return work.failed(task, failing(error, is_live=True), clock, retry_wait(error))
    except Exception as error:  # as for a file: a defect is the outcome of one target
        return work.failed(task, failing(from_exception(error), is_live=True), clock)


def timed_out(plan: SweepPlan) -> Failing:
    """The outcome of a target that takes too long."""
    return Failing("timed-out", "over the time limit", f"not done within {plan.limit:g} s (--timeout)")


def crashed() -> Failing:
    """The outcome of a target whose work ends the process."""
    return Failing("crashed", "ended the worker process", "its check ended the worker process twice; skipped")


def failed_line(task: SweepTask, why: Failing) -> str:
    """Return the row of a target that no worker has reported on."""
    return failed_row(task.target, why, _timing(Clock(), task))

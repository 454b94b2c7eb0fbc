"""A suite at work: servers started once and shared, several at once, and of each the tests in order.

Tests that only look are under way together. A server that crashes fails the test that met it, and is started anew for
the next. One that cannot be started makes its tests errors, and no other server's.
"""

from __future__ import annotations

import asyncio
import os
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

from mcproof.client.failures import ConnectError
from mcproof.client.interrupts import Interruptible, all_of
from mcproof.client.secrets import hiding, hiding_whole
from mcproof.client.transports.started import STARTED
from mcproof.results.model import Notice, TestFailure, TestResult
from mcproof.suite.run.batching import looking, may_look, stretches
from mcproof.suite.run.execute_test import CALLED, answered, parts_of, request_of, run_part, said_in, unmade
from mcproof.suite.run.steps import run_program
from mcproof.suite.server_under_test import Host, UnableError

if TYPE_CHECKING:
    from collections.abc import Callable

    from mcproof.suite.definition import Step, Suite, SuiteTest
    from mcproof.suite.snapshots import SnapshotStore

CALLS_AT_ONCE = 8
"""How many calls are under way at once, where they may be."""
PROCESSES_AT_ONCE = 4
"""How many probes and campaigns of one server, which have processes of their own, go on at once."""


_DISTURBED = "it passes alone, and fails when other calls are under way with it"

NOISE = "noise-on-stdout"
"""The kind of a notice about a server that writes more than messages to its output."""
EARLIER = "an earlier test failed (--fail-fast)"
"""Why a test is skipped."""


class Running(NamedTuple):
    """How a suite is run."""

    fails_fast: bool = False
    timeout: float | None = None
    """How long an answer may take, in seconds, where the suite does not say."""
    retries: int = 0
    """How often a part of a test that did not pass is tried again."""


class Ran(NamedTuple):
    """What came of a suite."""

    results: list[TestResult]
    interrupted: bool
    notices: list[Notice]


class Workbench:
    """The servers of a suite, for one test after the other; to be used in one event loop."""

    def __init__(self, suite: Suite, running: Running, store: SnapshotStore, tests: list[SuiteTest]) -> None:
        self.store = store
        self._suite = suite
        self._retries = running.retries
        self.hide = hiding_whole(suite.secrets)
        """What hides values of the environment, wherever in the suite they were written."""
        self._mark = os.urandom(8).hex()
        """What the programs of the suite inherit, and what those start."""
        used = {test.server for test in tests} | {step.server for step in (*suite.setup, *suite.teardown)}
        self.hosts = {
            name: Host(entry, suite, running.timeout) for name, entry in suite.servers.items() if name in used
        }

    def with_end(self, test: SuiteTest, result: TestResult) -> TestResult:
        """The result of a test, failed where the server turned out to have ended after its answer."""
        why = self.hosts[test.server].ended_after.get(id(test))
        if why is None or result.outcome != "passed" or result.block not in CALLED:
            return result
        return result._replace(outcome="failed", message=why, failures=(TestFailure("", why),))

    def hidden(self, result: TestResult) -> TestResult:
        """A result without values of the environment."""
        hide = self.hide
        failures = tuple(each._replace(target=hide(each.target)) for each in result.failures)
        return result._replace(
            name=hide(result.name), message=hide(result.message), failures=failures, detail=hide(result.detail)
        )

    async def set_up(self) -> TestResult | None:
        """Do what comes before the tests; the step that failed, after which nothing can be tested."""
        for step in self._suite.setup:
            why = await self._step(step)
            if why is not None:
                return _step_result(step, "setup", why)
        return None

    async def tear_down(self) -> list[TestResult]:
        """Do all that comes after the tests; the steps that failed."""
        tried = [(step, await self._step(step)) for step in self._suite.teardown]
        return [_step_result(step, "teardown", why) for step, why in tried if why is not None]

    def notices(self) -> list[Notice]:
        """What should be mended in servers, whatever came of the tests."""
        noisy = [(host.entry, host.noise) for host in self.hosts.values() if host.noise]
        return [
            Notice(NOISE, self.hide(f"{entry.name} {noise}"), entry.place.file, entry.place.line)
            for entry, noise in noisy
        ]

    async def leave(self, *, at_once: bool = False) -> None:
        """Leave nothing running, whatever comes in between."""
        try:
            await all_of(*(partial(host.leave, at_once=at_once) for host in self.hosts.values()))
        except asyncio.CancelledError:
            for host in self.hosts.values():
                await host.session.close(at_once=True)
            raise
        finally:
            if self._suite.setup or self._suite.teardown:
                STARTED.kill(self._mark)

    async def test(self, test: SuiteTest, part: str) -> TestResult:
        """Make a part of a test, again where it does not pass, as often as is allowed."""
        first = await run_part(test, part, self.hosts[test.server], self.store)
        return self.hidden(await self.try_again(test, part, first))

    async def test_to_the_end(self, test: SuiteTest, part: str) -> TestResult:
        """Make a part of a test, and see before anything else is done whether it has ended the server."""
        result = await self.test(test, part)
        await self.hosts[test.server].settle()
        return self.hidden(self.with_end(test, result))

    async def try_again(self, test: SuiteTest, part: str, result: TestResult) -> TestResult:
        """Make a part again that did not pass, as often as is allowed; what passes late says so."""
        for attempt in range(self._retries):
            if result.outcome in ("passed", "not_applicable"):
                break
            self.hosts[test.server].try_anew()
            result = await run_part(test, part, self.hosts[test.server], self.store)
            if result.outcome == "passed":
                result = result._replace(message=f"passed at attempt {attempt + 2}; {result.message}".rstrip("; "))
        return result

    async def _step(self, step: Step) -> str | None:
        """Do one step; why it failed, or None."""
        if step.command:
            why = await run_program(step, self._suite.folder, self._mark)
            return None if why is None else hiding(self._suite.secrets)(why)
        host = self.hosts[step.server]
        try:
            params = {"name": step.tool, "arguments": dict(step.arguments)}
            reply, _ = await host.ask(None, ("tools/call", params), step.timeout_ms / 1000)
        except UnableError as error:
            return str(error)
        except ConnectError as error:
            return host.hide(error.message)
        return None if reply.outcome == "accepted" else host.hide(said_in(reply))


def _step_result(step: Step, block: str, why: str) -> TestResult:
    return TestResult(step.label, block, step.server, "error", why, (), step.place.file, step.place.line)


def run_suite(
    suite: Suite,
    tests: list[SuiteTest],
    running: Running,
    store: SnapshotStore,
    progress: Callable[[int, int, str], None],
) -> Ran:
    """Run these tests of a suite; an interrupt keeps what was found by then."""
    run = _Run(Workbench(suite, running, store, tests), tests, progress, fails_fast=running.fails_fast)
    run.work.run(run.everything)
    return Ran(run.results(), run.work.is_interrupted, run.bench.notices())


def skipped(tests: list[SuiteTest], suite: Suite, why: str) -> list[TestResult]:
    """The results of tests that are not made."""
    hide = hiding_whole(suite.secrets)
    return [
        unmade(test, part, "skipped", why)._replace(name=hide(test.name)) for test in tests for part in parts_of(test)
    ]


def _unexplained(tests: list[SuiteTest], why: str) -> TestResult:
    """The result of tests that end a server together, and not alone."""
    names = ", ".join(f"`{test.name}`" for test in tests[:3]) + (", …" if len(tests) > 3 else "")
    said = f"{why}, while {names} were under way together; one by one they do not do that"
    place = tests[0].place
    name = "calls at the same time"
    return TestResult(name, "tools", tests[0].server, "failed", said, (TestFailure("", said),), place.file, place.line)


class _Run:
    """One pass over the tests of a suite."""

    def __init__(
        self, bench: Workbench, tests: list[SuiteTest], progress: Callable[[int, int, str], None], *, fails_fast: bool
    ) -> None:
        self.work = Interruptible()
        self.bench = bench
        self._tests = tests
        self._progress = progress
        self._fails_fast = fails_fast
        self._parts = [(test, part) for test in tests for part in parts_of(test)]
        self._before: list[TestResult] = []
        self._done: dict[tuple[int, str], TestResult] = {}
        """What came of each part, by the identity of its test and its name."""
        self._after: list[TestResult] = []
        self._stopped = ""
        """Why no further test is made."""

    def results(self) -> list[TestResult]:
        """What came of every test, in the order of the suite."""
        why = "interrupted" if self.work.is_interrupted else self._stopped
        results = [self._done.get((id(test), part)) or unmade(test, part, "skipped", why) for test, part in self._parts]
        outlived = [self.bench.with_end(test, result) for (test, _), result in zip(self._parts, results, strict=True)]
        return list(map(self.bench.hidden, [*self._before, *outlived, *self._after]))

    async def everything(self) -> None:
        """Set up, test, tear down, and leave nothing running."""
        try:
            try:
                failed = await self.bench.set_up()
                if failed is not None:
                    self._before.append(failed)
                    self._stopped = "the setup failed"
                elif self._fails_fast:  # which tests are left out must not depend on which server is faster
                    await self._one_by_one(self._tests)
                else:
                    await all_of(*(partial(self._of_server, name) for name in self.bench.hosts))
            finally:  # an interrupt ends the tests, and a second one this as well
                self._after += await self.bench.tear_down()
        finally:
            await self.bench.leave(at_once=self.work.is_interrupted)

    async def _of_server(self, name: str) -> None:
        tests = [test for test in self._tests if test.server == name]
        for stretch in stretches(tests, await self._looking(self.bench.hosts[name], tests)):
            await (self._together if len(stretch) > 1 else self._one_by_one)(stretch)

    async def _looking(self, host: Host, tests: list[SuiteTest]) -> set[int]:
        """The tests that only look, where it is worth asking the server."""
        if sum(map(may_look, tests)) < 2:
            return set()
        try:
            host.harmless = looking(tests, await host.catalog())
        except (UnableError, ConnectError):
            return set()
        return host.harmless

    async def _one_by_one(self, tests: list[SuiteTest]) -> None:
        for test in tests:
            if self._stopped:
                return
            results = [await self._test(test, part) for part in parts_of(test)]
            if self._fails_fast and any(result.outcome in ("failed", "error") for result in results):
                self._stopped = EARLIER

    async def _test(self, test: SuiteTest, part: str) -> TestResult:
        self._progress(len(self._done), len(self._parts), self.bench.hide(test.name))
        result = self._done[id(test), part] = await self.bench.test(test, part)
        return result

    async def _together(self, tests: list[SuiteTest]) -> None:
        """Tests of one server that disturb each other in nothing."""
        parts = [(test, part) for test in tests for part in parts_of(test)]
        calls = [test for test, part in parts if part in CALLED]
        others = iter([each for each in parts if each[1] not in CALLED])

        async def test_others() -> None:
            for test, part in others:
                await self._test(test, part)

        await all_of(partial(self._call, calls), *[test_others] * PROCESSES_AT_ONCE)

    async def _call(self, tests: list[SuiteTest]) -> None:
        """Make calls together; where not all is well with some, each of those is made alone."""
        for start in range(0, len(tests), CALLS_AT_ONCE):
            batch = tests[start : start + CALLS_AT_ONCE]
            host = self.bench.hosts[batch[0].server]
            try:
                replies = await host.ask_together(batch, [request_of(test) for test in batch])
            except (UnableError, ConnectError):  # which each of them is told on its own
                replies = ""
            if isinstance(replies, str):
                ends = host.ends
                for test in batch:
                    await self._test(test, test.block)
                if replies and ends == host.ends:
                    self._after.append(_unexplained(batch, host.hide(replies)))
                continue
            for test, (reply, seconds) in zip(batch, replies, strict=True):
                self._progress(len(self._done), len(self._parts), self.bench.hide(test.name))
                first = answered(test, reply, seconds, host, self.bench.store)
                self._done[id(test), test.block] = await self._once_more(test, first)

    async def _once_more(self, test: SuiteTest, first: TestResult) -> TestResult:
        """What came of a call that was made together with others; where it is the others' doing, it says so."""
        result = await self.bench.try_again(test, test.block, first)
        if result.outcome != "failed":
            return result
        alone = await self.bench.test(test, test.block)
        if alone.outcome != "passed":
            return result
        more = TestFailure("", _DISTURBED, line=result.failures[-1].line)
        return result._replace(message=f"{result.message}; {_DISTURBED}", failures=(*result.failures, more))

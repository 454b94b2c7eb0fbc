"""Run the tests of a suite: servers in parallel, the tests of each server in order.

Read-only tests of a server run concurrently. A crash fails the test that caused it, and the server is restarted. If
a server cannot be started, only its own tests become errors. `SuiteRuntime` runs single parts, with retries.
Why tests run concurrently: docs/decisions/0003-concurrent-tests.md.
"""

from __future__ import annotations

import asyncio
import os
from functools import partial
from typing import TYPE_CHECKING

from mcproof.client.errors import ConnectError
from mcproof.client.redaction import hiding, hiding_whole
from mcproof.client.session import Batch
from mcproof.client.transports.processes import STARTED
from mcproof.client.waiting import Interruptible, all_of
from mcproof.core.errors import SESSION_EXPIRED, Notice
from mcproof.core.named_tuple import NamedTuple
from mcproof.core.observations.connection import expired_text
from mcproof.testing.outcomes import TestFailure, TestResult
from mcproof.testing.suites.execute import (
    check_response,
    execute_part,
    failure_message,
    request_of,
    result_of,
)
from mcproof.testing.suites.servers import CALLED, Caller, CannotRunError, ServerUnderTest
from mcproof.testing.suites.steps import batches, is_untimed, read_only_tests, run_program

if TYPE_CHECKING:
    from collections.abc import Callable

    from mcproof.testing.suites.model import Step, Suite, SuiteTest
    from mcproof.testing.suites.snapshots import SnapshotStore


NOISE = "noise-on-stdout"
"""The kind of notice about a server that writes non-protocol text to stdout."""


class RunOptions(NamedTuple):
    """Options of a run."""

    fails_fast: bool = False
    timeout: float | None = None
    """Time limit of a response, in seconds, if the suite sets none."""
    start_timeout: float | None = None
    """Time limit of the start of a server, in seconds, if the suite sets none."""
    retries: int = 0
    """How often a part that does not pass is executed again."""


class SuiteRuntime:
    """Runs the parts of tests and the steps of a suite, in one event loop."""

    def __init__(self, suite: Suite, options: RunOptions, store: SnapshotStore, tests: list[SuiteTest]) -> None:
        self.store = store
        self._suite = suite
        self._retries = options.retries
        self.hide = hiding_whole(suite.secrets)
        """Hides values from the environment, wherever the suite uses them."""
        self._mark = os.urandom(8).hex()
        """Inherited by the programs of steps and their children, to find them for cleanup."""
        used = {test.server for test in tests} | {step.server for step in (*suite.setup, *suite.teardown)}
        self.callers = {
            name: Caller(ServerUnderTest(entry, suite, options.timeout, options.start_timeout))
            for name, entry in suite.servers.items()
            if name in used
        }

    async def set_up(self) -> TestResult | None:
        """Run the setup steps; return the first that fails."""
        for step in self._suite.setup:
            why = await self._run_step(step)
            if why is not None:
                return _failed_step(step, "setup", why)
        return None

    async def tear_down(self) -> list[TestResult]:
        """Run all teardown steps; return those that fail."""
        done = [(step, await self._run_step(step)) for step in self._suite.teardown]
        return [_failed_step(step, "teardown", why) for step, why in done if why is not None]

    async def _run_step(self, step: Step) -> str | None:
        """Run a step; return why it failed, or None."""
        if step.command:
            why = await run_program(step, self._suite.folder, self._mark)
            return None if why is None else hiding(self._suite.secrets)(why)
        caller = self.callers[step.server]
        params = {"name": step.tool, "arguments": dict(step.arguments)}
        try:
            response, _ = await caller.send(None, ("tools/call", params), step.timeout_ms / 1000)
        except CannotRunError as error:
            return str(error)
        except ConnectError as error:
            return caller.server.hide(error.message)
        return None if response.outcome == "accepted" else caller.server.hide(failure_message(response))

    async def run_part(self, test: SuiteTest, part: str) -> TestResult:
        """Execute a part of a test, with retries."""
        first = await execute_part(test, part, self.callers[test.server], self.store)
        return self.hidden(await self.retry(test, part, first))

    async def run_part_alone(self, test: SuiteTest, part: str) -> TestResult:
        """Execute a part of a test, with retries, then check whether it ended the server."""
        result = await self.run_part(test, part)
        await self.callers[test.server].check_liveness()
        return self.hidden(self.with_blame(test, result))

    async def retry(self, test: SuiteTest, part: str, result: TestResult) -> TestResult:
        """Repeat a part that did not pass, as often as allowed; a late pass is noted in its message."""
        caller = self.callers[test.server]
        for attempt in range(self._retries):
            if result.outcome in ("passed", "not_applicable"):
                break
            caller.server.allow_retry()
            result = await execute_part(test, part, caller, self.store)
            if result.outcome == "passed":
                result = result._replace(message=f"passed on attempt {attempt + 2}; {result.message}".rstrip("; "))
        return result

    def with_blame(self, test: SuiteTest, result: TestResult) -> TestResult:
        """Return the result of a test; failed if the server ended after its response."""
        return self.callers[test.server].with_blame(test, result)

    def hidden(self, result: TestResult) -> TestResult:
        """Return a result without values from the environment."""
        hide = self.hide
        failures = tuple(failure._replace(target=hide(failure.target)) for failure in result.failures)
        return result._replace(
            name=hide(result.name), message=hide(result.message), failures=failures, detail=hide(result.detail)
        )

    def notices(self) -> list[Notice]:
        """Return notices about servers, whatever the results of their tests."""
        notices = []
        for server in (caller.server for caller in self.callers.values()):
            expired = expired_text(server.session.memory.expired_sessions).removeprefix("the server ")
            for kind, text in ((NOISE, server.noise), (SESSION_EXPIRED, expired)):
                if text:
                    message = self.hide(f"{server.entry.name} {text}")
                    notices.append(Notice(kind, message, server.entry.location.file, server.entry.location.line))
        return notices

    async def close(self, *, at_once: bool = False) -> None:
        """End all servers and all processes started by steps, even if cancelled."""
        try:
            await all_of(*(partial(caller.close, at_once=at_once) for caller in self.callers.values()))
        except asyncio.CancelledError:
            for caller in self.callers.values():
                await caller.server.close(at_once=True)
            raise
        finally:
            if self._suite.setup or self._suite.teardown:
                STARTED.kill(self._mark)


def _failed_step(step: Step, block: str, why: str) -> TestResult:
    return TestResult(
        name=step.label,
        block=block,
        server=step.server,
        outcome="error",
        message=why,
        file=step.location.file,
        line=step.location.line,
    )


CALLS_AT_ONCE = 8
"""Maximum number of concurrent calls to one server."""
PROCESSES_AT_ONCE = 4
"""Maximum number of concurrent `negative_path` and `fuzz` parts per server; each starts its own processes."""
EARLIER_FAILURE = "an earlier test failed (--fail-fast)"
"""Why a test is skipped."""
_ONLY_CONCURRENTLY = "passes alone, fails only with concurrent calls"


class SuiteRunResult(NamedTuple):
    """The results of a suite."""

    results: list[TestResult]
    interrupted: bool
    notices: list[Notice]


def run_suite(
    suite: Suite,
    tests: list[SuiteTest],
    options: RunOptions,
    store: SnapshotStore,
    progress: Callable[[int, int, str], None],
) -> SuiteRunResult:
    """Run some tests of a suite; an interrupt keeps the results so far."""
    runner = _SuiteRunner(SuiteRuntime(suite, options, store, tests), tests, progress, fails_fast=options.fails_fast)
    runner.work.run(runner.run)
    return SuiteRunResult(runner.results(), runner.work.is_interrupted, runner.runtime.notices())


def skipped(tests: list[SuiteTest], suite: Suite, why: str) -> list[TestResult]:
    """Return the results of tests that are skipped."""
    hide = hiding_whole(suite.secrets)
    return [
        result_of(test, part, "skipped", why)._replace(name=hide(test.name)) for test in tests for part in test.parts
    ]


class _SuiteRunner:
    """Schedules the parts of tests, and collects their results."""

    def __init__(
        self,
        runtime: SuiteRuntime,
        tests: list[SuiteTest],
        progress: Callable[[int, int, str], None],
        *,
        fails_fast: bool,
    ) -> None:
        self.work = Interruptible()
        self.runtime = runtime
        self._tests = tests
        self._progress = progress
        self._fails_fast = fails_fast
        self._parts = [(test, part) for test in tests for part in test.parts]
        self._done: dict[tuple[int, str], TestResult] = {}
        """Results by test number and part."""
        self._failed_setup: list[TestResult] = []
        self._failed_teardown: list[TestResult] = []
        """Includes crashes that no single test explains."""
        self._skip_reason = ""
        """Why the remaining tests are skipped."""

    def results(self) -> list[TestResult]:
        """Return the results of all tests, in the order of the suite."""
        why = "interrupted" if self.work.is_interrupted else self._skip_reason
        tests = [
            self.runtime.with_blame(test, self._done.get((test.number, part)) or result_of(test, part, "skipped", why))
            for test, part in self._parts
        ]
        return list(map(self.runtime.hidden, [*self._failed_setup, *tests, *self._failed_teardown]))

    async def run(self) -> None:
        """Run setup, tests and teardown, and end all servers."""
        try:
            try:
                failed = await self.runtime.set_up()
                if failed is not None:
                    self._failed_setup.append(failed)
                    self._skip_reason = "setup failed"
                elif self._fails_fast:  # in suite order: skipped tests must not depend on the speed of servers
                    await self._run_one_by_one(self._tests)
                else:
                    await all_of(*(partial(self._run_server, name) for name in self.runtime.callers))
            finally:  # also after an interrupt; a second one cancels this
                self._failed_teardown += await self.runtime.tear_down()
        finally:
            await self.runtime.close(at_once=self.work.is_interrupted)

    async def _run_server(self, name: str) -> None:
        tests = [test for test in self._tests if test.server == name]
        for batch in batches(tests, await self._read_only(self.runtime.callers[name], tests)):
            await (self._run_batch if len(batch) > 1 else self._run_one_by_one)(batch)

    async def _read_only(self, caller: Caller, tests: list[SuiteTest]) -> set[int]:
        """Return the numbers of read-only tests; empty, without asking the server, if too few could be batched."""
        # To know which tests only read takes a list of the tools, which a suite may not need otherwise.
        if sum(map(is_untimed, tests)) < 2:
            return set()
        try:
            caller.read_only = read_only_tests(tests, await caller.server.catalog(), caller.server.entry.annotations)
        except (CannotRunError, ConnectError):
            return set()
        return caller.read_only

    async def _run_one_by_one(self, tests: list[SuiteTest]) -> None:
        for test in tests:
            if self._skip_reason:
                return
            results = [await self._run_part(test, part) for part in test.parts]
            if self._fails_fast and any(result.outcome in ("failed", "error") for result in results):
                self._skip_reason = EARLIER_FAILURE

    async def _run_part(self, test: SuiteTest, part: str) -> TestResult:
        self._show_progress(test)
        result = self._done[test.number, part] = await self.runtime.run_part(test, part)
        self._show_progress(test)
        return result

    def _show_progress(self, test: SuiteTest) -> None:
        self._progress(len(self._done), len(self._parts), self.runtime.hide(test.name))

    async def _run_batch(self, tests: list[SuiteTest]) -> None:
        """Run read-only tests of one server concurrently."""
        parts = [(test, part) for test in tests for part in test.parts]
        calls = [test for test, part in parts if part in CALLED]
        # One iterator for all workers, so that each part is taken once.
        others = iter([pair for pair in parts if pair[1] not in CALLED])

        async def run_others() -> None:
            for test, part in others:
                await self._run_part(test, part)

        await all_of(partial(self._call_together, calls), *[run_others] * PROCESSES_AT_ONCE)

    async def _call_together(self, tests: list[SuiteTest]) -> None:
        """Call concurrently, in groups; if a group fails as a whole, its calls are repeated one by one."""
        for start in range(0, len(tests), CALLS_AT_ONCE):
            group = tests[start : start + CALLS_AT_ONCE]
            caller = self.runtime.callers[group[0].server]
            try:
                batch = await caller.send_together(group, [request_of(test) for test in group])
            except (CannotRunError, ConnectError):  # each call reports this on its own
                batch = Batch(None)
            if batch.responses is None:
                crashes = caller.crashes
                for test in group:
                    await self._run_part(test, test.block)
                # If a call on its own ends the server, too, that call is to blame, and not concurrency.
                if batch.problem and crashes == caller.crashes:
                    self._failed_teardown.append(_concurrent_failure(group, caller.server.hide(batch.problem)))
                continue
            for test, (response, seconds) in zip(group, batch.responses, strict=True):
                first = check_response(test, response, seconds, caller.server, self.runtime.store)
                self._done[test.number, test.block] = await self._confirm(test, first)
                self._show_progress(test)

    async def _confirm(self, test: SuiteTest, first: TestResult) -> TestResult:
        """Retry a failed concurrent call alone; note if it fails only under concurrency."""
        result = await self.runtime.retry(test, test.block, first)
        if result.outcome != "failed":
            return result
        # A server that cannot answer several calls at once has a fault of its own, which the test is not about.
        alone = await self.runtime.run_part(test, test.block)
        if alone.outcome != "passed":
            return result
        note = TestFailure("", _ONLY_CONCURRENTLY, line=result.failures[-1].line)
        return result._replace(message=f"{result.message}; {note.message}", failures=(*result.failures, note))


def _concurrent_failure(tests: list[SuiteTest], why: str) -> TestResult:
    """Return the result for calls that fail together, but not one by one."""
    names = ", ".join(f"`{test.name}`" for test in tests[:3]) + (", …" if len(tests) > 3 else "")
    message = f"{why} during the concurrent calls of {names}, but not one by one"
    return TestResult(
        name="concurrent calls",
        block="tools",
        server=tests[0].server,
        outcome="failed",
        message=message,
        failures=(TestFailure("", message),),
        file=tests[0].location.file,
        line=tests[0].location.line,
    )

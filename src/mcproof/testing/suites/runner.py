"""Run the tests of a suite: servers in parallel, the tests of each server in order.

Read-only tests of a server run concurrently. A crash fails the test that caused it, and the server is restarted. If a
server cannot be started, only its own tests become errors.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, NamedTuple

from mcproof.client.errors import ConnectError
from mcproof.client.redaction import hiding_whole
from mcproof.client.session import Batch
from mcproof.client.waiting import Interruptible, all_of
from mcproof.results.suite_tests import TestFailure, TestResult
from mcproof.suite.run.batching import batches, is_untimed, read_only_tests
from mcproof.suite.run.caller import CALLED
from mcproof.suite.run.execute_test import check_response, parts_of, request_of, result_of
from mcproof.suite.run.server_under_test import CannotRunError
from mcproof.suite.run.suite_runtime import SuiteRuntime

if TYPE_CHECKING:
    from collections.abc import Callable

    from mcproof.core.errors import Notice
    from mcproof.suite.definition import Suite, SuiteTest
    from mcproof.suite.run.caller import Caller
    from mcproof.suite.run.suite_runtime import RunOptions
    from mcproof.suite.snapshots import SnapshotStore

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
        result_of(test, part, "skipped", why)._replace(name=hide(test.name))
        for test in tests
        for part in parts_of(test)
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
        self._parts = [(test, part) for test in tests for part in parts_of(test)]
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
            results = [await self._run_part(test, part) for part in parts_of(test)]
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
        parts = [(test, part) for test in tests for part in parts_of(test)]
        calls = [test for test, part in parts if part in CALLED]
        others = iter([each for each in parts if each[1] not in CALLED])

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

"""The runtime of a suite: its servers, its steps, and the execution of single parts with retries."""

from __future__ import annotations

import asyncio
import os
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

from mcproof.client.errors import ConnectError
from mcproof.client.redaction import hiding, hiding_whole
from mcproof.client.transports.processes import STARTED
from mcproof.client.waiting import all_of
from mcproof.core.errors import SESSION_EXPIRED, Notice
from mcproof.core.observations.connection import expired_text
from mcproof.results.suite_tests import TestResult
from mcproof.suite.run.caller import Caller
from mcproof.suite.run.execute_test import execute_part, failure_message
from mcproof.suite.run.server_under_test import CannotRunError, ServerUnderTest
from mcproof.suite.run.steps import run_program

if TYPE_CHECKING:
    from mcproof.suite.definition import Step, Suite, SuiteTest
    from mcproof.suite.snapshots import SnapshotStore

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
        failures = tuple(each._replace(target=hide(each.target)) for each in result.failures)
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

"""Send the requests of tests to one server, and blame the test that ended it.

A server may end after it has responded, which only the next request notices.
"""

from __future__ import annotations

from time import perf_counter
from typing import TYPE_CHECKING, NamedTuple

from mcproof.client.session import Batch
from mcproof.results.suite_tests import TestFailure
from mcproof.suite.run.server_under_test import LIVENESS_LIMIT

if TYPE_CHECKING:
    from mcproof.client.session import Request, Response
    from mcproof.results.suite_tests import TestResult
    from mcproof.suite.definition import SuiteTest
    from mcproof.suite.run.server_under_test import ServerUnderTest

CALLED = ("tools", "resources", "prompts")
"""Parts of tests that send one request on the shared connection."""


class _LastCall(NamedTuple):
    """The test that got the last response, and its request."""

    test: SuiteTest
    request: Request


class Caller:
    """Sends requests to a server, and records which test ended it."""

    def __init__(self, server: ServerUnderTest) -> None:
        self.server = server
        self.read_only: set[int] = set()
        """Numbers of the tests known to change nothing."""
        self.crashes = 0
        """How often the server ended, or failed to respond, during or after a single request."""
        self._ended_after: dict[int, str] = {}
        """How the server ended after the response to a test, by test number."""
        self._last: _LastCall | None = None
        self._last_was_batch = False
        self._can_batch = True

    async def send(self, test: SuiteTest | None, request: Request, limit: float | None) -> tuple[Response, float]:
        """Send a request; return the response and the seconds it took. `test` is None for steps.

        If the server had ended before, the last test is blamed and the request is sent again; without a last test, this
        request fails. A request that may have arrived is repeated only if its test is read-only.
        """
        session = self.server.session
        session.answer_from(self.server.answers_of(test))
        await self.server.connect()
        start = perf_counter()
        response = await session.send(*request, limit)
        if response.outcome == "crash" and session.can_restart:
            if not response.arrived and (self._last is not None or test is None):
                self._blame_last(response.why)
                await self.server.connect()
                start = perf_counter()
                response = await session.send(*request, limit)
            elif self._last is not None:
                response = await self._find_cause(self._last, test, request, response, limit)
        seconds = perf_counter() - start
        self.crashes += response.outcome in ("crash", "hang")
        # A late response must not be taken for the response to the next test.
        if response.outcome == "hang" or (response.outcome == "malformed" and session.can_restart):
            await session.close(at_once=True)
        self._last = _LastCall(test, request) if test is not None and response.message is not None else None
        self._last_was_batch = False
        return response, seconds

    async def _find_cause(
        self, last: _LastCall, test: SuiteTest | None, request: Request, crash: Response, limit: float | None
    ) -> Response:
        """Return the response to a request during which the server ended, once the last test is ruled out or blamed."""
        if test is None or not {test.number, last.test.number} <= self.read_only:
            return crash._replace(why=f"{crash.why}, possibly caused by the test before, `{last.test.name}`")
        session = self.server.session
        await self.server.connect()
        await session.send(*last.request, limit)
        absence = await session.ping_failure(LIVENESS_LIMIT) if session.is_connected else crash
        if absence is None or absence.outcome != "crash":
            return crash
        self._blame_last(absence.why)
        await self.server.connect()
        return await session.send(*request, limit)

    async def send_together(self, tests: list[SuiteTest], requests: list[Request]) -> Batch:
        """Send requests concurrently.

        On failure the caller retries each request alone, and batching is off for this server.
        """
        if not self._can_batch:
            return Batch(None)
        if not self._last_was_batch:
            await self.check_liveness()
        self.server.session.answer_from(self.server.answers_of(None))
        await self.server.connect()
        batch = await self.server.session.send_together(requests)
        self._can_batch = self._last_was_batch = batch.responses is not None
        self._last = None if batch.responses is None else _LastCall(tests[-1], requests[-1])
        return batch

    async def check_liveness(self) -> None:
        """Blame the last test if the server has ended since its response."""
        if self._last is not None and (why := await self.server.crash_after_response()) is not None:
            self._blame_last(why)

    def _blame_last(self, why: str) -> None:
        if self._last is not None:
            self._ended_after[self._last.test.number] = self.server.hide(f"after the response, {why}")
            self.crashes += 1
        self._last = None

    def with_blame(self, test: SuiteTest, result: TestResult) -> TestResult:
        """Return the result of a test; failed if the server ended after its response."""
        why = self._ended_after.get(test.number)
        if why is None or result.outcome != "passed" or result.block not in CALLED:
            return result
        return result._replace(outcome="failed", message=why, failures=(TestFailure("", why),))

    async def close(self, *, at_once: bool) -> None:
        """Close the session; unless `at_once`, first check whether the last test ended the server."""
        if not at_once:
            await self.check_liveness()
        await self.server.close(at_once=at_once)

"""The servers of a suite: connected once and shared by its tests; a test that ends a server is blamed.

Negative paths get processes of their own, which are used again if nothing crashed. A server may end after it has
responded, which only the next request notices.
"""

from __future__ import annotations

import asyncio
import contextlib
from contextlib import asynccontextmanager, suppress
from time import perf_counter
from typing import TYPE_CHECKING, Any

from mcproof.client.capture import capture_over
from mcproof.client.connect import ConnectOptions
from mcproof.client.connection import Connection, Limits
from mcproof.client.endpoints import CommandEndpoint, Endpoint, UrlEndpoint
from mcproof.client.errors import ConnectError, LostError
from mcproof.client.questions import AnswerList
from mcproof.client.redaction import hiding, hiding_whole, secrets_of_command
from mcproof.client.session import Batch, Request, Response, Session
from mcproof.client.tracing import hide_in_trace
from mcproof.core.named_tuple import NamedTuple
from mcproof.core.observations.responses import OutputContract, structured_flaws
from mcproof.targets.snapshots import read_snapshot
from mcproof.testing.outcomes import TestFailure, TestResult

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from mcproof.core.catalog.model import Catalog
    from mcproof.testing.suites.model import ServerEntry, Suite, SuiteTest


MOST_PROCESSES = 4
"""How many processes of one server are probed at once."""


class ProbeServers:
    """Lends sessions with a server, one to each borrower."""

    def __init__(self, endpoint: Endpoint, options: ConnectOptions) -> None:
        self._endpoint = endpoint
        self._options = options
        self._sessions: list[Session] = []
        self._free: list[Session] = []
        self._start_seconds: float | None = None
        """How long a start takes; None until the first is done."""
        self._first_started = 0.0
        self._changed = asyncio.Condition()

    @asynccontextmanager
    async def start(self, limit: float) -> AsyncIterator[Session]:
        """Lend a session with a process of its own, whose responses are due within `limit` seconds."""
        session = Session(self._endpoint, self._options, limit)
        try:
            yield session
        finally:
            await session.close()

    @asynccontextmanager
    async def borrow(self, limit: float) -> AsyncIterator[Session]:
        """Lend a session that others have used before, or will use.

        The borrower closes it if the process must not be used again; the next one then gets a fresh process.
        """
        session = await self._take()
        session.limit = limit
        try:
            await self._time_start(session)
            yield session
        except BaseException:
            await session.close(at_once=True)
            raise
        finally:
            self._free.append(session)
            await self._notify()

    async def _take(self) -> Session:
        """Return a free session, or a new one after a wait that is longer than a start."""
        since = perf_counter()
        async with self._changed:
            while not self._free and self._sessions:
                left = self._worthwhile_wait(since)
                if left is not None and left <= 0:
                    break
                with suppress(TimeoutError):
                    async with asyncio.timeout(left):
                        await self._changed.wait()
            if not self._free:
                self._sessions.append(Session(self._endpoint, self._options, 0.0))
                return self._sessions[-1]
            return self._free.pop()

    def _worthwhile_wait(self, since: float) -> float | None:
        """Return how many more seconds to wait for a free session; None to wait for one whatever it takes."""
        if self._start_seconds is None or len(self._sessions) >= MOST_PROCESSES:
            return None
        return self._start_seconds - (perf_counter() - max(since, self._first_started))

    async def _time_start(self, session: Session) -> None:
        """Time the first start. Raises ConnectError."""
        if self._start_seconds is None:
            start = perf_counter()
            await session.connection()
            self._first_started = perf_counter()
            self._start_seconds = self._first_started - start
            await self._notify()

    async def _notify(self) -> None:
        async with self._changed:
            self._changed.notify_all()

    async def close(self, *, at_once: bool) -> None:
        """End all processes."""
        await asyncio.gather(*(session.close(at_once=at_once) for session in self._sessions))


PROBE_LIMIT = 10.0
"""Default time limit of a response to a probe, in seconds."""
LIVENESS_LIMIT = 0.3
"""Time limit of a liveness check, in seconds."""

_NOISE = "writes non-protocol text to stdout; clients may disconnect (WIR-001)"
_CONTRACT_FLAWS = ("structured-invalid", "structured-missing")


class CannotRunError(Exception):
    """A test cannot run; the message is the reason."""


class ServerUnderTest:
    """A server with its session, secrets and catalog. The time limits in seconds apply if the entry has none."""

    def __init__(
        self,
        entry: ServerEntry,
        suite: Suite,
        timeout: float | None = None,
        start_timeout: float | None = None,
        start_setting: str = "`start_timeout_ms`",
    ) -> None:
        self.entry = entry
        self.endpoint = _endpoint(entry, suite)
        seconds = entry.timeout_ms / 1000 if entry.timeout_ms is not None else timeout
        start = entry.start_timeout_ms / 1000 if entry.start_timeout_ms is not None else start_timeout
        limits = _limits(seconds, start, start_setting)
        self._answers = suite.answers
        of_tests = [answer for test in suite.tests if test.server == entry.name for answer in test.answers]
        self.options = ConnectOptions(limits, entry.protocol, AnswerList((*of_tests, *suite.answers)))
        """With the answers of all tests, so that the connection declares what one of them needs."""
        self.probe_limit = seconds if seconds is not None else PROBE_LIMIT
        self.session = Session(self.endpoint, self.options, limits.request)
        self.probe_servers = ProbeServers(self.endpoint, self.options)
        """For negative paths, whose requests must not harm the session of the tests."""
        secrets = [*suite.secrets, *_secrets(self.endpoint)]
        # One trace serves the whole process: docs/decisions/0035-one-trace-per-process.md.
        hide_in_trace(secrets)
        self.hide = hiding(secrets)
        """Hides secrets in evidence, which may be cropped."""
        self.hide_whole = hiding_whole(secrets)
        """Hides secrets in uncropped texts."""
        self._unreachable: str | None = None
        self._last_lines = ""
        self._catalog: Catalog | None = None
        self._unlisted: str | None = None
        """Why listing failed."""
        self._contracts: dict[str, OutputContract] = {}
        self._responds_to_pings = True
        self._lock = asyncio.Lock()

    def answers_of(self, test: SuiteTest | None) -> AnswerList:
        """Return the answers for a test, or for a step of the suite."""
        return AnswerList((*(test.answers if test is not None else ()), *self._answers))

    def options_of(self, test: SuiteTest) -> ConnectOptions:
        """Return the options for connections that only one test uses."""
        return self.options._replace(answers=self.answers_of(test))

    async def connect(self) -> None:
        """Connect unless connected. Raises CannotRunError; a failed start is not repeated."""
        if not self.session.is_connected:
            async with self._lock:
                await self._connection()

    async def _connection(self) -> Connection:
        if self._unreachable is not None:
            raise CannotRunError(self._unreachable)
        try:
            return await self.session.connection()
        except ConnectError as error:
            self._unreachable = unreachable(self.hide(error.message))
            self._last_lines = self.hide(error.last_lines)
            raise CannotRunError(self._unreachable) from None

    def take_last_lines(self) -> str:
        """Return the last stderr lines of a server that failed to start; empty when called again."""
        lines, self._last_lines = self._last_lines, ""
        return lines

    def allow_retry(self) -> None:
        """Forget failures to connect or to list, so that both are tried again."""
        self._unreachable = self._unlisted = None

    async def catalog(self) -> Catalog:
        """Return the catalog, listed once, and again if the server reports a change. Raises CannotRunError."""
        async with self._lock:
            if self._catalog is not None and self.session.changed_lists:
                self._catalog = None
                self._contracts.clear()
            if self._catalog is None and self._unlisted is None:
                await self._list()
            if self._catalog is None:
                raise CannotRunError(f"cannot list the tools: {self._unlisted}")
            return self._catalog

    async def try_catalog(self) -> None:
        """List the catalog if possible; without it, output schemas are not checked."""
        if self._catalog is None and self._unlisted is None:
            with contextlib.suppress(CannotRunError):
                await self.catalog()

    async def _list(self) -> None:
        connection = await self._connection()
        try:
            async with asyncio.timeout(self.options.limits.total):
                capture = await capture_over(self.endpoint, connection)
        except (ConnectError, LostError, TimeoutError) as error:
            await self.session.close(at_once=True)
            self._unlisted = "timed out" if isinstance(error, TimeoutError) else self.hide(error.message)
            return
        if capture.connection.unserved:  # the server may have ended; no test may be blamed for that
            await self.session.close(at_once=True)
        text = capture.text.encode("utf-8", "surrogatepass")
        catalog = read_snapshot(text, self.endpoint.label, connection=capture.connection)
        if any(method == "tools/list" for method, _ in capture.connection.unserved):
            self._unlisted = self.hide(catalog.missing or "")
        else:
            self._catalog = catalog

    def output_violation(self, tool: str, result: dict[str, Any]) -> str | None:
        """Return how a successful result violates the tool's output schema; None if it does not."""
        if self._catalog is None:
            return None
        if tool not in self._contracts:
            schema = next(
                (candidate.fields.get("outputSchema") for candidate in self._catalog.tools if candidate.name == tool),
                None,
            )
            self._contracts[tool] = OutputContract(schema)
        contract = self._contracts[tool]
        if not contract.is_declared:
            return None
        flaws = structured_flaws(result, self._catalog.protocol or "", contract)
        return next((flaw.detail for flaw in flaws if flaw.kind in _CONTRACT_FLAWS), None)

    async def close(self, *, at_once: bool) -> None:
        """End all processes of the server."""
        await asyncio.gather(self.session.close(at_once=at_once), self.probe_servers.close(at_once=at_once))

    async def crash_after_response(self) -> str | None:
        """Return how the server ended since its last response; None if it is alive or liveness is unknown."""
        if not (self.session.is_connected and self.session.can_restart and self._responds_to_pings):
            return None
        absence = await self.session.ping_failure(LIVENESS_LIMIT)
        if absence is None or absence.outcome != "crash":
            # A server that answers no ping is not asked again, because each would take the whole limit.
            self._responds_to_pings = absence is None
            return None
        return absence.why

    @property
    def noise(self) -> str:
        """Describes non-protocol output of the server; empty if there was none."""
        return f"{_NOISE}: {self.hide(self.session.noise)}" if self.session.noise else ""


def _limits(request: float | None, start: float | None, start_setting: str) -> Limits:
    """Return the limits of a server: that of a response does not change that of the start."""
    limits = Limits(start_setting=start_setting)
    if request is not None:
        limits = limits._replace(request=request)
    return limits if start is None else limits._replace(start=start)


def unreachable(why: str) -> str:
    """Return the message for a server that cannot be started or reached."""
    is_complete = why.startswith(("cannot start", "the server cannot be reached"))
    return why if is_complete else f"cannot reach the server: {why}"


def _endpoint(entry: ServerEntry, suite: Suite) -> Endpoint:
    if entry.url:
        return UrlEndpoint(entry.url, entry.headers, suite.secrets, entry.access)
    return CommandEndpoint(entry.command, entry.environment, entry.directory, suite.secrets)


def _secrets(endpoint: Endpoint) -> list[str]:
    """Return the secrets of an endpoint; literal values of a command's environment are public in the suite."""
    return secrets_of_command(endpoint.words) if isinstance(endpoint, CommandEndpoint) else endpoint.secrets


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
        # From here on: the start of the server does not count towards the duration.
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
        # Only tests that read may be sent twice: docs/decisions/0003-concurrent-tests.md.
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

"""A server of a suite: connected once, shared by its tests, its catalog listed at most once."""

from __future__ import annotations

import asyncio
import contextlib
from typing import TYPE_CHECKING, Any

from mcproof.client.capture import capture_over
from mcproof.client.connect import ConnectOptions
from mcproof.client.connection import Limits
from mcproof.client.endpoints import CommandEndpoint, UrlEndpoint
from mcproof.client.errors import ConnectError, LostError
from mcproof.client.questions import AnswerList
from mcproof.client.redaction import hiding, hiding_whole, secrets_of_command
from mcproof.client.session import Session
from mcproof.client.tracing import hide_in_trace
from mcproof.core.observations.responses import OutputContract, structured_flaws
from mcproof.suite.run.probe_servers import ProbeServers
from mcproof.targets.snapshots import read_snapshot

if TYPE_CHECKING:
    from mcproof.client.connection import Connection
    from mcproof.client.endpoints import Endpoint
    from mcproof.core.catalog.model import Catalog
    from mcproof.suite.definition import ServerEntry, Suite, SuiteTest

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
        catalog = read_snapshot(capture.text.encode("utf-8", "surrogatepass"), self.endpoint.label)
        catalog.connection = capture.connection
        if any(method == "tools/list" for method, _ in capture.connection.unserved):
            self._unlisted = self.hide(catalog.missing or "")
        else:
            self._catalog = catalog

    def output_violation(self, tool: str, result: dict[str, Any]) -> str | None:
        """Return how a successful result violates the tool's output schema; None if it does not."""
        if self._catalog is None:
            return None
        if tool not in self._contracts:
            schema = next((each.fields.get("outputSchema") for each in self._catalog.tools if each.name == tool), None)
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

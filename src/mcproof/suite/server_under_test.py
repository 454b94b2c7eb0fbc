"""A server of a suite: started or connected to once, shared by its tests, and what is known of it."""

from __future__ import annotations

import asyncio
import contextlib
from time import perf_counter
from typing import TYPE_CHECKING, Any

from mcproof.client.captures import capture_over
from mcproof.client.connect import ConnectOptions
from mcproof.client.connection import Limits
from mcproof.client.endpoints import CommandEndpoint, UrlEndpoint
from mcproof.client.failures import ConnectError, LostError
from mcproof.client.secrets import hiding, hiding_whole, secrets_of_command
from mcproof.client.session import Session
from mcproof.exchange.responses import OutputContract, structured_flaws
from mcproof.targets.snapshot import read_snapshot

if TYPE_CHECKING:
    from mcproof.catalog.model import Catalog
    from mcproof.client.connection import Connection
    from mcproof.client.endpoints import Endpoint
    from mcproof.client.session import Request, Response
    from mcproof.suite.definition import ServerEntry, Suite, SuiteTest

PROBE_LIMIT = 10.0
"""How long an answer to a probe may take, in seconds, where nobody says."""


MOMENT = 0.3
"""How long a server may take at the end to show that it is still there, in seconds."""


_NOISE = "writes to its standard output what is no message, for which clients give servers up (WIR-001)"
_BROKEN = ("structured-invalid", "structured-missing")


class UnableError(Exception):
    """A test cannot be made; the text says why."""


class Host:
    """One server; a time limit holds where the suite names none."""

    def __init__(self, entry: ServerEntry, suite: Suite, timeout: float | None) -> None:
        self.entry = entry
        self.server = _server(entry, suite)
        seconds = entry.timeout_ms / 1000 if entry.timeout_ms is not None else timeout
        limits = Limits() if seconds is None else Limits(max(seconds, 5.0), seconds)
        self.asking = ConnectOptions(limits, entry.protocol)
        self.probe_limit = seconds if seconds is not None else PROBE_LIMIT
        self.session = Session(self.server, self.asking, limits.request)
        secrets = [*suite.secrets, *_secrets(self.server)]
        self.hide = hiding(secrets)
        """What hides secrets in evidence, which may be cropped."""
        self.hide_whole = hiding_whole(secrets)
        """What hides them in what is kept as it is."""
        self._trouble: str | None = None
        self._last_lines = ""
        self._catalog: Catalog | None = None
        self._unlisted: str | None = None
        """Why there is no catalog, once that was tried."""
        self._promises: dict[str, OutputContract] = {}
        """What tools promise of their structured content, as far as somebody asked."""
        self._takes_several = True
        self._shows_itself = True
        """Whether it answers in a moment when it is asked whether it is there."""
        self._lock = asyncio.Lock()
        self._last: tuple[SuiteTest, Request] | None = None
        """The test that was answered last, and what it asked."""
        self._was_row = False
        """Whether that was one of several that were made together."""
        self.harmless: set[int] = set()
        """The tests that only look, as far as that is known, by their identity."""
        self.ends = 0
        """How often the server ended or did not answer while it was asked one thing."""
        self.ended_after: dict[int, str] = {}
        """How the server ended after the answer to a test, by the identity of the test."""

    async def connect(self) -> None:
        """Make sure that there is a connection, or raise UnableError; what could not be started is not tried again."""
        if not self.session.is_connected:
            async with self._lock:
                await self._connection()

    async def _connection(self) -> Connection:
        if self._trouble is not None:
            raise UnableError(self._trouble)
        try:
            return await self.session.connection()
        except ConnectError as error:
            self._trouble = unreachable(self.hide(error.message))
            self._last_lines = self.hide(error.last_lines)
            raise UnableError(self._trouble) from None

    def last_lines(self) -> str:
        """The last lines of a server that could not be started, to be told once."""
        lines, self._last_lines = self._last_lines, ""
        return lines

    async def catalog(self) -> Catalog:
        """Everything that it lists, asked for once. Raises UnableError where that is not to be had."""
        async with self._lock:
            if self._catalog is None and self._unlisted is None:
                await self._list()
            if self._catalog is None:
                raise UnableError(f"the tools cannot be listed: {self._unlisted}")
            return self._catalog

    async def _list(self) -> None:
        connection = await self._connection()
        try:
            async with asyncio.timeout(self.asking.limits.total):
                capture = await capture_over(self.server, connection)
        except (ConnectError, LostError, TimeoutError) as error:
            await self.session.close(at_once=True)
            self._unlisted = "not done in time" if isinstance(error, TimeoutError) else self.hide(error.message)
            return
        if capture.connection.unserved:  # it may have gone, and no test is to blame for that
            await self.session.close(at_once=True)
        catalog = read_snapshot(capture.text.encode("utf-8", "surrogatepass"), self.server.label)
        catalog.connection = capture.connection
        if any(method == "tools/list" for method, _ in capture.connection.unserved):
            self._unlisted = self.hide(catalog.missing or "")
        else:
            self._catalog = catalog

    async def look(self) -> None:
        """See what tools there are, where that can be seen; what is not known of a tool is not held against it."""
        if self._catalog is None and self._unlisted is None:
            with contextlib.suppress(UnableError):
                await self.catalog()

    def broken_promise(self, tool: str, result: dict[str, Any]) -> str | None:
        """How a success breaks what the tool promises of its structured content; None where it does not."""
        if self._catalog is None:
            return None
        if tool not in self._promises:
            schema = next((each.fields.get("outputSchema") for each in self._catalog.tools if each.name == tool), None)
            self._promises[tool] = OutputContract(schema)
        promise = self._promises[tool]
        if not promise.is_declared:
            return None
        flaws = structured_flaws(result, self._catalog.protocol or "", promise)
        return next((flaw.detail for flaw in flaws if flaw.kind in _BROKEN), None)

    async def ask(self, test: SuiteTest | None, request: Request, limit: float | None) -> tuple[Response, float]:
        """The reply to the call of a test, and its seconds.

        A server that had gone before was ended by the test before; where there is none, this one is told that it was
        gone. Nothing is sent twice that may have arrived, unless it changes nothing.
        """
        await self.connect()
        start = perf_counter()
        reply = await self.session.send(*request, limit)
        if reply.outcome == "crash" and self.session.can_restart:
            if not reply.arrived and (self._last is not None or test is None):
                self._blame(reply.why)
                await self.connect()
                start = perf_counter()
                reply = await self.session.send(*request, limit)
            elif self._last is not None:
                reply = await self._explained(self._last, test, request, reply, limit)
        seconds = perf_counter() - start
        self.ends += reply.outcome in ("crash", "hang")
        # What is still to come would be taken for the answer to another test.
        if reply.outcome == "hang" or (reply.outcome == "malformed" and self.session.can_restart):
            await self.session.close(at_once=True)
        self._last = (test, request) if test is not None and reply.message is not None else None
        self._was_row = False
        return reply, seconds

    async def _explained(
        self,
        answered: tuple[SuiteTest, Request],
        test: SuiteTest | None,
        request: Request,
        end: Response,
        limit: float | None,
    ) -> Response:
        """The reply to a call during which the server ended, once it is known whether the test before did that."""
        last, before = answered
        if test is None or not {id(test), id(last)} <= self.harmless:
            return end._replace(why=f"{end.why}, or `{last.name}` ended it after its answer")
        await self.connect()
        await self.session.send(*before, limit)
        gone = await self.session.ping_failure(MOMENT) if self.session.is_connected else end
        if gone is None or gone.outcome != "crash":
            return end
        self._blame(gone.why)
        await self.connect()
        return await self.session.send(*request, limit)

    def _blame(self, why: str) -> None:
        if self._last is not None:
            self.ended_after[id(self._last[0])] = self.hide(f"it was answered, and then {why}")
            self.ends += 1
        self._last = None

    async def end_after_answer(self) -> str | None:
        """How the server ended after its last answer; None while it is there, and where nobody can tell."""
        if not (self.session.is_connected and self.session.can_restart and self._shows_itself):
            return None
        gone = await self.session.ping_failure(MOMENT)
        if gone is None or gone.outcome != "crash":
            self._shows_itself = gone is None
            return None
        return gone.why

    @property
    def noise(self) -> str:
        """What a server does that writes more than messages to its output, in words; empty where it does not."""
        return f"{_NOISE}: {self.hide(self.session.noise)}" if self.session.noise else ""

    async def settle(self) -> None:
        """See whether the last test has ended the server."""
        if self._last is not None and (why := await self.end_after_answer()) is not None:
            self._blame(why)

    async def leave(self, *, at_once: bool) -> None:
        """Leave nothing running; before that, see whether the last test has ended the server."""
        if not at_once:
            await self.settle()
        await self.session.close(at_once=at_once)

    def try_anew(self) -> None:
        """Let a server be started, or asked for its tools, again that could not be."""
        self._trouble = self._unlisted = None

    async def ask_together(self, tests: list[SuiteTest], requests: list[Request]) -> list[tuple[Response, float]] | str:
        """Replies to requests that are under way at once, each with its seconds; or why not all is well.

        What went wrong may be another's fault then, so who asked asks again, one by one, from then on.
        """
        if not self._takes_several:
            return ""
        if not self._was_row:
            await self.settle()
        await self.connect()
        batch = await self.session.send_together(requests)
        replies = batch.problem if batch.responses is None else batch.responses
        self._takes_several = self._was_row = not isinstance(replies, str)
        self._last = None if isinstance(replies, str) else (tests[-1], requests[-1])
        return replies


def unreachable(why: str) -> str:
    """That a server cannot be started or reached, and why."""
    says_so = why.startswith(("cannot start", "the server cannot be reached"))
    return why if says_so else f"cannot reach the server: {why}"


def _server(entry: ServerEntry, suite: Suite) -> Endpoint:
    if entry.url:
        return UrlEndpoint(entry.url, entry.headers, suite.secrets)
    return CommandEndpoint(entry.command, entry.environment, entry.directory, suite.secrets)


def _secrets(server: Endpoint) -> list[str]:
    """What no report may repeat; what a suite itself gives a command is no secret, as it stands in the suite."""
    return secrets_of_command(server.words) if isinstance(server, CommandEndpoint) else server.secrets

"""A suite at work: servers started once and shared, the tests of each in order, several servers at once.

A server that crashes fails the test that met it, and is started anew for the next. One that cannot be started makes its
tests errors, and no other server's.
"""

from __future__ import annotations

import asyncio
import json
from functools import partial
from time import perf_counter
from typing import TYPE_CHECKING, Any, NamedTuple

from mcproof.errors import nearest
from mcproof.live.capture import capture_over
from mcproof.live.connection import Limits
from mcproof.live.errors import ConnectError, LostError
from mcproof.live.interrupts import Interruptible, all_of
from mcproof.live.reach import Asking
from mcproof.live.secrets import hiding, secrets_of_command
from mcproof.live.servers import Command, Endpoint
from mcproof.live.session import Session
from mcproof.proof.safety import Permission
from mcproof.report.model import TestFailure, TestResult
from mcproof.suite.judging import Judge, call_default, quality_default
from mcproof.suite.matchers import shown
from mcproof.suite.model import METHODS
from mcproof.suite.steps import run_program
from mcproof.targets.snapshot import read_snapshot

if TYPE_CHECKING:
    from collections.abc import Callable

    from mcproof.catalog import Catalog, Tool
    from mcproof.live.servers import Server
    from mcproof.live.session import Reply
    from mcproof.report.model import ProbeResult, TestOutcome
    from mcproof.suite.model import Fuzz, NegativePath, ServerEntry, Step, Suite, SuiteTest
    from mcproof.suite.snapshots import SnapshotStore
    from mcproof.trial import Trials

PROBE_LIMIT = 10.0
"""How long an answer to a probe may take, in seconds, where nobody says."""
OVERSIZED = 1024 * 1024
MOST_FAILURES = 20
"""How many unmet expectations of one test are kept."""
_CALLS = {"resources": ("resources/read", "uri"), "prompts": ("prompts/get", "name")}


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


def run_suite(
    suite: Suite,
    tests: list[SuiteTest],
    running: Running,
    store: SnapshotStore,
    progress: Callable[[int, int, str], None],
) -> Ran:
    """Run these tests of a suite; an interrupt keeps what was found by then."""
    run = _Run(suite, tests, running, store, progress)
    run.work.run(run.everything)
    return Ran(run.results(), run.work.is_interrupted)


class _Judged(NamedTuple):
    """What came of a part of a test."""

    failures: list[TestFailure]
    note: str = ""
    """What is to be said of a part that passed."""


class _UnableError(Exception):
    """A test cannot be made; the text says why."""


class _Host:
    """A server of the suite, and what is known of it."""

    def __init__(self, entry: ServerEntry, suite: Suite, running: Running) -> None:
        self.server = _server(entry, suite)
        seconds = entry.timeout_ms / 1000 if entry.timeout_ms is not None else running.timeout
        limits = Limits() if seconds is None else Limits(max(seconds, 5.0), seconds)
        self.asking = Asking(limits, entry.protocol)
        self.probe_limit = seconds if seconds is not None else PROBE_LIMIT
        self.session = Session(self.server, self.asking, limits.request)
        self.hide = hiding([*suite.secrets, *_secrets(self.server)])
        self._trouble: str | None = None
        self._catalog: Catalog | None = None

    async def connect(self) -> None:
        """Make sure that there is a connection, or raise _UnableError; what could not be started is not tried again."""
        if self._trouble is not None:
            raise _UnableError(self._trouble)
        try:
            await self.session.connection()
        except ConnectError as error:
            self._trouble = f"cannot reach the server: {self.hide(error.message)}"
            raise _UnableError(self._trouble) from None

    async def catalog(self) -> Catalog:
        """Everything that it lists, asked for once."""
        if self._catalog is None:
            await self.connect()
            try:
                async with asyncio.timeout(self.asking.limits.total):
                    capture = await capture_over(self.server, await self.session.connection())
            except (ConnectError, LostError) as error:
                await self.session.leave(at_once=True)
                raise _UnableError(f"the tools cannot be listed: {self.hide(error.message)}") from None
            except TimeoutError:
                await self.session.leave(at_once=True)
                raise _UnableError("the tools cannot be listed: not done in time") from None
            catalog = read_snapshot(capture.text.encode("utf-8", "surrogatepass"), self.server.label)
            catalog.wire = capture.wire
            if catalog.missing is not None:
                raise _UnableError(f"the tools cannot be listed: {self.hide(catalog.missing)}")
            self._catalog = catalog
        return self._catalog

    async def tool(self, name: str) -> Tool | None:
        return next((tool for tool in (await self.catalog()).tools if tool.name == name), None)


def _server(entry: ServerEntry, suite: Suite) -> Server:
    if entry.url:
        return Endpoint(entry.url, entry.headers, suite.secrets)
    return Command(entry.command, entry.environment, entry.directory, suite.secrets)


def _secrets(server: Server) -> list[str]:
    """What no report may repeat; what a suite itself gives a command is no secret, as it stands in the suite."""
    return secrets_of_command(server.words) if isinstance(server, Command) else server.secrets


class _Run:
    """One pass over the tests of a suite."""

    def __init__(
        self,
        suite: Suite,
        tests: list[SuiteTest],
        running: Running,
        store: SnapshotStore,
        progress: Callable[[int, int, str], None],
    ) -> None:
        self.work = Interruptible()
        self._suite = suite
        self._tests = tests
        self._running = running
        self._store = store
        self._progress = progress
        used = {test.server for test in tests} | {step.server for step in (*suite.setup, *suite.teardown)}
        self._hosts = {name: _Host(entry, suite, running) for name, entry in suite.servers.items() if name in used}
        self._before: list[TestResult] = []
        self._done: dict[int, list[TestResult]] = {}
        self._after: list[TestResult] = []
        self._stopped = ""
        """Why no further test is made."""

    def results(self) -> list[TestResult]:
        """What came of every test, in the order of the suite."""
        results = list(self._before)
        for number, test in enumerate(self._tests):
            why = "interrupted" if self.work.is_interrupted else self._stopped
            results += self._done.get(number) or [_result(test, block, "skipped", why) for block in _parts(test)]
        return [*results, *self._after]

    async def everything(self) -> None:
        """Set up, test, tear down, and leave nothing running."""
        try:
            try:
                if await self._set_up():
                    await self._test_all()
            finally:  # an interrupt ends the tests, and a second one this as well
                await self._tear_down()
        finally:
            for host in self._hosts.values():
                await host.session.leave(at_once=self.work.is_interrupted)

    async def _set_up(self) -> bool:
        for step in self._suite.setup:
            why = await self._step(step)
            if why is not None:
                self._before.append(_step_result(step, "setup", why))
                self._stopped = "the setup failed"
                return False
        return True

    async def _tear_down(self) -> None:
        for step in self._suite.teardown:
            why = await self._step(step)
            if why is not None:
                self._after.append(_step_result(step, "teardown", why))

    async def _step(self, step: Step) -> str | None:
        """Do one step; why it failed, or None."""
        if step.command:
            why = await run_program(step, self._suite.folder)
            return None if why is None else hiding(self._suite.secrets)(why)
        host = self._hosts[step.server]
        try:
            await host.connect()
            params = {"name": step.tool, "arguments": dict(step.arguments)}
            reply = await host.session.ask("tools/call", params, step.timeout_ms / 1000)
        except _UnableError as error:
            return str(error)
        except ConnectError as error:
            return host.hide(error.message)
        return None if reply.outcome == "accepted" else host.hide(reply.words)

    async def _test_all(self) -> None:
        numbered = list(enumerate(self._tests))
        queues = [[each for each in numbered if each[1].server == name] for name in self._hosts]
        if self._running.fails_fast:  # which tests are left out must not depend on which server is faster
            queues = [numbered]
        await all_of(*(partial(self._work, queue) for queue in queues))

    async def _work(self, queue: list[tuple[int, SuiteTest]]) -> None:
        for number, test in queue:
            if self._stopped:
                return
            self._progress(len(self._done), len(self._tests), test.name)
            results = [await self._patiently(test, block) for block in _parts(test)]
            self._done[number] = results
            if self._running.fails_fast and any(each.outcome in ("failed", "error") for each in results):
                self._stopped = "an earlier test failed (--fail-fast)"

    async def _patiently(self, test: SuiteTest, block: str) -> TestResult:
        """A part of a test, again where it does not pass, as often as is allowed; what passed late says so."""
        result = await self._part(test, block)
        for attempt in range(self._running.retries):
            if result.outcome == "passed":
                break
            result = await self._part(test, block)
            if result.outcome == "passed":
                result = result._replace(message=f"passed at attempt {attempt + 2}; {result.message}".rstrip("; "))
        return result

    async def _part(self, test: SuiteTest, block: str) -> TestResult:
        host = self._hosts[test.server]
        judge = Judge(host.hide, self._store)
        start = perf_counter()
        try:
            if block == "negative_path" and test.negative_path is not None:
                judged = await self._negative_path(test, test.negative_path, host, judge)
            elif block == "fuzz" and test.fuzz is not None:
                judged = _Judged(await self._fuzz(test, test.fuzz, host, judge))
            elif block == "tool_quality":
                judged = _Judged(await self._quality(test, host, judge))
            else:
                judged = _Judged(await self._call(test, host, judge))
        except _UnableError as error:
            return _result(test, block, "error", str(error), seconds=perf_counter() - start)
        except ConnectError as error:
            why = f"cannot reach the server: {host.hide(error.message)}"
            return _result(test, block, "error", why, seconds=perf_counter() - start)
        kept = tuple(judged.failures[:MOST_FAILURES])
        said = _summed_up(judged.failures) if kept else judged.note
        return _result(test, block, "failed" if kept else "passed", said, kept, perf_counter() - start)

    async def _call(self, test: SuiteTest, host: _Host, judge: Judge) -> list[TestFailure]:
        await host.connect()
        method, params = _request(test)
        limit = test.timeout_ms / 1000 if test.timeout_ms is not None else None
        start = perf_counter()
        reply = await host.session.ask(method, params, limit)
        taken = round((perf_counter() - start) * 1000)
        if reply.outcome not in ("accepted", "rejected") or reply.answer is None:
            if reply.outcome == "hang":  # whatever is still to come would be taken for the answer to another test
                await host.session.leave(at_once=True)
            return [judge.failure("", _unanswered(reply))]
        facts: dict[str, Any] = {"error": reply.answer.error, "duration_ms": taken}
        if reply.answer.error is None:
            facts["result"] = reply.answer.result
        usual = test.expect is None
        failures = judge.failures(test.expect or call_default(test.block), facts)
        if usual and failures:
            return [judge.failure("", f"the call failed: {_said(reply)}")]
        return failures

    async def _quality(self, test: SuiteTest, host: _Host, judge: Judge) -> list[TestFailure]:
        from mcproof.suite.quality import quality_of

        catalog = await host.catalog()
        if not catalog.tools:
            return [judge.failure("", "the server lists no tools, so there is nothing to judge")]
        quality = quality_of(catalog)
        return judge.failures(test.expect or quality_default(), quality.facts, quality.reasons)

    async def _negative_path(self, test: SuiteTest, block: NegativePath, host: _Host, judge: Judge) -> _Judged:
        from mcproof.proof.interview import Inquiry
        from mcproof.proof.proving import WEAK, prove_within
        from mcproof.report.proof import negative_path

        catalog, permission = await self._permitted(test, host)
        if permission is None:
            return _Judged([judge.failure("", await _no_tool(test, host))])
        arguments = {test.subject: dict(test.arguments)} if test.arguments is not None else {}
        limit = test.timeout_ms / 1000 if test.timeout_ms is not None else host.probe_limit
        inquiry = Inquiry([permission], list(block.checks), False, arguments, OVERSIZED, limit)
        proof = await prove_within(catalog, host.server, host.asking, inquiry)
        counted = negative_path(proof.probes)
        weak = any(each.probe == "baseline" and each.outcome != "accepted" for each in proof.probes)
        note = WEAK if weak else ""
        if block.expect is not None:
            reasons = dict.fromkeys(("negative_path.failures", "negative_path.gate_passed"), _failed(proof.probes))
            return _Judged(judge.failures(block.expect, {"negative_path": counted._asdict()}, reasons), note)
        failures = [
            judge.failure(each.probe, f"{each.probe}: {each.outcome}, {each.reason}", "a refusal", _inside(each.answer))
            for each in proof.probes
            if each.passed is False
        ]
        failures += [judge.failure("", f"crash: {end}") for end in _unexplained(proof.trials)]
        if not failures and not counted.checks_run:
            left_out = [each for each in proof.probes if each.passed is None and each.probe in block.checks]
            why = "; ".join(f"{each.probe}: {each.reason}" for each in left_out)
            message = f"no probe could be judged: {why}"
            failures = [judge.failure("negative_path.checks_run", message, "at least 1", "0")]
        return _Judged(failures, note)

    async def _fuzz(self, test: SuiteTest, block: Fuzz, host: _Host, judge: Judge) -> list[TestFailure]:
        from mcproof.proof.barrage import Campaign
        from mcproof.proof.fuzzing import fuzz_within
        from mcproof.trial import spelt

        catalog, permission = await self._permitted(test, host)
        if permission is None:
            return [judge.failure("", await _no_tool(test, host))]
        arguments = {test.subject: dict(test.arguments)} if test.arguments is not None else {}
        campaign = Campaign([permission], arguments, block.seed, block.cases, block.max_call_ms / 1000)
        fuzzed = await fuzz_within(catalog, host.server, host.asking, campaign)
        cases, outcomes, ends = sum(fuzzed.cases.values()), fuzzed.outcomes, _unexplained(fuzzed.trials)
        facts = {
            "cases_run": cases,
            "crashes": outcomes["crash"] + len(ends),
            "hangs": outcomes["hang"],
            "protocol_violations": outcomes["protocol_violation"],
            "leaks": outcomes["leak"],
            "accepted": outcomes["accepted"],
        }
        bad = sum(facts[name] for name in ("crashes", "hangs", "protocol_violations", "leaks"))
        facts["gate_passed"] = int(cases > 0 and not bad)
        if block.expect is not None:
            return judge.failures(block.expect, {"fuzz": facts})
        failures = []
        for each in fuzzed.failures:
            if each.judgement.outcome != "accepted":
                outcome, why = each.judgement.outcome.replace("_", " "), each.judgement.what or each.case.what
                failures.append(judge.failure("", f"{outcome} at {spelt(each.case.arguments)}: {why}"))
        failures += [judge.failure("", f"crash: {end}") for end in ends]
        if not facts["gate_passed"] and not failures:
            failures = [judge.failure("fuzz.cases_run", "no case could be sent", "at least 1", "0")]
        return failures

    async def _permitted(self, test: SuiteTest, host: _Host) -> tuple[Catalog, Permission | None]:
        """The tool of a test, which may be called because the suite names it."""
        catalog = await host.catalog()
        tool = await host.tool(test.subject)
        return catalog, None if tool is None else Permission(tool, True, "named in the suite")


def _parts(test: SuiteTest) -> list[str]:
    """What a test consists of: the call, and each block beside it."""
    parts = [test.block] if test.is_called else []
    parts += ["negative_path"] if test.negative_path is not None else []
    return [*parts, "fuzz"] if test.fuzz is not None else parts


def _request(test: SuiteTest) -> tuple[str, dict[str, Any] | None]:
    arguments = dict(test.arguments or {})
    if test.block == "tools":
        if test.subject in METHODS:
            return test.subject, arguments or None
        return "tools/call", {"name": test.subject, "arguments": arguments}
    method, key = _CALLS[test.block]
    return method, {key: test.subject, **({"arguments": arguments} if test.arguments is not None else {})}


def _unanswered(reply: Reply) -> str:
    words = {"hang": "", "crash": "the server ended or closed the connection: ", "malformed": "no JSON-RPC: "}
    return f"{words.get(reply.outcome, '')}{reply.why or reply.outcome}"


def _said(reply: Reply) -> str:
    """Why a call failed, in the server's words."""
    answer = reply.answer
    if answer is not None and answer.error is not None:
        return answer.complaint
    content = reply.result.get("content")
    texts = [each.get("text") for each in content if isinstance(each, dict)] if isinstance(content, list) else []
    said = " ".join(text for text in texts if isinstance(text, str))
    return f"isError is true: {said[:300]}" if said else "isError is true"


def _unexplained(trials: list[Trials]) -> list[str]:
    """Ends of the server that no single call explains."""
    of_server = [trial for each in trials if each.item.kind == "server" for trial in each.trials]
    return [trial.answer for trial in of_server if trial.probe in ("calls", "fuzz") and trial.outcome == "crash"]


def _inside(answer: str) -> str:
    """An answer without its envelope, whose number depends on what was asked before."""
    try:
        envelope = json.loads(answer)
    except (ValueError, RecursionError):  # cropped, or never JSON
        return answer
    if not isinstance(envelope, dict) or not {"result", "error"} & envelope.keys():
        return answer
    return shown(envelope.get("result", envelope.get("error")))


def _failed(probes: list[ProbeResult]) -> str:
    return ", ".join(f"{each.probe} {each.outcome}" for each in probes if each.passed is False)


async def _no_tool(test: SuiteTest, host: _Host) -> str:
    names = [tool.name for tool in (await host.catalog()).tools if tool.name]
    return f"the server has no tool `{test.subject}`{nearest(test.subject, names)}"


def _summed_up(failures: list[TestFailure]) -> str:
    if not failures:
        return ""
    first = failures[0]
    more = f" (and {len(failures) - 1:,} more)" if len(failures) > 1 else ""
    where = f"{first.target}: " if first.target and not first.message.startswith(first.target) else ""
    return f"{where}{first.message}{more}"


def _result(
    test: SuiteTest,
    block: str,
    outcome: TestOutcome,
    message: str,
    failures: tuple[TestFailure, ...] = (),
    seconds: float = 0.0,
) -> TestResult:
    place = test.place
    return TestResult(test.name, block, test.server, outcome, message, failures, place.file, place.line, seconds)


def _step_result(step: Step, block: str, why: str) -> TestResult:
    return TestResult(step.label, block, step.server, "error", why, (), step.place.file, step.place.line)

"""Execute one part of a test: its call, `negative_path`, `fuzz` or `tool_quality`."""

from __future__ import annotations

import json
from time import perf_counter
from typing import TYPE_CHECKING, Any

from mcproof.client.errors import ConnectError
from mcproof.core.errors import nearest
from mcproof.core.named_tuple import NamedTuple
from mcproof.core.observations.probes import SERVER_LOST
from mcproof.core.observations.responses import reported_error
from mcproof.probing.permission import Permission, permission
from mcproof.testing.outcomes import TestFailure, TestOutcome, TestResult
from mcproof.testing.suites.matchers import shown
from mcproof.testing.suites.model import METHODS, FuzzBlock, NegativePathBlock, SuiteTest
from mcproof.testing.suites.servers import CALLED, Caller, CannotRunError, ServerUnderTest, unreachable
from mcproof.testing.suites.steps import (
    ExpectationChecker,
    StepFailedError,
    after_steps,
    annotated,
    call_default,
    quality_default,
)

if TYPE_CHECKING:
    from mcproof.client.session import Response
    from mcproof.core.catalog.model import Catalog
    from mcproof.probing.attacks.run import AttackRun
    from mcproof.probing.calls import Called, CallPlan
    from mcproof.probing.outcomes import ProbeResult
    from mcproof.probing.probes.cases import ProbePlan
    from mcproof.probing.probes.prove import Proof
    from mcproof.testing.suites.snapshots import SnapshotStore

OVERSIZED = 1024 * 1024
MOST_FAILURES = 20
"""Maximum number of failures kept for one test."""
_HOW_TO_ANSWER = "answer it with `answers`"
_STRUCTURED = "result.structuredContent"
UNMARKED_ERROR = "returns an error without `isError`: "
"""The start of the note on a call that succeeds with a text that reports an error."""
_LONGEST_NOTE = 200
_CALLS = {"resources": ("resources/read", "uri"), "prompts": ("prompts/get", "name")}


class _NoSuchToolError(Exception):
    """The server lacks the tool of a test."""


class Assessment(NamedTuple):
    """The failures of a part; it passes if there are none."""

    failures: list[TestFailure]
    note: str = ""
    """Shown if the part passes."""
    applies: bool = True
    """Whether there was anything to test."""


async def execute_part(test: SuiteTest, part: str, caller: Caller, store: SnapshotStore) -> TestResult:
    """Execute a part of a test once. The start of a server does not count towards the duration."""
    start = perf_counter()
    server = caller.server
    checker = _checker(server, store)
    try:
        # The catalog has the output schemas of tools, which resources and prompts do not have.
        if part not in _CALLS:
            await server.try_catalog()
        if part in CALLED:
            await server.connect()
        start = perf_counter()
        assessment = await _assess(test, part, caller, checker)
    except _NoSuchToolError as error:
        assessment = Assessment([checker.failure("", str(error))])
    except CannotRunError as error:
        result = result_of(test, part, "error", str(error), perf_counter() - start)
        return result._replace(detail=server.take_last_lines())
    except ConnectError as error:
        return result_of(test, part, "error", unreachable(server.hide(error.message)), perf_counter() - start)
    return _assessed(test, part, assessment, perf_counter() - start)


def check_response(
    test: SuiteTest, response: Response, seconds: float, server: ServerUnderTest, store: SnapshotStore
) -> TestResult:
    """Return the result of a call whose response is known already."""
    assessment = _assess_response(test, response, seconds, server, _checker(server, store))
    return _assessed(test, test.block, assessment, seconds)


def result_of(test: SuiteTest, part: str, outcome: TestOutcome, message: str, seconds: float = 0.0) -> TestResult:
    """Return a result without failures."""
    return TestResult(
        name=test.name,
        block=part,
        server=test.server,
        outcome=outcome,
        message=message,
        file=test.location.file,
        line=test.location.line,
        seconds=seconds,
    )


def _assessed(test: SuiteTest, part: str, assessment: Assessment, seconds: float) -> TestResult:
    reported = tuple(assessment.failures[:MOST_FAILURES])
    message = assessment.note
    if reported:
        more = f" (and {len(assessment.failures) - 1:,} more)" if len(assessment.failures) > 1 else ""
        message = f"{reported[0].sentence}{more}"
    outcome: TestOutcome = "failed" if reported else "passed" if assessment.applies else "not_applicable"
    return result_of(test, part, outcome, message, seconds)._replace(failures=reported)


def _checker(server: ServerUnderTest, store: SnapshotStore) -> ExpectationChecker:
    return ExpectationChecker(server.hide, server.hide_whole, store)


async def _assess(test: SuiteTest, part: str, caller: Caller, checker: ExpectationChecker) -> Assessment:
    if part == "negative_path" and test.negative_path is not None:
        return await _negative_path(test, test.negative_path, caller.server, checker)
    if part == "fuzz" and test.fuzz is not None:
        return await _fuzz(test, test.fuzz, caller.server, checker)
    if part == "tool_quality":
        return await _quality(test, caller.server, checker)
    limit = test.timeout_ms / 1000 if test.timeout_ms is not None else None
    if test.steps:
        try:
            test = await after_steps(test, caller, failure_message)
        except StepFailedError as error:
            return Assessment([checker.failure("", str(error))])
    response, seconds = await caller.send(test, request_of(test), limit)
    return _assess_response(test, response, seconds, caller.server, checker)


def request_of(test: SuiteTest) -> tuple[str, dict[str, Any] | None]:
    """Return the method and parameters of the call of a test."""
    arguments = dict(test.arguments or {})
    if test.block == "tools":
        if test.subject in METHODS:
            return test.subject, arguments or None
        return "tools/call", {"name": test.subject, "arguments": arguments}
    method, key = _CALLS[test.block]
    return method, {key: test.subject, **({"arguments": arguments} if test.arguments is not None else {})}


def _assess_response(
    test: SuiteTest, response: Response, seconds: float, server: ServerUnderTest, checker: ExpectationChecker
) -> Assessment:
    if response.outcome not in ("accepted", "rejected") or response.message is None:
        return Assessment([checker.failure("", failure_message(response))])
    facts: dict[str, Any] = {
        "error": response.message.error,
        "rejected": response.outcome == "rejected",
        "duration_ms": round(seconds * 1000),
        "asked": [question.as_document() for question in response.questions],
    }
    if response.message.error is None:
        facts["result"] = response.message.result
    reasons = {"result.isError": _content_text(response)} if response.outcome == "rejected" else {}
    failures = checker.check(test.expect or call_default(test.block), facts, reasons)
    faults = [checker.failure("", question.fault) for question in response.questions if question.fault]
    if faults:
        return Assessment(faults)
    # What happens with an answer is unknown: docs/decisions/0039-questions-are-declined.md.
    if response.asks and (failures or test.expect is None):
        failures = [] if test.expect is None else failures
        return Assessment([*failures, checker.failure("", f"the server {response.asks}; {_HOW_TO_ANSWER}")])
    if test.expect is None and failures:
        return Assessment([checker.failure("", f"the call failed: {failure_message(response)}")])
    # A test that expects something of the structured content has the last word about it.
    if test.block == "tools" and response.outcome == "accepted" and not _expects(test, _STRUCTURED):
        violation = server.output_violation(test.subject, response.result)
        if violation is not None:
            got = shown(response.result["structuredContent"]) if "structuredContent" in response.result else "nothing"
            message = f"violates the tool's outputSchema: {violation}"
            failures.append(checker.failure(_STRUCTURED, message, "a value valid for the outputSchema", got))
    text = reported_error(response.result) if test.expect is None and test.block == "tools" else None
    return Assessment(failures, "" if text is None else server.hide(f"{UNMARKED_ERROR}{text[:_LONGEST_NOTE]}"))


def _expects(test: SuiteTest, path: str) -> bool:
    """Whether a test has an expectation of its own for a path."""
    return test.expect is not None and any(assertion.path.text == path for assertion in test.expect.assertions)


def no_response(response: Response) -> str:
    """Return why there is no valid response."""
    before = "the server ended or closed the connection: " if response.outcome == "crash" else ""
    return f"{before}{response.why or response.outcome}"


def failure_message(response: Response) -> str:
    """Return why a call failed, quoting the server."""
    message = response.message
    if message is None or response.outcome not in ("accepted", "rejected"):
        return f"{no_response(response)}{' (`timeout_ms`)' if response.outcome == 'hang' else ''}"
    if message.error is not None:
        return message.description
    text = _content_text(response)
    return f"isError is true: {text}" if text else "isError is true"


def _content_text(response: Response) -> str:
    """Return the text content of a result, cropped."""
    content = response.result.get("content")
    texts = [block.get("text") for block in content if isinstance(block, dict)] if isinstance(content, list) else []
    return " ".join(text for text in texts if isinstance(text, str))[:300]


async def _quality(test: SuiteTest, server: ServerUnderTest, checker: ExpectationChecker) -> Assessment:
    from mcproof.testing.suites.steps import quality_of

    catalog = await server.catalog()
    if not catalog.tools:
        return Assessment([checker.failure("", "the server lists no tools")])
    quality = quality_of(catalog)
    return Assessment(checker.check(test.expect or quality_default(), quality.facts, quality.reasons))


async def _negative_path(
    test: SuiteTest, block: NegativePathBlock, server: ServerUnderTest, checker: ExpectationChecker
) -> Assessment:
    from mcproof.probing.calls import CallPlan
    from mcproof.probing.outcomes import negative_path
    from mcproof.probing.probes.cases import ProbePlan
    from mcproof.probing.probes.prove import WEAK

    catalog, permission, arguments = await _permitted(test, server)
    calls = CallPlan([permission], arguments, _limit(test, server))
    plan = ProbePlan(calls, list(block.checks), explores=False, size=OVERSIZED)
    proof = await _probe(test, catalog, server, plan)
    counted = negative_path(proof.probes)
    is_weak = any(probe.probe == "baseline" and probe.outcome != "accepted" for probe in proof.probes)
    note = "; ".join([_probe_summary(proof.probes, block.checks), *([WEAK] if is_weak else [])])
    if block.expect is not None:
        failed = ", ".join(
            f"{probe.probe} {probe.outcome}{_named(probe.fault)}" for probe in proof.probes if probe.passed is False
        )
        reasons = dict.fromkeys(("negative_path.failures", "negative_path.gate_passed"), failed)
        return Assessment(checker.check(block.expect, {"negative_path": counted._asdict()}, reasons), note)
    failures = [
        checker.failure(
            probe.probe,
            f"{probe.probe}: {probe.outcome}, {probe.reason}{_named(probe.fault)}",
            "a result" if probe.probe in ("baseline", "oversized") else "an error",
            _without_envelope(probe.answer),
        )
        for probe in proof.probes
        if probe.passed is False
    ]
    failures += [checker.failure("", f"crash: {crash}") for crash in _unexplained_crashes(proof.called)]
    if not failures and not counted.checks_run:
        left_out = [probe for probe in proof.probes if probe.passed is None and probe.probe in block.checks]
        why = "; ".join(f"{probe.probe}: {probe.reason}" for probe in left_out)
        if not block.are_named and all(probe.outcome == "not_applicable" for probe in left_out):
            return Assessment([], f"no probe applies: {why}", applies=False)
        message = f"no probe could be evaluated: {why}"
        failures = [checker.failure("negative_path.checks_run", message, "at least 1", "0")]
    return Assessment(failures, note)


def _named(fault: str | None) -> str:
    """The id of a fault at the end of a message; `mcproof explain` explains it."""
    return f" [{fault}]" if fault else ""


async def _probe(test: SuiteTest, catalog: Catalog, server: ServerUnderTest, plan: ProbePlan) -> Proof:
    """Send probes to a process that other negative paths share, unless the tool may change something.

    After a crash or a hang, the others get a fresh process.
    """
    from mcproof.probing.probes.prove import prove_over

    tools = [annotated(granted.tool, server.entry.annotations) for granted in plan.calls.permissions]
    is_shared = all(permission(tool).is_granted for tool in tools)
    servers = server.probe_servers
    # A first suite spent most of its time on starts when each negative path had a server of its own.
    async with servers.borrow(plan.calls.limit) if is_shared else servers.start(plan.calls.limit) as session:
        session.answer_from(server.answers_of(test))
        proof = await prove_over(catalog, session, plan)
        if any(probe.outcome in SERVER_LOST for probe in proof.probes) or _unexplained_crashes(proof.called):
            await session.close(at_once=True)
    return proof


def _probe_summary(probes: list[ProbeResult], checks: tuple[str, ...]) -> str:
    """Return the names of the probes that passed, and of those that do not apply."""
    passed = [probe.probe for probe in probes if probe.passed and probe.probe in checks]
    others = [probe.probe for probe in probes if probe.passed is None and probe.probe in checks]
    more = f"; not applicable: {', '.join(others)}" if others else ""
    return f"{', '.join(passed) or 'nothing'}{more}"


def _without_envelope(response: str) -> str:
    """Return the result or error of a response: the id in the envelope varies between runs."""
    try:
        envelope = json.loads(response)
    except (ValueError, RecursionError):  # cropped or not JSON
        return response
    if not isinstance(envelope, dict) or not {"result", "error"} & envelope.keys():
        return response
    return shown(envelope.get("result", envelope.get("error")))


async def _fuzz(test: SuiteTest, block: FuzzBlock, server: ServerUnderTest, checker: ExpectationChecker) -> Assessment:
    from mcproof.core.console import plural
    from mcproof.core.observations.probes import as_json
    from mcproof.probing.calls import CallPlan
    from mcproof.probing.fuzz.campaign import fuzz_within

    catalog, permission, arguments = await _permitted(test, server)
    calls = CallPlan([permission], arguments, _limit(test, server, block.max_call_ms))
    options = server.options_of(test)
    fuzzed = await fuzz_within(catalog, server.endpoint, options, calls, seed=block.seed, cases=block.cases)
    cases, outcomes, crashes = sum(fuzzed.cases.values()), fuzzed.outcomes, _unexplained_crashes(fuzzed.called)
    attacks = await _attack(test, block, server, calls)
    if attacks is not None:
        counted = attacks.outcomes()
        outcomes = {name: outcomes.get(name, 0) + counted.get(name, 0) for name in (*outcomes, "injection")}
        cases += sum(attacks.calls().values())
        crashes += [end.why for end in attacks.unexplained if end.outcome == "crash"]
    facts = {
        "cases_run": cases,
        "crashes": outcomes["crash"],
        "hangs": outcomes["hang"],
        "protocol_violations": outcomes["protocol_violation"],
        "leaks": outcomes["leak"],
        "injections": outcomes.get("injection", 0),
        "accepted": outcomes["accepted"],
    }
    bad = sum(facts[name] for name in ("crashes", "hangs", "protocol_violations", "leaks", "injections"))
    facts["gate_passed"] = int(cases > 0 and not bad)
    if block.expect is not None:
        return Assessment(checker.check(block.expect, {"fuzz": facts}))
    failures = []
    for hostile, _ in attacks.failures() if attacks is not None else ():
        failures.append(
            checker.failure("", f"{hostile.outcome.replace('_', ' ')} at {hostile.request}: {hostile.problem}")
        )
    for failure in fuzzed.failures:
        if failure.judgement.outcome != "accepted":
            outcome = failure.judgement.outcome.replace("_", " ")
            why = failure.judgement.problem or failure.case.description
            failures.append(checker.failure("", f"{outcome} at {as_json(failure.case.arguments)}: {why}"))
    failures += [checker.failure("", f"crash: {crash}") for crash in crashes]
    if not facts["gate_passed"] and not failures:
        failures = [checker.failure("fuzz.cases_run", "no case could be sent", "at least 1", "0")]
    return Assessment(failures, plural(cases, "case"))


async def _attack(test: SuiteTest, block: FuzzBlock, server: ServerUnderTest, calls: CallPlan) -> AttackRun | None:
    """Send the hostile arguments of a `fuzz` block; None if it asks for none."""
    if not block.security:
        return None
    from mcproof.client.session import Session
    from mcproof.probing.attacks.run import AttackRun
    from mcproof.probing.calls import run_within

    attacks = AttackRun(Session(server.endpoint, server.options_of(test), calls.limit), calls)
    await run_within(attacks)
    return attacks


async def _permitted(test: SuiteTest, server: ServerUnderTest) -> tuple[Catalog, Permission, dict[str, dict[str, Any]]]:
    """Return the catalog, the permission to call the tool, and its arguments. Naming a tool in a suite permits it."""
    catalog = await server.catalog()
    tool = next((tool for tool in catalog.tools if tool.name == test.subject), None)
    if tool is None:
        names = [tool.name for tool in catalog.tools if tool.name]
        raise _NoSuchToolError(f"the server has no tool `{test.subject}`{nearest(test.subject, names)}")
    arguments = {test.subject: dict(test.arguments)} if test.arguments is not None else {}
    return catalog, Permission(tool, True, "named in the suite"), arguments


def _limit(test: SuiteTest, server: ServerUnderTest, block_ms: int | None = None) -> float:
    """Return the time limit of a response in seconds: of the block, else of the test, else of the server."""
    limit = block_ms if block_ms is not None else test.timeout_ms
    return limit / 1000 if limit is not None else server.probe_limit


def _unexplained_crashes(called: Called) -> list[str]:
    """Return the crashes that no single call explains."""
    records = [record for of_item in called.item_probes if of_item.item.kind == "server" for record in of_item.records]
    return [record.response for record in records if record.probe in ("calls", "fuzz") and record.outcome == "crash"]
